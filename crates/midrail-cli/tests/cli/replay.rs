//! `midrail replay`: sequences of events, time, and lines that are none.

use serde_json::json;

use crate::world::{World, after, before};

const PACK: &str = "\
pack: p
guardrails:
  - {id: first-a, require_before: {tool: b, requires: a}}
  - {id: ask, tools: ask, effect: escalate, approval_timeout: 30m, reason: People decide.}
";

fn lines(events: &[serde_json::Value]) -> String {
    events.iter().map(|event| format!("{event}\n")).collect()
}

#[test]
fn sequence_is_decided_in_memory() {
    let world = World::with_pack(PACK);
    let events = lines(&[before("b", json!({})), after("a", json!({}), "fine"), before("b", json!({}))]);
    let path = world.write("events.jsonl", events);
    let ended = world.run(&["replay", "--json", &path]).code(0);
    let effects: Vec<_> = ended.json_lines().iter().map(|decision| decision["effect"].clone()).collect();
    assert_eq!(effects, ["block", "allow", "allow"]);
    assert!(!world.default_store().exists());
}

#[test]
fn people_read_a_timeline() {
    let world = World::with_pack(PACK);
    let events = lines(&[
        json!({"kind": "before_tool", "session": "s-1", "time": "2027-03-01T10:00:00Z", "tool": {"name": "b", "args": {"path": "x"}}}),
        json!({"kind": "advance", "seconds": 5}),
        after("a", json!({}), "fine"),
        before("b", json!({})),
    ]);
    let ended = world.feed(&["replay", "-"], events).code(0);
    let expected = "\
── 2027-03-01 · session s-1 ──
10:00:00  ✗ block     before_tool b x
                      first-a: Tool 'b' requires prior invocation of: a
                      → Call a first, then call b again.
          the clock advances by 5 s
10:00:05  ✓ allow     after_tool  a
10:00:05  ✓ allow     before_tool b

3 decisions: 2 allow, 1 block
";
    assert_eq!(ended.out, expected);
    assert_eq!(ended.err, "");
}

#[test]
fn advance_moves_the_clock() {
    let world = World::with_pack(PACK);
    let ask = before("ask", json!({}));
    let late = lines(&[ask.clone(), json!({"kind": "advance", "seconds": 1799}), ask.clone()]);
    let ended = world.feed(&["replay", "--json", "-"], late).code(0);
    assert_eq!(ended.json_lines()[1]["effect"], "escalate");
    let too_late = lines(&[ask.clone(), json!({"kind": "advance", "seconds": 1800}), ask]);
    let ended = world.feed(&["replay", "--json", "-"], too_late).code(0);
    assert_eq!(ended.json_lines()[1]["effect"], "block");
}

#[test]
fn bad_line_is_reported_and_the_rest_continues() {
    let world = World::with_pack(PACK);
    let long = "x".repeat(33 << 20);
    let nested = format!("{{\"kind\":\"before_tool\",\"x\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let events = format!(
        "{}\nnope\n\n{{\"kind\":\"advance\",\"seconds\":-1}}\n{long}\n{nested}\n{}",
        before("b", json!({})),
        before("a", json!({}))
    );
    let ended = world.feed(&["replay", "--json", "-"], events.clone()).code(1);
    let answers = ended.json_lines();
    assert_eq!(answers.len(), 6);
    assert_eq!(answers[0]["effect"], "block");
    let bad: Vec<_> = answers[1..5].iter().map(|answer| answer["line"].as_u64().unwrap()).collect();
    assert_eq!(bad, [2, 4, 5, 6]);
    assert!(answers[1]["error"]["message"].as_str().unwrap().contains("line 2 is no event"));
    assert_eq!(answers[5]["effect"], "allow");
    let ended = world.feed(&["replay", "-"], events).code(1).complains("error: line 2 is no event");
    assert!(ended.out.ends_with("2 decisions: 1 allow, 1 block; 4 lines not decided\n"), "{}", ended.out);
    let ended = world.feed(&["replay", "--json", "-"], b"\xff\n".to_vec()).code(1);
    assert_eq!(ended.json_lines()[0]["line"], 1);
}

#[test]
fn root_and_store_can_be_named() {
    let world = World::new();
    world.write("files/a.txt", "one");
    let (root, store) = (world.path("files"), world.path("s.db"));
    let events = lines(&[
        before("Write", json!({"file_path": "a.txt"})),
        before("Write", json!({"file_path": "new.txt"})),
    ]);
    let ended = world.feed(&["replay", "--json", "--root", &root, "--store", &store, "-"], events).code(0);
    let answers = ended.json_lines();
    assert_eq!((&answers[0]["effect"], &answers[1]["effect"]), (&json!("block"), &json!("allow")));
    world.run(&["audit", "verify", "--store", &store]).code(0).says("records     2");
    world.feed(&["replay", "--root", "nowhere", "-"], "").code(1).complains("`nowhere` is not a directory");
}

#[test]
fn empty_input_succeeds() {
    World::new().feed(&["replay", "-"], "").code(0).says("no decisions");
}

#[test]
fn instructions_set_save_and_restore_sessions() {
    let world = World::with_pack(
        "pack: p\nguardrails:\n  - {id: first-a, require_before: {tool: b, requires: a}}\n  - {id: frozen, tools: c, when: session.frozen == true}\n",
    );
    let events = lines(&[
        json!({"kind": "snapshot", "as": "start", "session": "s-1"}),
        after("a", json!({}), "fine"),
        before("b", json!({})),
        json!({"kind": "restore", "from": "start"}),
        before("b", json!({})),
        json!({"kind": "set", "key": "frozen", "value": true, "session": "s-1"}),
        before("c", json!({})),
        json!({"kind": "set", "key": "frozen", "value": false, "session": "s-1"}),
        before("c", json!({})),
    ]);
    let ended = world.feed(&["replay", "--json", "-"], events.clone()).code(0);
    let effects: Vec<_> = ended.json_lines().iter().map(|decision| decision["effect"].clone()).collect();
    assert_eq!(effects, ["allow", "allow", "block", "block", "allow"]);
    let ended = world.feed(&["replay", "-"], events).code(0);
    for part in
        ["session s-1 is saved as start", "session s-1 is restored from start", "session.frozen is set"]
    {
        assert!(ended.out.contains(part), "{}", ended.out);
    }
}

#[test]
fn instructions_without_a_session_apply_to_that_of_the_events() {
    let world = World::with_pack(
        "pack: p\nguardrails:\n  - {id: first-a, require_before: {tool: b, requires: a}}\n  - {id: frozen, tools: c, when: session.frozen == true}\n",
    );
    let without_session = |mut event: serde_json::Value| {
        event.as_object_mut().unwrap().remove("session");
        event
    };
    let events = |change: &dyn Fn(serde_json::Value) -> serde_json::Value| {
        lines(&[
            json!({"kind": "set", "key": "frozen", "value": true}),
            json!({"kind": "snapshot", "as": "start"}),
            change(before("c", json!({}))),
            change(after("a", json!({}), "fine")),
            change(before("b", json!({}))),
            json!({"kind": "set", "key": "frozen", "value": false}),
            change(before("c", json!({}))),
            json!({"kind": "restore", "from": "start"}),
            change(before("b", json!({}))),
        ])
    };
    for events in [events(&|event| event), events(&without_session)] {
        let ended = world.feed(&["replay", "--json", "-"], events).code(0);
        let effects: Vec<_> = ended.json_lines().iter().map(|decision| decision["effect"].clone()).collect();
        assert_eq!(effects, ["block", "allow", "allow", "allow", "block"]);
    }
}

#[test]
fn invalid_instruction_is_reported_with_its_line() {
    let world = World::with_pack(PACK);
    for (line, part) in [
        (json!({"kind": "advance", "seconds": 1e300}), "more than the clock can hold"),
        (json!({"kind": "restore", "from": "nothing"}), "there is no snapshot `nothing`"),
        (json!({"kind": "set", "key": "a"}), "`value` is missing; add `value`"),
        (json!({"kind": "snapshot"}), "`as` is missing; add `as`"),
        (json!({"kind": "set", "key": "a", "valeu": 1}), "unknown key `valeu`; did you mean `value`?"),
    ] {
        world.feed(&["replay", "-"], format!("{line}\n")).code(1).complains("line 1").complains(part);
    }
}

#[test]
fn events_use_the_current_directory_by_default() {
    let world = World::with_pack("pack: p\nguardrails:\n  - {id: here, tools: x, when: cwd is known}\n");
    let event = lines(&[before("x", json!({}))]);
    let ended = world.feed(&["replay", "--json", "-"], event.clone()).code(0);
    assert_eq!(ended.json_lines()[0]["effect"], "block");
    let ended = world.feed(&["replay", "--json", "--root", ".", "-"], event).code(0);
    assert_eq!(ended.json_lines()[0]["effect"], "allow");
}

#[test]
fn replay_into_a_store_starts_at_the_current_time() {
    let world = World::with_pack(PACK);
    let store = world.path("s.db");
    world.feed(&["replay", "--store", &store, "-"], lines(&[before("a", json!({}))])).code(0);
    let ended = world.run(&["audit", "list", "--json", "--store", &store]).code(0);
    assert!(!ended.out.contains("2027-01-15T08:00:00"), "{}", ended.out);
}
