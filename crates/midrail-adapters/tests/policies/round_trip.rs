//! Import, export and import again: nothing is lost or added.

use midrail_adapters::policy::{Exported, Imported};
use serde_json::{Value, json};

use crate::samples::samples;
use crate::world::{import, policies, policy, rules};

/// The guardrails and `vouch` of a pack, in an order of their own: hosts order their rules differently, and the order of
/// guardrails does not matter. Tests of a pack are not exported.
fn rules_of(imported: &Imported) -> Value {
    let mut pack = imported.pack.clone();
    pack.as_object_mut().unwrap().remove("tests");
    let sort = |list: &mut Vec<Value>| list.sort_by_key(Value::to_string);
    for guard in pack["guardrails"].as_array_mut().into_iter().flatten() {
        guard.as_object_mut().unwrap().remove("id");
        guard["command"].as_array_mut().into_iter().for_each(sort);
        for list in guard["with"].as_object_mut().into_iter().flat_map(|with| with.values_mut()) {
            list.as_array_mut().into_iter().for_each(sort);
        }
    }
    pack["guardrails"].as_array_mut().into_iter().for_each(sort);
    for list in pack["vouch"].as_object_mut().into_iter().flat_map(|vouch| vouch.values_mut()) {
        list.as_array_mut().into_iter().for_each(sort);
    }
    pack
}

#[test]
fn the_exported_rules_of_a_host_are_imported_as_the_same_pack() {
    let mut same = 0;
    for host in policies() {
        for sample in samples(host.name) {
            let first = import(host.name, &sample.text);
            let exported = host.export(&first.pack);
            let second = import(host.name, &exported.text);
            let name = format!("{}: {}\n{}\n{}", host.name, sample.name, first.yaml, exported.text);
            assert_eq!(rules(&second.dead), Vec::<&str>::new(), "{name}");
            if exported.left_out.is_empty() && exported.stricter.is_empty() {
                assert_eq!(rules_of(&first), rules_of(&second), "{name}");
                same += 1;
            }
            // What a host can express stays as it is.
            let third = import(host.name, &host.export(&second.pack).text);
            assert_eq!(rules_of(&second), rules_of(&third), "{name}");
        }
    }
    assert!(same >= 250, "only {same} samples came back unchanged");
}

/// One policy for all agents: rules of one host for another.
#[test]
fn rules_of_one_host_are_exported_for_all_others() {
    let claude =
        r#"{"permissions": {"deny": ["Bash(git push:*)", "mcp__prod__*"], "allow": ["Bash(cargo test:*)"]}}"#;
    let pack = import("claude-code", claude).pack;
    for host in policies() {
        let exported = host.export(&pack);
        let again = import(host.name, &exported.text);
        let commands: Vec<&Value> =
            again.pack["guardrails"].as_array().unwrap().iter().map(|it| &it["command"]).collect();
        assert!(commands.contains(&&json!("git push")), "{}\n{}", host.name, exported.text);
        assert_eq!(
            again.pack["vouch"]["commands"],
            json!(["cargo test"]),
            "{}\n{}",
            host.name,
            exported.text
        );
        let has_tools = host.name != "codex";
        assert_eq!(exported.left_out.is_empty(), has_tools, "{}: {:?}", host.name, exported.left_out);
        assert_eq!(again.yaml.contains("prod"), has_tools, "{}\n{}", host.name, again.yaml);
    }
}

fn reasons(exported: &Exported) -> Vec<(&str, &str)> {
    exported.left_out.iter().map(|finding| (finding.source.rule.as_str(), finding.reason.as_str())).collect()
}

#[test]
fn guardrails_that_no_host_can_express_are_reported() {
    let pack = json!({
        "pack": "p",
        "guardrails": [
            {"id": "tests-first", "require_before": {"tool": ["deploy"], "requires": ["test"]}},
            {"id": "big", "tools": ["refund"], "check": "tool.args.amount <= 100"},
            {"id": "careful", "command": "npm", "effect": "warn"},
            {"id": "later", "command": "npm", "mode": "shadow"},
            {"id": "builtin", "use": "safety-001"},
            {"id": "off", "enabled": false, "use": "safety-003"},
            {"id": "branch", "command": "git push", "when": "session.x == 1"},
            {"id": "pushes", "command": {"program": "git", "subcommand": ["push", "fetch"]}},
        ],
        "budgets": {"tokens": 5},
    });
    for host in policies() {
        let exported = host.export(&pack);
        let names: Vec<&str> = reasons(&exported).iter().map(|(rule, _)| *rule).collect();
        let expected = ["tests-first", "big", "careful", "later", "builtin", "branch", "budgets"];
        assert_eq!(names, expected, "{}", host.name);
        assert_eq!(exported.rules, 2, "{}\n{}", host.name, exported.text);
    }
}

/// A host without questions must not allow what a pack escalates.
#[test]
fn an_escalation_is_never_exported_as_an_allow() {
    let pack = json!({
        "pack": "p",
        "guardrails": [{"id": "ask", "command": "git push", "effect": "escalate"}],
        "vouch": {"commands": ["git", "ls"]},
    });
    for host in ["cursor", "copilot"].map(policy) {
        let exported = host.export(&pack);
        assert!(!exported.text.contains("git"), "{}", exported.text);
        assert!(exported.text.contains("ls"), "{}", exported.text);
        assert_eq!(exported.left_out.len(), 2);
    }
}

/// A host must not allow what a pack stops in a way that the host cannot express.
#[test]
fn what_a_host_cannot_express_is_never_exported_as_an_allow() {
    let pack = json!({
        "pack": "p",
        "guardrails": [
            {"id": "branch", "command": ["cargo publish"], "when": "git.branch != 'main'"},
            {"id": "force", "command": ["git push --force"]},
            {"id": "tested", "require_before": {"command": ["make deploy"], "requires": ["test"]}},
            {"id": "pages", "tools": ["WebFetch"], "when": "time.hour < 8"},
            {"id": "noted", "command": ["npm install"], "effect": "warn"},
            {"id": "destructive", "use": "safety-001"},
            {"id": "later", "on": ["after_tool"], "check": "result.ok"},
        ],
        "vouch": {"commands": ["cargo", "git", "make", "npm", "ls"], "hosts": ["docs.rs"], "reads": ["docs/**"]},
    });
    for host in policies() {
        let exported = host.export(&pack);
        let again = import(host.name, &exported.text);
        let allowed = again.pack["vouch"].to_string();
        for lost in ["cargo", "git", "make", "docs.rs"] {
            assert!(!allowed.contains(&format!("\"{lost}\"")), "{}: {lost}\n{}", host.name, exported.text);
        }
        assert!(allowed.contains("npm") && allowed.contains("ls"), "{}\n{}", host.name, exported.text);
        let reason = "`branch` may stop some of it, which an allow of the host would take away";
        assert!(reasons(&exported).contains(&("vouch.commands", reason)), "{}", host.name);
    }
    let everything = json!({
        "pack": "p",
        "guardrails": [{"id": "own", "check": "action.reads none match 'secrets/**'"}],
        "vouch": {"commands": ["ls"], "reads": ["**"]},
    });
    for host in policies() {
        let exported = host.export(&everything);
        assert_eq!((exported.rules, exported.left_out.len()), (0, 3), "{}\n{}", host.name, exported.text);
    }
}

/// Few hosts know groups in path patterns, and Claude Code reads their braces as plain characters.
#[test]
fn groups_in_paths_are_exported_one_by_one() {
    let pack = json!({
        "pack": "p",
        "guardrails": [{"id": "keys", "use": "sensitive-file", "with": {"paths": ["{certs,keys}/**/*.{pem,key}"], "read_only": [], "except": []}}],
    });
    for host in ["claude-code", "cursor", "opencode"].map(policy) {
        let text = host.export(&pack).text;
        assert!(!text.contains("certs,keys"), "{text}");
        for path in ["certs/**/*.pem", "certs/**/*.key", "keys/**/*.pem", "keys/**/*.key"] {
            assert!(text.contains(path), "{}: {path}\n{text}", host.name);
        }
    }
}

/// A pack applies a host to its subdomains; hosts compare names.
#[test]
fn denied_hosts_are_exported_with_their_subdomains() {
    let check = "action.hosts none match 'evil.example' AND action.hosts none match '*.evil.example'";
    let pack = json!({"pack": "p", "guardrails": [{"id": "host", "check": check, "on_missing": "allow"}]});
    for host in ["claude-code", "cursor", "opencode"].map(policy) {
        let exported = host.export(&pack);
        assert!(exported.text.contains("*.evil.example"), "{}", exported.text);
        let again = import(host.name, &exported.text);
        assert_eq!(again.pack["guardrails"][0]["check"], check, "{}\n{}", host.name, exported.text);
    }
}
