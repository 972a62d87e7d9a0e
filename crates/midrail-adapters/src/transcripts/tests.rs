//! Small recordings of both hosts, and what is made of them.

use std::fs;
use std::path::{Path, PathBuf};

use midrail::{Event, EventKind};
use serde_json::{Value, json};

use super::{ImportItem, SessionEvents, Transcript, Transcripts, find_sessions, read_sessions};
use crate::hosts;

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("midrail-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn write(&self, name: &str, lines: &[Value]) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn claude(second: u32, kind: &str, message: Value, more: Value) -> Value {
    let mut line = json!({
        "type": kind, "message": message, "sessionId": "c-1", "cwd": "/repo", "isSidechain": false,
        "timestamp": format!("2026-11-15T10:00:{second:02}.000Z"), "promptId": "p-1",
    });
    line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    line
}

fn says(id: &str, block: Value, stop_reason: &str) -> Value {
    json!({"id": id, "role": "assistant", "content": [block], "stop_reason": stop_reason,
        "usage": {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 100}})
}

fn uses(id: &str, call: &str, name: &str, input: Value) -> Value {
    says(id, json!({"type": "tool_use", "id": call, "name": name, "input": input}), "tool_use")
}

fn answer(call: &str, content: Value, is_error: bool) -> Value {
    json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": call, "content": content, "is_error": is_error},
    ]})
}

fn of_claude() -> Vec<Value> {
    let text = |text: &str| json!({"type": "text", "text": text});
    vec![
        json!({"type": "queue-operation", "operation": "enqueue", "sessionId": "c-1"}),
        claude(1, "user", json!({"role": "user", "content": "Tidy up"}), json!({})),
        claude(1, "user", json!({"role": "user", "content": "<reminder>"}), json!({"isMeta": true})),
        claude(2, "assistant", says("m-1", text("I look."), "tool_use"), json!({})),
        claude(2, "assistant", uses("m-1", "t-1", "Bash", json!({"command": "ls"})), json!({})),
        claude(4, "user", answer("t-1", json!("a.txt"), false), json!({})),
        claude(5, "assistant", uses("m-2", "t-2", "Bash", json!({"command": "false"})), json!({})),
        claude(
            6,
            "user",
            answer("t-2", json!([{"type": "text", "text": "Exit code 1\nno"}]), true),
            json!({}),
        ),
        claude(7, "assistant", uses("m-3", "t-3", "Bash", json!({"command": "rm -rf /"})), json!({})),
        claude(
            8,
            "user",
            answer("t-3", json!("refused"), true),
            json!({"toolDenialKind": "permission-rule"}),
        ),
        claude(9, "assistant", says("m-4", text("All done."), "end_turn"), json!({})),
    ]
}

fn of_sub_agent() -> Vec<Value> {
    let side = json!({"isSidechain": true, "agentId": "a-1", "attributionAgent": "explorer"});
    vec![
        claude(
            3,
            "user",
            json!({"role": "user", "content": "Look around"}),
            json!({"isSidechain": true, "agentId": "a-1"}),
        ),
        claude(3, "assistant", uses("s-1", "u-1", "Read", json!({"file_path": "/repo/a.txt"})), side),
    ]
}

fn source(host: &str) -> Transcripts {
    hosts::find(host).unwrap().transcripts.unwrap()
}

fn read(host: &str, path: &str, lines: &[Value]) -> Vec<Event> {
    let mut transcript = Transcript::new(&source(host), Path::new(path));
    let mut events: Vec<Event> =
        lines.iter().flat_map(|line| transcript.line(line.to_string().as_bytes()).unwrap()).collect();
    events.extend(transcript.end());
    events
}

fn kinds(events: &[Event]) -> Vec<EventKind> {
    events.iter().map(|event| event.kind).collect()
}

#[test]
fn claude_code_session_becomes_events() {
    use EventKind::{AfterTool, BeforeModel, BeforeStop, BeforeTool, SessionStart};
    let events = read("claude-code", "/p/c-1.jsonl", &of_claude());
    assert_eq!(
        kinds(&events),
        [SessionStart, BeforeModel, BeforeTool, AfterTool, BeforeTool, AfterTool, BeforeTool, BeforeStop],
        "a refused call has no result"
    );
    for event in &events {
        assert_eq!((event.session.as_deref(), event.cwd.as_deref()), (Some("c-1"), Some("/repo")));
        assert_eq!(event.extra["host"], json!({"name": "claude-code"}));
        assert!(event.time.is_some() && event.agent.is_none());
    }
    assert_eq!((events[1].text.as_deref(), events[1].prompt.as_deref()), (Some("Tidy up"), Some("p-1")));
    let result = events[3].result.clone().unwrap();
    assert_eq!((result.ok, result.content, result.exit_code), (Some(true), Some(json!("a.txt")), None));
    assert_eq!(events[3].tool.as_ref().unwrap().args["command"], "ls");
    assert_eq!(events[3].call_id(), Some("t-1"));
    let tokens = |event: &Event| event.usage.as_ref()?.call.as_ref()?.tokens;
    assert_eq!(tokens(&events[3]), Some(115), "a message on two lines counts once");
    let result = events[5].result.clone().unwrap();
    assert_eq!((result.ok, result.exit_code), (Some(false), Some(1)));
    assert_eq!(events[7].output, Some(json!("All done.")));
    assert_eq!(tokens(&events[7]), Some(230), "those of the refused call's message as well");
}

#[test]
fn claude_code_sub_agent_has_a_parent() {
    let events = read("claude-code", "/p/c-1/subagents/agent-a-1.jsonl", &of_sub_agent());
    assert_eq!(kinds(&events), [EventKind::BeforeModel, EventKind::BeforeTool]);
    let agent = events[1].agent.as_ref().unwrap();
    assert_eq!((agent.id.as_deref(), agent.role.as_deref()), (Some("a-1"), Some("explorer")));
    assert_eq!(events[1].parent.as_deref(), Some("c-1"));
}

fn codex(second: u32, kind: &str, payload: Value) -> Value {
    json!({"timestamp": format!("2026-11-15T11:00:{second:02}.000Z"), "type": kind, "payload": payload})
}

fn of_codex(meta: Value) -> Vec<Value> {
    let user = |text: &str| json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]});
    vec![
        codex(0, "session_meta", meta),
        codex(0, "response_item", user("<environment_context>\n  <cwd>/repo</cwd>")),
        codex(1, "turn_context", json!({"cwd": "/repo/sub"})),
        codex(1, "response_item", user("Tidy up")),
        codex(
            2,
            "response_item",
            json!({"type": "function_call", "name": "exec_command", "call_id": "k-1",
            "arguments": "{\"cmd\": \"ls\"}"}),
        ),
        codex(
            3,
            "response_item",
            json!({"type": "function_call_output", "call_id": "k-1",
            "output": "Chunk ID: 1\nProcess exited with code 2\nOutput:\nno"}),
        ),
        codex(
            3,
            "event_msg",
            json!({"type": "token_count", "info": {"last_token_usage": {"total_tokens": 15}}}),
        ),
        codex(
            4,
            "response_item",
            json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": "k-2",
            "input": "*** Begin Patch\n*** Add File: a.txt\n+1\n*** End Patch\n"}),
        ),
        codex(
            5,
            "response_item",
            json!({"type": "custom_tool_call_output", "call_id": "k-2",
            "output": "{\"output\":\"Success.\",\"metadata\":{\"exit_code\":0}}"}),
        ),
        codex(6, "event_msg", json!({"type": "task_complete", "last_agent_message": "Done."})),
    ]
}

#[test]
fn codex_session_becomes_events() {
    use EventKind::{AfterTool, BeforeModel, BeforeStop, BeforeTool, SessionStart};
    let events = read("codex", "/s/rollout-x.jsonl", &of_codex(json!({"id": "x-1", "cwd": "/repo"})));
    assert_eq!(
        kinds(&events),
        [SessionStart, BeforeModel, BeforeTool, AfterTool, BeforeTool, AfterTool, BeforeStop]
    );
    assert!(events.iter().all(|event| event.session.as_deref() == Some("x-1")));
    assert_eq!(events[2].cwd.as_deref(), Some("/repo/sub"));
    assert_eq!(events[2].tool.as_ref().unwrap().args["cmd"], "ls");
    let result = |at: usize| events[at].result.clone().unwrap();
    assert_eq!((result(3).ok, result(3).exit_code), (Some(false), Some(2)));
    assert_eq!((result(5).ok, result(5).content), (Some(true), Some(json!("Success."))));
    assert_eq!(events[5].usage.as_ref().unwrap().call.as_ref().unwrap().tokens, Some(15));
    assert_eq!(events[6].output, Some(json!("Done.")));
}

#[test]
fn codex_sub_agent_belongs_to_its_parents_session() {
    let spawn = json!({"subagent": {"thread_spawn": {"parent_thread_id": "x-1", "depth": 1}}});
    let events =
        read("codex", "/s/rollout-y.jsonl", &of_codex(json!({"id": "y-1", "cwd": "/repo", "source": spawn})));
    assert_eq!(events[0].kind, EventKind::BeforeModel);
    assert_eq!((events[0].session.as_deref(), events[0].parent.as_deref()), (Some("x-1"), Some("x-1")));
    assert_eq!(events[0].agent.as_ref().unwrap().id.as_deref(), Some("y-1"));
}

#[test]
fn invalid_line_does_not_stop_the_import() {
    let folder = Folder::new("broken");
    let mut lines = of_claude();
    lines.insert(4, json!("no object"));
    let path = folder.write("project/c-1.jsonl", &lines);
    let mut text = fs::read_to_string(&path).unwrap();
    text.push_str("{\"type\":\"user\",\n{\"type\":\"assistant\"}\n");
    fs::write(&path, text).unwrap();
    let sessions = find_sessions(&source("claude-code"), std::slice::from_ref(&folder.0), None).unwrap();
    let (events, broken): (Vec<_>, Vec<_>) = SessionEvents::new(&sessions[0], None).partition(Result::is_ok);
    assert_eq!(events.len(), 8);
    let broken: Vec<_> = broken.into_iter().map(|it| it.unwrap_err()).collect();
    assert_eq!(broken.iter().map(|it| it.line).collect::<Vec<_>>(), [5, 13, 14]);
    assert!(broken[2].reason.contains("no `message`"), "{:?}", broken[2]);
}

#[test]
fn events_of_sub_agents_and_sessions_are_ordered_by_time() {
    let folder = Folder::new("order");
    folder.write("a/c-1.jsonl", &of_claude());
    folder.write("a/c-1/subagents/agent-a-1.jsonl", &of_sub_agent());
    let earlier = json!({"type": "user", "message": {"role": "user", "content": "Before"}, "sessionId": "c-0",
        "timestamp": "2026-11-14T10:00:00Z"});
    folder.write("b/z.jsonl", &[earlier]);
    let sessions = find_sessions(&source("claude-code"), std::slice::from_ref(&folder.0), None).unwrap();
    assert_eq!(sessions.len(), 2);
    for jobs in [1, 2, 9] {
        let mut events: Vec<Event> = Vec::new();
        let taken = read_sessions(&sessions, None, jobs, |work| -> Result<(), ()> {
            if let ImportItem::Event(json) = work {
                events.push(serde_json::from_str(&json).unwrap());
            }
            Ok(())
        });
        taken.unwrap();
        assert_eq!(events.len(), 12);
        assert_eq!(events[0].session.as_deref(), Some("c-0"));
        assert!(events.iter().map(|event| event.time).is_sorted());
        let side: Vec<usize> = (0..12).filter(|at| events[*at].parent.is_some()).collect();
        assert_eq!(side, [5, 6], "between the first call and its result");
    }
    let since = "2026-11-15T10:00:05Z".parse().unwrap();
    let kept: Vec<Event> = SessionEvents::new(&sessions[1], Some(since)).map(Result::unwrap).collect();
    assert_eq!(kept[0].kind, EventKind::SessionStart);
    assert_eq!(kept.len(), 5);
    assert!(read_sessions(&sessions, None, 2, |_| Err(())).is_err(), "it ends if the receiver fails");
}

#[test]
fn file_name_contains_the_session() {
    let name = |path: &str| source("codex").session_of(Path::new(path)).unwrap();
    assert_eq!(name("/p/c-1.jsonl"), "c-1");
    assert_eq!(name("/p/c-1/subagents/agent-a.jsonl"), "c-1");
    assert_eq!(name("/s/rollout-2026.jsonl"), "2026");
    let missing =
        find_sessions(&source("codex"), &[PathBuf::from("/nowhere/at/all")], None).unwrap_err().to_string();
    assert!(missing.contains("/nowhere/at/all"), "{missing}");
}
