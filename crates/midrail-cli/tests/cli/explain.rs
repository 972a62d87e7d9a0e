//! `midrail explain`: pages, guardrails of packs, decisions.

use serde_json::json;

use crate::world::{World, before};

const PACK: &str = "\
pack: p
guardrails:
  - id: mine
    description: What it is for.
    tools: x # and no other
    reason: No.
";

#[test]
fn piped_page_is_markdown() {
    let world = World::new();
    let ended = world.run(&["explain", "read_before_write"]).code(0);
    assert!(ended.out.starts_with("# read_before_write\n"), "{}", ended.out);
    world.run(&["explain", "builtin_token_budget"]).code(0).says("## Limits");
    let ended = world.run(&["explain", "token_budget", "--color", "always"]).code(0).says("\u{1b}[1m");
    assert!(!ended.out.contains("```"));
    let page = world.run(&["explain", "builtin-001", "--json"]).code(0).json();
    assert_eq!((&page["id"], &page["always_on"]), (&json!("builtin-001"), &json!(true)));
}

#[test]
fn pack_guardrail_is_shown_with_its_location() {
    let world = World::with_pack(PACK);
    let ended = world.run(&["explain", "mine"]).code(0);
    let place = world.project().canonicalize().unwrap().join(".midrail/pack.yaml");
    let expected = format!(
        "mine\nWhat it is for.\n\n    id: mine\n    description: What it is for.\n    tools: x # and no other\n    reason: No.\n\nproject pack `p`, {}:3:5\n",
        place.display()
    );
    assert_eq!(ended.out, expected);
    let value = world.run(&["explain", "mine", "--json"]).code(0).json();
    assert_eq!((&value["line"], &value["settings"]["reason"]), (&json!(3), &json!("No.")));
}

#[test]
fn misspelt_guardrail_gets_a_suggestion() {
    let world = World::with_pack(PACK);
    world.run(&["explain", "read_befor_write"]).code(1).complains("did you mean `read_before_write`?");
    world.run(&["explain", "mime"]).code(1).complains("did you mean `mine`?");
    world.run(&["explain", "something else"]).code(1).complains("`midrail policy` lists");
}

#[test]
fn decision_is_explained_with_every_verdict() {
    let world = World::new();
    world.write("a.txt", "one");
    world.check(&before("Write", json!({"file_path": "a.txt"}))).code(2);
    let ended = world.run(&["explain", "--decision", "1"]).code(0);
    for part in [
        "record 1 · ",
        "✗ block  before_tool Write a.txt",
        "the chain",
        "read_before_write                   block",
        "(safety-002)",
        "file:a.txt",
        "exists, checksum sha256:",
        "session:read_before_write/read/a.txt",
        "PolicyDenied",
        "policy      sha256:",
    ] {
        assert!(ended.out.contains(part), "`{part}` is not in:\n{}", ended.out);
    }
    let record = world.run(&["explain", "--decision", "1", "--json"]).code(0).json();
    assert_eq!(record["record"]["decision"]["effect"], "block");
    world
        .run(&["explain", "--decision", "7"])
        .code(1)
        .complains("there is no record 7")
        .complains("records 1 to 1");
}
