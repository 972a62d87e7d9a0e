//! Claude Code.

use midrail_adapters::policy::FileScope;

use crate::world::{Sample, check, decide, engine, file, import, policy, rules};

const HOST: &str = "claude-code";

pub(crate) const SAMPLES: &[Sample] = &[
    Sample {
        name: "a web project that never pushes",
        text: r#"{"permissions": {"allow": ["Bash(npm run test:*)", "Bash(npm run build)", "Bash(git diff:*)"],
            "deny": ["Bash(git push:*)", "Bash(npm publish:*)"]}}"#,
        calls: &[
            ("git push", "deny"),
            ("git push origin main", "deny"),
            ("git pushx", "-"),
            ("npm publish --access public", "deny"),
            ("npm run test:unit", "-"),
            ("npm run build", "allow"),
            ("git diff HEAD~1", "allow"),
            ("npm test && git push", "deny"),
        ],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "credentials may be neither read nor written",
        text: r#"{"permissions": {"deny": ["Read(./.env)", "Read(./.env.*)", "Read(./secrets/**)", "Read(~/.ssh/**)", "Edit(.github/workflows/**)"]}}"#,
        calls: &[
            ("Read .env", "deny"),
            ("Read .env.local", "deny"),
            ("Read secrets/prod/key.json", "deny"),
            ("cat .env", "deny"),
            ("Read ~/.ssh/id_rsa", "deny"),
            ("Edit .github/workflows/ci.yml", "deny"),
            ("Read .github/workflows/ci.yml", "-"),
            ("Read src/main.rs", "-"),
        ],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "ask before the network, deny some programs",
        text: r#"{"permissions": {"ask": ["Bash(curl:*)", "Bash(wget *)", "WebFetch"], "deny": ["Bash(nc:*)", "Bash(rm -rf:*)"],
            "defaultMode": "acceptEdits"}}"#,
        calls: &[
            ("curl https://example.com", "ask"),
            ("wget -q https://example.com/x", "ask"),
            ("nc -l 80", "deny"),
            ("rm -rf build", "deny"),
            ("rm build/a.o", "-"),
            ("Fetch https://example.com/a", "ask"),
            ("ls", "-"),
        ],
        left_out: 1,
        dead: 0,
    },
    Sample {
        name: "an allow makes no exception to a deny",
        text: r#"{"permissions": {"deny": ["Bash(git push:*)"], "allow": ["Bash(git push origin feature:*)", "Bash(git:*)"]}}"#,
        calls: &[("git push origin feature", "deny"), ("git status", "allow")],
        left_out: 0,
        dead: 1,
    },
    Sample {
        name: "rules that are accepted and never evaluated",
        text: r#"{"permissions": {"allow": ["Write(src/**)", "MultiEdit(docs/**)", "mcp__*", "Bash(command:npm test)"],
            "deny": ["NotebookEdit(*.ipynb)", "Glob(secrets/**)", "Bash(cd /tmp && rm:*)"], "defaultMode": "acceptEdit"}}"#,
        calls: &[("Edit src/a.rs", "-"), ("npm test", "-"), ("Edit a.ipynb", "-")],
        left_out: 0,
        dead: 8,
    },
    Sample {
        name: "tools of MCP servers",
        text: r#"{"permissions": {"allow": ["mcp__github__get_issue", "mcp__docs"], "ask": ["mcp__github__create_issue"],
            "deny": ["mcp__github__delete_repo", "mcp__prod__*", "mcp__billing"]}}"#,
        calls: &[
            ("Tool mcp__github__delete_repo", "deny"),
            ("Tool mcp__prod__query", "deny"),
            ("Tool mcp__billing__refund", "deny"),
            ("Tool mcp__github__create_issue", "ask"),
            ("Tool mcp__github__get_issue", "allow"),
            ("Tool mcp__docs__search", "allow"),
        ],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "wildcards inside of commands",
        text: r#"{"permissions": {"deny": ["Bash(git * main)", "Bash(* --force)", "Bash(npm i*)"], "allow": ["Bash(git * --stat)"]}}"#,
        calls: &[
            ("git push origin main", "deny"),
            ("git checkout main", "deny"),
            ("git status", "-"),
            ("cargo publish --force", "deny"),
            ("npm install left-pad", "deny"),
            ("npm i", "deny"),
            ("npm test", "-"),
        ],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "whole tools",
        text: r#"{"permissions": {"deny": ["WebFetch", "WebSearch", "NotebookEdit"], "ask": ["Edit"], "allow": ["Read", "Glob", "Grep"]}}"#,
        calls: &[
            ("Fetch https://example.com", "deny"),
            ("Tool WebSearch", "deny"),
            ("Edit a.txt", "ask"),
            ("Read a.txt", "allow"),
            ("Tool Grep", "allow"),
        ],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "no shell at all",
        text: r#"{"permissions": {"deny": ["Bash"], "allow": ["Bash(ls:*)", "Read"]}}"#,
        calls: &[("ls", "deny"), ("cargo test", "deny"), ("Read a", "allow")],
        left_out: 0,
        dead: 1,
    },
    Sample {
        name: "domains",
        text: r#"{"permissions": {"allow": ["WebFetch(domain:docs.rs)"], "ask": ["WebFetch(domain:github.com)"],
            "deny": ["WebFetch(domain:pastebin.com)", "WebFetch(https://x.example/*)"]}}"#,
        calls: &[
            ("Fetch https://pastebin.com/raw/1", "deny"),
            ("Fetch https://github.com/a/b", "ask"),
            ("Fetch https://docs.rs/serde", "allow"),
            ("Fetch https://notpastebin.com/", "-"),
        ],
        left_out: 0,
        dead: 1,
    },
    Sample {
        name: "agents and skills",
        text: r#"{"permissions": {"deny": ["Agent(deployer)", "Skill(release)"], "allow": ["Agent(explorer)"]}}"#,
        calls: &[
            (r#"Tool Agent {"subagent_type": "deployer"}"#, "deny"),
            (r#"Tool Agent {"subagent_type": "explorer"}"#, "allow"),
            (r#"Tool Skill {"skill": "release"}"#, "deny"),
            (r#"Tool Skill {"skill": "review"}"#, "-"),
        ],
        left_out: 1,
        dead: 0,
    },
    Sample {
        name: "comments and a trailing comma",
        text: "{\n  // the team's rules\n  \"permissions\": {\n    \"deny\": [\n      \"Bash(terraform apply:*)\", /* prod */\n      \"Bash(kubectl delete *)\",\n    ],\n  },\n}\n",
        calls: &[
            ("terraform apply -auto-approve", "deny"),
            ("terraform plan", "-"),
            ("kubectl delete pod x", "deny"),
            ("kubectl get pods", "-"),
        ],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "years of yes, don't ask again",
        text: r#"{"permissions": {"allow": ["Bash(ls:*)", "Bash(cat:*)", "Bash(grep:*)", "Bash(find:*)", "Bash(mkdir:*)",
            "Bash(cargo build:*)", "Bash(cargo test:*)", "Bash(cargo clippy --all-targets)", "Bash(git add:*)", "Bash(git commit -m \"fix: typo\")",
            "Bash(ls:*)", "Bash(python3 -c \"print(1)\")", "WebFetch(domain:crates.io)", "Bash(for f in a b; do echo $f; done)"]}}"#,
        calls: &[("ls -la", "allow"), ("cargo clippy --all-targets", "allow"), ("rm x", "-")],
        left_out: 1,
        dead: 1,
    },
    Sample {
        name: "an administrator's list",
        text: r#"{"permissions": {"deny": ["Bash(sudo:*)", "Bash(su *)", "Bash(chmod 777:*)", "Bash(shutdown:*)", "Read(//etc/shadow)", "Edit(//etc/**)"],
            "disableBypassPermissionsMode": "disable", "additionalDirectories": ["../shared"]}}"#,
        calls: &[
            ("sudo ls", "deny"),
            ("su - postgres", "deny"),
            ("chmod 777 a.sh", "deny"),
            ("chmod 755 a.sh", "-"),
            ("Read /etc/shadow", "deny"),
            ("Edit /etc/hosts", "deny"),
            ("Read /etc/hosts", "-"),
        ],
        left_out: 2,
        dead: 0,
    },
    Sample {
        name: "an exact deny is taken with arguments, too",
        text: r#"{"permissions": {"deny": ["Bash(make deploy)"], "ask": ["Bash(docker compose up)"]}}"#,
        calls: &[
            ("make deploy", "deny"),
            ("make deploy ENV=prod", "-!"),
            ("docker compose up", "ask"),
            ("docker compose down", "-"),
            ("make", "-"),
        ],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "shells and wrappers themselves",
        text: r#"{"permissions": {"deny": ["Bash(sh -c:*)", "Bash(eval:*)", "Bash(xargs:*)", "Bash(env:*)", "Bash(python3 -c:*)", "Bash(node -e *)", "Bash(nohup *)"], "ask": ["Bash(bash:*)"]}}"#,
        calls: &[
            ("sh -c 'ls'", "deny"),
            ("eval ls", "deny"),
            ("find . | xargs ls", "deny"),
            ("env ls", "deny"),
            ("python3 -c 'print(1)'", "deny"),
            ("python3 a.py", "-"),
            ("node -e '1'", "deny"),
            ("nohup ls", "deny"),
            ("bash a.sh", "ask"),
            ("ls", "-"),
        ],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "broken rules",
        text: r#"{"permissions": {"deny": ["Bash(rm", "", "Bash(git:* push)", 7, "Bash()"], "allow": "Bash(ls)"}}"#,
        calls: &[("rm x", "deny"), ("ls", "deny")],
        left_out: 2,
        dead: 3,
    },
    Sample {
        name: "no permissions",
        text: r#"{"model": "opus", "hooks": {}}"#,
        calls: &[("rm x", "-")],
        left_out: 0,
        dead: 0,
    },
];

#[test]
fn imported_rules_decide_like_claude_code_or_more_strictly() {
    assert!(SAMPLES.len() >= 15);
    check(HOST, SAMPLES);
}

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
