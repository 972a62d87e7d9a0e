//! Claude Code.

use midrail_adapters::policy::FileScope;

use crate::world::{decide, engine, file, import, policy, rules};

const HOST: &str = "claude-code";

/// The parsed form of a command counts, not its spelling.
#[test]
fn spellings_and_wrappers_of_denied_commands_are_blocked() {
    let imported = import(HOST, r#"{"permissions": {"deny": ["Bash(rm *)"]}}"#);
    let engine = engine(&imported.yaml);
    for command in ["rm a", "/bin/rm a", "env rm a", "sh -c 'rm a'", "timeout 5 rm a", "true && rm a"] {
        assert!(decide(&engine, command) >= midrail::Effect::Block, "{command}");
    }
    assert_eq!(rules(&imported.stricter), ["Bash(rm *)"]);
}

/// A line sets variables before its command, and a pattern has none.
#[test]
fn variables_in_front_of_a_denied_command_are_dropped() {
    let rule = r#"{"permissions": {"deny": ["Bash(FOO=1 BAR=2 make:*)", "Bash(CI=true npm publish)"]}}"#;
    let imported = import(HOST, rule);
    let engine = engine(&imported.yaml);
    for command in ["FOO=1 make x", "FOO=1 BAR=2 make", "make x", "CI=true npm publish", "npm publish"] {
        assert!(decide(&engine, command) >= midrail::Effect::Block, "{command}");
    }
    let stricter =
        |finding: &midrail_adapters::policy::Finding| finding.reason.contains("variables that a line sets");
    assert!(
        imported.stricter.len() == 2 && imported.stricter.iter().all(stricter),
        "{:?}",
        imported.stricter
    );
}

#[test]
fn allow_rules_become_vouch_and_exact_ones_stay_exact() {
    let text = r#"{"permissions": {"allow": ["Bash(cargo test:*)", "Bash(npm run build)", "Read(src/**)", "Edit(docs/**)", "WebFetch(domain:docs.rs)", "mcp__docs__get", "Bash(git * --stat)"]}}"#;
    let imported = import(HOST, text);
    let vouch = serde_json::json!({
        "commands": ["cargo test", {"exact": "npm run build"}, {"exact": "git * --stat"}],
        "reads": ["src/**"], "edits": ["docs/**"], "hosts": ["docs.rs"], "tools": ["mcp__docs__get"],
    });
    assert_eq!(imported.pack["vouch"], vouch);
    assert_eq!(imported.taken.len(), 7);
    assert!(imported.pack.get("guardrails").is_none());
}

/// Lists of all files are joined, and a deny of any of them decides.
#[test]
fn files_of_all_scopes_are_joined() {
    let imported = policy(HOST).import(&[
        file("managed", FileScope::Managed, r#"{"permissions": {"deny": ["Bash(curl:*)"]}}"#),
        file("local", FileScope::Local, r#"{"permissions": {"allow": ["Bash(curl https://a.example:*)", "Bash(make:*)"]}}"#),
        file("user", FileScope::User, r#"{"permissions": {"deny": ["Read(/.env)", "Read(/notes/x)"], "ask": ["Bash(make install:*)"]}}"#),
    ]);
    assert_eq!(rules(&imported.dead), ["Read(/.env)", "Read(/notes/x)", "Bash(curl https://a.example:*)"]);
    assert!(imported.dead[0].reason.contains("~/.claude/.env"), "{:?}", imported.dead);
    let engine = engine(&imported.yaml);
    assert!(decide(&engine, "curl https://a.example") >= midrail::Effect::Block);
    assert_eq!(decide(&engine, "make install"), midrail::Effect::Escalate);
    assert_eq!(decide(&engine, "make"), midrail::Effect::Allow);
}

/// A rule knows its file and line.
#[test]
fn reports_name_the_place_of_a_rule() {
    let imported = import(
        HOST,
        "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(ls:*)\",\n      \"Write(a)\"\n    ]\n  }\n}\n",
    );
    assert_eq!((imported.taken[0].line, imported.dead[0].source.line), (4, 5));
    assert_eq!(imported.dead[0].source.file, "settings");
    assert!(imported.dead[0].reason.contains("`Edit(a)`"));
}

#[test]
fn files_that_are_not_json_are_left_out() {
    for text in ["{\"permissions\": ", "[1]", "{\"permissions\": 3}"] {
        let imported = import(HOST, text);
        assert_eq!((imported.left_out.len(), imported.taken.len()), (1, 0), "{text}");
    }
    assert!(import(HOST, "").left_out.is_empty());
}
