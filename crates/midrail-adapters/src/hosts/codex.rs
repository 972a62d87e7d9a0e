//! Codex: command hooks. Codex continues with a call if the answer has a field that it does not know, is a refusal without
//! a reason, asks the user, or is a plain allow.

mod app_server;
mod policy;
mod setup;
mod starlark;
#[cfg(test)]
mod tests;
mod toml;
mod transcripts;
mod trust;

use midrail::core::HostLimit;
use midrail::{Decision, Effect, Event, EventKind, ToolResult};

use super::claude_code::{Answer, common, tool};
use crate::host::result::{number_after, with_exit_code};
use crate::host::{Adapter, Decoded, HookEvent, HookOutput, Payload};
use crate::messages;

pub(super) use self::policy::POLICY;
pub(super) use self::setup::SETUP;
pub(super) use self::transcripts::TRANSCRIPTS;

pub(super) struct Codex;

impl Adapter for Codex {
    fn decode(&self, _: &HookEvent, payload: &Payload, event: &mut Event) -> Decoded {
        common(payload, event);
        event.prompt = payload.owned("turn_id");
        match event.kind {
            EventKind::BeforeModel => event.text = Some(payload.owned("prompt").unwrap_or_default()),
            EventKind::BeforeTool => {
                event.tool = Some(tool(payload)?);
                // Codex calls no hook for input to a running program (`write_stdin`): the call that starts such a program is
                // the last one that Midrail sees.
                event.host.iter_mut().for_each(|host| host.limits.push(HostLimit::Typing));
            }
            EventKind::AfterTool => {
                event.tool = Some(tool(payload)?);
                let content = payload.value("tool_response");
                let first = content.as_str().and_then(|text| text.lines().next()).unwrap_or_default();
                let code = number_after(first, "Exit code:");
                event.result = Some(with_exit_code(ToolResult::ok(content), code));
            }
            EventKind::BeforeStop => event.output = payload.get("last_assistant_message").cloned(),
            _ => {}
        }
        Ok(())
    }

    /// Codex adds no files to a prompt.
    fn attachments(&self, _: &Payload) -> Vec<Event> {
        Vec::new()
    }

    fn encode(&self, hook_event: &HookEvent, _: &Payload, decision: &Decision) -> HookOutput {
        let can = hook_event.capabilities;
        let is_result = hook_event.kind == EventKind::AfterTool;
        let mut answer = Answer::default();
        if decision.effect == Effect::Halt && can.halt {
            // Codex ignores an answer that both halts and blocks.
            answer.halt(decision);
        } else if !decision.effect.allows() && can.block {
            if hook_event.kind == EventKind::BeforeTool {
                return deny(hook_event, &messages::refusal(decision));
            }
            let withheld = is_result.then(|| messages::withheld_result(decision));
            answer.decide("block", withheld.unwrap_or_else(|| messages::refusal(decision)));
        } else if let Some(content) = decision.content.as_ref().filter(|_| is_result) {
            answer.decide("block", messages::replaced_result(decision, content));
        } else if let Some(notes) = messages::context(decision).filter(|_| can.notes) {
            answer.specific("additionalContext", notes);
        }
        answer.output(hook_event)
    }

    fn refuse(&self, hook_event: Option<&HookEvent>, reason: &str) -> HookOutput {
        match hook_event.filter(|hook_event| hook_event.capabilities.block) {
            Some(hook_event) if hook_event.kind == EventKind::BeforeTool => deny(hook_event, reason),
            Some(hook_event) if hook_event.kind == EventKind::AfterTool => {
                let mut answer = Answer::default();
                answer.decide("block", format!("[result withheld] {reason}"));
                answer.output(hook_event)
            }
            _ => HookOutput::refusal(reason),
        }
    }
}

fn deny(hook_event: &HookEvent, reason: &str) -> HookOutput {
    let mut answer = Answer::default();
    answer.permit("deny", reason);
    answer.output(hook_event)
}
