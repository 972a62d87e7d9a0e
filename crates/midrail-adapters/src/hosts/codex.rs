//! Codex: hooks of the type `command`. It takes no answer with a field that it does not know, a refusal without a reason,
//! a question to its user or a bare allow: in each case the call goes on.

use std::time::Duration;

use midrail::core::HostLimit;
use midrail::{Decision, Effect, Event, EventKind, ToolResult};
use serde_json::{Map, Value, json};

use super::claude_code::{common, tool};
use super::result::{ended, number_after};
use crate::host::{Adapter, Capabilities, HookEvent, HookOutput, HostInfo, Payload, hook_event};
use crate::messages;

/// The adapter.
pub(super) struct Codex;

const GATE: Capabilities = Capabilities { block: true, ask: false, redact: false, notes: true, halt: false };
/// A result is withheld, and the reason stands in its place: a changed result can be that reason.
const RESULT: Capabilities = Capabilities { block: true, ask: false, redact: true, notes: true, halt: false };
const PROMPT: Capabilities = Capabilities { block: true, ask: false, redact: false, notes: true, halt: true };
const STOP: Capabilities = Capabilities { block: true, ask: false, redact: false, notes: false, halt: true };
const NOTES: Capabilities =
    Capabilities { block: false, ask: false, redact: false, notes: true, halt: false };

const HOOK_EVENTS: &[HookEvent] = &[
    hook_event("SessionStart", EventKind::SessionStart, NOTES),
    hook_event("SessionEnd", EventKind::SessionEnd, Capabilities::NOTHING),
    hook_event("UserPromptSubmit", EventKind::BeforeModel, PROMPT),
    hook_event("PreToolUse", EventKind::BeforeTool, GATE),
    // PreToolUse has decided about the same call: a second decision would use an approval up twice.
    hook_event("PermissionRequest", EventKind::Observed, Capabilities::NOTHING),
    hook_event("PostToolUse", EventKind::AfterTool, RESULT),
    hook_event("SubagentStart", EventKind::Observed, Capabilities::NOTHING),
    hook_event("SubagentStop", EventKind::BeforeStop, STOP),
    hook_event("Stop", EventKind::BeforeStop, STOP),
];

const INFO: HostInfo =
    HostInfo { name: "codex", title: "Codex", hook_events: HOOK_EVENTS, timeout: Duration::from_secs(600) };

impl Adapter for Codex {
    fn info(&self) -> &'static HostInfo {
        &INFO
    }

    fn timeout_at(&self, hook_event: Option<&str>) -> Duration {
        match hook_event {
            Some("SessionEnd" | "Interrupt") => Duration::from_secs(1),
            _ => self.timeout(),
        }
    }

    fn decode(&self, _: &HookEvent, payload: &Payload, event: &mut Event) -> Result<(), String> {
        common(payload, event);
        event.prompt = payload.owned("turn_id");
        match event.kind {
            EventKind::BeforeModel => event.text = Some(payload.owned("prompt").unwrap_or_default()),
            EventKind::BeforeTool => {
                event.tool = Some(tool(payload)?);
                // What is typed into a program that runs on is asked nobody (`write_stdin`): the call that opens such a
                // program is the last that is seen.
                event.host.iter_mut().for_each(|host| host.limits.push(HostLimit::Typing));
            }
            EventKind::AfterTool => {
                event.tool = Some(tool(payload)?);
                let content = payload.get("tool_response").cloned().unwrap_or_default();
                let first = content.as_str().and_then(|text| text.lines().next()).unwrap_or_default();
                let code = number_after(first, "Exit code:");
                event.result = Some(ended(ToolResult::ok(content), code));
            }
            EventKind::BeforeStop => event.output = payload.get("last_assistant_message").cloned(),
            _ => {}
        }
        Ok(())
    }

    fn encode(&self, hook_event: &HookEvent, _: &Payload, decision: &Decision) -> HookOutput {
        if decision.effect == Effect::Halt && hook_event.capabilities.halt {
            // Beside a refusal it would be an error, and the prompt would go on.
            return HookOutput::json(
                &json!({"continue": false, "stopReason": messages::halt_message(decision)}),
            );
        }
        if !decision.effect.allows() && hook_event.capabilities.block {
            return match hook_event.kind {
                EventKind::BeforeTool => deny(&messages::refusal(decision)),
                EventKind::AfterTool => block(&messages::withheld_result(decision)),
                _ => block(&messages::refusal(decision)),
            };
        }
        if let (EventKind::AfterTool, Some(content)) = (hook_event.kind, &decision.content) {
            return block(&messages::replaced_result(decision, content));
        }
        match messages::context(decision).filter(|_| hook_event.capabilities.notes) {
            Some(notes) => own(hook_event.name, [("additionalContext", json!(notes))]),
            None => self.allow(),
        }
    }

    fn refuse(&self, hook_event: Option<&HookEvent>, why: &str) -> HookOutput {
        match hook_event.filter(|hook_event| hook_event.capabilities.block) {
            Some(hook_event) if hook_event.kind == EventKind::BeforeTool => deny(why),
            Some(hook_event) if hook_event.kind == EventKind::AfterTool => {
                block(&format!("[result withheld] {why}"))
            }
            _ => HookOutput::refusal(why),
        }
    }
}

fn deny(reason: &str) -> HookOutput {
    own("PreToolUse", [("permissionDecision", json!("deny")), ("permissionDecisionReason", json!(reason))])
}

fn block(reason: &str) -> HookOutput {
    HookOutput::json(&json!({"decision": "block", "reason": reason}))
}

fn own<const N: usize>(hook_event: &str, fields: [(&str, Value); N]) -> HookOutput {
    let mut own = Map::from_iter([("hookEventName".to_owned(), json!(hook_event))]);
    own.extend(fields.map(|(key, value)| (key.to_owned(), value)));
    HookOutput::json(&json!({"hookSpecificOutput": own}))
}
