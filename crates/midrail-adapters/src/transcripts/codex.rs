//! What Codex records of a session.

use midrail::{Agent, ToolResult};
use serde_json::{Value, json};

use super::{About, Ending, Host, args_of, exit_code, number_at, text_at, text_of};

const HOST: Host = Host::Codex;

/// What the program itself says to the model in the name of the user.
const OWN_WORDS: &[&str] = &[
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<skills_instructions>",
    "<turn_aborted>",
    "<subagent_notification>",
    "# AGENTS.md instructions",
];

/// Takes in a line. What is known from the lines before is what all hosts have.
pub(super) fn line(line: &Value, about: &mut About) -> Result<(), String> {
    let Some(kind) = text_at(line, "/type") else {
        return Err("it has no `type`".to_owned());
    };
    let payload = line.get("payload").unwrap_or(&Value::Null);
    match kind {
        "session_meta" => meta(payload, about),
        "turn_context" => cwd(payload, about),
        "response_item" => item(payload, about),
        "event_msg" => message(payload, about),
        _ => {}
    }
    Ok(())
}

fn cwd(payload: &Value, about: &mut About) {
    if let Some(cwd) = text_at(payload, "/cwd") {
        about.cwd = Some(cwd.to_owned());
    }
}

/// Who this is. The recording of a sub-agent begins with that of its parent repeated, which is passed over.
fn meta(payload: &Value, about: &mut About) {
    if about.has_begun {
        return;
    }
    cwd(payload, about);
    let id = text_at(payload, "/id").or_else(|| text_at(payload, "/session_id")).map(str::to_owned);
    let parent = ["/source/subagent/thread_spawn/parent_thread_id", "/parent_thread_id"];
    match parent.iter().find_map(|place| text_at(payload, place)).map(str::to_owned) {
        Some(parent) => {
            let role = ["/agent_role", "/source/subagent/thread_spawn/agent_role"];
            let role = role.iter().find_map(|place| text_at(payload, place)).map(str::to_owned);
            about.agent = Some((Agent { id, role, ..Agent::default() }, parent.clone()));
            about.session = Some(parent);
        }
        None => about.session = id.or(about.session.take()),
    }
}

fn item(payload: &Value, about: &mut About) {
    let (id, name) = (text_at(payload, "/call_id"), text_at(payload, "/name"));
    match text_at(payload, "/type").unwrap_or_default() {
        "message" if text_at(payload, "/role") == Some("user") => {
            let text = text_of(payload.get("content").unwrap_or(&Value::Null));
            let start = text.trim_start();
            if !start.is_empty() && !OWN_WORDS.iter().any(|words| start.starts_with(words)) {
                about.prompt(
                    HOST,
                    text,
                    text_at(payload, "/internal_chat_message_metadata_passthrough/turn_id"),
                );
            }
        }
        "function_call" => {
            let args = args_of(text_at(payload, "/arguments").unwrap_or("{}"));
            // A tool of a server is named with it, as its own hooks do.
            let name = match (text_at(payload, "/namespace"), name.unwrap_or_default()) {
                (Some(namespace), name) if !name.starts_with(namespace) => format!("{namespace}{name}"),
                (_, name) => name.to_owned(),
            };
            about.call(HOST, id, &name, args);
        }
        "custom_tool_call" => {
            let input = payload.get("input").map(text_of).unwrap_or_default();
            about.call(HOST, id, name.unwrap_or_default(), json!({"input": input}));
        }
        "local_shell_call" => {
            let command = payload.pointer("/action/command").cloned().unwrap_or_default();
            about.call(HOST, id, "local_shell", json!({"command": command}));
        }
        "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
            if let Some(id) = id {
                about.answered(HOST, id, result(payload.get("output").unwrap_or(&Value::Null)));
            }
        }
        _ => {}
    }
}

/// The answer of a tool. Older versions wrap it in JSON once more.
fn result(output: &Value) -> ToolResult {
    let wrapped = output.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let wrapped = wrapped.filter(|value| value.get("output").is_some());
    let whole = wrapped.as_ref().unwrap_or(output);
    let inner = whole.get("output").or_else(|| whole.get("content")).unwrap_or(whole);
    let text = text_of(inner);
    let told = whole.pointer("/metadata/exit_code").and_then(Value::as_i64);
    let exit_code = told.or_else(|| exit_code(&text, &["Process exited with code", "Exit code"]));
    let ok = whole.get("success").and_then(Value::as_bool).or_else(|| exit_code.map(|code| code == 0));
    ToolResult { ok, content: Some(text.into()), exit_code, ..ToolResult::default() }
}

fn message(payload: &Value, about: &mut About) {
    match text_at(payload, "/type").unwrap_or_default() {
        "token_count" => {
            let used = number_at(payload, "/info/last_token_usage/total_tokens");
            about.tokens = about.tokens.saturating_add(used);
        }
        "task_complete" | "turn_complete" => {
            let words = text_at(payload, "/last_agent_message").unwrap_or_default();
            let (words, reason) = (words.to_owned(), "end_turn".to_owned());
            about.ending = Some(Ending { words, reason, time: about.time });
            about.stop(HOST);
        }
        _ => {}
    }
}
