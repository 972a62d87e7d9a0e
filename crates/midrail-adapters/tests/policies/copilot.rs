//! Copilot CLI and VS Code.

use crate::world::{Sample, check, import, rules};

const HOST: &str = "copilot";

pub(crate) const SAMPLES: &[Sample] = &[
    Sample {
        name: "flags in a script",
        text: "#!/bin/sh\nexec copilot --allow-tool 'shell(git:*)' \\\n  --deny-tool 'shell(git push)' --deny-tool 'shell(rm)' \"$@\"\n",
        calls: &[("git push origin x", "deny"), ("rm x", "deny"), ("git status", "allow"), ("make", "-")],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "an alias",
        text: "alias co=\"copilot --allow-all-tools --deny-tool='shell(sudo:*)' --deny-tool=write\"\n",
        calls: &[("sudo ls", "deny"), ("Edit a.txt", "deny"), ("ls", "-")],
        left_out: 1,
        dead: 0,
    },
    Sample {
        name: "servers",
        text: "copilot --allow-tool 'docs(search)' --deny-tool 'prod' --deny-tool 'github(delete_repo)'\n",
        calls: &[
            ("Tool prod-query", "deny"),
            ("Tool mcp__prod__query", "deny"),
            ("Tool github-delete_repo", "deny"),
            ("Tool github-list", "-"),
            ("Tool docs-search", "allow"),
        ],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "several values of one flag",
        text: "copilot -p go --deny-tool 'shell(npm publish)' 'shell(cargo publish)' --model x\n",
        calls: &[("npm publish", "deny"), ("cargo publish", "deny"), ("cargo test", "-")],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "URLs",
        text: "copilot --allow-url https://docs.rs --deny-url https://pastebin.com/raw\n",
        calls: &[("Fetch https://pastebin.com/x", "-!"), ("Fetch https://docs.rs/x", "allow")],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "approved commands of VS Code",
        text: r#"{"editor.tabSize": 2, "chat.tools.terminal.autoApprove": {"git status": true, "rm": false, "/^git (push|reset)/": false, "/^npm test/": true, "del": null, "curl": {"approve": false, "matchCommandLine": true}}}"#,
        calls: &[
            ("rm x", "ask"),
            ("git push", "ask"),
            ("git reset --hard", "ask"),
            ("git status", "allow"),
            ("curl x", "ask"),
        ],
        left_out: 2,
        dead: 0,
    },
    Sample {
        name: "an approved command that a denied one includes",
        text: r#"{"chat.tools.terminal.autoApprove": {"docker": false, "docker ps": true}}"#,
        calls: &[("docker ps", "ask"), ("docker run x", "ask")],
        left_out: 0,
        dead: 1,
    },
    Sample {
        name: "broken flags",
        text: "copilot --deny-tool 'shell(rm' --deny-tool 'shell(cd x && rm)' --deny-tool '(x)'\n",
        calls: &[("rm x", "-")],
        left_out: 0,
        dead: 3,
    },
];

#[test]
fn imported_rules_decide_like_copilot_or_more_strictly() {
    assert!(SAMPLES.len() >= 8);
    check(HOST, SAMPLES);
}

#[test]
fn an_exact_allow_stays_exact() {
    let imported = import(
        HOST,
        "copilot --allow-tool 'shell(npm test)' --allow-tool 'shell(ls:*)' --allow-tool shell\n",
    );
    let commands = serde_json::json!([{"exact": "npm test"}, "ls", "*"]);
    assert_eq!(imported.pack["vouch"]["commands"], commands);
    assert_eq!(imported.taken[0].rule, "--allow-tool shell(npm test)");
    assert!(rules(&imported.stricter).is_empty());
}
