//! Cursor.

use midrail_adapters::policy::FileScope;

use crate::world::{Sample, check, file, import, policy, rules};

const HOST: &str = "cursor";

pub(crate) const SAMPLES: &[Sample] = &[
    Sample {
        name: "programs",
        text: r#"{"permissions": {"allow": ["Shell(ls)", "Shell(git)"], "deny": ["Shell(rm)", "Shell(curl:*)"]}}"#,
        calls: &[("rm x", "deny"), ("curl x", "deny"), ("git push", "allow"), ("ls", "allow"), ("make", "-")],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "arguments",
        text: r#"{"permissions": {"deny": ["Shell(git:push*)", "Shell(npm:publish *)"], "allow": ["Shell(npm:run test)"]}}"#,
        calls: &[
            ("git push origin x", "deny"),
            ("git status", "-"),
            ("npm publish", "deny"),
            ("npm run test", "allow"),
        ],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "files",
        text: r#"{"permissions": {"allow": ["Read(src/**)", "Write(docs/**)"], "deny": ["Read(.env*)", "Write(**/*.key)"]}}"#,
        calls: &[
            ("Read .env.local", "deny"),
            ("Edit a/b/server.key", "deny"),
            ("Read src/a.ts", "allow"),
            ("Edit docs/a.md", "allow"),
        ],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "hosts and MCP",
        text: r#"{"permissions": {"allow": ["WebFetch(docs.rs)", "Mcp(github:get_issue)"], "deny": ["WebFetch(*.evil.example)", "Mcp(prod:*)"]}}"#,
        calls: &[
            ("Fetch https://a.evil.example/x", "deny"),
            ("Fetch https://docs.rs/x", "allow"),
            ("Tool mcp__prod__query", "deny"),
            ("Tool mcp__github__get_issue", "allow"),
        ],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "deny decides before allow",
        text: r#"{"permissions": {"allow": ["Shell(docker:ps)", "Shell(docker)"], "deny": ["Shell(docker)"]}}"#,
        calls: &[("docker ps", "deny")],
        left_out: 0,
        dead: 2,
    },
    Sample {
        name: "more than the first word",
        text: r#"{"permissions": {"allow": ["Shell(npm test)"], "deny": ["Shell(git push)"]}}"#,
        calls: &[("git push", "-!"), ("git status", "-"), ("npm test", "-")],
        left_out: 0,
        dead: 1,
    },
    Sample {
        name: "lists of the editor",
        text: r#"{"terminalAllowlist": ["git status", "cargo test", "ls && pwd"], "mcpAllowlist": ["docs:search", "github:*"], "autoRun": {"mode": "allowlist"}}"#,
        calls: &[("git status", "allow"), ("Tool mcp__github__list", "allow")],
        left_out: 1,
        dead: 1,
    },
    Sample {
        name: "broken rules",
        text: r#"{"permissions": {"deny": ["Shell", "Shell()", "Bash(rm)", 3]}}"#,
        calls: &[("rm x", "-")],
        left_out: 1,
        dead: 3,
    },
];

#[test]
fn imported_rules_decide_like_cursor_or_more_strictly() {
    assert!(SAMPLES.len() >= 8);
    check(HOST, SAMPLES);
}

/// The list of the project replaces that of the user; denies of both are kept.
#[test]
fn deeper_files_replace_the_allowed_calls() {
    let imported = policy(HOST).import(&[
        file("project", FileScope::Project, r#"{"permissions": {"allow": ["Shell(ls)"]}}"#),
        file("user", FileScope::User, r#"{"permissions": {"allow": ["Shell(git)"], "deny": ["Shell(rm)"]}}"#),
    ]);
    assert_eq!(rules(&imported.dead), ["Shell(git)"]);
    assert_eq!(imported.pack["vouch"]["commands"], serde_json::json!(["ls"]));
    assert_eq!(imported.pack["guardrails"][0]["command"], "rm");
}

#[test]
fn lists_of_the_editor_are_vouched_for() {
    let imported = import(HOST, SAMPLES[6].text);
    let vouch = serde_json::json!({"commands": ["git status", "cargo test"], "tools": ["mcp__docs__search", "mcp__github__*"]});
    assert_eq!(imported.pack["vouch"], vouch);
}
