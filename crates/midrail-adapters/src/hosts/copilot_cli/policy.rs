//! Permissions of Copilot: the flags of Copilot CLI in scripts and aliases, and the approved commands of VS Code.
//! Deny decides before allow.

use jsonc_parser::ast::{ObjectProp, Value};

use crate::policy::format::PolicyFormat;
use crate::policy::json;
use crate::policy::ordered::strictest_first;
use crate::policy::rule::{
    CommandPattern, FileScope, HostPolicy, PolicyFile, PolicyRule, Problem, RuleResult, RuleSource, Subject,
    Verdict, dead, left_out,
};
use crate::policy::shell_words;
use crate::policy::translate::{
    check_single_command, expression_rule, path_rules, text_rule, tool_and_part, words_rule,
};
use crate::policy::writer::{Writer, Written, mcp};

pub(crate) static POLICY: PolicyFormat = PolicyFormat {
    name: "copilot",
    title: "Copilot",
    user_folder: Some(("XDG_CONFIG_HOME", ".config", "Code/User")),
    files: &[(FileScope::Project, ".vscode/settings.json"), (FileScope::User, "settings.json")],
    read,
    order: strictest_first,
    export_file: "copilot.sh",
    write,
};

const AUTO_APPROVE: &str = "chat.tools.terminal.autoApprove";

/// Makes the rules of a value.
type Reader = fn(Verdict, &str) -> RuleResult;

/// Flags with a rule.
const FLAGS: [(&str, Verdict, Reader); 4] = [
    ("--allow-tool", Verdict::Allow, tool_rules),
    ("--deny-tool", Verdict::Deny, tool_rules),
    ("--allow-url", Verdict::Allow, url_rules),
    ("--deny-url", Verdict::Deny, url_rules),
];

/// Flags that allow more than a list can.
const BROAD: [&str; 5] =
    ["--allow-all-tools", "--allow-all-paths", "--allow-all-urls", "--allow-all", "--yolo"];

fn read(files: &[PolicyFile], policy: &mut HostPolicy) {
    for file in files {
        let is_json = file.text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '/']);
        if !is_json || file.text.contains("--deny-tool") {
            read_script(file, policy);
            continue;
        }
        json::with_object(file, policy, |policy, top| {
            let lists = top.properties.iter().filter(|property| property.name.as_str() == AUTO_APPROVE);
            let lists = lists.filter_map(|property| property.value.as_object());
            for entry in lists.flat_map(|entries| &entries.properties) {
                read_auto_approve(file, entry, policy);
            }
        });
    }
}

/// The flags in a script.
fn read_script(file: &PolicyFile, policy: &mut HostPolicy) {
    let mut lines = file.text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let mut joined = line.to_owned();
        // A line that ends in a backslash continues.
        while joined.ends_with('\\') {
            joined.pop();
            joined.push(' ');
            joined.push_str(lines.next().map(|(_, line)| line).unwrap_or_default());
        }
        if joined.contains("--") {
            read_line(file, at + 1, &joined, policy);
        }
    }
}

fn read_line(file: &PolicyFile, line: usize, text: &str, policy: &mut HostPolicy) {
    let source = |rule: &str| RuleSource::new(file, line, rule);
    let words = shell_words::split(text).or_else(|| shell_words::split(&text.replace(['\'', '"'], " ")));
    let Some(words) = words else {
        policy.leave_out(&source(text.trim()), "the line cannot be split into words");
        return;
    };
    // The text of an alias is one word.
    let words = words.into_iter().flat_map(|word| {
        let inner = if word.contains(" --") { shell_words::split(&word) } else { None };
        inner.unwrap_or_else(|| vec![word])
    });
    let mut words = words.peekable();
    while let Some(word) = words.next() {
        if BROAD.contains(&word.as_str()) {
            policy.leave_out(&source(&word), "Midrail vouches only for what is listed");
            continue;
        }
        let (name, value) =
            word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        let Some((flag, verdict, reader)) = FLAGS.iter().find(|(flag, ..)| *flag == name) else { continue };
        let mut values: Vec<String> = value.map(str::to_owned).into_iter().collect();
        while let Some(next) = words.next_if(|next| value.is_none() && is_value(next)) {
            values.push(next);
        }
        for value in values {
            policy.add(&source(&format!("{flag} {value}")), reader(*verdict, &value));
        }
    }
}

/// Whether a word may be a value of a flag, and not another flag, a variable of the script or a prompt.
fn is_value(word: &str) -> bool {
    !word.starts_with(['-', '$']) && (word.contains('(') || !word.contains(' '))
}

fn url_rules(verdict: Verdict, value: &str) -> RuleResult {
    let rest = value.split_once("://").map_or(value, |(_, rest)| rest);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let is_part = !path.trim_matches('*').is_empty();
    let rule = PolicyRule::new(verdict, Subject::Host(host.to_lowercase()));
    Ok(vec![rule.stricter_if(is_part, "Midrail applies it to the whole host")])
}

fn tool_rules(verdict: Verdict, value: &str) -> RuleResult {
    let (tool, part) = tool_and_part(value)?;
    let subjects = match (tool, part) {
        ("", _) => return Err(dead("the name of the tool is missing")),
        ("shell", None) => vec![Subject::every_command()],
        ("shell", Some(command)) => {
            check_single_command(POLICY.title, command)?;
            let rule = match command.strip_suffix(":*") {
                Some(prefix) => words_rule(verdict, prefix),
                None if verdict == Verdict::Allow => text_rule(verdict, command),
                None => words_rule(verdict, command),
            };
            return Ok(vec![rule]);
        }
        ("write", path) => return Ok(path_rules(verdict, path.unwrap_or("**"), Subject::Edit)),
        ("read", path) => return Ok(path_rules(verdict, path.unwrap_or("**"), Subject::Read)),
        ("url", Some(url)) => return url_rules(verdict, url),
        ("url", None) => vec![Subject::Host("*".to_owned())],
        // The host calls a tool of a server `SERVER-TOOL`.
        (server, tool) => {
            let tool = tool.unwrap_or("*");
            vec![Subject::Tool(format!("{server}-{tool}")), Subject::mcp(server, tool)]
        }
    };
    Ok(subjects.into_iter().map(|subject| PolicyRule::new(verdict, subject)).collect())
}

/// A command or `/expression/` of VS Code, with whether it is approved.
fn read_auto_approve(file: &PolicyFile, entry: &ObjectProp<'_>, policy: &mut HostPolicy) {
    let value = match &entry.value {
        Value::Object(object) => json::property(object, "approve").map(|approve| &approve.value),
        value => Some(value),
    };
    let verdict = match value {
        Some(Value::BooleanLit(approve)) => Some(if approve.value { Verdict::Allow } else { Verdict::Ask }),
        _ => None,
    };
    let word = verdict.map_or("null", |verdict| if verdict == Verdict::Allow { "true" } else { "false" });
    let name = json::name(entry);
    let source = json::source(file, entry, format!("{name:?}: {word}"));
    let rules = match verdict {
        Some(verdict) => approval_rules(verdict, &name),
        None => Err(left_out("it removes an entry of another file, and is no rule")),
    };
    policy.has_lost_commands |= verdict == Some(Verdict::Ask) && matches!(rules, Err(Problem::LeftOut(_)));
    policy.add(&source, rules);
}

fn approval_rules(verdict: Verdict, name: &str) -> RuleResult {
    if let Some((expression, options)) = name.strip_prefix('/').and_then(|rest| rest.rsplit_once('/'))
        && options.chars().all(|c| c.is_ascii_lowercase())
    {
        let ignores_case = if options.contains('i') { "(?i)" } else { "" };
        return Ok(vec![expression_rule(verdict, &format!("{ignores_case}{expression}"))?]);
    }
    if name.trim().is_empty() {
        return Err(dead("the command is empty"));
    }
    Ok(vec![words_rule(verdict, name)])
}

fn write(rules: Vec<PolicyRule>, writer: &mut Writer) -> String {
    let reason = "Copilot CLI has no flags that ask; it asks for everything that is not allowed";
    let rules = writer.without_asking(rules, reason);
    // Tools of servers, under the names of the host.
    let tools = rules.iter().filter_map(|rule| match &rule.subject {
        Subject::Tool(tool) => mcp(tool).map(|(server, tool)| format!("{server}-{tool}")),
        _ => None,
    });
    let tools: Vec<String> = tools.collect();
    let flags = writer.texts(&rules, |rule| match &rule.subject {
        Subject::Tool(tool) if tools.contains(tool) => Ok(Vec::new()),
        _ => flag(rule),
    });
    let flags: String = flags.iter().map(|flag| format!(" \\\n  {flag}")).collect();
    format!("#!/bin/sh\nexec copilot{flags} \\\n  \"$@\"\n")
}

/// A rule as a flag.
fn flag(rule: &PolicyRule) -> Written {
    let is_allow = rule.verdict == Verdict::Allow;
    let value = match &rule.subject {
        Subject::Command(pattern) if pattern.is_every() => "shell".to_owned(),
        Subject::Command(CommandPattern { words, .. }) if words.contains(['*', '\'']) => {
            return Err("Copilot CLI has no wildcards in commands");
        }
        Subject::Command(CommandPattern { words, is_exact: true }) => format!("shell({words})"),
        Subject::Command(CommandPattern { words, .. }) => format!("shell({words}:*)"),
        Subject::Edit(path) if path == "**" => "write".to_owned(),
        Subject::Edit(path) if !path.contains('\'') => format!("write({path})"),
        Subject::Read(path) if path == "**" && is_allow => "read".to_owned(),
        Subject::Read(path) if !path.contains('\'') => format!("read({path})"),
        Subject::Host(host) if !host.contains('\'') => host.clone(),
        Subject::Tool(tool) => match mcp(tool) {
            Some((server, "*")) => server.to_owned(),
            Some((server, tool)) => format!("{server}({tool})"),
            None => return Err("Copilot CLI has flags for tools of MCP servers only"),
        },
        _ => return Err("Copilot CLI has no flag for it"),
    };
    let kind = if matches!(rule.subject, Subject::Host(_)) { "url" } else { "tool" };
    let word = if is_allow { "allow" } else { "deny" };
    Ok(vec![format!("--{word}-{kind} '{value}'")])
}
