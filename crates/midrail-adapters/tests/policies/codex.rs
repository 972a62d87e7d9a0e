//! Codex.

use crate::samples::settings;
use crate::world::{decide, engine, import, rules};

const HOST: &str = "codex";

#[test]
fn examples_become_tests_that_pass() {
    let imported = import(HOST, &settings(HOST, "alternatives and a justification"));
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
    let imported = import(HOST, &settings(HOST, "alternatives and a justification"));
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
    let imported = import(HOST, &settings(HOST, "variables cannot be read"));
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
