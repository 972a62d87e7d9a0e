//! `midrail audit`: what was decided, whether it still stands, and what another pack would have done.

use serde_json::json;

use crate::world::{World, after, before};

const PACK: &str = "\
pack: p
guardrails:
  - secret-redaction
  - {id: first-a, require_before: {tool: b, requires: a}}
  - {id: no-rm, tools: rm, reason: Never.}
";

/// A world with a few decisions in its store.
fn decided() -> World {
    let world = World::with_pack(PACK);
    for (event, code) in [
        (before("b", json!({})), 2),
        (after("a", json!({}), "key AKIAABCDEFGHIJKLMNOP"), 0),
        (before("b", json!({"path": "x"})), 0),
        (before("rm", json!({})), 2),
    ] {
        world.check(&event).code(code);
    }
    let other = json!({"kind": "before_tool", "session": "s-2", "tool": {"name": "rm"}});
    world.check(&other).code(2);
    world
}

#[test]
fn records_are_listed_and_filtered() {
    let world = decided();
    let ended = world.run(&["audit", "list"]).code(0);
    let lines: Vec<&str> = ended.out.lines().collect();
    assert_eq!(lines.len(), 6, "{}", ended.out);
    assert!(lines[0].starts_with("seq  time"), "{}", ended.out);
    assert!(
        lines[1].starts_with("1 ") && lines[1].ends_with("block   before_tool  b     first-a"),
        "{}",
        ended.out
    );
    for (filter, seqs) in [
        (&["--effect", "block"][..], vec![1, 4, 5]),
        (&["--session", "s-2"], vec![5]),
        (&["--guardrail", "no-rm"], vec![4, 5]),
        (&["--kind", "after_tool"], vec![2]),
        (&["--tool", "b"], vec![1, 3]),
        (&["--limit", "2"], vec![4, 5]),
        (&["--limit", "0", "--since", "1h"], vec![1, 2, 3, 4, 5]),
        (&["--until", "1h"], vec![]),
        (&["--since", "2020-01-01", "--until", "2021-01-01T00:00:00Z"], vec![]),
    ] {
        let args: Vec<&str> = ["audit", "list", "--json"].iter().chain(filter).copied().collect();
        let found: Vec<u64> = world
            .run(&args)
            .code(0)
            .json_lines()
            .iter()
            .map(|record| record["seq"].as_u64().unwrap())
            .collect();
        assert_eq!(found, seqs, "{filter:?}");
    }
    world.run(&["audit", "list", "--session", "none"]).code(0).says("no such records");
}

#[test]
fn record_is_shown_without_secrets() {
    let world = decided();
    let record = world.run(&["audit", "show", "2", "--json"]).code(0).json();
    assert_eq!((&record["seq"], &record["record"]["decision"]["effect"]), (&json!(2), &json!("redact")));
    let ended = world.run(&["audit", "show", "2"]).code(0).says("\"effect\": \"redact\"");
    assert!(!ended.out.contains("AKIAABCDEFGHIJKLMNOP"));
    world.run(&["audit", "show", "9"]).code(1).complains("there is no record 9").complains("records 1 to 5");
}

#[test]
fn changed_record_is_found_by_verify() {
    let world = decided();
    let ended = world
        .run(&["audit", "verify"])
        .code(0)
        .says("✓ the audit log is intact")
        .says("records     5")
        .says("unsigned    5");
    let head = ended.out.lines().find_map(|line| line.trim().strip_prefix("head")).unwrap().trim().to_owned();
    world.run(&["audit", "verify", "--expect-head", &head]).code(0);
    let other = format!("5:{}", "0".repeat(64));
    world.run(&["audit", "verify", "--expect-head", &other]).code(1).says("record 5 does not match");
    let beyond = head.replacen("5:", "6:", 1);
    world.run(&["audit", "verify", "--expect-head", &beyond]).code(1);
    world.run(&["audit", "verify", "--expect-head", "5"]).code(1).complains("not of the form SEQ:HASH");

    let connection = rusqlite::Connection::open(world.default_store()).unwrap();
    let triggers: Vec<String> = connection
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for trigger in triggers {
        connection.execute_batch(&format!("DROP TRIGGER \"{trigger}\"")).unwrap();
    }
    let table: String = connection
        .query_row(
            "SELECT name FROM pragma_table_list WHERE name LIKE 'audit%' OR name LIKE '%record%' LIMIT 1",
            [],
            |row| row.get(0),
        )
        .unwrap();
    let changed = connection
        .execute(&format!("UPDATE {table} SET body = replace(body, 'Never.', 'Maybe.') WHERE seq = 4"), []);
    assert_eq!(changed.unwrap(), 1);
    drop(connection);
    world
        .run(&["audit", "verify"])
        .code(1)
        .says("✗ record 4 does not match")
        .says("records     3 intact, from the first on");
    let result = world.run(&["audit", "verify", "--json"]).code(1).json();
    assert_eq!((&result["sound"], &result["misfit"]["seq"]), (&json!(false), &json!(4)));
}

#[test]
fn export_verifies_without_the_store() {
    let world = decided();
    let path = world.path("log.jsonl");
    world
        .run(&["audit", "export", "--effect", "block", "--out", &path])
        .code(0)
        .says("3 records, 2 as hashes only");
    world
        .run(&["audit", "verify", &path])
        .code(0)
        .says("records     5")
        .says("2 of them by their hashes alone");
    let text = world.read("log.jsonl");
    assert!(!text.contains("AKIAABCDEFGHIJKLMNOP"));
    let whole = world.run(&["audit", "export"]).code(0).out;
    world.feed(&["audit", "verify", "-"], whole.clone()).code(0);
    world
        .feed(&["audit", "verify", "-"], whole.replacen("Never.", "Maybe.", 1))
        .code(1)
        .says("record 4 does not match");
    world.feed(&["audit", "verify", "-"], "nope").code(1);
    world.feed(&["audit", "verify", "-"], b"\xff\n".to_vec()).code(1);
    let store = world.default_store().display().to_string();
    world.run(&["audit", "verify", &store]).code(0).says("the audit log is intact");
}

#[test]
fn decisions_are_reproduced_with_their_policy() {
    let world = decided();
    // The pack of today is another one; the record knows the one of then.
    world.write(".midrail/pack.yaml", "pack: p\n");
    let ended = world.run(&["audit", "replay"]).code(0);
    assert_eq!(ended.out, "5 decisions: 5 reproduced\n");
    let result = world.run(&["audit", "replay", "--json", "--effect", "block"]).code(0).json();
    assert_eq!((&result["records"], &result["same"]), (&json!(3), &json!(3)));
}

#[test]
fn replay_with_another_pack_reports_differences() {
    let world = decided();
    let other = world.write(
        "other.yaml",
        "pack: q\nextends: none\nguardrails:\n  - {id: first-c, require_before: {tool: b, requires: c}}\n",
    );
    let ended = world.run(&["audit", "replay", "--pack", &other]).code(1);
    let expected = "\
record 2 after_tool a
  effect  ~ redact → ✓ allow
  by      secret-redaction → nothing
  reason  Sensitive values were replaced: aws-access-key. → nothing
record 3 before_tool b x
  effect  ✓ allow → ✗ block
  by      nothing → first-c
  reason  nothing → Tool 'b' requires prior invocation of: c
record 4 before_tool rm
  effect  ✗ block → ✓ allow
  by      no-rm → nothing
  reason  Never. → nothing
record 5 before_tool rm
  effect  ✗ block → ✓ allow
  by      no-rm → nothing
  reason  Never. → nothing

5 decisions: 1 as before, 4 different
      1  allow -> block
      2  block -> allow
      1  redact -> allow
";
    assert_eq!(ended.out, expected);
    let result =
        world.run(&["audit", "replay", "--json", "--pack", &other, "--session", "s-2"]).code(1).json();
    assert_eq!((&result["records"], &result["effects"]), (&json!(1), &json!({"block -> allow": 1})));
}

#[test]
fn audit_without_a_store_fails() {
    let world = World::new();
    world.run(&["audit", "list"]).code(0).says("no such records");
    for args in [
        &["audit", "list", "--store", "other.db"][..],
        &["audit", "show", "1"],
        &["audit", "verify"],
        &["audit", "export"],
        &["audit", "replay"],
    ] {
        world.run(args).code(1).complains("does not exist").complains("the first decision creates the store");
        assert!(!world.default_store().exists());
    }
}
