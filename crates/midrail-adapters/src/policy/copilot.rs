//! Permissions of Copilot: the flags of Copilot CLI in scripts and aliases, and the approved commands of VS Code.
//! Deny decides before allow.

use jsonc_parser::ast::{ObjectProp, Value};

use super::claude_code::folder_patterns;
use super::command::{text_rule, words_rule};
use super::json;
use super::ordered::strictest_first;
use super::pattern::operator;
use super::regex;
use super::rule::{CommandPattern, HostPolicy, PolicyFile, PolicyRule, RuleSource, Subject, Verdict};
use super::shell_words;

const AUTO_APPROVE: &str = "chat.tools.terminal.autoApprove";

/// Flags with a rule.
const FLAGS: [(&str, Verdict, bool); 4] = [
    ("--allow-tool", Verdict::Allow, false),
    ("--deny-tool", Verdict::Deny, false),
    ("--allow-url", Verdict::Allow, true),
    ("--deny-url", Verdict::Deny, true),
];

/// Flags that allow more than a list can.
const BROAD: [&str; 5] =
    ["--allow-all-tools", "--allow-all-paths", "--allow-all-urls", "--allow-all", "--yolo"];

pub(super) fn read(files: &[PolicyFile]) -> HostPolicy {
    let mut policy = HostPolicy::default();
    let mut rules = Vec::new();
    for file in files {
        if file.text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '/'])
            && !file.text.contains("--deny-tool")
        {
            json::with_object(file, &mut policy, |policy, top| {
                for property in
                    top.properties.iter().filter(|property| property.name.as_str() == AUTO_APPROVE)
                {
                    let entries = property.value.as_object().map(|entries| entries.properties.as_slice());
                    for entry in entries.unwrap_or_default() {
                        rules.extend(auto_approve(file, entry, policy));
                    }
                }
            });
        } else {
            flags(file, &mut policy, &mut rules);
        }
    }
    rules.sort_by_key(|rule: &PolicyRule| std::cmp::Reverse(rule.verdict));
    strictest_first(rules, &mut policy);
    policy
}

/// The flags in a script.
fn flags(file: &PolicyFile, policy: &mut HostPolicy, rules: &mut Vec<PolicyRule>) {
    let mut line = 0;
    // A line that ends in a backslash continues.
    let mut joined = String::new();
    for (at, text) in file.text.lines().enumerate() {
        if joined.is_empty() {
            line = at + 1;
        }
        if let Some(text) = text.strip_suffix('\\') {
            joined.push_str(text);
            joined.push(' ');
            continue;
        }
        joined.push_str(text);
        flags_of_line(file, line, &std::mem::take(&mut joined), policy, rules);
    }
    if !joined.is_empty() {
        flags_of_line(file, line, &joined, policy, rules);
    }
}

fn flags_of_line(
    file: &PolicyFile,
    line: usize,
    text: &str,
    policy: &mut HostPolicy,
    rules: &mut Vec<PolicyRule>,
) {
    if !text.contains("--") {
        return;
    }
    let Some(words) =
        shell_words::split(text).or_else(|| shell_words::split(&text.replace(['\'', '"'], " ")))
    else {
        policy.leave_out(&RuleSource::new(file, line, text.trim()), "the line cannot be split into words");
        return;
    };
    // The text of an alias is one word.
    let words = words.into_iter().flat_map(|word| {
        let is_alias = word.contains(" --");
        let inner = if is_alias { shell_words::split(&word) } else { None };
        inner.unwrap_or_else(|| vec![word])
    });
    let words: Vec<String> = words.collect();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        if BROAD.contains(&word.as_str()) {
            policy.leave_out(
                &RuleSource::new(file, line, word.clone()),
                "Midrail vouches only for what is listed",
            );
            continue;
        }
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word.as_str(), None),
        };
        let Some((flag, verdict, is_url)) = FLAGS.iter().find(|(flag, ..)| *flag == name) else { continue };
        let mut values: Vec<String> = value.into_iter().collect();
        if values.is_empty() {
            while let Some(next) = words.get(at).filter(|next| is_value(next)) {
                values.push(next.clone());
                at += 1;
            }
        }
        for value in values {
            let source = RuleSource::new(file, line, format!("{flag} {value}"));
            if *is_url {
                rules.push(url(*verdict, &value, source));
            } else {
                rules.extend(tool(*verdict, &value, source, policy));
            }
        }
    }
}

/// Whether a word may be a value of a flag, and not another flag, a variable of the script or a prompt.
fn is_value(word: &str) -> bool {
    !word.starts_with(['-', '$']) && (word.contains('(') || !word.contains(' '))
}

fn url(verdict: Verdict, value: &str, source: RuleSource) -> PolicyRule {
    let rest = value.split_once("://").map_or(value, |(_, rest)| rest);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let is_part = !path.trim_matches('*').is_empty();
    let why = (is_part && verdict != Verdict::Allow).then_some("Midrail applies it to the whole host");
    PolicyRule::new(verdict, Subject::Host(host.to_lowercase()), source).stricter(why)
}

fn tool(verdict: Verdict, value: &str, source: RuleSource, policy: &mut HostPolicy) -> Vec<PolicyRule> {
    let value = value.trim();
    let (tool, inner) = match value.split_once('(') {
        None => (value, None),
        Some((tool, rest)) => match rest.strip_suffix(')') {
            Some(inner) => (tool, Some(inner.trim()).filter(|inner| !inner.is_empty() && *inner != "*")),
            None => {
                policy.is_dead(&source, "the closing `)` is missing, so it matches no tool");
                return Vec::new();
            }
        },
    };
    let rule = |subject| PolicyRule::new(verdict, subject, source.clone());
    let files = |place: &str, subject: fn(String) -> Subject| -> Vec<PolicyRule> {
        folder_patterns(place.trim_start_matches("./"), verdict)
            .into_iter()
            .map(|path| rule(subject(path)))
            .collect()
    };
    match (tool.trim(), inner) {
        ("", _) => {
            policy.is_dead(&source, "the name of the tool is missing");
            Vec::new()
        }
        ("shell", None) => vec![rule(Subject::Command(CommandPattern::prefix("*")))],
        ("shell", Some(inner)) => shell(verdict, inner, source, policy).into_iter().collect(),
        ("write", inner) => files(inner.unwrap_or("**"), Subject::Edit),
        ("read", inner) => files(inner.unwrap_or("**"), Subject::Read),
        ("url", Some(inner)) => vec![url(verdict, inner, source)],
        ("url", None) => vec![rule(Subject::Host("*".to_owned()))],
        // The host calls a tool of a server `SERVER-TOOL`.
        (server, inner) => {
            let tool = inner.unwrap_or("*");
            vec![
                rule(Subject::Tool(format!("{server}-{tool}"))),
                rule(Subject::Tool(format!("mcp__{server}__{tool}"))),
            ]
        }
    }
}

fn shell(verdict: Verdict, inner: &str, source: RuleSource, policy: &mut HostPolicy) -> Option<PolicyRule> {
    if let Some(operator) = operator(inner) {
        policy.is_dead(
            &source,
            format!("Copilot splits a line at `{operator}` first, so no command matches it"),
        );
        return None;
    }
    let rule = match inner.strip_suffix(":*") {
        Some(prefix) => words_rule(verdict, prefix, source),
        None if verdict == Verdict::Allow => text_rule(verdict, inner, source),
        None => words_rule(verdict, inner, source),
    };
    Some(rule)
}

/// A command or `/expression/` of VS Code, with whether it is approved.
fn auto_approve(file: &PolicyFile, entry: &ObjectProp<'_>, policy: &mut HostPolicy) -> Option<PolicyRule> {
    let name = json::name(entry);
    let is_approved = match &entry.value {
        Value::BooleanLit(is_approved) => Some(is_approved.value),
        Value::Object(object) => match json::property(object, "approve").map(|approve| &approve.value) {
            Some(Value::BooleanLit(is_approved)) => Some(is_approved.value),
            _ => None,
        },
        _ => None,
    };
    let word = is_approved.map_or("null".to_owned(), |is_approved| is_approved.to_string());
    let source = RuleSource::new(file, json::line(file, entry), format!("{name:?}: {word}"));
    let Some(is_approved) = is_approved else {
        policy.leave_out(&source, "it removes an entry of another file, and is no rule");
        return None;
    };
    let verdict = if is_approved { Verdict::Allow } else { Verdict::Ask };
    if let Some(rest) = name.strip_prefix('/')
        && let Some((expression, options)) = rest.rsplit_once('/')
        && options.chars().all(|c| c.is_ascii_lowercase())
    {
        if is_approved {
            policy.leave_out(&source, "`vouch` has no regular expressions");
            return None;
        }
        let glob = regex::to_glob(expression).filter(|_| !options.contains('i'));
        let Some(glob) = glob else {
            policy.leave_out(&source, "the regular expression cannot be written as a glob pattern");
            return None;
        };
        let why = "Midrail compares the text of the whole line with a glob pattern";
        return Some(PolicyRule::new(verdict, Subject::CommandText(glob), source).stricter(Some(why)));
    }
    if name.trim().is_empty() {
        policy.is_dead(&source, "the command is empty");
        return None;
    }
    Some(words_rule(verdict, &name, source))
}
