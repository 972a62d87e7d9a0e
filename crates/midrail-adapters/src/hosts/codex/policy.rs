//! Rules of Codex: `.rules` files in Starlark. The strictest of all matching rules decides.

use super::starlark::{Call, FUNCTIONS, Literal, statements};
use crate::policy::format::PolicyFormat;
use crate::policy::ordered::strictest_first;
use crate::policy::pattern::operator;
use crate::policy::rule::{
    CommandPattern, Example, FileScope, Finding, HostPolicy, PolicyFile, PolicyRule, Problem, RuleSource,
    Subject, Verdict, VerdictWords, dead, left_out, push_new,
};
use crate::policy::shell_words;
use crate::policy::translate::{ASSIGNED, PARSED, is_assignment};
use crate::policy::writer::Writer;

pub(crate) static POLICY: PolicyFormat = PolicyFormat {
    name: "codex",
    title: "Codex",
    user_folder: None,
    files: &[
        (FileScope::Managed, "codex/rules/*.rules"),
        (FileScope::Project, ".codex/rules/*.rules"),
        (FileScope::User, "rules/*.rules"),
    ],
    read,
    order: strictest_first,
    export_file: ".codex/rules/midrail.rules",
    write,
};

/// The most commands that the alternatives of one rule may stand for.
const MAX_COMMANDS: usize = 1000;

const COMMAND_WORDS: VerdictWords = VerdictWords { allow: "allow", ask: "prompt", deny: "forbidden" };
const NETWORK_WORDS: VerdictWords = VerdictWords { deny: "deny", ..COMMAND_WORDS };

/// Why rules of a rejected file have no effect.
const REJECTED: &str = "Codex rejects the file because of another line";

/// The protocols of rules for the network.
const PROTOCOLS: [&str; 5] = ["http", "https", "https_connect", "socks5_tcp", "socks5_udp"];

/// A prefix rule with its alternatives, for its examples.
struct PrefixRule {
    pattern: Vec<Vec<String>>,
    verdict: Verdict,
    reason: Option<String>,
    source: RuleSource,
    matching: Vec<Vec<String>>,
    not_matching: Vec<Vec<String>>,
}

impl PrefixRule {
    fn matches(&self, words: &[String]) -> bool {
        words.len() >= self.pattern.len()
            && self.pattern.iter().zip(words).all(|(alternatives, word)| alternatives.contains(word))
    }
}

/// What is read from files so far.
#[derive(Default)]
struct Reading {
    prefixes: Vec<PrefixRule>,
    /// Files that Codex rejects as a whole.
    rejected: Vec<String>,
    /// Whether there are statements that Midrail cannot read. They may forbid anything.
    is_incomplete: bool,
}

fn read(files: &[PolicyFile], policy: &mut HostPolicy) {
    let mut reading = Reading::default();
    for file in files {
        for statement in statements(&file.text) {
            match statement {
                Ok(call) => read_call(file, &call, policy, &mut reading),
                Err(unreadable) => {
                    let source = RuleSource::new(file, unreadable.line, unreadable.text);
                    policy.leave_out(&source, format!("cannot be read, line {}", unreadable.line));
                    reading.is_incomplete = true;
                }
            }
        }
    }
    add_examples(&mut reading, policy);
    limit_allowed(&reading, policy);
}

/// Removes rules that allow what Codex may not allow: those of a rejected file, and all if a statement cannot be read.
fn limit_allowed(reading: &Reading, policy: &mut HostPolicy) {
    for rule in std::mem::take(&mut policy.rules) {
        let is_rejected = reading.rejected.contains(&rule.source.file);
        let is_allow = rule.verdict == Verdict::Allow;
        let is_listed = |findings: &[Finding]| findings.iter().any(|it| it.source == rule.source);
        if is_rejected && is_allow {
            if !is_listed(&policy.dead) {
                policy.is_dead(&rule.source, REJECTED);
            }
        } else if reading.is_incomplete && is_allow {
            if !is_listed(&policy.left_out) {
                policy.leave_out(&rule.source, "a line that cannot be read may forbid it");
            }
        } else {
            policy.rules.push(rule.stricter_if(is_rejected, REJECTED));
        }
    }
}

fn read_call(file: &PolicyFile, call: &Call, policy: &mut HostPolicy, reading: &mut Reading) {
    let source = RuleSource::new(file, call.line, call.text.clone());
    let result = check_arguments(call).and_then(|()| match call.name.as_str() {
        "prefix_rule" => {
            let (prefix, commands) = prefix_rule(call, &source)?;
            for words in commands {
                let rule = command_rule(prefix.verdict, &words);
                policy.add(&source, rule.map(|rule| vec![rule.because(prefix.reason.clone())]));
            }
            reading.prefixes.push(prefix);
            Ok(Vec::new())
        }
        "network_rule" => network_rule(call).map(|rule| vec![rule]),
        _ => Err(left_out("Midrail recognises a program by its name, in whatever folder it is")),
    });
    match &result {
        Err(Problem::Dead(_)) => reading.rejected.push(file.name.clone()),
        Err(Problem::LeftOut(_)) if call.name != "host_executable" => reading.is_incomplete = true,
        _ => {}
    }
    policy.add(&source, result);
}

/// The arguments of the functions, in their order.
const ARGUMENTS: [(&str, &[&str]); 3] = [
    ("prefix_rule", &["pattern", "decision", "match", "not_match", "justification"]),
    ("network_rule", &["host", "protocol", "decision", "justification"]),
    ("host_executable", &["name", "paths"]),
];

/// Checks the names of a function and of its arguments.
fn check_arguments(call: &Call) -> Result<(), Problem> {
    let Some((_, names)) = ARGUMENTS.iter().find(|(name, _)| *name == call.name) else {
        return Err(unreadable(call, &format!("the functions are {}", FUNCTIONS.join(", "))));
    };
    let mut given = call.arguments.iter().filter_map(|(key, _)| key.as_deref());
    match given.find(|key| !names.contains(key)) {
        Some(key) => Err(rejected(&format!("`{key}` is not an argument of `{}`", call.name))),
        None => Ok(()),
    }
}

fn unreadable(call: &Call, reason: &str) -> Problem {
    left_out(format!("cannot be read, line {}: {reason}", call.line))
}

fn rejected(reason: &str) -> Problem {
    dead(format!("Codex rejects the file: {reason}"))
}

/// The value of an argument, by name or position.
fn argument<'c>(call: &'c Call, name: &str, position: usize) -> Option<&'c Literal> {
    let named = call.arguments.iter().find(|(key, _)| key.as_deref() == Some(name));
    let placed = || call.arguments.get(position).filter(|(key, _)| key.is_none());
    named.or_else(placed).map(|(_, value)| value)
}

fn text_argument(call: &Call, name: &str, position: usize) -> Result<Option<String>, Problem> {
    let not_a_text = || rejected(&format!("`{name}` is not a text"));
    let text = |value: &Literal| value.text().map(str::to_owned).ok_or_else(not_a_text);
    argument(call, name, position).map(text).transpose()
}

/// The texts of a list.
fn texts(items: &[Literal]) -> Option<Vec<String>> {
    items.iter().map(|item| item.text().map(str::to_owned)).collect()
}

/// A rule for commands, and the commands that it stands for.
fn prefix_rule(call: &Call, source: &RuleSource) -> Result<(PrefixRule, Vec<Vec<String>>), Problem> {
    let pattern = argument(call, "pattern", 0).and_then(Literal::list);
    let pattern = pattern.ok_or_else(|| rejected("`pattern` is not a list"))?;
    let token = |token: &Literal| match token {
        Literal::Text(text) => Some(vec![text.clone()]),
        Literal::List(items) => texts(items),
        Literal::Other(_) => None,
    };
    let pattern: Option<Vec<Vec<String>>> = pattern.iter().map(token).collect();
    let pattern = pattern.ok_or_else(|| rejected("a token of `pattern` is a text or a list of texts"))?;
    if pattern.is_empty() || pattern.iter().any(Vec::is_empty) {
        return Err(rejected("`pattern` is empty"));
    }
    let decision = text_argument(call, "decision", 1)?;
    let decision = decision.as_deref().unwrap_or(COMMAND_WORDS.allow);
    let verdict = COMMAND_WORDS
        .verdict(decision)
        .ok_or_else(|| rejected(&format!("`{decision}` is not a decision: allow, prompt, forbidden")))?;
    let reason = text_argument(call, "justification", 4)?;
    if reason.as_ref().is_some_and(|reason| reason.trim().is_empty()) {
        return Err(rejected("`justification` is empty"));
    }
    let examples = |name: &str, position| {
        let words = example_words(argument(call, name, position));
        words.ok_or_else(|| rejected(&format!("`{name}` is not a list of commands")))
    };
    let (matching, not_matching) = (examples("match", 2)?, examples("not_match", 3)?);
    let commands = combinations(&pattern)
        .ok_or_else(|| unreadable(call, &format!("it stands for more than {MAX_COMMANDS} commands")))?;
    Ok((PrefixRule { pattern, verdict, reason, source: source.clone(), matching, not_matching }, commands))
}

/// The commands that a pattern with alternatives stands for. `None`: too many.
fn combinations(pattern: &[Vec<String>]) -> Option<Vec<Vec<String>>> {
    let mut all: Vec<Vec<String>> = vec![Vec::new()];
    for alternatives in pattern {
        if all.len().saturating_mul(alternatives.len()) > MAX_COMMANDS {
            return None;
        }
        let longer =
            |words: &Vec<String>, word: &String| [words.as_slice(), std::slice::from_ref(word)].concat();
        all = all.iter().flat_map(|words| alternatives.iter().map(move |word| longer(words, word))).collect();
    }
    Some(all)
}

/// A rule for the leading words of a command.
fn command_rule(verdict: Verdict, words: &[String]) -> Result<PolicyRule, Problem> {
    let is_plain = |word: &String| {
        !word.is_empty() && word.chars().all(|c| !c.is_whitespace() && !"*?[]{}\"'\\$`<>()#;&|".contains(c))
    };
    let assigned = words.iter().take_while(|word| is_assignment(word)).count();
    if assigned > 0 {
        return match words.get(assigned..).filter(|rest| !rest.is_empty() && verdict != Verdict::Allow) {
            Some(rest) => command_rule(verdict, rest).map(|rule| rule.stricter(ASSIGNED)),
            None => Err(left_out("variables in front of a command are not part of a pattern")),
        };
    }
    let program = words.first().map(String::as_str).unwrap_or_default();
    let name = program.rsplit('/').next().unwrap_or(program);
    let plain = words.iter().take_while(|word| is_plain(word)).count();
    if verdict == Verdict::Allow && plain < words.len() {
        return Err(left_out("a word with special characters cannot be part of `vouch`"));
    }
    if verdict == Verdict::Allow && name.len() < program.len() {
        return Err(left_out("`vouch` has no paths of programs"));
    }
    if name.is_empty() || name.starts_with('-') || plain == 0 {
        return Err(left_out("the name of the program has special characters"));
    }
    // A word with special characters becomes a wildcard.
    let kept = words.iter().skip(1).map(|word| if is_plain(word) { word.as_str() } else { "*" });
    let kept: Vec<&str> = std::iter::once(name).chain(kept).collect();
    let text = kept.join(" ");
    let has_options = kept.iter().skip(1).any(|word| word.starts_with('-'));
    let rule = PolicyRule::new(verdict, Subject::Command(CommandPattern::prefix(text.as_str())));
    Ok(rule
        .stricter(PARSED)
        .stricter_if(plain < words.len(), format!("Midrail compares only `{text}`"))
        .stricter_if(name.len() < program.len(), format!("Midrail does not compare the folder of `{name}`"))
        .stricter_if(has_options, "Midrail finds an option in any place"))
}

fn network_rule(call: &Call) -> Result<PolicyRule, Problem> {
    let host = text_argument(call, "host", 0)?.ok_or_else(|| rejected("`host` is missing"))?;
    if host.trim().is_empty() || host.contains(['*', '/', ' ']) {
        return Err(rejected("`host` is a name without wildcards"));
    }
    let protocol = text_argument(call, "protocol", 1)?.unwrap_or_default();
    if !PROTOCOLS.contains(&protocol.as_str()) {
        return Err(rejected(&format!("`protocol` is one of {}", PROTOCOLS.join(", "))));
    }
    let decision = text_argument(call, "decision", 2)?.unwrap_or_default();
    let verdict = NETWORK_WORDS.verdict(&decision).or_else(|| COMMAND_WORDS.verdict(&decision));
    let verdict = verdict.ok_or_else(|| rejected("`decision` is one of allow, prompt, deny"))?;
    let rule = PolicyRule::new(verdict, Subject::Host(host.trim().to_lowercase()));
    let rule = rule.because(text_argument(call, "justification", 3)?);
    Ok(rule.stricter("Midrail applies it to every protocol and to subdomains"))
}

/// The words of examples, which are lists of words or texts.
fn example_words(examples: Option<&Literal>) -> Option<Vec<Vec<String>>> {
    let Some(examples) = examples else { return Some(Vec::new()) };
    let words = |example: &Literal| match example {
        Literal::Text(text) => shell_words::split(text),
        Literal::List(words) => texts(words),
        Literal::Other(_) => None,
    };
    examples.list()?.iter().map(words).collect()
}

/// Examples as tests. An example that does not hold makes Codex reject the file.
fn add_examples(reading: &mut Reading, policy: &mut HostPolicy) {
    let Reading { prefixes, rejected: files, .. } = reading;
    for rule in prefixes.iter() {
        let matching = rule.matching.iter().map(|words| ("match", words));
        for (key, words) in matching.chain(rule.not_matching.iter().map(|words| ("not_match", words))) {
            let line = shell_words::join(words);
            if rule.matches(words) != (key == "match") {
                let problem = rejected(&format!("`{key}` does not hold for `{line}`"));
                policy.add(&rule.source, Err(problem));
                files.push(rule.source.file.clone());
                continue;
            }
            let verdict = prefixes.iter().filter(|rule| rule.matches(words)).map(|rule| rule.verdict).max();
            let example = Example { command: line, verdict };
            if !words.is_empty() {
                push_new(&mut policy.examples, example);
            }
        }
    }
}

fn write(rules: Vec<PolicyRule>, writer: &mut Writer) -> String {
    let calls = writer.texts(&rules, |rule| call(rule).map(|call| vec![call]));
    calls.into_iter().map(|call| call + "\n").collect()
}

/// A rule in the format of Codex.
fn call(rule: &PolicyRule) -> Result<String, &'static str> {
    let (function, subject, words) = match &rule.subject {
        Subject::Command(CommandPattern { words, is_exact }) => {
            let is_plain = !words.contains('*') && operator(words).is_none() && !is_exact;
            let words = if is_plain { shell_words::split(words) } else { None };
            let words =
                words.ok_or("Codex has rules for the first words of a command only, without wildcards")?;
            let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            ("prefix_rule", format!("pattern = [{}]", words.join(", ")), COMMAND_WORDS)
        }
        Subject::Host(host) if !host.contains('*') => {
            ("network_rule", format!("host = {}, protocol = \"https\"", quoted(host)), NETWORK_WORDS)
        }
        _ => return Err("Codex has rules for commands and for names of hosts only"),
    };
    let reason = rule.reason.as_ref().map(|reason| format!(", justification = {}", quoted(reason)));
    let (decision, reason) = (words.word(rule.verdict), reason.unwrap_or_default());
    Ok(format!("{function}({subject}, decision = \"{decision}\"{reason})"))
}

/// A text in the syntax of Starlark.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
