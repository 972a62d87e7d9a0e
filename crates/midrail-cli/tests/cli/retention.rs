//! `midrail audit archive`, `erase` and `publish`.

use std::fs;

use serde_json::json;

use crate::world::{World, before};

/// A world with decisions of two sessions.
fn decided() -> World {
    let world = World::with_pack("pack: p\nguardrails:\n  - {id: no-rm, tools: rm, reason: Never.}\n");
    for _ in 0..4 {
        world.check(&before("ls", json!({"path": "a"}))).code(0);
    }
    let private = json!({"kind": "before_tool", "session": "of-ann", "tool": {"name": "ls", "args": {"path": "diary"}}});
    world.check(&private).code(0);
    world
}

#[test]
fn old_records_are_moved_to_a_file_that_verifies() {
    let world = decided();
    let file = world.path("old.jsonl.gz");
    let archive = ["audit", "archive", "--before", "2020-01-01", "--to", &file];
    world.run(&archive).code(0).says("no records are old enough");
    let archive = ["audit", "archive", "--before", "0s", "--to", &file];
    world.run(&archive).code(0).says("4 records, 1 to 4");
    world.run(&["audit", "verify", &file]).code(0).says("records     4");
    world.run(&["audit", "verify"]).code(0).says("archived    4 before them");
    let listed = world.run(&["audit", "list", "--json"]).code(0).json_lines();
    assert_eq!(listed.iter().map(|record| record["seq"].as_u64().unwrap()).collect::<Vec<_>>(), [5, 6]);
    world.run(&["audit", "show", "6"]).code(0).says("audit_archived");
    world.check(&before("ls", json!({}))).code(0);
    let mut bytes = fs::read(&file).unwrap();
    bytes.truncate(900);
    fs::write(&file, bytes).unwrap();
    world.run(&["audit", "verify", &file]).code(1);
}

#[test]
fn erased_session_shows_nothing_and_the_log_verifies() {
    let world = decided();
    world
        .run(&["audit", "erase", "--session", "none", "--reason", "x"])
        .code(1)
        .complains("no session `none`");
    world
        .run(&["audit", "erase", "--session", "of-ann", "--reason", "she asked for it"])
        .code(0)
        .says("1 record of");
    let shown = world.run(&["audit", "show", "5"]).code(0).says("erased_body_sha256");
    assert!(!shown.out.contains("diary"), "{}", shown.out);
    world.run(&["audit", "list"]).code(0).says("of-ann");
    world.run(&["audit", "verify"]).code(0).says("1 of them by their hashes alone");
    world.run(&["audit", "show", "6"]).code(0).says("she asked for it");
}

#[test]
fn log_is_compared_with_published_heads() {
    let world = decided();
    let heads = world.path("heads.jsonl");
    world.run(&["audit", "publish", "--to", &heads]).code(0).says("5:");
    world.check(&before("ls", json!({}))).code(0);
    world.run(&["audit", "publish", "--to", &heads]).code(0).says("6:");
    world
        .run(&["audit", "verify", "--against", &heads])
        .code(0)
        .complains("2 of 2 published heads are in the log");

    world.write("empty.jsonl", "\n");
    let empty = world.path("empty.jsonl");
    world.run(&["audit", "verify", "--against", &empty]).code(1).complains("no published heads");

    // The store is deleted together with its key and its anchor: no file next to it shows that.
    for suffix in ["", "-wal", "-shm", ".key", ".head"] {
        let _ = fs::remove_file(format!("{}{suffix}", world.default_store().display()));
    }
    for _ in 0..8 {
        world.check(&before("ls", json!({"path": "b"}))).code(0);
    }
    world.run(&["audit", "verify"]).code(0);
    world.run(&["audit", "verify", "--against", &heads]).code(1).says("which is not a key of this log");
}

#[test]
fn log_verifies_with_the_old_key_and_the_new_one() {
    let world = decided();
    let change = world.run(&["audit", "rotate-key", "--reason", "yearly", "--json"]).code(0).json();
    let (old, new) = (change["change"]["old"].as_str().unwrap(), change["change"]["new"].as_str().unwrap());
    world.check(&before("ls", json!({}))).code(0);
    for key in [old, new] {
        world.run(&["audit", "verify", "--key", key]).code(0);
    }
    world.run(&["audit", "verify"]).code(0);
    world.run(&["audit", "verify", "--key", "0123456789abcdef"]).code(1);
    world.run(&["audit", "show", "6"]).code(0).says("signing_key_replaced").says("yearly");
    world.run(&["audit", "rotate-key", "--reason", " "]).code(1).complains("needs a reason");
}
