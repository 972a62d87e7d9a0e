//! `midrail import`, and what a pack would have blocked in the imported events.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::world::World;

/// A session of Claude Code with some calls, one a second.
fn recording(session: &str, day: u32, commands: &[&str]) -> String {
    let mut lines = Vec::new();
    let time = |second: usize| format!("2026-11-{day:02}T10:00:{second:02}.000Z");
    let line = |second: usize, kind: &str, message: Value| {
        json!({"type": kind, "message": message, "sessionId": session, "cwd": "/repo", "isSidechain": false, "timestamp": time(second)}).to_string()
    };
    lines.push(line(0, "user", json!({"role": "user", "content": "Please go on"})));
    for (at, command) in commands.iter().enumerate() {
        let id = format!("toolu_{session}_{at}");
        let used = json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}});
        lines.push(line(at + 1, "assistant", json!({"id": id, "role": "assistant", "content": [used], "stop_reason": "tool_use", "usage": {"input_tokens": 5, "output_tokens": 5}})));
        lines.push(line(at + 1, "user", json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "fine"}]})));
    }
    let text = json!({"type": "text", "text": "Done."});
    lines.push(line(
        50,
        "assistant",
        json!({"id": "end", "role": "assistant", "content": [text], "stop_reason": "end_turn"}),
    ));
    lines.join("\n") + "\n"
}

fn world() -> World {
    let world = World::new();
    world.write(
        "../.claude/projects/-repo/s-1.jsonl",
        recording(
            "s-1",
            14,
            &["ls", "git push --force origin main", "git push --force origin main", "rm -rf /srv/data"],
        ),
    );
    world.write(
        "../.claude/projects/-repo/s-2.jsonl",
        recording(
            "s-2",
            15,
            &[
                "cargo test",
                "git push --force",
                "export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzzKEY; rm -rf /srv/data",
            ],
        ),
    );
    world
}

#[test]
fn recordings_become_events_in_time_order() {
    let world = world();
    let ended = world.run(&["import", "claude-code"]).code(0).complains("20 events of 2 sessions in 2 files");
    let events = ended.json_lines();
    assert_eq!(events.len(), 20);
    assert_eq!((&events[0]["kind"], &events[0]["session"]), (&json!("session_start"), &json!("s-1")));
    assert_eq!(
        events[2]["tool"],
        json!({"name": "Bash", "call_id": "toolu_s-1_0", "args": {"command": "ls"}})
    );
    assert_eq!(
        (&events[3]["result"]["ok"], &events[3]["usage"]["call"]["tokens"]),
        (&json!(true), &json!(10))
    );
    assert_eq!(events[19]["output"], "Done.");
    let since = world.run(&["import", "claude-code", "--since", "2026-11-15", "--jobs", "2"]).code(0);
    assert!(since.json_lines().iter().all(|event| event["session"] == "s-2"));
}

#[test]
fn output_file_is_private_and_invalid_lines_are_named() {
    let world = world();
    let path = world.write("../.claude/projects/-repo/s-3.jsonl", "{\"type\":\n");
    let ended = world.run(&["import", "claude-code", "-o", "past.jsonl", "--json"]).code(0);
    let ended = ended.complains(
        &format!("{}:1: ", fs::canonicalize(&path).unwrap().display()).replace("/project/../", "/"),
    );
    assert_eq!(ended.json(), json!({"sessions": 3, "files": 3, "events": 20, "broken": 1}));
    let mode = fs::metadata(world.path("past.jsonl")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    world.run(&["import", "claude-code", "/nowhere/at/all"]).code(1).complains("/nowhere/at/all");
    world.run(&["import", "codex"]).code(1).complains("no recordings of codex");
    world.run(&["import", "abacus"]).code(1).complains("claude-code, codex");
}

#[test]
fn report_shows_would_be_blocks() {
    let world = world();
    world.run(&["import", "claude-code", "-o", "past.jsonl"]).code(0);
    let report = ["replay", "--report", "past.jsonl", "--pack", "default"];
    let ended = world.run(&report).code(0);
    let ended = ended
        .says("What `default` would have blocked")
        .says("2 sessions, 7 calls, 20 events on 2 days from 2026-11-14 to 2026-11-15");
    let ended = ended.says("git push --force origin main").says("assumptions");
    assert!(!ended.out.contains("wJalrXUt") && !ended.err.contains("wJalrXUt"), "{}", ended.out);
    let value = world.run(&[&["--json"], &report[..]].concat()).code(0).json();
    assert_eq!(
        (&value["sessions"], &value["calls"], &value["stopped_calls"]),
        (&json!(2), &json!(7), &json!(5))
    );
    let guardrail = &value["guardrails"][0];
    assert_eq!((&guardrail["guardrail"], &guardrail["sessions"]), (&json!("safety-001"), &json!(2)));
    assert_eq!(guardrail["examples"][0]["count"], 2);
    assert!(!world.default_store().exists(), "nothing is kept");
}

/// Suggested settings, added to a pack, remove as many blocks as the report states.
#[test]
fn suggested_settings_remove_the_reported_blocks() {
    let world = world();
    world.run(&["import", "claude-code", "-o", "past.jsonl"]).code(0);
    let stopped = |pack: &str| {
        world.write("try.yaml", pack);
        world.run(&["--json", "replay", "--report", "past.jsonl", "--pack", "try.yaml"]).code(0).json()
    };
    let before = stopped("pack: try\nextends: none\nguardrails: [safety-001]\n");
    let suggestions = before["suggestions"].as_array().unwrap();
    assert!(!suggestions.is_empty());
    for suggestion in suggestions {
        let (setting, value) = (suggestion["setting"].as_str().unwrap(), &suggestion["value"]);
        let after = stopped(&format!(
            "pack: try\nextends: none\nguardrails:\n  - use: safety-001\n    with: {{{setting}: [{value}]}}\n"
        ));
        let removed = before["stopped"].as_u64().unwrap() - after["stopped"].as_u64().unwrap();
        assert_eq!(Some(removed), suggestion["stops"].as_u64(), "{suggestion}");
        assert!(!value.as_str().unwrap().contains("wJalr"), "a secret is suggested");
    }
}

/// The same of files: those that hold credentials, and those outside of the project.
#[test]
fn file_suggestions_are_patterns() {
    let world = World::new();
    let read = |path: &str| {
        let tool = json!({"name": "Read", "args": {"file_path": path}});
        json!({"kind": "before_tool", "session": "s-1", "cwd": "/repo", "tool": tool}).to_string()
    };
    world.write(
        "past.jsonl",
        ["/repo/conf/.env", "/repo/a.txt", "/opt/shared/lib/b.txt"].map(read).join("\n"),
    );
    let stopped = |guardrails: &str| {
        world.write("try.yaml", format!("pack: try\nextends: none\nguardrails: {guardrails}\n"));
        world.run(&["--json", "replay", "--report", "past.jsonl", "--pack", "try.yaml"]).code(0).json()
    };
    for guardrail in ["safety-002", "safety-004"] {
        let before = stopped(&format!("[{guardrail}]"));
        assert_eq!(before["stopped"], 1, "{before}");
        let suggestions = before["suggestions"].as_array().unwrap();
        assert!(!suggestions.is_empty(), "{before}");
        for it in suggestions {
            let (setting, value) = (it["setting"].as_str().unwrap(), &it["value"]);
            let after = stopped(&format!("[{{use: {guardrail}, with: {{{setting}: [{value}]}}}}]"));
            assert_eq!(after["stopped"], 0, "{it}");
        }
    }
}

#[test]
fn import_is_piped_into_a_report() {
    let world = world();
    let events = world.run(&["import", "claude-code"]).code(0).out;
    world.feed(&["replay", "--report", "-"], events).code(0).says("would have blocked");
    world
        .feed(&["replay", "--report", "-"], "no json\n")
        .code(1)
        .complains("line 1 is no event")
        .says("1 line could not be read");
    world.run(&["replay", "--report", "-", "--store", "x.db"]).code(1).complains("cannot be used with");
}

/// A recorded file is judged by its recorded state, not by its current state.
#[test]
fn file_created_by_the_agent_counts_as_new() {
    let world = World::new();
    let call = |kind: &str, tool: &str, path: &str, more: Value| {
        let mut event = json!({"kind": kind, "session": "s-1", "cwd": world.project(), "tool": {"name": tool, "args": {"file_path": path, "content": "x"}}});
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event.to_string()
    };
    world.write("made.txt", "today");
    let done = json!({"result": {"ok": true, "content": "done"}});
    let lines = [
        call("before_tool", "Write", "made.txt", json!({})),
        call("after_tool", "Write", "made.txt", done.clone()),
        call("before_tool", "Write", "made.txt", json!({})),
        call("before_tool", "Read", "old.txt", json!({})),
        call("after_tool", "Read", "old.txt", done),
        call("before_tool", "Write", "old.txt", json!({})),
    ];
    world.write("past.jsonl", lines.join("\n"));
    world.write("pack.yaml", "pack: t\nguardrails: [read_before_write]\n");
    let report =
        world.run(&["--json", "replay", "--report", "past.jsonl", "--pack", "pack.yaml"]).code(0).json();
    assert_eq!((&report["stopped"], &report["unjudged"]), (&json!(0), &json!(0)), "{report}");
}
