//! Gemini CLI: hooks of the type `command`.

use std::time::Duration;

use midrail::{Decision, Effect, Event, EventKind, ToolResult};
use serde_json::{Map, Value, json};

use super::claude_code::{common, tool};
use super::result::{ended, flat, number_after};
use crate::host::{About, Answer, Can, Door, Moment, Payload, moment};
use crate::mentions;
use crate::words;

/// The door.
pub(super) struct Gemini;

/// It can ask its user, but waits for one forever where there is none.
const GATE: Can = Can { block: true, ask: false, redact: false, notes: false, halt: true };
/// A result is withheld, and the reason stands in its place: a changed result can be that reason.
const RESULT: Can = Can { block: true, ask: false, redact: true, notes: true, halt: true };
const PROMPT: Can = Can { block: true, ask: false, redact: false, notes: true, halt: true };
const MODEL: Can = Can { block: true, ask: false, redact: true, notes: false, halt: true };
const STOP: Can = Can { block: true, ask: false, redact: false, notes: false, halt: true };

const MOMENTS: &[Moment] = &[
    // What is told here is put into the first prompt, which is then judged with it: our own words would be taken for the
    // user's, and for an injection. Notes wait for BeforeAgent.
    moment("SessionStart", EventKind::SessionStart, Can::NOTHING),
    moment("SessionEnd", EventKind::SessionEnd, Can::NOTHING),
    moment("BeforeAgent", EventKind::BeforeModel, PROMPT),
    // Each request to the model holds the prompt, which BeforeAgent has decided about, and the results, which AfterTool
    // has. As a before_model of its own it would count a prompt as often as the model is called, and begin a new turn
    // with each: warnings, retries and forced continuations would never add up.
    moment("BeforeModel", EventKind::Observed, Can::NOTHING),
    moment("AfterModel", EventKind::AfterModel, MODEL),
    moment("BeforeTool", EventKind::BeforeTool, GATE),
    moment("AfterTool", EventKind::AfterTool, RESULT),
    moment("AfterAgent", EventKind::BeforeStop, STOP),
];

const ABOUT: About =
    About { name: "gemini-cli", title: "Gemini CLI", moments: MOMENTS, patience: Duration::from_secs(60) };

impl Door for Gemini {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn decode(&self, _: &Moment, payload: &Payload, event: &mut Event) -> Result<(), String> {
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
    fn beside(&self, moment: &Moment, payload: &Payload) -> Vec<Event> {
        match moment.kind {
            EventKind::BeforeModel => mentions::reads(payload.text("prompt").unwrap_or_default()),
            _ => Vec::new(),
        }
    }

    fn encode(&self, moment: &Moment, payload: &Payload, decision: &Decision) -> Answer {
        let mut answer = Map::new();
        if decision.effect == Effect::Halt && moment.can.halt {
            answer.insert("continue".to_owned(), json!(false));
            answer.insert("stopReason".to_owned(), json!(words::farewell(decision)));
        }
        let content = decision.content.as_deref();
        let denied = match (moment.kind, content) {
            _ if !moment.can.block => None,
            (EventKind::AfterTool, _) if !decision.effect.goes_on() => Some(words::withheld(decision)),
            _ if !decision.effect.goes_on() => Some(words::refusal(decision)),
            (EventKind::AfterTool, Some(content)) => Some(words::passed_on(decision, content)),
            _ => None,
        };
        let mut own = Map::new();
        match (denied, moment.kind, content) {
            (Some(reason), ..) => {
                answer.insert("decision".to_owned(), json!("deny"));
                answer.insert("reason".to_owned(), json!(reason));
            }
            (None, EventKind::AfterModel, Some(content)) => {
                own.insert("llm_response".to_owned(), response(payload, content));
            }
            (None, ..) => {
                let notes = words::beside(decision).filter(|_| moment.can.notes);
                own.extend(notes.map(|notes| ("additionalContext".to_owned(), json!(notes))));
            }
        }
        if !own.is_empty() {
            own.insert("hookEventName".to_owned(), json!(moment.name));
            answer.insert("hookSpecificOutput".to_owned(), Value::Object(own));
        }
        if answer.is_empty() { self.pass() } else { Answer::json(&Value::Object(answer)) }
    }

    fn refuse(&self, moment: Option<&Moment>, why: &str) -> Answer {
        match moment.filter(|moment| moment.kind == EventKind::AfterTool) {
            Some(_) => {
                Answer::json(&json!({"decision": "deny", "reason": format!("[result withheld] {why}")}))
            }
            None => Answer::refusal(why),
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
