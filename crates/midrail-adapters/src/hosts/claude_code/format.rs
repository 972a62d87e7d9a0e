//! The format of Claude Code's hooks. Codex, Gemini CLI and Copilot CLI accept parts of it.

use midrail::{Decision, Effect, Event, ToolCall};
use serde_json::{Map, Value};

use crate::host::{DecodeError, Decoded, HookEvent, HookOutput, Payload, set_agent};
use crate::messages;

/// The fields that every payload has.
pub(in crate::hosts) fn common(payload: &Payload, event: &mut Event) {
    event.session = payload.owned("session_id");
    event.cwd = payload.owned("cwd");
    event.prompt = payload.owned("prompt_id");
    // A main agent can have a type, but has no id.
    set_agent(event, payload.owned("agent_id"), payload.owned("agent_type"), None);
    for key in ["permission_mode", "model"] {
        event.extra.extend(payload.get(key).map(|value| (key.to_owned(), value.clone())));
    }
}

/// The tool call.
pub(in crate::hosts) fn tool(payload: &Payload) -> Decoded<ToolCall> {
    let name = payload.owned("tool_name").ok_or(DecodeError::NoTool)?;
    let call_id = payload.owned("tool_use_id");
    Ok(ToolCall { call_id, ..ToolCall::new(name, Value::Object(payload.object("tool_input"))) })
}

/// An answer: fields at the top, and fields that belong to the event.
#[derive(Default)]
pub(in crate::hosts) struct Answer {
    top: Map<String, Value>,
    specific: Map<String, Value>,
}

impl Answer {
    /// Sets a field at the top.
    pub(in crate::hosts) fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.top.insert(key.to_owned(), value.into());
    }

    /// Sets a field of the event, in `hookSpecificOutput`.
    pub(in crate::hosts) fn specific(&mut self, key: &str, value: impl Into<Value>) {
        self.specific.insert(key.to_owned(), value.into());
    }

    /// Ends the run.
    pub(in crate::hosts) fn halt(&mut self, decision: &Decision) {
        self.set("continue", false);
        self.set("stopReason", messages::halt_message(decision));
    }

    /// Blocks a prompt, a result or a stop.
    pub(in crate::hosts) fn decide(&mut self, word: &str, reason: impl Into<Value>) {
        self.set("decision", word);
        self.set("reason", reason);
    }

    /// Denies a call, or asks the user about it.
    pub(in crate::hosts) fn permission(&mut self, decision: &Decision) {
        let asks = decision.effect == Effect::Escalate && decision.approval.is_none();
        self.permit(if asks { "ask" } else { "deny" }, messages::refusal(decision));
    }

    /// Answers whether a call is permitted.
    pub(in crate::hosts) fn permit(&mut self, word: &str, reason: impl Into<Value>) {
        self.specific("permissionDecision", word);
        self.specific("permissionDecisionReason", reason);
    }

    /// The output of the hook; nothing if no field is set.
    pub(in crate::hosts) fn output(mut self, hook_event: &HookEvent) -> HookOutput {
        if !self.specific.is_empty() {
            self.specific("hookEventName", hook_event.name);
            let specific = std::mem::take(&mut self.specific);
            self.set("hookSpecificOutput", specific);
        }
        self.flat_output()
    }

    /// The output with the fields of the event at the top.
    pub(in crate::hosts) fn flat_output(mut self) -> HookOutput {
        self.top.append(&mut self.specific);
        if self.top.is_empty() { HookOutput::default() } else { HookOutput::json(&Value::Object(self.top)) }
    }
}
