//! `midrail notices`, `quarantine`, `locks` and `tasks`: what people see and change across sessions.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::stats::engine;
use crate::world::{Ended, World, ended};

fn event(agent: &str) -> Value {
    json!({"kind": "before_tool", "session": "s-1", "agent": {"id": agent}, "tool": {"name": "ls"}})
}

fn world() -> World {
    let world = World::with_pack("pack: p\n");
    world.check(&event("eve")).code(0);
    world
}

#[test]
fn quarantine_is_lifted_only_with_a_key() {
    let world = world();
    world.run(&["quarantine", "list"]).code(0).says("No agent is in quarantine");
    world.run(&["quarantine", "add", "eve", "--reason", " "]).code(1).complains("the reason is empty");
    let report =
        world.run(&["quarantine", "add", "eve", "--reason", "it went astray", "--by", "ada", "--json"]);
    assert_eq!(report.code(0).json(), json!({"actor": "eve", "state": "quarantined", "by": "ada"}));
    world.run(&["quarantine", "list"]).code(0).says("eve").says("it went astray");
    world.check(&event("eve")).code(2).says("quarantine");
    world.check(&event("ann")).code(0);

    let key = engine(&world).admin().add_approver("olga", &["human_operator".to_owned()], None).unwrap();
    let olga = engine(&world).admin().authenticate("olga", &key).unwrap();
    let other = engine(&world).admin().add_approver("rob", &["reviewer".to_owned()], Some(&olga)).unwrap();
    world.write("olga.key", format!("{key}\n"));
    world.write("rob.key", &other);
    world.write("empty.key", "");
    let lift = |name: &str, rest: &str| -> Ended {
        let line = format!(
            "{} quarantine lift eve --as {name} --reason 'its task was fixed' {rest}",
            env!("CARGO_BIN_EXE_midrail")
        );
        let with_env = world.command(&[]);
        let mut command = Command::new("sh");
        command.args(["-c", &line]).current_dir(world.project()).env_clear();
        command.envs(with_env.get_envs().filter_map(|(key, value)| Some((key, value?))));
        ended(&mut command, Vec::new())
    };
    lift("rob", "--key-fd 3 3< rob.key").code(1).complains("cannot lift a quarantine");
    lift("olga", "--key-fd 3 3< rob.key").code(1).complains("no approver `olga` with this key");
    lift("olga", "--key-fd 3 3< empty.key").code(1).complains("no key was given");
    lift("olga", "--key-fd 9").code(1).complains("file descriptor 9");
    world.check(&event("eve")).code(2);
    assert_eq!(engine(&world).store().counters().unwrap()["wrong_approver_keys"], 1);
    lift("olga", "--key-fd 3 3< olga.key").code(0).says("eve is not in quarantine any more");
    world.check(&event("eve")).code(0);
    world.run(&["audit", "list"]).code(0).says("administered");
    world.run(&["audit", "verify"]).code(0);
}

#[test]
fn halted_runs_are_listed_with_the_lift_command() {
    let world =
        World::with_pack("pack: p\nguardrails:\n  - {id: ends, tools: ls, effect: halt, reason: enough}\n");
    world.check(&event("eve")).code(2);
    let list = world.run(&["quarantine", "list"]).code(0);
    list.says("s-1").says("ends").says("enough").says("midrail quarantine lift --run SESSION");
    let rows = world.run(&["quarantine", "list", "--json"]).code(0).json_lines();
    assert_eq!(rows, [json!({"session": "s-1", "by": "ends", "reason": "enough"})]);
    world.run(&["quarantine", "add", "eve", "--reason", "it went astray"]).code(0);
    world.run(&["quarantine", "list"]).code(0).says("it went astray").says("halted run");
}

#[test]
fn files_are_locked_renewed_and_released() {
    let world = world();
    let file = world.write("a.rs", "");
    world.run(&["locks", "list"]).code(0).says("No files are locked");
    world
        .run(&["locks", "take", "a.rs", "--for", "ann", "--session", "s-1"])
        .code(0)
        .says("is locked for ann until");
    world.run(&["locks", "take", &file, "--for", "bob"]).code(1).complains("is locked by `ann`");
    let renewed =
        world.run(&["locks", "take", "a.rs", "--for", "ann", "--session", "s-1", "--lasts", "2h", "--json"]);
    assert_eq!(renewed.code(0).json()["actor"], "ann");
    let locks = world.run(&["locks", "list", "--json"]).code(0).json_lines();
    assert_eq!((locks.len(), &locks[0]["session"]), (1, &json!("s-1")));
    assert!(locks[0]["path"].as_str().unwrap().ends_with("project/a.rs"));
    world
        .run(&["locks", "take", "b.rs", "--for", "ann", "--lasts", "never"])
        .code(1)
        .complains("not a time span");
    world.run(&["locks", "release", "a.rs"]).code(0).says("not locked any more");
    world.run(&["locks", "release", "a.rs"]).code(1).complains("is not locked");
}

#[test]
fn tasks_are_set_and_listed() {
    let world = world();
    world.run(&["tasks", "list"]).code(0).says("No task has a status");
    world.run(&["tasks", "set", "t-1", "active", "--by", "ada"]).code(0).says("t-1 is active now");
    world.run(&["tasks", "set", "t-1", "handed-off"]).code(0);
    world.run(&["tasks", "set", "t-1", "draft"]).code(1).complains("cannot become draft");
    world.run(&["tasks", "set", "t-1", "over"]).code(1).complains("handed_off or completed");
    let tasks = world.run(&["tasks", "list", "--json"]).code(0).json_lines();
    assert_eq!((&tasks[0]["task"], &tasks[0]["status"]), (&json!("t-1"), &json!("handed_off")));
    world.run(&["tasks", "list"]).code(0).says("t-1   handed_off");
}

#[test]
fn notices_are_listed_and_followed() {
    let world = world();
    world.run(&["notices"]).code(0).says("No notices match");
    for task in ["a", "b", "c"] {
        world.run(&["tasks", "set", task, "active", "--by", "ada"]).code(0);
    }
    world.run(&["quarantine", "add", "eve", "--reason", "astray"]).code(0);
    let ids = |args: &[&str]| -> Vec<u64> {
        let args: Vec<&str> = ["notices", "--json"].iter().chain(args).copied().collect();
        world.run(&args).code(0).json_lines().iter().map(|line| line["id"].as_u64().unwrap()).collect()
    };
    assert_eq!(ids(&[]), [1, 2, 3, 4]);
    assert_eq!(ids(&["--after", "2"]), [3, 4]);
    assert_eq!(ids(&["--limit", "1"]), [4]);
    assert_eq!(ids(&["--to", "orchestrator", "--limit", "2"]), [2, 3]);
    assert_eq!(ids(&["--kind", "quarantine"]), [4]);
    world.run(&["notices"]).code(0).says("orchestrator  task  ada set the task `a` to active");

    let mut child = world
        .command(&["notices", "--follow", "--json", "--after", "3"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert_eq!(next()["id"], 4);
    world.run(&["tasks", "set", "d", "active", "--by", "ada"]).code(0);
    assert_eq!(next()["body"]["task"], "d");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn pending_notices_are_delivered() {
    let world = world();
    world.write(
        ".midrail/pack.yaml",
        "pack: p\nnotify:\n  orchestrator: {command: 'test -e ready && cat >> delivered'}\n",
    );
    world.run(&["tasks", "set", "a", "active"]).code(0);
    world.write("ready", "");
    let stats = world.run(&["stats", "--json"]).code(0).json();
    assert_eq!(stats["undelivered"], 1);
    // It was tried just now, and is left alone for a while.
    world.run(&["notices", "--deliver"]).code(0).complains("0 notices delivered");
    world.run(&["tasks", "set", "b", "active"]).code(0);
    assert!(world.read("delivered").contains("\"task\":\"b\""), "{}", world.read("delivered"));
}

#[test]
fn decisions_show_risk_and_autonomy() {
    let world = World::with_pack("pack: p\n");
    let event = json!({
        "kind": "before_tool", "session": "s-1", "tool": {"name": "ls"},
        "task": {"id": "t", "risk": "high", "token_budget": 100}, "usage": {"tokens": 60},
    });
    let ended = world.check(&event);
    assert!(ended.out.contains("  risk        high\n"), "{}", ended.out);
    assert!(ended.out.contains("  autonomy    strict: half of a budget is used"), "{}", ended.out);
}

#[test]
fn a_task_is_checked_before_it_starts() {
    let world = World::with_pack("pack: p\n");
    world.write(
        "task.yaml",
        "task: {token_budget: 1000, scope: {files: {write: ['src/**']}}}\nagent: {allowed_tools: [Read]}\n\
         tools: [Read]\nwrites: [src/a.rs]\nexpected: {tokens: 10}\n",
    );
    let sound = world.run(&["doctor", "--task", "task.yaml"]).code(0);
    assert_eq!(sound.out.matches('✓').count(), 3, "{}", sound.out);
    world.write("task.yaml", "task: {}\ntools: [Bash]\nagent: {allowed_tools: [Read]}\n");
    let ended = world.run(&["doctor", "--task", "task.yaml"]).code(0);
    assert_eq!(ended.out.matches('!').count(), 3, "{}", ended.out);
    let json = world.run(&["doctor", "--json", "--task", "task.yaml"]).code(0).json();
    let checks: Vec<_> = json["warnings"].as_array().unwrap().iter().map(|it| it["check"].clone()).collect();
    assert_eq!(checks, ["scope", "budget", "tools"]);
    world.write("task.yaml", "tasks: {}\n");
    let wrong = world.run(&["doctor", "--task", "task.yaml"]).code(1);
    assert!(wrong.err.contains("unknown key `tasks`"), "{}", wrong.err);
    world.run(&["doctor", "--task", "gone.yaml"]).code(1);
}
