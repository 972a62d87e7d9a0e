//! A store that was damaged or replaced behind the back of Midrail, and denials that cannot be delivered.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::world::{Ended, World, before, ended};

const PACK: &str = "pack: p\nguardrails:\n  - {id: no-rm, tools: rm, reason: Never here.}\n";

fn payload(world: &World, tool: &str) -> String {
    json!({"hook_event_name": "PreToolUse", "session_id": "s", "cwd": world.project(),
           "tool_name": tool, "tool_input": {}})
    .to_string()
}

/// A world with some decisions, and without its database.
fn deleted() -> World {
    let world = World::with_pack(PACK);
    for _ in 0..3 {
        world.check(&before("ls", json!({}))).code(0);
    }
    let store = world.default_store();
    for suffix in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{suffix}", store.display()));
    }
    world
}

#[test]
fn deleted_store_blocks_every_call_until_a_person_acknowledges_it() {
    let world = deleted();
    let blocked = world.check(&before("ls", json!({}))).code(2);
    assert!(blocked.out.contains("it has no records, and record 3 was acknowledged"), "{}", blocked.out);
    assert!(blocked.out.contains("midrail audit acknowledge"), "{}", blocked.out);
    let hook = world.feed(&["hook", "claude-code"], payload(&world, "ls"));
    assert!(hook.out.contains("deny") || hook.code == 2, "{} {}", hook.out, hook.err);

    world.run(&["audit", "acknowledge"]).code(1).complains("--reason");
    world
        .run(&["audit", "acknowledge", "--reason", "the disk was replaced"])
        .code(0)
        .says("acknowledged with record 1: it has no records, and record 3 was acknowledged");
    world.run(&["audit", "acknowledge", "--reason", "again"]).code(0).says("the store is intact");
    world.check(&before("ls", json!({}))).code(0);
    let record = world.run(&["audit", "show", "1", "--json"]).code(0).json();
    let event = &record["record"]["event"];
    assert_eq!(
        (&event["what"], &event["reason"]),
        (&json!("store_damage_acknowledged"), &json!("the disk was replaced"))
    );
    assert_eq!(event["damage"]["expected"]["seq"], 3);
    world.run(&["audit", "verify"]).code(0);
}

#[test]
fn damage_can_be_reported_in_place_of_a_block() {
    let world = deleted();
    let event = before("ls", json!({})).to_string();
    let allowed = world.feed(&["check", "--on-damage", "report"], event).code(0);
    assert!(allowed.err.is_empty() || allowed.err.contains("damaged"), "{}", allowed.err);
    let record = world.run(&["audit", "show", "1", "--json"]).code(0).json();
    assert_eq!(record["record"]["event"]["what"], "store_damage_reported");
    world.check(&before("ls", json!({}))).code(0);
}

#[test]
fn anchor_is_protected_from_agents() {
    let world = World::with_pack(PACK);
    world.check(&before("ls", json!({}))).code(0);
    let anchor = format!("{}.head", world.default_store().display());
    assert!(fs::exists(&anchor).unwrap());
    world.check(&before("Write", json!({"file_path": anchor, "content": ""}))).code(2);
    world.check(&before("Bash", json!({"command": format!("rm -f {anchor}")}))).code(2);
    world.check(&before("Bash", json!({"command": "midrail audit acknowledge --reason x"}))).code(2);
    world.check(&before("Bash", json!({"command": "midrail audit verify"}))).code(0);
    let export = |file: &str| json!({"command": format!("midrail audit export --out {file}")});
    world.check(&before("Bash", export(".midrail/pack.yaml"))).code(2);
    world.check(&before("Bash", export("log.jsonl"))).code(0);
}

fn without_output(world: &World, tool: &str, stdout: Stdio) -> Ended {
    let mut command = world.command(&["hook", "claude-code"]);
    let mut child = command.stdin(Stdio::piped()).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
    // A pipe that no process reads.
    drop(child.stdout.take());
    child.stdin.take().unwrap().write_all(payload(world, tool).as_bytes()).unwrap();
    child.wait_with_output().unwrap().into()
}

#[test]
fn denial_without_standard_output_is_an_exit_code_with_a_reason() {
    let world = World::with_pack(PACK);
    for stdout in [Stdio::piped(), Stdio::null()] {
        let denied = without_output(&world, "rm", stdout).code(2);
        assert!(denied.err.contains("Never here."), "{}", denied.err);
    }
    // The shell closes the descriptor.
    let base = world.command(&[]);
    let mut closed = Command::new("sh");
    closed.args(["-c", "exec \"$0\" hook claude-code >&-"]).arg(base.get_program());
    closed.current_dir(world.project()).env_clear();
    closed.envs(base.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let denied = ended(&mut closed, payload(&world, "rm").into_bytes()).code(2);
    assert!(denied.err.contains("Never here."), "{}", denied.err);
    for stdout in [Stdio::piped(), Stdio::null()] {
        without_output(&world, "ls", stdout).code(0);
    }
}

/// Tables are created when they are first written, so a missing one has no rows. The log still shows what was in it.
#[test]
fn dropped_tables_are_reported_by_verify() {
    let pack = "pack: p\nguardrails:\n  - {id: ask, tools: deploy, effect: escalate, reason: think twice}\n";
    for (table, reported) in [("approvals", "was removed"), ("approvers", "an approver was removed")] {
        let world = World::with_pack(pack);
        world.run(&["approver", "add", "ada", "--role", "reviewer"]).code(0);
        world.check(&before("deploy", json!({}))).code(2);
        world.run(&["audit", "verify"]).code(0);
        let store = rusqlite::Connection::open(world.default_store()).unwrap();
        store.execute_batch(&format!("DROP TABLE {table}")).unwrap();
        world.run(&["audit", "verify"]).code(1).says(reported);
    }
}
