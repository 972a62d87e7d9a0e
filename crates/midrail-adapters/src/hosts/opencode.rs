//! OpenCode: a plugin of our own (`opencode.js` beside this), which hands each hook to `midrail hook opencode`.
//!
//! Its answers are ours to choose. Exit code 2 with a text refuses: the plugin throws it, or puts it in place of a result.
//! Else standard output is empty or one object: `replace` is a result's text, `notes` are told to the agent, and `continue`
//! sends an agent back to work that wants to stop.

use std::time::Duration;

use midrail::{Agent, Decision, ErrorInfo, Event, EventKind, ToolCall, ToolResult};
use serde_json::{Map, Value, json};

use super::result::{ended, flat};
use crate::host::{Adapter, Capabilities, HookEvent, HookOutput, HostInfo, Payload, hook_event};
use crate::messages;

/// The adapter.
pub(super) struct OpenCode;

const GATE: Capabilities = Capabilities { block: true, ask: false, redact: false, notes: true, halt: false };
const RESULT: Capabilities = Capabilities { block: true, ask: false, redact: true, notes: true, halt: false };
const PROMPT: Capabilities =
    Capabilities { block: true, ask: false, redact: false, notes: true, halt: false };
const STOP: Capabilities = Capabilities { block: true, ask: false, redact: false, notes: false, halt: false };
const NOTES: Capabilities =
    Capabilities { block: false, ask: false, redact: false, notes: true, halt: false };

const HOOK_EVENTS: &[HookEvent] = &[
    hook_event("session.created", EventKind::SessionStart, NOTES),
    hook_event("session.deleted", EventKind::SessionEnd, Capabilities::NOTHING),
    hook_event("session.error", EventKind::OnError, Capabilities::NOTHING),
    hook_event("chat.message", EventKind::BeforeModel, PROMPT),
    hook_event("tool.execute.before", EventKind::BeforeTool, GATE),
    hook_event("tool.execute.after", EventKind::AfterTool, RESULT),
    hook_event("session.idle", EventKind::BeforeStop, STOP),
];

const INFO: HostInfo = HostInfo {
    name: "opencode",
    title: "OpenCode",
    hook_events: HOOK_EVENTS,
    timeout: Duration::from_secs(60),
};

impl Adapter for OpenCode {
    fn info(&self) -> &'static HostInfo {
        &INFO
    }

    fn decode(&self, _: &HookEvent, payload: &Payload, event: &mut Event) -> Result<(), String> {
        let input = payload.get("input").cloned().unwrap_or_default();
        let output = payload.get("output").cloned().unwrap_or_default();
        let text = |value: &Value, key: &str| value.get(key)?.as_str().map(str::to_owned);
        event.session = text(&input, "sessionID").or_else(|| payload.owned("session"));
        event.cwd = payload.owned("cwd");
        if let Some(parent) = payload.owned("parent") {
            // A sub-agent has a session of its own there, and to us works in the one that it was started in.
            let id = event.session.replace(parent.clone());
            event.agent = Some(Agent { id, ..Agent::default() });
            event.parent = Some(parent);
        }
        match event.kind {
            // It tells of a session once, when it is made.
            EventKind::SessionStart => event.source = Some("new".to_owned()),
            EventKind::BeforeModel => event.text = Some(prompt(&output)),
            EventKind::BeforeTool => event.tool = Some(tool(payload, &input, output.get("args"))?),
            EventKind::AfterTool => {
                event.tool = Some(tool(payload, &input, input.get("args"))?);
                let content = told(&output);
                let code = output.pointer("/metadata/exit").and_then(Value::as_i64);
                let is_error = output.get("isError").and_then(Value::as_bool).unwrap_or(false);
                event.result = Some(match is_error {
                    true => ToolResult::failed(content),
                    false => ended(ToolResult::ok(content), code),
                });
            }
            EventKind::BeforeStop => event.output = payload.get("last").cloned(),
            EventKind::OnError => {
                let message =
                    payload.pointer("/error/data/message").or_else(|| payload.pointer("/error/message"));
                event.error =
                    Some(ErrorInfo { message, kind: payload.pointer("/error/name"), ..ErrorInfo::default() });
            }
            _ => {}
        }
        Ok(())
    }

    /// Files that are attached to a prompt are put into it without a tool call.
    fn implied_events(&self, hook_event: &HookEvent, payload: &Payload) -> Vec<Event> {
        let parts = payload.get("output").and_then(|output| output.get("parts")?.as_array());
        let parts = parts.filter(|_| hook_event.kind == EventKind::BeforeModel).into_iter().flatten();
        let files = parts.filter_map(attached);
        files.map(|file| Event::before_tool("read", json!({"filePath": file}))).collect()
    }

    fn encode(&self, hook_event: &HookEvent, _: &Payload, decision: &Decision) -> HookOutput {
        if !decision.effect.allows() && hook_event.capabilities.block {
            return match hook_event.kind {
                EventKind::BeforeStop => HookOutput::json(&json!({"continue": messages::refusal(decision)})),
                EventKind::AfterTool => HookOutput::refusal(&messages::withheld_result(decision)),
                _ => HookOutput::refusal(&messages::refusal(decision)),
            };
        }
        let mut answer = Map::new();
        if let Some(content) = decision.content.as_ref().filter(|_| hook_event.capabilities.redact) {
            answer.insert("replace".to_owned(), json!(content));
        }
        if let Some(notes) = messages::context(decision).filter(|_| hook_event.capabilities.notes) {
            answer.insert("notes".to_owned(), json!([notes]));
        }
        if answer.is_empty() { self.allow() } else { HookOutput::json(&Value::Object(answer)) }
    }

    fn refuse(&self, hook_event: Option<&HookEvent>, why: &str) -> HookOutput {
        match hook_event.map(|hook_event| hook_event.kind) {
            Some(EventKind::BeforeStop) => HookOutput::json(&json!({"continue": why})),
            _ => HookOutput::refusal(why),
        }
    }
}

impl Payload {
    /// A text at a place below.
    fn pointer(&self, path: &str) -> Option<String> {
        let (first, rest) = path.strip_prefix('/')?.split_once('/')?;
        self.get(first)?.pointer(&format!("/{rest}"))?.as_str().map(str::to_owned)
    }
}

fn tool(payload: &Payload, input: &Value, args: Option<&Value>) -> Result<ToolCall, String> {
    let name = input.get("tool").and_then(Value::as_str).filter(|name| !name.is_empty());
    let name = name.map(str::to_owned).or_else(|| payload.owned("tool_name")).ok_or("it names no tool")?;
    let call_id = input.get("callID").and_then(Value::as_str).map(str::to_owned);
    let args = match args {
        None | Some(Value::Null) => json!({}),
        Some(Value::Object(args)) => Value::Object(args.clone()),
        Some(other) => json!({"value": other}),
    };
    Ok(ToolCall { call_id, ..ToolCall::new(name, args) })
}

/// What a tool returned: a text, or what a tool of an MCP server has in its place.
fn told(output: &Value) -> Value {
    match (output.get("output"), output.get("content")) {
        (Some(text), _) => text.clone(),
        (None, Some(_)) => Value::Object(
            ["content", "structuredContent"]
                .into_iter()
                .filter_map(|key| Some((key.to_owned(), output.get(key)?.clone())))
                .collect(),
        ),
        (None, None) => flat(output),
    }
}

fn prompt(output: &Value) -> String {
    let parts = output.get("parts").and_then(Value::as_array).into_iter().flatten();
    let texts: Vec<&str> = parts.filter_map(|part| part.get("text")?.as_str()).collect();
    texts.join("\n")
}

/// The file that a part of a prompt brings.
fn attached(part: &Value) -> Option<String> {
    if part.get("type")?.as_str()? != "file" {
        return None;
    }
    let path = part.pointer("/source/path").and_then(Value::as_str);
    let url = part.get("url").and_then(Value::as_str).and_then(|url| url.strip_prefix("file://"));
    let name = part.get("filename").and_then(Value::as_str);
    let url = url.map(|url| url.split(['?', '#']).next().unwrap_or(url));
    url.or(path).or(name).map(str::to_owned)
}
