//! Gemini CLI: hooks of the type `command`.

use std::time::Duration;

use midrail::{Decision, Effect, Event, EventKind, ToolResult};
use serde_json::{Map, Value, json};

use super::claude_code::{common, tool};
use super::result::{ended, flat, number_after};
use crate::host::{Adapter, Capabilities, HookEvent, HookOutput, HostInfo, Payload, hook_event};
use crate::mentions;
use crate::messages;

/// The adapter.
pub(super) struct Gemini;

/// It can ask its user, but waits for one forever where there is none.
const GATE: Capabilities = Capabilities { block: true, ask: false, redact: false, notes: false, halt: true };
/// A result is withheld, and the reason stands in its place: a changed result can be that reason.
const RESULT: Capabilities = Capabilities { block: true, ask: false, redact: true, notes: true, halt: true };
const PROMPT: Capabilities = Capabilities { block: true, ask: false, redact: false, notes: true, halt: true };
const MODEL: Capabilities = Capabilities { block: true, ask: false, redact: true, notes: false, halt: true };
const STOP: Capabilities = Capabilities { block: true, ask: false, redact: false, notes: false, halt: true };

const HOOK_EVENTS: &[HookEvent] = &[
    // What is told here is put into the first prompt, which is then judged with it: our own words would be taken for the
    // user's, and for an injection. Notes wait for BeforeAgent.
    hook_event("SessionStart", EventKind::SessionStart, Capabilities::NOTHING),
    hook_event("SessionEnd", EventKind::SessionEnd, Capabilities::NOTHING),
    hook_event("BeforeAgent", EventKind::BeforeModel, PROMPT),
    // Each request to the model holds the prompt, which BeforeAgent has decided about, and the results, which AfterTool
    // has. As a before_model of its own it would count a prompt as often as the model is called, and begin a new turn
    // with each: warnings, retries and forced continuations would never add up.
    hook_event("BeforeModel", EventKind::Observed, Capabilities::NOTHING),
    hook_event("AfterModel", EventKind::AfterModel, MODEL),
    hook_event("BeforeTool", EventKind::BeforeTool, GATE),
    hook_event("AfterTool", EventKind::AfterTool, RESULT),
    hook_event("AfterAgent", EventKind::BeforeStop, STOP),
];

const INFO: HostInfo = HostInfo {
    name: "gemini-cli",
    title: "Gemini CLI",
    hook_events: HOOK_EVENTS,
    timeout: Duration::from_secs(60),
};

impl Adapter for Gemini {
    fn info(&self) -> &'static HostInfo {
        &INFO
    }

    fn decode(&self, _: &HookEvent, payload: &Payload, event: &mut Event) -> Result<(), String> {
        common(payload, event);
        match event.kind {
            EventKind::BeforeModel => event.text = Some(payload.owned("prompt").unwrap_or_default()),
            EventKind::AfterModel => event.text = Some(said(payload)),
            EventKind::BeforeTool | EventKind::AfterTool => {
                let mut tool = tool(payload)?;
                if let Some(name) = server_tool(payload) {
                    tool.name = name;
                }
                event.tool = Some(tool);
                event.result = (event.kind == EventKind::AfterTool).then(|| result(payload));
            }
            EventKind::BeforeStop => event.output = payload.get("prompt_response").cloned(),
            _ => {}
        }
        Ok(())
    }

    /// A file that a prompt mentions is put into it without a tool call.
    fn implied_events(&self, hook_event: &HookEvent, payload: &Payload) -> Vec<Event> {
        match hook_event.kind {
            EventKind::BeforeModel => mentions::reads(payload.text("prompt").unwrap_or_default()),
            _ => Vec::new(),
        }
    }

    fn encode(&self, hook_event: &HookEvent, payload: &Payload, decision: &Decision) -> HookOutput {
        let mut answer = Map::new();
        if decision.effect == Effect::Halt && hook_event.capabilities.halt {
            answer.insert("continue".to_owned(), json!(false));
            answer.insert("stopReason".to_owned(), json!(messages::halt_message(decision)));
        }
        let content = decision.content.as_deref();
        let denied = match (hook_event.kind, content) {
            _ if !hook_event.capabilities.block => None,
            (EventKind::AfterTool, _) if !decision.effect.allows() => {
                Some(messages::withheld_result(decision))
            }
            _ if !decision.effect.allows() => Some(messages::refusal(decision)),
            (EventKind::AfterTool, Some(content)) => Some(messages::replaced_result(decision, content)),
            _ => None,
        };
        let mut own = Map::new();
        match (denied, hook_event.kind, content) {
            (Some(reason), ..) => {
                answer.insert("decision".to_owned(), json!("deny"));
                answer.insert("reason".to_owned(), json!(reason));
            }
            (None, EventKind::AfterModel, Some(content)) => {
                own.insert("llm_response".to_owned(), response(payload, content));
            }
            (None, ..) => {
                let notes = messages::context(decision).filter(|_| hook_event.capabilities.notes);
                own.extend(notes.map(|notes| ("additionalContext".to_owned(), json!(notes))));
            }
        }
        if !own.is_empty() {
            own.insert("hookEventName".to_owned(), json!(hook_event.name));
            answer.insert("hookSpecificOutput".to_owned(), Value::Object(own));
        }
        if answer.is_empty() { self.allow() } else { HookOutput::json(&Value::Object(answer)) }
    }

    fn refuse(&self, hook_event: Option<&HookEvent>, why: &str) -> HookOutput {
        match hook_event.filter(|hook_event| hook_event.kind == EventKind::AfterTool) {
            Some(_) => {
                HookOutput::json(&json!({"decision": "deny", "reason": format!("[result withheld] {why}")}))
            }
            None => HookOutput::refusal(why),
        }
    }
}

/// The name of a tool of an MCP server as others have it. Gemini calls it `mcp_fs_read_text_file`, in which nobody can
/// tell where the server's name ends, and tells both names beside it.
fn server_tool(payload: &Payload) -> Option<String> {
    let context = payload.get("mcp_context")?;
    let name = |key| context.get(key)?.as_str().filter(|name: &&str| !name.is_empty());
    Some(format!("mcp__{}__{}", name("server_name")?, name("tool_name")?))
}

/// What the model said.
fn said(payload: &Payload) -> String {
    let response = payload.get("llm_response");
    let text = response.and_then(|response| response.get("text")).and_then(Value::as_str);
    let parts = response.and_then(|response| response.pointer("/candidates/0/content/parts"));
    match (text, parts) {
        (Some(text), _) => text.to_owned(),
        (None, Some(parts)) => match flat(parts) {
            Value::String(text) => text,
            other => other.to_string(),
        },
        (None, None) => String::new(),
    }
}

fn result(payload: &Payload) -> ToolResult {
    let response = payload.get("tool_response").cloned().unwrap_or_default();
    let content = response.get("llmContent").map_or_else(|| response.clone(), flat);
    // What a program prints comes before what the host says of it.
    let code =
        content.as_str().unwrap_or_default().lines().rev().find_map(|line| number_after(line, "Exit Code:"));
    match response.get("error").filter(|error| !error.is_null()) {
        Some(_) => ended(ToolResult::failed(content), code),
        None => ended(ToolResult::ok(content), code),
    }
}

/// The model's answer with another text. What it called besides is lost with it: the host takes texts alone.
fn response(payload: &Payload, content: &str) -> Value {
    let candidate = payload.get("llm_response").and_then(|response| response.pointer("/candidates/0"));
    let reason = candidate.and_then(|it| it.get("finishReason")).and_then(Value::as_str).unwrap_or("STOP");
    json!({"text": content, "candidates": [{"content": {"role": "model", "parts": [content]}, "finishReason": reason}]})
}
