//! Rules of Codex: `.rules` files in Starlark. The strictest of all matching rules decides.

use super::command;
use super::ordered::strictest_first;
use super::pattern::operator;
use super::rule::{
    CommandPattern, Example, HostPolicy, PolicyFile, PolicyRule, RuleSource, Subject, Verdict,
};
use super::shell_words;
use super::starlark::{Call, FUNCTIONS, Literal, statements};

/// The most commands that the alternatives of one rule may stand for.
const MAX_COMMANDS: usize = 1000;

/// A prefix rule with its alternatives, for its examples.
struct PrefixRule {
    pattern: Vec<Vec<String>>,
    verdict: Verdict,
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

pub(super) fn read(files: &[PolicyFile]) -> HostPolicy {
    let mut policy = HostPolicy::default();
    let (mut rules, mut prefixes) = (Vec::new(), Vec::new());
    for file in files {
        for statement in statements(&file.text) {
            match statement {
                Ok(call) => read_call(file, &call, &mut policy, &mut rules, &mut prefixes),
                Err(unreadable) => {
                    let source = RuleSource::new(file, unreadable.line, unreadable.text);
                    policy.leave_out(&source, format!("cannot be read, line {}", unreadable.line));
                }
            }
        }
    }
    examples(&prefixes, &mut policy);
    strictest_first(rules, &mut policy);
    policy
}

fn read_call(
    file: &PolicyFile,
    call: &Call,
    policy: &mut HostPolicy,
    rules: &mut Vec<PolicyRule>,
    prefixes: &mut Vec<PrefixRule>,
) {
    let source = RuleSource::new(file, call.line, call.text.clone());
    let result = match call.name.as_str() {
        "prefix_rule" => prefix_rule(call, source.clone(), policy, prefixes),
        "network_rule" => network_rule(call, source.clone()).map(|rule| vec![rule]),
        "host_executable" => {
            policy.leave_out(&source, "Midrail recognises a program by its name, in whatever folder it is");
            return;
        }
        _ => Err(format!("cannot be read, line {}: the functions are {}", call.line, FUNCTIONS.join(", "))),
    };
    match result {
        Ok(found) => rules.extend(found),
        Err(reason) if reason.starts_with("cannot be read") => policy.leave_out(&source, reason),
        Err(reason) => policy.is_dead(&source, format!("Codex rejects the file: {reason}")),
    }
}

/// The value of an argument, by name or position.
fn argument<'c>(call: &'c Call, name: &str, position: usize) -> Option<&'c Literal> {
    let named = call.arguments.iter().find(|(key, _)| key.as_deref() == Some(name));
    let placed = || call.arguments.get(position).filter(|(key, _)| key.is_none());
    let value = named.or_else(placed).map(|(_, value)| value);
    value.filter(|value| **value != Literal::Other("None".to_owned()))
}

fn text_argument(call: &Call, name: &str, position: usize) -> Result<Option<String>, String> {
    match argument(call, name, position) {
        None => Ok(None),
        Some(value) => {
            value.text().map(|text| Some(text.to_owned())).ok_or(format!("`{name}` is not a text"))
        }
    }
}

fn prefix_rule(
    call: &Call,
    source: RuleSource,
    policy: &mut HostPolicy,
    prefixes: &mut Vec<PrefixRule>,
) -> Result<Vec<PolicyRule>, String> {
    let pattern = argument(call, "pattern", 0).and_then(Literal::list).ok_or("`pattern` is not a list")?;
    let token = |token: &Literal| match token {
        Literal::Text(text) => Some(vec![text.clone()]),
        Literal::List(items) => items.iter().map(|item| item.text().map(str::to_owned)).collect(),
        Literal::Other(_) => None,
    };
    let pattern: Option<Vec<Vec<String>>> = pattern.iter().map(token).collect();
    let pattern = pattern.ok_or("a token of `pattern` is a text or a list of texts")?;
    if pattern.is_empty() || pattern.iter().any(Vec::is_empty) {
        return Err("`pattern` is empty".to_owned());
    }
    let verdict = match text_argument(call, "decision", 1)?.as_deref() {
        None | Some("allow") => Verdict::Allow,
        Some("prompt") => Verdict::Ask,
        Some("forbidden") => Verdict::Deny,
        Some(other) => return Err(format!("`{other}` is not a decision: allow, prompt, forbidden")),
    };
    let reason = text_argument(call, "justification", 4)?;
    if reason.as_ref().is_some_and(|reason| reason.trim().is_empty()) {
        return Err("`justification` is empty".to_owned());
    }
    let prefix = PrefixRule {
        matching: example_words(argument(call, "match", 2)).ok_or("`match` is not a list of commands")?,
        not_matching: example_words(argument(call, "not_match", 3))
            .ok_or("`not_match` is not a list of commands")?,
        pattern,
        verdict,
        source: source.clone(),
    };
    let commands = combinations(&prefix.pattern).ok_or(format!(
        "cannot be read, line {}: it stands for more than {MAX_COMMANDS} commands",
        call.line
    ))?;
    let mut rules = Vec::new();
    for words in commands {
        rules.extend(command_rule(verdict, &words, &source, policy).map(|rule| rule.because(reason.clone())));
    }
    prefixes.push(prefix);
    Ok(rules)
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
fn command_rule(
    verdict: Verdict,
    words: &[String],
    source: &RuleSource,
    policy: &mut HostPolicy,
) -> Option<PolicyRule> {
    let is_plain = |word: &String| {
        !word.is_empty() && word.chars().all(|c| !c.is_whitespace() && !"*?[]{}\"'\\$`<>()#;&|".contains(c))
    };
    let program = words.first()?;
    let name = program.rsplit('/').next().unwrap_or(program);
    let plain = words.iter().take_while(|word| is_plain(word)).count();
    if verdict == Verdict::Allow && (plain < words.len() || name.len() < program.len()) {
        let reason = if plain < words.len() {
            "a word with special characters cannot be part of `vouch`"
        } else {
            "`vouch` has no paths of programs"
        };
        policy.leave_out(source, reason);
        return None;
    }
    if name.is_empty() || name.starts_with('-') || plain == 0 {
        policy.leave_out(source, "the name of the program has special characters");
        return None;
    }
    // A word with special characters becomes a wildcard.
    let kept = words.iter().skip(1).map(|word| if is_plain(word) { word.as_str() } else { "*" });
    let kept: Vec<&str> = std::iter::once(name).chain(kept).collect();
    let text = kept.join(" ");
    let mut rule =
        PolicyRule::new(verdict, Subject::Command(CommandPattern::prefix(text.as_str())), source.clone());
    if verdict != Verdict::Allow {
        rule = rule.stricter(Some(command::PARSED));
    }
    if plain < words.len() {
        rule = rule.stricter(Some(format!("Midrail compares only `{text}`")));
    }
    if name.len() < program.len() {
        rule = rule.stricter(Some(format!("Midrail does not compare the folder of `{name}`")));
    }
    if verdict != Verdict::Allow && kept.iter().skip(1).any(|word| word.starts_with('-')) {
        rule = rule.stricter(Some("Midrail finds an option in any place"));
    }
    Some(rule)
}

fn network_rule(call: &Call, source: RuleSource) -> Result<PolicyRule, String> {
    let host = text_argument(call, "host", 0)?.ok_or("`host` is missing")?;
    if host.trim().is_empty() || host.contains(['*', '/', ' ']) {
        return Err("`host` is a name without wildcards".to_owned());
    }
    let verdict = match text_argument(call, "decision", 2)?.as_deref() {
        Some("allow") => Verdict::Allow,
        Some("prompt") => Verdict::Ask,
        Some("deny" | "forbidden") => Verdict::Deny,
        _ => return Err("`decision` is one of allow, prompt, deny".to_owned()),
    };
    let strict =
        (verdict != Verdict::Allow).then_some("Midrail applies it to every protocol and to subdomains");
    let rule = PolicyRule::new(verdict, Subject::Host(host.trim().to_lowercase()), source);
    Ok(rule.because(text_argument(call, "justification", 3)?).stricter(strict))
}

/// The words of examples, which are lists of words or texts.
fn example_words(examples: Option<&Literal>) -> Option<Vec<Vec<String>>> {
    let Some(examples) = examples else { return Some(Vec::new()) };
    let words = |example: &Literal| match example {
        Literal::Text(text) => shell_words::split(text),
        Literal::List(words) => words.iter().map(|word| word.text().map(str::to_owned)).collect(),
        Literal::Other(_) => None,
    };
    examples.list()?.iter().map(words).collect()
}

/// Examples as tests. An example that does not hold makes Codex reject the file.
fn examples(prefixes: &[PrefixRule], policy: &mut HostPolicy) {
    for rule in prefixes {
        for (words, should) in rule
            .matching
            .iter()
            .map(|words| (words, true))
            .chain(rule.not_matching.iter().map(|words| (words, false)))
        {
            let line = shell_words::join(words);
            if rule.matches(words) != should {
                let word = if should { "match" } else { "not_match" };
                policy.is_dead(
                    &rule.source,
                    format!("Codex rejects the file: `{word}` does not hold for `{line}`"),
                );
                continue;
            }
            let verdict = prefixes.iter().filter(|rule| rule.matches(words)).map(|rule| rule.verdict).max();
            let example = Example { command: line, verdict };
            if !words.is_empty() && !policy.examples.contains(&example) {
                policy.examples.push(example);
            }
        }
    }
}

/// A rule in the format of Codex. `None`: it cannot be expressed.
pub(super) fn write(verdict: Verdict, pattern: &CommandPattern, reason: Option<&str>) -> Option<String> {
    if pattern.words.contains('*') || operator(&pattern.words).is_some() || pattern.is_exact {
        return None;
    }
    let words: Vec<String> = shell_words::split(&pattern.words)?.iter().map(|word| quoted(word)).collect();
    let decision = match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "prompt",
        Verdict::Deny => "forbidden",
    };
    let reason = reason.map(|reason| format!(", justification = {}", quoted(reason))).unwrap_or_default();
    Some(format!("prefix_rule(pattern = [{}], decision = \"{decision}\"{reason})", words.join(", ")))
}

/// A text in the syntax of Starlark.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
