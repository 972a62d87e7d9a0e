//! Gemini CLI.

use midrail::Effect;
use midrail_adapters::policy::FileScope;

use crate::world::{Sample, check, decide, engine, file, import, policy, rules};

const HOST: &str = "gemini";

pub(crate) const SAMPLES: &[Sample] = &[
    Sample {
        name: "deny some commands, allow others",
        text: "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"git push\"\ndecision = \"deny\"\npriority = 200\n\n[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = [\"git\", \"npm test\"]\ndecision = \"allow\"\npriority = 100\n",
        calls: &[
            ("git push origin x", "deny"),
            ("git status", "allow"),
            ("npm test", "allow"),
            ("npm publish", "-"),
        ],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "a higher priority makes an exception",
        text: "[[rule]]\ntoolName = \"run_shell_command\"\ndecision = \"deny\"\npriority = 10\n\n[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = [\"ls\", \"git status\"]\ndecision = \"allow\"\npriority = 500\n",
        calls: &[
            ("ls -la", "allow"),
            ("git status", "allow"),
            ("git push", "deny"),
            ("ls; rm -rf x", "deny"),
            ("ls $(rm x)", "deny"),
            ("lsof", "deny"),
        ],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "a rule that never decides",
        text: "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"rm\"\ndecision = \"deny\"\npriority = 1\n\n[[rule]]\ntoolName = \"run_shell_command\"\ndecision = \"allow\"\npriority = 900\n",
        calls: &[("rm x", "allow")],
        left_out: 0,
        dead: 1,
    },
    Sample {
        name: "regular expressions",
        text: "[[rule]]\ntoolName = \"run_shell_command\"\ncommandRegex = \"(curl|wget) .*\\\\.sh\"\ndecision = \"deny\"\npriority = 300\ndenyMessage = \"No scripts from the network.\"\n\n[[rule]]\ntoolName = \"run_shell_command\"\ncommandRegex = \"^(?!git).*\"\ndecision = \"deny\"\npriority = 1\n",
        calls: &[("curl https://x.example/a.sh", "deny"), ("wget -q x/install.sh", "deny"), ("curl x", "-")],
        left_out: 1,
        dead: 0,
    },
    Sample {
        name: "tools of MCP servers",
        text: "[[rule]]\nmcpName = \"prod\"\ntoolName = \"*\"\ndecision = \"deny\"\npriority = 500\n\n[[rule]]\nmcpName = \"github\"\ntoolName = [\"create_issue\", \"close_issue\"]\ndecision = \"ask_user\"\npriority = 100\n\n[[rule]]\ntoolName = \"docs__search\"\ndecision = \"allow\"\npriority = 100\n",
        calls: &[
            ("Tool mcp__prod__query", "deny"),
            ("Tool mcp__github__create_issue", "ask"),
            ("Tool mcp__github__list_issues", "-"),
            ("Tool mcp__docs__search", "allow"),
        ],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "modes",
        text: "[[rule]]\ntoolName = \"write_file\"\ndecision = \"deny\"\npriority = 100\nmodes = [\"plan\"]\n\n[[rule]]\ntoolName = \"replace\"\ndecision = \"allow\"\npriority = 100\nmodes = [\"autoEdit\"]\n",
        calls: &[("Tool write_file {\"file_path\": \"a\"}", "-!")],
        left_out: 1,
        dead: 0,
    },
    Sample {
        name: "ask by default",
        text: "[[rule]]\ntoolName = \"*\"\ndecision = \"ask_user\"\npriority = 0\n\n[[rule]]\ntoolName = \"read_file\"\ndecision = \"allow\"\npriority = 50\n\n[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"docker\"\ndecision = \"ask_user\"\npriority = 60\n",
        calls: &[("docker ps", "ask"), ("Read a", "allow"), ("ls", "-")],
        left_out: 1,
        dead: 0,
    },
    Sample {
        name: "rules that Gemini rejects",
        text: "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"a\"\ndecision = \"block\"\n\n[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"b\"\ndecision = \"deny\"\npriority = 1000\n\n[[rule]]\ntoolName = \"read_file\"\ncommandPrefix = \"c\"\ndecision = \"deny\"\n",
        calls: &[("a", "-"), ("b", "-"), ("c", "-")],
        left_out: 0,
        dead: 3,
    },
    Sample {
        name: "patterns on arguments",
        text: "[[rule]]\ntoolName = \"run_shell_command\"\nargsPattern = '\"command\":\"git push'\ndecision = \"deny\"\npriority = 100\n\n[[rule]]\ntoolName = \"write_file\"\nargsPattern = '\"file_path\":\".*\\.env\"'\ndecision = \"deny\"\npriority = 100\n",
        calls: &[("git push", "deny"), ("git pull", "-")],
        left_out: 1,
        dead: 0,
    },
];

#[test]
fn imported_rules_decide_like_gemini_or_more_strictly() {
    assert!(SAMPLES.len() >= 8);
    check(HOST, SAMPLES);
}

/// The tier decides before the priority.
#[test]
fn the_tier_decides_first() {
    let rule = |decision: &str, priority: u32| {
        format!(
            "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"make\"\ndecision = \"{decision}\"\npriority = {priority}\n"
        )
    };
    let imported = policy(HOST).import(&[
        file("admin", FileScope::Managed, &rule("deny", 1)),
        file("project", FileScope::Project, &rule("allow", 999)),
    ]);
    assert_eq!(imported.dead.len(), 1);
    assert!(decide(&engine(&imported.yaml), "make") >= Effect::Block);
    let imported = policy(HOST).import(&[
        file("project", FileScope::Project, &rule("deny", 999)),
        file("user", FileScope::User, &rule("allow", 1)),
    ]);
    assert_eq!(rules(&imported.dead).len(), 1);
    assert!(imported.pack.get("guardrails").is_none(), "{}", imported.yaml);
}

#[test]
fn invalid_files_are_left_out_with_a_line() {
    let imported = import(HOST, "[[rule]]\ntoolName = \n");
    assert_eq!((imported.left_out.len(), imported.left_out[0].source.line), (1, 2));
    let imported = import(HOST, "[safety]\nx = 1\n");
    assert_eq!(rules(&imported.left_out), ["safety"]);
}
