//! Gemini CLI: command hooks.

mod setup;

use midrail::{Decision, Effect, Event, EventKind, ToolResult};
use serde_json::{Value, json};

use super::claude_code::{Answer, common, tool};
use crate::host::result::{flat, number_after, with_exit_code};
use crate::host::{Adapter, DecodeError, HookEvent, HookOutput, Payload};
use crate::messages;
use crate::transcripts::reader::Transcripts;

pub(super) use self::setup::SETUP;
pub(super) const TRANSCRIPTS: Option<Transcripts> = None;

pub(super) struct GeminiCli;

impl Adapter for GeminiCli {
    fn decode(&self, _: &HookEvent, payload: &Payload, event: &mut Event) -> Result<(), DecodeError> {
        common(payload, event);
        match event.kind {
            EventKind::BeforeModel => event.text = Some(payload.owned("prompt").unwrap_or_default()),
            EventKind::AfterModel => event.text = Some(model_text(payload)),
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

    fn encode(&self, hook_event: &HookEvent, payload: &Payload, decision: &Decision) -> HookOutput {
        let can = hook_event.capabilities;
        let is_result = hook_event.kind == EventKind::AfterTool;
        let mut answer = Answer::default();
        if decision.effect == Effect::Halt && can.halt {
            answer.halt(decision);
        }
        match &decision.content {
            _ if !decision.effect.allows() && can.block => {
                let withheld = is_result.then(|| messages::withheld_result(decision));
                answer.decide("deny", withheld.unwrap_or_else(|| messages::refusal(decision)));
            }
            Some(content) if is_result && can.block => {
                answer.decide("deny", messages::replaced_result(decision, content));
            }
            Some(content) if hook_event.kind == EventKind::AfterModel => {
                answer.specific("llm_response", response(payload, content));
            }
            _ => {
                if let Some(notes) = messages::context(decision).filter(|_| can.notes) {
                    answer.specific("additionalContext", notes);
                }
            }
        }
        answer.output(hook_event)
    }

    fn refuse(&self, hook_event: Option<&HookEvent>, reason: &str) -> HookOutput {
        match hook_event.filter(|hook_event| hook_event.kind == EventKind::AfterTool) {
            Some(hook_event) => {
                let mut answer = Answer::default();
                answer.decide("deny", format!("[result withheld] {reason}"));
                answer.output(hook_event)
            }
            None => HookOutput::refusal(reason),
        }
    }
}

/// The usual name of a tool of an MCP server. Gemini CLI calls it `mcp_fs_read_text_file`, which does not show where the
/// server's name ends, and sends both names separately.
fn server_tool(payload: &Payload) -> Option<String> {
    let name = |path| payload.pointer("mcp_context", path).filter(|name| !name.is_empty());
    Some(format!("mcp__{}__{}", name("/server_name")?, name("/tool_name")?))
}

/// The text of the model.
fn model_text(payload: &Payload) -> String {
    payload.pointer("llm_response", "/text").unwrap_or_else(|| {
        let parts = payload.get("llm_response").and_then(|it| it.pointer("/candidates/0/content/parts"));
        match parts.map(flat) {
            Some(Value::String(text)) => text,
            Some(other) => other.to_string(),
            None => String::new(),
        }
    })
}

fn result(payload: &Payload) -> ToolResult {
    let response = payload.value("tool_response");
    let content = response.get("llmContent").map_or_else(|| response.clone(), flat);
    // The host's lines follow the output of the program.
    let mut lines = content.as_str().unwrap_or_default().lines().rev();
    let code = lines.find_map(|line| number_after(line, "Exit Code:"));
    match response.get("error").filter(|error| !error.is_null()) {
        Some(_) => with_exit_code(ToolResult::failed(content), code),
        None => with_exit_code(ToolResult::ok(content), code),
    }
}

/// The model's answer with another text. Gemini CLI accepts texts only, so the calls in it are lost.
fn response(payload: &Payload, content: &str) -> Value {
    let reason = payload.pointer("llm_response", "/candidates/0/finishReason");
    let reason = reason.as_deref().unwrap_or("STOP");
    json!({"text": content, "candidates": [{"content": {"role": "model", "parts": [content]}, "finishReason": reason}]})
}
