//! OpenCode: a plugin of Midrail's (`plugin.js`), which calls `midrail hook opencode` for each hook.
//!
//! Midrail defines the answers. Exit code 2 refuses: the plugin throws the text, or replaces a result with it. Otherwise
//! standard output is empty or one object: `replace` is the text of a result, `args` are the arguments of a call, `notes` are for the agent, and `continue` makes
//! an agent continue that wants to stop.

mod policy;
mod setup;
#[cfg(test)]
mod tests;

use midrail::{Agent, Decision, ErrorInfo, Event, EventKind, ToolCall, ToolResult};
use serde_json::{Map, Value, json};

use crate::host::result::{flat, with_exit_code};
use crate::host::{Adapter, DecodeError, Decoded, HookEvent, HookOutput, Payload, modified_args};
use crate::messages;
use crate::transcripts::reader::Transcripts;

pub(super) use self::policy::POLICY;
pub(super) use self::setup::SETUP;
pub(super) const TRANSCRIPTS: Option<Transcripts> = None;

pub(super) struct Opencode;

impl Adapter for Opencode {
    fn decode(&self, _: &HookEvent, payload: &Payload, event: &mut Event) -> Decoded {
        let (input, output) = (payload.value("input"), payload.value("output"));
        event.session = payload.pointer("input", "/sessionID").or_else(|| payload.owned("session"));
        event.cwd = payload.owned("cwd");
        if let Some(parent) = payload.owned("parent") {
            // A sub-agent has a session of its own in OpenCode. Midrail decides it in the session of its parent.
            let id = event.session.replace(parent.clone());
            event.agent = Some(Agent { id, ..Agent::default() });
            event.parent = Some(parent);
        }
        match event.kind {
            // OpenCode reports a session only when it is created.
            EventKind::SessionStart => event.source = Some("new".to_owned()),
            EventKind::BeforeModel => event.text = Some(prompt(&output)),
            EventKind::BeforeTool => event.tool = Some(tool(payload, output.get("args"))?),
            EventKind::AfterTool => {
                event.tool = Some(tool(payload, input.get("args"))?);
                let content = result_content(&output);
                let code = output.pointer("/metadata/exit").and_then(Value::as_i64);
                let is_error = output.get("isError").and_then(Value::as_bool).unwrap_or(false);
                event.result = Some(if is_error {
                    ToolResult::failed(content)
                } else {
                    with_exit_code(ToolResult::ok(content), code)
                });
            }
            EventKind::BeforeStop => event.output = payload.get("last").cloned(),
            EventKind::OnError => {
                let message = payload.pointer("error", "/data/message");
                let message = message.or_else(|| payload.pointer("error", "/message"));
                let kind = payload.pointer("error", "/name");
                event.error = Some(ErrorInfo { message, kind, ..ErrorInfo::default() });
            }
            _ => {}
        }
        Ok(())
    }

    fn attachments(&self, payload: &Payload) -> Vec<Event> {
        let parts = payload.get("output").and_then(|output| output.get("parts")?.as_array());
        let files = parts.into_iter().flatten().filter_map(attached_file);
        files.map(|file| Event::before_tool("read", json!({"filePath": file}))).collect()
    }

    fn encode(&self, hook_event: &HookEvent, _: &Payload, decision: &Decision) -> HookOutput {
        let can = hook_event.capabilities;
        if !decision.effect.allows() && can.block {
            return match hook_event.kind {
                EventKind::AfterTool => HookOutput::refusal(&messages::withheld_result(decision)),
                _ => self.refuse(Some(hook_event), &messages::refusal(decision)),
            };
        }
        let mut answer = Map::new();
        if let Some(args) = modified_args(hook_event, decision) {
            answer.insert("args".to_owned(), args.into());
        } else if let Some(content) = decision.content.as_ref().filter(|_| can.redact) {
            answer.insert("replace".to_owned(), json!(content));
        }
        if let Some(notes) = messages::context(decision).filter(|_| can.notes) {
            answer.insert("notes".to_owned(), json!([notes]));
        }
        if answer.is_empty() { self.allow() } else { HookOutput::json(&Value::Object(answer)) }
    }

    fn refuse(&self, hook_event: Option<&HookEvent>, reason: &str) -> HookOutput {
        match hook_event.map(|hook_event| hook_event.kind) {
            Some(EventKind::BeforeStop) => HookOutput::json(&json!({"continue": reason})),
            _ => HookOutput::refusal(reason),
        }
    }
}

fn tool(payload: &Payload, args: Option<&Value>) -> Decoded<ToolCall> {
    let name = payload.pointer("input", "/tool").filter(|name| !name.is_empty());
    let name = name.or_else(|| payload.owned("tool_name")).ok_or(DecodeError::NoTool)?;
    let args = match args {
        None | Some(Value::Null) => json!({}),
        Some(Value::Object(args)) => Value::Object(args.clone()),
        Some(other) => json!({"value": other}),
    };
    Ok(ToolCall { call_id: payload.pointer("input", "/callID"), ..ToolCall::new(name, args) })
}

/// What a tool returned: a text, or the parts of a result of an MCP server.
fn result_content(output: &Value) -> Value {
    match (output.get("output"), output.get("content")) {
        (Some(text), _) => text.clone(),
        (None, Some(_)) => {
            let fields = ["content", "structuredContent"].into_iter();
            let fields = fields.filter_map(|key| Some((key.to_owned(), output.get(key)?.clone())));
            Value::Object(fields.collect())
        }
        (None, None) => flat(output),
    }
}

fn prompt(output: &Value) -> String {
    let parts = output.get("parts").and_then(Value::as_array).into_iter().flatten();
    let texts: Vec<&str> = parts.filter_map(|part| part.get("text")?.as_str()).collect();
    texts.join("\n")
}

/// The file that a part of a prompt attaches.
fn attached_file(part: &Value) -> Option<String> {
    let text = |path: &str| part.pointer(path).and_then(Value::as_str);
    if text("/type")? != "file" {
        return None;
    }
    let url = text("/url").and_then(|url| url.strip_prefix("file://"));
    let url = url.map(|url| url.split(['?', '#']).next().unwrap_or(url));
    url.or(text("/source/path")).or(text("/filename")).map(str::to_owned)
}
