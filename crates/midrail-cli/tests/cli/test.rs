//! `midrail test`: the words, the differences, and what is run.

use std::fs;

use serde_json::json;

use crate::world::{World, repository};

const CASES: &str = "\
cases:
  - id: good
    guardrails: [{id: g, tools: x, reason: No.}]
    events:
      - {before_tool: x, expect: block}
      - {before_tool: y, expect: allow}
  - id: too little
    events:
      - {before_tool: x, expect: {effect: block, by: g}}
  - id: too much
    guardrails: [{id: g, tools: x, reason: No.}]
    events:
      - {before_tool: x, expect: allow}
  - id: other
    guardrails: [{id: g, tools: x, effect: warn, reason: No.}]
    events:
      - {before_tool: x, expect: {effect: block}}
  - id: empty
    events:
      - {before_tool: x}
";

#[test]
fn outcomes_and_differences_are_shown() {
    let world = World::new();
    world.write("cases.yaml", CASES);
    let ended = world.run(&["test", "cases.yaml"]).code(1);
    let expected = "\
✗ cases.yaml  1 passed, 4 failed
  Missing   too little › step 1: before_tool x
            effect
            - expected  block
            + found     allow
            by
            - expected  g
            + found     no guardrail
  Noisy     too much › step 1: before_tool x
            effect
            - expected  allow
            + found     block (No.)
  Wrong     other › step 1: before_tool x
            effect
            - expected  block
            + found     warn (No.)
  Wrong     empty: it has no expectations

1 passed, 4 failed  (1 Validated, 1 Reported, 1 Missing, 1 Noisy, 1 Wrong)
";
    assert_eq!(ended.out, expected);
    let result = world.run(&["test", "--json", "cases.yaml"]).code(1).json();
    assert_eq!((&result["passed"], &result["failed"]), (&json!(1), &json!(4)));
    assert_eq!(result["outcomes"]["Noisy"], 1);
    let missed = &result["files"][0]["cases"][1]["checks"][0];
    assert_eq!(missed["outcome"], "missing");
    assert_eq!(missed["differences"][0], json!({"field": "effect", "expected": "block", "found": "allow"}));
    world.run(&["test", "--filter", "good", "cases.yaml"]).code(0).says("1 passed, 0 failed");
}

#[test]
fn tests_of_packs_are_run() {
    let world = World::with_pack(
        "pack: p\nguardrails:\n  - {id: g, tools: x, reason: No.}\ntests:\n  - id: it stops\n    events:\n      - {before_tool: x, expect: block}\n",
    );
    world.run(&["test"]).code(0).says("1 passed, 0 failed");
    World::new().run(&["test"]).code(0).says("✓ midrail:default");
    let world = World::with_pack(
        "pack: p\nextends: default\ntests:\n  - id: the base decides with it\n    events:\n      - {before_tool: Read, args: {file_path: .env}, expect: {effect: block, by: safety-002}}\n",
    );
    world.run(&["test"]).code(0).says("1 passed, 0 failed");
    World::new().run(&["test", "default"]).code(0);
}

#[test]
fn unreadable_test_file_fails() {
    let world = World::new();
    world.write("bad.yaml", "cases:\n  - {id: a, evnts: []}\n");
    world
        .run(&["test", "bad.yaml"])
        .code(1)
        .complains("bad.yaml:2:")
        .says("0 passed, 0 failed, 1 file not run");
    world.run(&["test", "missing.yaml"]).code(1).complains("could not read `missing.yaml`");
    world.write("latin.yaml", b"\xe9");
    world.run(&["test", "latin.yaml"]).code(1).complains("is not UTF-8");
    world.write("plain.yaml", "pack: p\n");
    world.run(&["test", "plain.yaml"]).code(1).complains("there is no case in `plain.yaml`");
    world.write("folder/plain.yaml", "pack: p\n");
    world.write(
        "folder/deep/page.md",
        "# x\n\n```yaml\ncases:\n  - id: a\n    events: [{before_tool: x, expect: allow}]\n```\n",
    );
    world.run(&["test", "folder"]).code(0).says("page.md  1 passed");
}

#[test]
fn run_without_cases_fails() {
    let world = World::with_pack("pack: p\n");
    world.run(&["test"]).code(1).complains("there is no case to run");
    world.write("cases.yaml", CASES);
    world
        .run(&["test", "--filter", "nowhere", "cases.yaml"])
        .code(1)
        .complains("no case has `nowhere` in its id");
    world.write("bad.yaml", "cases: 5\n");
    let result = world.run(&["test", "--json", "bad.yaml"]).code(1).json();
    assert!(result["files"][0]["error"]["message"].is_string(), "{result}");
}

#[test]
fn corpus_and_guardrail_pages_pass() {
    let root = repository();
    let path = |name: &str| root.join(name).display().to_string();
    // Cedar needs a build with its feature.
    let pages =
        fs::read_dir(root.join("crates/midrail-guardrails/src")).unwrap().map(|entry| entry.unwrap().path());
    let pages =
        pages.filter(|page| page.extension().is_some_and(|it| it == "md") && !page.ends_with("cedar.md"));
    let pages: Vec<String> = pages.map(|page| page.display().to_string()).collect();
    let mut args = vec!["test".to_owned(), path("corpus"), path("packs")];
    args.extend(pages);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    World::new().run(&args).code(0).says(", 0 failed");
}
