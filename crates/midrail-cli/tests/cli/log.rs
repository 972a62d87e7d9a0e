//! `midrail log`: what happened, in lines that people read.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::world::World;

const PACK: &str = "pack: shop
guardrails:
  - {id: friday, tools: deploy, effect: block, reason: It is Friday, advice: Wait until Monday}
  - {id: ask, tools: refund, effect: escalate, approver: reviewer, reason: Money leaves}
  - {id: slow, tools: poll, effect: warn, reason: Again}
  - secret-redaction
";

fn event(second: u32, session: &str, kind: &str, more: Value) -> Value {
    let mut event =
        json!({"kind": kind, "session": session, "time": format!("2026-11-15T10:00:{second:02}Z")});
    event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    event
}

fn tool(name: &str, id: &str, args: Value) -> Value {
    json!({"tool": {"name": name, "call_id": id, "args": args}})
}

fn with(mut one: Value, other: Value) -> Value {
    one.as_object_mut().unwrap().extend(other.as_object().unwrap().clone());
    one
}

/// A store in which something happened.
fn lived_in() -> World {
    let world = World::with_pack(PACK);
    world.stand_at("2026-11-15T10:00:00Z".parse().unwrap());
    let ls = tool("Bash", "c-1", json!({"command": "ls -l\u{1b}[31m"}));
    let fails = tool("Bash", "c-2", json!({"command": "false"}));
    let agent = json!({"agent": {"id": "a-77", "role": "explorer"}, "parent": "s-2", "host": {"name": "claude-code"}});
    for (second, session, kind, more) in [
        (1, "s-1", "before_model", json!({"text": "Tidy up the shop"})),
        (2, "s-1", "before_tool", ls.clone()),
        (4, "s-1", "after_tool", with(ls, json!({"result": {"ok": true, "content": "a.txt"}}))),
        (5, "s-1", "before_tool", tool("deploy", "c-3", json!({"file_path": "shop.yaml"}))),
        (6, "s-1", "before_tool", tool("refund", "c-4", json!({"query": "order 7"}))),
        (7, "s-2", "before_tool", with(fails.clone(), agent.clone())),
        (
            8,
            "s-2",
            "after_tool",
            with(with(fails, agent), json!({"result": {"ok": false, "exit_code": 1, "content": "no"}})),
        ),
        (9, "s-2", "before_tool", tool("poll", "c-5", json!({}))),
    ] {
        world.stand_at(format!("2026-11-15T10:00:{second:02}Z").parse().unwrap());
        world.check(&event(second, session, kind, more));
    }
    world
}

#[test]
fn log_shows_one_line_per_call() {
    let world = lived_in();
    let out = world.run(&["log"]).code(0).out;
    let lines: Vec<&str> = out.lines().collect();
    let line = |part: &str| {
        *lines.iter().find(|line| line.contains(part)).unwrap_or_else(|| panic!("`{part}` is not in:\n{out}"))
    };
    assert!(lines[0].contains("2026-11-15"));
    assert!(line("Tidy up the shop").contains("prompt"));
    let ls = line("ls -l");
    assert!(ls.contains("ok, 2.0 s") && ls.contains("allow") && ls.contains("Bash"), "{ls}");
    assert!(!out.contains('\u{1b}'), "what drives terminals is shown, not sent");
    assert!(line("shop.yaml").ends_with("friday: It is Friday"));
    assert!(line("→ Wait until Monday").starts_with("      "));
    assert!(line("? waits for a reviewer").starts_with("      "));
    assert!(line("false").contains("failed (1), 1.0 s") && line("false").contains("claude-code ↳explorer"));
    assert!(line("slow: Again").contains("warn"));
    assert_eq!(out.matches("ls -l").count(), 1, "a quiet result is shown with its call");
}

#[test]
fn log_filters_entries() {
    let world = lived_in();
    let whats = |args: &[&str]| -> Vec<String> {
        let lines = world.run(&[&["log", "--json"], args].concat()).code(0).json_lines();
        lines
            .iter()
            .map(|line| {
                format!("{}:{}", line["tool"].as_str().unwrap_or("-"), line["effect"].as_str().unwrap())
            })
            .collect()
    };
    assert_eq!(whats(&["--stopped"]), ["deploy:block", "refund:escalate"]);
    assert_eq!(whats(&["--effect", "warn"]), ["poll:warn"]);
    assert_eq!(whats(&["--tool", "Bash"]), ["Bash:allow", "Bash:allow"]);
    assert_eq!(whats(&["--agent", "a-77"]), ["Bash:allow"]);
    assert_eq!(whats(&["--agent", "explorer"]), ["Bash:allow"]);
    assert_eq!(whats(&["--session", "s-2"]), ["Bash:allow", "poll:warn"]);
    assert_eq!(whats(&["-n", "2"]), ["Bash:allow", "poll:warn"]);
    assert_eq!(whats(&["--since", "2026-11-15T10:00:09Z"]), ["poll:warn"]);
    assert_eq!(whats(&["--stopped", "-n", "1", "--session", "s-1"]), ["refund:escalate"]);
    let first = &world.run(&["log", "--json", "--tool", "Bash"]).json_lines()[0];
    assert_eq!(first["outcome"], json!({"ok": true, "seconds": 2.0}));
    world.run(&["log", "--session", "s-"]).code(1).complains("matches several sessions");
    world.run(&["log", "--session", "unknown"]).code(1).complains("there is no session `unknown`");
    world.run(&["log", "--effect", "perhaps"]).code(1);
    world.run(&["log", "--since", "soon"]).code(1).complains("is not a time");
    world.run(&["log", "--limit", "0"]).code(1).complains("not a number from 1");
    World::new().run(&["log"]).code(0).says("no such records");
    World::new().run(&["log", "--store", "none.db"]).code(1);
}

#[test]
fn log_shows_no_secrets() {
    let world = World::with_pack(PACK);
    let key = "AKIAIOSFODNN7EXAMPLQ";
    world.check(&event(
        1,
        "s-1",
        "after_tool",
        json!({
            "tool": {"name": "Read", "args": {"file_path": "notes.txt"}},
            "result": {"ok": true, "content": format!("aws_access_key_id={key}")},
        }),
    ));
    let ended = world.run(&["log"]).code(0).says("redact").says("│ aws_access_key_id=");
    assert!(!ended.out.contains(key));
}

#[test]
fn follow_waits_for_the_store_and_new_entries() {
    let world = World::with_pack(PACK);
    let mut child =
        world.command(&["log", "--follow"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut waiting = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut waiting).unwrap();
    assert!(waiting.contains("no store yet"), "{waiting}");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut until = |part: &str| lines.find(|line| line.as_ref().unwrap().contains(part)).unwrap().unwrap();
    world.check(&event(1, "s-1", "before_tool", tool("Bash", "c-1", json!({"command": "echo one"}))));
    until("echo one");
    world.check(&event(2, "s-1", "before_tool", tool("deploy", "c-2", json!({}))));
    assert!(until("friday").contains("block"));
    // The reader goes away, and the program with it.
    drop(lines);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn log_does_not_write_to_the_store() {
    let world = lived_in();
    let before = std::fs::read(world.default_store()).unwrap();
    world.run(&["log", "--stopped"]).code(0);
    world.run(&["log", "--json"]).code(0);
    assert!(before == std::fs::read(world.default_store()).unwrap());
}
