//! Recordings of Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`.

use midrail::{Agent, ToolResult};
use serde_json::{Value, json};

use crate::transcripts::reader::{
    LineError, LineReader, Recording, Transcripts, TurnEnd, exit_code, number_at, text_at, text_of,
};

pub(in crate::hosts) const TRANSCRIPTS: Option<Transcripts> =
    Some(Transcripts { host: "codex", folder: "sessions", prefix: "rollout-", reader: |_| Box::new(Reader) });

/// How messages start that Codex sends to the model as the user.
const OWN_MESSAGES: &[&str] = &[
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<skills_instructions>",
    "<turn_aborted>",
    "<subagent_notification>",
    "# AGENTS.md instructions",
];

struct Reader;

impl LineReader for Reader {
    fn line(&mut self, line: &Value, recording: &mut Recording) -> Result<(), LineError> {
        let kind = text_at(line, "/type").ok_or(LineError::MissingField("type"))?;
        let payload = line.get("payload").unwrap_or(&Value::Null);
        match kind {
            "session_meta" => meta(payload, recording),
            "turn_context" => cwd(payload, recording),
            "response_item" => item(payload, recording),
            "event_msg" => message(payload, recording),
            _ => {}
        }
        Ok(())
    }
}

fn cwd(payload: &Value, recording: &mut Recording) {
    if let Some(cwd) = text_at(payload, "/cwd") {
        recording.cwd = Some(cwd.to_owned());
    }
}

/// The session and agent. The recording of a sub-agent repeats that of its parent at the start, which is skipped.
fn meta(payload: &Value, recording: &mut Recording) {
    if recording.has_begun {
        return;
    }
    cwd(payload, recording);
    let id = text_at(payload, "/id").or_else(|| text_at(payload, "/session_id")).map(str::to_owned);
    let parent = ["/source/subagent/thread_spawn/parent_thread_id", "/parent_thread_id"];
    match parent.iter().find_map(|place| text_at(payload, place)).map(str::to_owned) {
        Some(parent) => {
            let role = ["/agent_role", "/source/subagent/thread_spawn/agent_role"];
            let role = role.iter().find_map(|place| text_at(payload, place)).map(str::to_owned);
            recording.agent = Some((Agent { id, role, ..Agent::default() }, parent.clone()));
            recording.session = Some(parent);
        }
        None => recording.session = id.or(recording.session.take()),
    }
}

fn item(payload: &Value, recording: &mut Recording) {
    let (id, name) = (text_at(payload, "/call_id"), text_at(payload, "/name"));
    match text_at(payload, "/type").unwrap_or_default() {
        "message" if text_at(payload, "/role") == Some("user") => {
            let text = text_of(payload.get("content").unwrap_or(&Value::Null));
            let start = text.trim_start();
            if !start.is_empty() && !OWN_MESSAGES.iter().any(|head| start.starts_with(head)) {
                let turn = text_at(payload, "/internal_chat_message_metadata_passthrough/turn_id");
                recording.prompt(text, turn);
            }
        }
        "function_call" => {
            let arguments = text_at(payload, "/arguments").unwrap_or("{}");
            let args = serde_json::from_str(arguments).ok().filter(Value::is_object);
            let args = args.unwrap_or_else(|| json!({"input": arguments}));
            // A tool of an MCP server is named with the server, as in hooks.
            let name = match (text_at(payload, "/namespace"), name.unwrap_or_default()) {
                (Some(namespace), name) if !name.starts_with(namespace) => format!("{namespace}{name}"),
                (_, name) => name.to_owned(),
            };
            recording.call(id, &name, args);
        }
        "custom_tool_call" => {
            let input = payload.get("input").map(text_of).unwrap_or_default();
            recording.call(id, name.unwrap_or_default(), json!({"input": input}));
        }
        "local_shell_call" => {
            let command = payload.pointer("/action/command").cloned().unwrap_or_default();
            recording.call(id, "local_shell", json!({"command": command}));
        }
        "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
            if let Some(id) = id {
                recording.result(id, result(payload.get("output").unwrap_or(&Value::Null)));
            }
        }
        _ => {}
    }
}

/// The result of a tool. Older versions wrap it in JSON once more.
fn result(output: &Value) -> ToolResult {
    let wrapped = output.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let wrapped = wrapped.filter(|value| value.get("output").is_some());
    let whole = wrapped.as_ref().unwrap_or(output);
    let inner = whole.get("output").or_else(|| whole.get("content")).unwrap_or(whole);
    let text = text_of(inner);
    let reported = whole.pointer("/metadata/exit_code").and_then(Value::as_i64);
    let exit_code = reported.or_else(|| exit_code(&text, &["Process exited with code", "Exit code"]));
    let ok = whole.get("success").and_then(Value::as_bool).or_else(|| exit_code.map(|code| code == 0));
    ToolResult { ok, content: Some(text.into()), exit_code, ..ToolResult::default() }
}

fn message(payload: &Value, recording: &mut Recording) {
    match text_at(payload, "/type").unwrap_or_default() {
        "token_count" => {
            let used = number_at(payload, "/info/last_token_usage/total_tokens");
            recording.tokens = recording.tokens.saturating_add(used);
        }
        "task_complete" | "turn_complete" => {
            let text = text_at(payload, "/last_agent_message").unwrap_or_default().to_owned();
            let reason = "end_turn".to_owned();
            recording.turn_end = Some(TurnEnd { text, reason, time: recording.time });
            recording.stop();
        }
        _ => {}
    }
}
