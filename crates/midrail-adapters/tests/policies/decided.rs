//! The property of every import: what the host denies is blocked, and nothing that it denies is vouched for.

use midrail::Effect;
use proptest::prelude::*;
use serde_json::Value;

use crate::world::{decide, engine, import};

/// Programs and words of which commands and rules are made.
const WORDS: [&str; 12] =
    ["git", "push", "status", "npm", "test", "publish", "--force", "origin", "main", "rm", "-rf", "src"];

const COMMANDS: [&str; 40] = [
    "git push",
    "git push origin main",
    "git push --force",
    "git push --force origin main",
    "git status",
    "git status --short",
    "git log",
    "git commit -m x",
    "git",
    "npm test",
    "npm publish",
    "npm publish --tag next",
    "npm run test",
    "npm",
    "rm src",
    "rm -rf src",
    "rm -r -f src",
    "cargo test",
    "cargo publish",
    "make",
    "make deploy",
    "ls",
    "ls -la src",
    "cat src/a",
    "docker ps",
    "docker run x",
    "kubectl delete pod a",
    "kubectl get pods",
    "terraform apply",
    "terraform plan",
    "curl https://example.com",
    "python3 a.py",
    "node a.js",
    "echo main",
    "git checkout main",
    "git fetch origin",
    "git push origin feature",
    "npm install left-pad",
    "yarn publish",
    "sudo ls",
];

/// Whether a command matches a text pattern of a host: `*` anywhere, a trailing ` *` also nothing.
pub(crate) fn host_matches(pattern: &str, command: &str) -> bool {
    fn glob(pattern: &[u8], text: &[u8]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some((b'*', rest)) => (0..=text.len()).any(|at| glob(rest, &text[at..])),
            Some((c, rest)) => text.split_first().is_some_and(|(first, text)| first == c && glob(rest, text)),
        }
    }
    let bare = pattern.strip_suffix(" *").is_some_and(|bare| glob(bare.as_bytes(), command.as_bytes()));
    bare || glob(pattern.as_bytes(), command.as_bytes())
}

/// Whether the pack vouches for a command, if no guardrail objects.
pub(crate) fn is_listed(vouch: &Value, command: &str) -> bool {
    let commands = vouch["commands"].as_array().cloned().unwrap_or_default();
    commands.iter().any(|it| match it {
        Value::String(words) => host_matches(&format!("{words} *"), command) || host_matches(words, command),
        other => host_matches(other["exact"].as_str().unwrap(), command),
    })
}

/// Patterns such as `git push *`, `git * main`, `npm publish` and `*`.
fn pattern() -> impl Strategy<Value = String> {
    let word = prop_oneof![4 => proptest::sample::select(&WORDS[..]), 1 => Just("*")];
    (proptest::collection::vec(word, 1..4), any::<bool>()).prop_map(|(words, is_open)| {
        let text = words.join(" ");
        if is_open { format!("{text} *") } else { text }
    })
}

fn entries() -> impl Strategy<Value = Vec<(String, &'static str)>> {
    let entry = (pattern(), proptest::sample::select(&["deny", "ask", "allow"][..]));
    proptest::collection::vec(entry, 1..6)
}

fn commands() -> Vec<String> {
    let mut all: Vec<String> = COMMANDS.iter().map(|command| (*command).to_owned()).collect();
    all.extend(WORDS.iter().flat_map(|first| WORDS.iter().map(move |second| format!("{first} {second}"))));
    all.retain(|command| !command.starts_with('-'));
    all
}

/// Checks the property for one file, given the verdict of the host.
fn holds(
    host: &str,
    text: &str,
    verdict: impl Fn(&str) -> Option<&'static str>,
) -> Result<(), TestCaseError> {
    let imported = import(host, text);
    let engine = engine(&imported.yaml);
    for command in commands() {
        let effect = decide(&engine, &command);
        let verdict = verdict(&command);
        let is_vouched = effect == Effect::Allow && is_listed(&imported.pack["vouch"], &command);
        if verdict == Some("deny") {
            prop_assert!(effect >= Effect::Block, "{command}: {effect:?}\n{text}\n{}", imported.yaml);
        }
        prop_assert!(!(is_vouched && verdict == Some("deny")), "{command}\n{text}\n{}", imported.yaml);
        // An explicit question is never skipped either.
        prop_assert!(!(is_vouched && verdict == Some("ask")), "{command}\n{text}\n{}", imported.yaml);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    /// Deny, then ask, then allow.
    #[test]
    fn claude_code_denies_are_blocked(entries in entries()) {
        let list = |word: &str| {
            let rules = entries.iter().filter(|(_, it)| *it == word).map(|(pattern, _)| format!("\"Bash({pattern})\""));
            format!("\"{word}\": [{}]", rules.collect::<Vec<_>>().join(", "))
        };
        let text = format!("{{\"permissions\": {{{}, {}, {}}}}}", list("deny"), list("ask"), list("allow"));
        let verdict = |command: &str| {
            let is = |word: &'static str| entries.iter().any(|(pattern, it)| *it == word && host_matches(pattern, command));
            ["deny", "ask", "allow"].into_iter().find(|word| is(word))
        };
        holds("claude-code", &text, verdict)?;
    }

    /// The last match wins.
    #[test]
    fn opencode_denies_are_blocked(entries in entries()) {
        // A later entry with the same pattern replaces the earlier one.
        let entries: Vec<_> = entries.iter().enumerate()
            .filter(|(at, (pattern, _))| !entries.iter().skip(at + 1).any(|(later, _)| later == pattern))
            .map(|(_, entry)| entry.clone()).collect();
        let rules: Vec<String> = entries.iter().map(|(pattern, word)| format!("\"{pattern}\": \"{word}\"")).collect();
        let text = format!("{{\"permission\": {{\"bash\": {{{}}}}}}}", rules.join(", "));
        let verdict = |command: &str| {
            entries.iter().rev().find(|(pattern, _)| host_matches(pattern, command)).map(|(_, word)| *word)
        };
        holds("opencode", &text, verdict)?;
    }

    /// The highest priority decides.
    #[test]
    fn gemini_denies_are_blocked(entries in entries()) {
        let entries: Vec<(String, &str)> = entries.into_iter()
            .map(|(pattern, word)| (pattern.trim_end_matches(" *").to_owned(), word))
            .filter(|(pattern, _)| !pattern.contains('*')).collect();
        let rules = entries.iter().enumerate().map(|(at, (pattern, word))| {
            let word = if *word == "ask" { "ask_user" } else { word };
            format!("[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"{pattern}\"\ndecision = \"{word}\"\npriority = {}\n", 900 - at)
        });
        let text: String = rules.collect();
        let verdict = |command: &str| {
            let matches = |pattern: &str| host_matches(&format!("{pattern} *"), command);
            entries.iter().find(|(pattern, _)| matches(pattern)).map(|(_, word)| *word)
        };
        holds("gemini", &text, verdict)?;
    }

    /// The strictest match wins.
    #[test]
    fn codex_denies_are_blocked(entries in entries()) {
        let entries: Vec<(Vec<String>, &str)> = entries.into_iter()
            .map(|(pattern, word)| (pattern.split(' ').filter(|it| *it != "*").map(str::to_owned).collect::<Vec<_>>(), word))
            .filter(|(words, _)| words.first().is_some_and(|first| !first.starts_with('-'))).collect();
        let rules = entries.iter().map(|(words, word)| {
            let decision = match *word { "deny" => "forbidden", "ask" => "prompt", other => other };
            format!("prefix_rule(pattern={words:?}, decision=\"{decision}\")\n")
        });
        let text: String = rules.collect();
        let verdict = |command: &str| {
            let words: Vec<&str> = command.split(' ').collect();
            let is = |word: &str| entries.iter().any(|(own, it)| *it == word && words.len() >= own.len() && own.iter().zip(&words).all(|(a, b)| a == b));
            ["deny", "ask", "allow"].into_iter().find(|word| is(word))
        };
        holds("codex", &text, verdict)?;
    }
}
