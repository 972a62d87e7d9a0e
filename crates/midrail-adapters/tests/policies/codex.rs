//! Codex.

use crate::world::{Sample, check, decide, engine, import, rules};

const HOST: &str = "codex";

pub(crate) const SAMPLES: &[Sample] = &[
    Sample {
        name: "collected by always allow",
        text: "prefix_rule(pattern=[\"cargo\", \"test\"], decision=\"allow\")\nprefix_rule(pattern=[\"git\", \"add\"], decision=\"allow\")\nprefix_rule(pattern=[\"npm\", \"run\", \"build\"])\n",
        calls: &[
            ("cargo test --all", "allow"),
            ("git add .", "allow"),
            ("npm run build", "allow"),
            ("git push", "-"),
        ],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "alternatives and a justification",
        text: "prefix_rule(\n    pattern = [\"git\", [\"push\", \"fetch\"]],\n    decision = \"forbidden\",\n    justification = \"Ask the release manager.\",\n    match = [\"git push origin main\", [\"git\", \"fetch\"]],\n    not_match = [\"git pull\"],\n)\n",
        calls: &[("git push", "deny"), ("git fetch --all", "deny"), ("git pull", "-"), ("git pushx", "-")],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "the strictest match wins",
        text: "prefix_rule(pattern=[\"git\"], decision=\"allow\")\nprefix_rule(pattern=[\"git\", \"push\"], decision=\"prompt\")\nprefix_rule(pattern=[\"git\", \"push\", \"--force\"], decision=\"forbidden\")\n",
        calls: &[
            ("git status", "allow"),
            ("git push", "ask"),
            ("git push --force", "deny"),
            ("git push origin main", "ask"),
        ],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "an allow that a prompt includes never decides",
        text: "prefix_rule(pattern=[\"docker\"], decision=\"prompt\")\nprefix_rule(pattern=[\"docker\", \"ps\"], decision=\"allow\")\n",
        calls: &[("docker ps", "ask"), ("docker run x", "ask")],
        left_out: 0,
        dead: 1,
    },
    Sample {
        name: "comments, trailing commas and single quotes",
        text: "# Rules of the team\nprefix_rule(\n  pattern = ['rm', '-rf',], # never\n  decision = 'forbidden',\n)  # end\n",
        calls: &[("rm -rf build", "deny"), ("rm a", "-")],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "positional arguments",
        text: "prefix_rule([\"terraform\", [\"apply\", \"destroy\"]], \"forbidden\")\n",
        calls: &[
            ("terraform apply", "deny"),
            ("terraform destroy -auto-approve", "deny"),
            ("terraform plan", "-"),
        ],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "alternatives of the program",
        text: "prefix_rule(pattern=[[\"npm\", \"pnpm\", \"yarn\"], \"publish\"], decision=\"forbidden\", justification=\"CI publishes.\")\n",
        calls: &[
            ("npm publish", "deny"),
            ("pnpm publish --tag x", "deny"),
            ("yarn publish", "deny"),
            ("npm test", "-"),
        ],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "variables cannot be read",
        text: "TOOLS = [\"kubectl\", \"helm\"]\nprefix_rule(pattern=[TOOLS, \"delete\"], decision=\"forbidden\")\nprefix_rule(pattern=[\"kubectl\", \"exec\"], decision=\"prompt\")\n",
        calls: &[("kubectl exec -it x sh", "ask"), ("kubectl get pods", "-")],
        left_out: 2,
        dead: 0,
    },
    Sample {
        name: "functions and loops cannot be read",
        text: "def deny(name):\n    prefix_rule(pattern=[name], decision=\"forbidden\")\n\nfor name in [\"nc\", \"telnet\"]:\n    deny(name)\n\nprefix_rule(pattern=[\"ftp\"], decision=\"forbidden\")\n",
        calls: &[("ftp example.com", "deny"), ("ls", "-")],
        left_out: 2,
        dead: 0,
    },
    Sample {
        name: "rules for the network",
        text: "network_rule(host=\"pastebin.com\", protocol=\"https\", decision=\"deny\", justification=\"No pastes.\")\nnetwork_rule(host=\"api.github.com\", protocol=\"https\", decision=\"allow\")\nnetwork_rule(host=\"intranet.example\", protocol=\"http\", decision=\"prompt\")\n",
        calls: &[
            ("curl https://pastebin.com/raw/x", "deny"),
            ("curl https://api.github.com/user", "allow"),
            ("curl http://intranet.example/a", "ask"),
            ("curl https://example.org", "-"),
        ],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "executables of the host",
        text: "host_executable(name=\"git\", paths=[\"/usr/bin/git\"])\nprefix_rule(pattern=[\"git\", \"rebase\"], decision=\"prompt\")\n",
        calls: &[("git rebase main", "ask"), ("/usr/bin/git rebase main", "ask")],
        left_out: 1,
        dead: 0,
    },
    Sample {
        name: "a path of a program",
        text: "prefix_rule(pattern=[\"/usr/local/bin/deploy\"], decision=\"forbidden\")\nprefix_rule(pattern=[\"/opt/tool\"], decision=\"allow\")\n",
        calls: &[("/usr/local/bin/deploy now", "deny"), ("deploy now", "-!")],
        left_out: 1,
        dead: 0,
    },
    Sample {
        name: "a word with spaces",
        text: "prefix_rule(pattern=[\"psql\", \"-c\", \"DROP TABLE users\"], decision=\"forbidden\")\n",
        calls: &[("psql -c 'DROP TABLE users'", "deny"), ("psql -c 'SELECT 1'", "-!"), ("psql mydb", "-")],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "a text in three quotes and texts next to each other",
        text: "prefix_rule(pattern=[\"gh\", \"release\"], decision=\"prompt\", justification=\"\"\"Releases\nneed a person.\"\"\")\nprefix_rule(pattern=[\"gh\", \"pr\" \"x\"], decision=\"forbidden\")\n",
        calls: &[("gh release create v1", "ask"), ("gh prx", "deny"), ("gh pr list", "-")],
        left_out: 0,
        dead: 0,
    },
    Sample {
        name: "decisions and lists that Codex rejects",
        text: "prefix_rule(pattern=[\"a\"], decision=\"deny\")\nprefix_rule(pattern=[])\nprefix_rule(pattern=[\"b\"], justification=\"\")\nnetwork_rule(host=\"*.example.com\", protocol=\"https\", decision=\"allow\")\nunknown_rule(1)\n",
        calls: &[("a", "-"), ("b", "-")],
        left_out: 1,
        dead: 4,
    },
    Sample {
        name: "an example that does not hold",
        text: "prefix_rule(pattern=[\"make\", \"deploy\"], decision=\"forbidden\", match=[\"make deploy\", \"make release\"])\n",
        calls: &[("make deploy", "deny"), ("make release", "-")],
        left_out: 0,
        dead: 1,
    },
    Sample {
        name: "a call that is never closed",
        text: "prefix_rule(pattern=[\"git\", \"push\"\n\nprefix_rule(pattern=[\"hg\", \"push\"], decision=\"forbidden\")\n",
        calls: &[("hg push", "deny"), ("git push", "-")],
        left_out: 1,
        dead: 0,
    },
];

#[test]
fn imported_rules_decide_like_codex_or_more_strictly() {
    assert!(SAMPLES.len() >= 15);
    check(HOST, SAMPLES);
}

#[test]
fn examples_become_tests_that_pass() {
    let imported = import(HOST, SAMPLES[1].text);
    let tests = imported.pack["tests"].as_array().unwrap();
    let expected: Vec<(&str, &str)> = tests
        .iter()
        .map(|test| &test["events"][0])
        .map(|event| (event["args"]["command"].as_str().unwrap(), event["expect"].as_str().unwrap()))
        .collect();
    assert_eq!(expected, [("git push origin main", "block"), ("git fetch", "block"), ("git pull", "allow")]);
    let sets = midrail::cases::read(std::path::Path::new("imported.yaml"), &imported.yaml).unwrap();
    let results: Vec<_> = sets.iter().flat_map(|set| set.run()).collect();
    assert_eq!(results.len(), 3);
    assert!(results.iter().all(|result| result.is_good()), "{results:#?}");
}

/// An example to which Midrail may object, because it is stricter than Codex, is not a test.
#[test]
fn examples_that_midrail_takes_more_strictly_are_no_tests() {
    let imported = import(
        HOST,
        "prefix_rule(pattern=[\"git\", \"push\", \"-f\"], decision=\"forbidden\", not_match=[\"git push origin -f\", \"sh -c 'git push -f'\", \"git log\"])",
    );
    let tests = imported.pack["tests"].as_array().unwrap();
    assert_eq!(tests.len(), 1, "{tests:#?}");
    assert_eq!(tests[0]["events"][0]["args"]["command"], "git log");
}

#[test]
fn the_justification_is_the_reason() {
    let imported = import(HOST, SAMPLES[1].text);
    assert_eq!(imported.pack["guardrails"][0]["reason"], "Ask the release manager.");
    assert_eq!(imported.pack["guardrails"][0]["command"], serde_json::json!(["git push", "git fetch"]));
}

/// Packs have placeholders in reasons; rules of hosts have none.
#[test]
fn braces_in_a_justification_are_no_placeholder() {
    let imported = import(
        HOST,
        "prefix_rule(pattern=[\"a\"], decision=\"forbidden\", justification=\"Not {tool.nme} and {x y}.\")",
    );
    assert_eq!(imported.pack["guardrails"][0]["reason"], "Not { tool.nme} and {x y}.");
    assert!(decide(&engine(&imported.yaml), "a") >= midrail::Effect::Block);
}

#[test]
fn unreadable_lines_are_reported_with_their_number() {
    let imported = import(HOST, SAMPLES[7].text);
    assert_eq!(imported.left_out[0].reason, "cannot be read, line 1");
    assert_eq!(rules(&imported.left_out)[0], "TOOLS = [\"kubectl\", \"helm\"]");
    assert_eq!(imported.left_out[1].source.line, 2);
}

/// Alternatives multiply. A rule that stands for too many commands is reported, not expanded.
#[test]
fn alternatives_are_limited() {
    let token = format!("[{}]", (0..40).map(|i| format!("\"w{i}\"")).collect::<Vec<_>>().join(","));
    let imported = import(HOST, &format!("prefix_rule(pattern=[{token}, {token}, {token}])"));
    assert!(imported.left_out[0].reason.contains("more than 1000 commands"), "{:?}", imported.left_out);
    let engine = engine(&imported.yaml);
    assert_eq!(decide(&engine, "w1 w2 w3"), midrail::Effect::Allow);
}
