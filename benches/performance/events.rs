//! The events that the benchmark and the budget measure, as JSON.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "the benchmark and the test of the budget use some of it each"
)]

use std::path::Path;

use serde_json::{Value, json};

/// The names of the events.
pub(crate) const EVENTS: [&str; 9] =
    ["shell", "read", "write", "result-1k", "result-3k", "result-100k", "page-3k", "prompt", "stop"];

/// The content of `src/main.rs`, which the agent has read and edits.
pub(crate) const FILE: &str = "fn main() {\n    println!(\"hello\");\n}\n";

/// A number of six digits in every event, so that no two events are equal and all have one length.
pub(crate) const NUMBER: &str = "100000";

/// An event, in a session of an agent that works in a folder.
pub(crate) fn event(name: &str, folder: &Path) -> Value {
    let before =
        |tool: &str, args: Value| json!({"kind": "before_tool", "tool": {"name": tool, "args": args}});
    let result = |size: usize| {
        let command = format!("cargo test --workspace case_{NUMBER} 2>&1 | tail -40");
        let content = format!("run {NUMBER}\n{}", text(size));
        json!({
            "kind": "after_tool", "tool": {"name": "Bash", "args": {"command": command}},
            "result": {"ok": true, "content": content},
        })
    };
    let mut event = match name {
        "shell" => before(
            "Bash",
            json!({"command": format!("cargo test --workspace case_{NUMBER} 2>&1 | tail -40"), "description": "Run tests"}),
        ),
        "read" => before("Read", json!({"file_path": folder.join("src/main.rs"), "limit": 100_000})),
        "write" => before(
            "Edit",
            json!({
                "file_path": folder.join("src/main.rs"), "old_string": "    println!(\"hello\");",
                "new_string": format!("    println!(\"hello {NUMBER}\");"),
            }),
        ),
        "result-1k" => result(1_000),
        "result-3k" => result(3_000),
        "result-100k" => result(100_000),
        // Text from outside of the project, which the statistical model classifies.
        "page-3k" => json!({
            "kind": "after_tool", "tool": {"name": "WebFetch", "args": {"url": format!("https://docs.example/{NUMBER}")}},
            "result": {"ok": true, "content": text(3_000)},
        }),
        "prompt" => json!({
            "kind": "before_model",
            "text": format!("Fix issue {NUMBER}: the parser in src/main.rs rejects an empty line. Add a test that shows it, and run all tests before you finish."),
        }),
        "stop" => json!({
            "kind": "before_stop", "stop_reason": "end_turn",
            "output": format!("Issue {NUMBER} is fixed: the parser accepts an empty line, and all tests pass."),
        }),
        name => json!({"kind": name}),
    };
    complete(&mut event, folder);
    event
}

/// The result of the read that lets the agent edit the file.
pub(crate) fn read_result(path: &str, folder: &Path) -> Value {
    let mut event = json!({
        "kind": "after_tool", "tool": {"name": "Read", "args": {"file_path": folder.join(path)}},
        "result": {"ok": true, "content": FILE},
    });
    complete(&mut event, folder);
    event
}

fn complete(event: &mut Value, folder: &Path) {
    let fields = event.as_object_mut().unwrap();
    fields.insert("session".into(), "s-1".into());
    fields.insert("cwd".into(), folder.display().to_string().into());
    fields.insert("agent".into(), json!({"id": "implementer-3", "role": "implementer"}));
}

/// A payload of Claude Code: before a call, after it, or a prompt.
pub(crate) fn payload(event: &str, folder: &Path) -> Value {
    let mut payload = json!({
        "hook_event_name": event, "session_id": "s-1", "cwd": folder, "transcript_path": folder.join("t.jsonl"),
        "permission_mode": "default",
    });
    let call = json!({
        "tool_name": "Bash", "tool_use_id": "toolu_1",
        "tool_input": {"command": "cargo test --workspace 2>&1 | tail -40", "description": "Run tests"},
    });
    let more = match event {
        "UserPromptSubmit" => {
            json!({"prompt": "Fix the parser in src/main.rs, and run all tests before you finish."})
        }
        "PostToolUse" => {
            let mut call = call;
            call["tool_response"] = json!({"stdout": text(3_000), "stderr": "", "interrupted": false});
            call
        }
        _ => call,
    };
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    payload
}

/// Text without findings: source code, prose and logs.
pub(crate) fn text(size: usize) -> String {
    let lines = [
        "fn walk(tree: &Tree, depth: usize) -> Option<Node> {",
        "    let token = self.tokens.next()?; // the next token of the stream",
        "    match token.kind { Kind::Open => self.walk(tree, depth + 1), Kind::Close => Some(node), _ => None }",
        "}",
        "const TABLE: [u32; 4] = [0x1f, 0x2e, 0x3d, 0x4c];",
        "The engine reads every event once, and answers before the tool runs.",
        "On 14 March the team measured it again, with 3.5 percent less noise than the week before.",
        "2026-11-15T10:00:00.123Z INFO server: GET /v1/items?page=2 200 12ms",
        "2026-11-15T10:00:01.001Z WARN cache: miss for items:8841, commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "test parser::tests::empty_line ... ok",
    ];
    let mut text = String::with_capacity(size + 128);
    for line in lines.iter().cycle() {
        if text.len() >= size {
            break;
        }
        text.push_str(line);
        text.push('\n');
    }
    text.truncate(size);
    text
}

/// The JSON text of an event whose number can be set.
pub(crate) struct Numbered {
    text: Vec<u8>,
    places: Vec<usize>,
}

impl Numbered {
    pub(crate) fn new(event: &Value) -> Self {
        let text = event.to_string();
        let places = text.match_indices(NUMBER).map(|(at, _)| at).collect();
        Numbered { text: text.into(), places }
    }

    /// The text with a number.
    pub(crate) fn with(&mut self, number: u64) -> &[u8] {
        let digits = format!("{:06}", 100_000 + number % 900_000);
        for place in &self.places {
            if let Some(place) = self.text.get_mut(*place..place + digits.len()) {
                place.copy_from_slice(digits.as_bytes());
            }
        }
        &self.text
    }
}
