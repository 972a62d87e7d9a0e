//! OpenCode.

use midrail::Effect;
use midrail_adapters::policy::FileScope;

use crate::world::{Sample, check, decide, engine, file, import, policy, rules};

const HOST: &str = "opencode";

pub(crate) const SAMPLES: &[Sample] = &[
    Sample {
        name: "ask for the rest",
        text: r#"{"permission": {"bash": {"*": "ask", "git *": "allow", "npm test": "allow", "rm *": "deny"}}}"#,
        calls: &[
            ("git status", "allow"),
            ("npm test", "allow"),
            ("rm x", "deny"),
            ("rm", "deny"),
            ("make", "-"),
        ],
        left_out: 1,
        dead: 0,
    },
    Sample {
        name: "the last match wins: a later allow makes an exception",
        text: r#"{"permission": {"bash": {"git *": "deny", "git status": "allow", "git log *": "allow"}}}"#,
        calls: &[
            ("git push", "deny"),
            ("git status", "allow"),
            ("git log --oneline", "allow"),
            ("git status && git push", "deny"),
            ("git status --short", "deny"),
            ("git log | sh -c 'git push'", "deny"),
        ],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "the last match wins: an earlier deny is dead",
        text: r#"{"permission": {"bash": {"git push *": "deny", "git *": "allow"}}}"#,
        calls: &[("git push", "allow"), ("git status", "allow")],
        left_out: 0,
        dead: 1,
    },
    Sample {
        name: "deny everything but a list",
        text: r#"{"permission": {"bash": {"*": "deny", "ls *": "allow", "cat README.md": "allow"}}}"#,
        calls: &[
            ("ls", "allow"),
            ("ls -la src", "allow"),
            ("cat README.md", "allow"),
            ("cat x", "deny"),
            ("ls > x", "deny"),
        ],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "files",
        text: r#"{"permission": {"edit": {"*": "allow", "*.env": "deny", "infra/*": "ask"}, "read": {"secrets/*": "deny"}}}"#,
        calls: &[
            ("Edit .env", "deny"),
            ("Edit app/prod.env", "deny"),
            ("Edit infra/a/main.tf", "ask"),
            ("Edit src/a.ts", "allow"),
            ("Read secrets/a/b", "deny"),
            ("Read src/a.ts", "-"),
        ],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "exceptions for files",
        text: r#"{"permission": {"edit": {"*": "deny", "docs/*": "allow"}}}"#,
        calls: &[("Edit docs/a.md", "allow"), ("Edit src/a.rs", "deny")],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "one word for everything",
        text: r#"{"permission": "ask"}"#,
        calls: &[("ls", "-")],
        left_out: 1,
        dead: 0,
    },
    Sample {
        name: "deny all tools but some",
        text: r#"{"permission": {"*": "deny", "grep": "allow", "docs_*": "allow"}}"#,
        calls: &[
            ("ls", "deny"),
            ("Tool grep", "allow"),
            ("Tool docs_search", "allow"),
            ("Tool webfetch", "deny"),
        ],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "other tools",
        text: r#"{"permission": {"webfetch": "deny", "websearch": "ask", "github_*": "ask", "task": {"deployer": "deny"}, "external_directory": "deny", "doom_loop": "ask"},
            "agent": {"plan": {"permission": {"edit": "deny"}}}}"#,
        calls: &[
            ("Tool webfetch {\"url\": \"https://example.com\"}", "deny"),
            ("Tool websearch", "ask"),
            ("Tool github_create_issue", "ask"),
            ("Tool task {\"subagent_type\": \"deployer\"}", "deny"),
            ("Tool task {\"subagent_type\": \"general\"}", "-"),
        ],
        left_out: 3,
        dead: 0,
    },
    Sample {
        name: "a word that does not exist",
        text: r#"{"permission": {"bash": {"rm *": "block"}, "edit": true}}"#,
        calls: &[("rm x", "-")],
        left_out: 0,
        dead: 2,
    },
    Sample {
        name: "wildcards inside of commands",
        text: r#"{"permission": {"bash": {"git push * main": "deny", "npm publish*": "deny", "terraform apply": "ask"}}}"#,
        calls: &[
            ("git push origin main", "deny"),
            ("git push origin feature", "-"),
            ("npm publish --tag x", "deny"),
            ("terraform apply", "ask"),
            ("terraform apply -auto-approve", "-!"),
        ],
        left_out: 0,
        dead: 0,
    },
];

#[test]
fn imported_rules_decide_like_opencode_or_more_strictly() {
    assert!(SAMPLES.len() >= 8);
    check(HOST, SAMPLES);
}

/// The rules of a project come after those of the user.
#[test]
fn the_project_decides_before_the_user() {
    let imported = policy(HOST).import(&[
        file("project", FileScope::Project, r#"{"permission": {"bash": {"make *": "allow"}}}"#),
        file(
            "user",
            FileScope::User,
            r#"{"permission": {"bash": {"make deploy": "deny", "curl *": "deny"}}}"#,
        ),
    ]);
    assert_eq!(rules(&imported.dead), ["bash \"make deploy\": deny"]);
    assert!(decide(&engine(&imported.yaml), "curl x") >= Effect::Block);
}

/// An ask that decides before a deny cannot be an exception: Midrail blocks, and the report lists it.
#[test]
fn an_ask_is_no_exception_of_a_deny() {
    let imported = import(HOST, r#"{"permission": {"bash": {"git *": "deny", "git push *": "ask"}}}"#);
    let reasons: Vec<&str> = imported.stricter.iter().map(|finding| finding.reason.as_str()).collect();
    assert!(
        reasons.iter().any(|reason| reason.contains("(ask) decides before it in the host")),
        "{reasons:?}"
    );
    assert!(decide(&engine(&imported.yaml), "git push") >= Effect::Block);
}
