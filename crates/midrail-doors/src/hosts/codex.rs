//! Codex: hooks of the type `command`. It takes no answer with a field that it does not know, a refusal without a reason,
//! a question to its user or a bare allow: in each case the call goes on.

use std::time::Duration;

use midrail::{Decision, Effect, Event, EventKind, Lack, ToolResult};
use serde_json::{Map, Value, json};

use super::claude_code::{common, tool};
use super::result::{ended, number_after};
use crate::host::{About, Answer, Can, Door, Moment, Payload, moment};
use crate::words;

/// The door.
pub(super) struct Codex;

const GATE: Can = Can { block: true, ask: false, redact: false, notes: true, halt: false };
/// A result is withheld, and the reason stands in its place: a changed result can be that reason.
const RESULT: Can = Can { block: true, ask: false, redact: true, notes: true, halt: false };
const PROMPT: Can = Can { block: true, ask: false, redact: false, notes: true, halt: true };
const STOP: Can = Can { block: true, ask: false, redact: false, notes: false, halt: true };
const NOTES: Can = Can { block: false, ask: false, redact: false, notes: true, halt: false };

const MOMENTS: &[Moment] = &[
    moment("SessionStart", EventKind::SessionStart, NOTES),
    moment("SessionEnd", EventKind::SessionEnd, Can::NOTHING),
    moment("UserPromptSubmit", EventKind::BeforeModel, PROMPT),
    moment("PreToolUse", EventKind::BeforeTool, GATE),
    // PreToolUse has decided about the same call: a second decision would use an approval up twice.
    moment("PermissionRequest", EventKind::Observed, Can::NOTHING),
    moment("PostToolUse", EventKind::AfterTool, RESULT),
    moment("SubagentStart", EventKind::Observed, Can::NOTHING),
    moment("SubagentStop", EventKind::BeforeStop, STOP),
    moment("Stop", EventKind::BeforeStop, STOP),
];

const ABOUT: About =
    About { name: "codex", title: "Codex", moments: MOMENTS, patience: Duration::from_secs(600) };

impl Door for Codex {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn patience_at(&self, moment: Option<&str>) -> Duration {
        match moment {
            Some("SessionEnd" | "Interrupt") => Duration::from_secs(1),
            _ => self.patience(),
        }
    }

    fn decode(&self, _: &Moment, payload: &Payload, event: &mut Event) -> Result<(), String> {
        common(payload, event);
        event.prompt = payload.owned("turn_id");
        match event.kind {
            EventKind::BeforeModel => event.text = Some(payload.owned("prompt").unwrap_or_default()),
            EventKind::BeforeTool => {
                event.tool = Some(tool(payload)?);
                // What is typed into a program that runs on is asked nobody (`write_stdin`): the call that opens such a
                // program is the last that is seen.
                event.host.iter_mut().for_each(|host| host.lacks.push(Lack::Typing));
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

    fn encode(&self, moment: &Moment, _: &Payload, decision: &Decision) -> Answer {
        if decision.effect == Effect::Halt && moment.can.halt {
            // Beside a refusal it would be an error, and the prompt would go on.
            return Answer::json(&json!({"continue": false, "stopReason": words::farewell(decision)}));
        }
        if !decision.effect.goes_on() && moment.can.block {
            return match moment.kind {
                EventKind::BeforeTool => deny(&words::refusal(decision)),
                EventKind::AfterTool => block(&words::withheld(decision)),
                _ => block(&words::refusal(decision)),
            };
        }
        if let (EventKind::AfterTool, Some(content)) = (moment.kind, &decision.content) {
            return block(&words::passed_on(decision, content));
        }
        match words::beside(decision).filter(|_| moment.can.notes) {
            Some(notes) => own(moment.name, [("additionalContext", json!(notes))]),
            None => self.pass(),
        }
    }

    fn refuse(&self, moment: Option<&Moment>, why: &str) -> Answer {
        match moment.filter(|moment| moment.can.block) {
            Some(moment) if moment.kind == EventKind::BeforeTool => deny(why),
            Some(moment) if moment.kind == EventKind::AfterTool => block(&format!("[result withheld] {why}")),
            _ => Answer::refusal(why),
        }
    }
}

fn deny(reason: &str) -> Answer {
    own("PreToolUse", [("permissionDecision", json!("deny")), ("permissionDecisionReason", json!(reason))])
}

fn block(reason: &str) -> Answer {
    Answer::json(&json!({"decision": "block", "reason": reason}))
}

fn own<const N: usize>(moment: &str, fields: [(&str, Value); N]) -> Answer {
    let mut own = Map::from_iter([("hookEventName".to_owned(), json!(moment))]);
    own.extend(fields.map(|(key, value)| (key.to_owned(), value)));
    Answer::json(&json!({"hookSpecificOutput": own}))
}
