//! Many processes on one session and one store: each decision is right, recorded and in the chain.

use std::fs;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::world::World;

const PACK: &str = "pack: p\nguardrails:\n  - {id: w, tools: t, effect: warn, warn_limit: 81}\n";

fn event() -> String {
    json!({"kind": "before_tool", "session": "shared", "tool": {"name": "t"}}).to_string()
}

#[test]
fn sixteen_processes_share_a_session_without_lost_updates() {
    let world = World::with_pack(PACK);
    world.write("event.json", event());
    // 16 processes five times over: 80 warnings, each counted once, so that the 81st escalates.
    for _ in 0..5 {
        let children: Vec<Child> = (0..16)
            .map(|_| {
                let mut command = world.command(&["check", "--json", "event.json"]);
                command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        for child in children {
            let output = child.wait_with_output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert_eq!(output.status.code(), Some(0), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
            let decision: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(decision["effect"], json!("warn"));
        }
    }
    let last = world.run(&["check", "--json", "event.json"]).code(2);
    assert!(last.out.contains("\"effect\":\"escalate\""), "{}", last.out);
    let verified: Value =
        serde_json::from_str(&world.run(&["audit", "verify", "--json"]).code(0).out).unwrap();
    assert_eq!(verified["records"], json!(81), "{verified}");
}

#[test]
fn killed_processes_leave_an_intact_log() {
    let world = World::with_pack(PACK);
    world.write("event.json", event());
    let mut acknowledged = Vec::new();
    for number in 0..60_u64 {
        let mut command = world.command(&["check", "--json", "event.json"]);
        let file = fs::File::create(world.path(&format!("out-{number}"))).unwrap();
        let mut child = command.stdin(Stdio::null()).stdout(file).stderr(Stdio::null()).spawn().unwrap();
        // The number of polls spreads the kills over the life of a process, from its start to its end.
        (0..number * 300).any(|_| child.try_wait().unwrap().is_some());
        drop(child.kill());
        child.wait().unwrap();
        if let Ok(decision) = serde_json::from_str::<Value>(&world.read(&format!("out-{number}"))) {
            acknowledged
                .push((decision["audit"]["seq"].as_u64().unwrap(), decision["audit"]["hash"].clone()));
        }
    }
    // At least one decision, so that there is a store.
    world.run(&["check", "event.json"]);
    world.run(&["audit", "verify"]).code(0);
    let export = world.run(&["audit", "export"]).code(0).out;
    for (seq, hash) in acknowledged {
        let is_there = export
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .any(|line| line["seq"].as_u64() == Some(seq) && line["hash"] == hash);
        assert!(is_there, "decision {seq} was answered and is not in the log");
    }
}
