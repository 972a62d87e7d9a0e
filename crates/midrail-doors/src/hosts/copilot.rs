//! Copilot CLI: hooks of the type `command`, under its own names (`preToolUse`) and under those that it shares with Claude
//! Code (`PreToolUse`), which bring other payloads and take other answers.

use std::time::Duration;

use midrail::{Agent, Decision, Effect, ErrorInfo, Event, EventKind, ToolCall, ToolResult};
use serde_json::{Map, Value, json};

use super::result::{ended, number_after};
use crate::host::{About, Answer, Can, Door, Moment, Payload, moment};
use crate::mentions;
use crate::words;

/// The door.
pub(super) struct Copilot;

/// Where nobody sits before it, it takes a question for a no.
const GATE: Can = Can { block: true, ask: true, redact: false, notes: false, halt: false };
const RESULT: Can = Can { block: true, ask: false, redact: true, notes: true, halt: false };
const PROMPT: Can = Can { block: true, ask: false, redact: false, notes: false, halt: false };
const STOP: Can = Can { block: true, ask: false, redact: false, notes: false, halt: false };
const NOTES: Can = Can { block: false, ask: false, redact: false, notes: true, halt: false };
/// The one moment at which a run can be ended. It comes after preToolUse, which has decided about the same call, and only
/// where that let it pass: so nothing is decided here but whether the run was halted in between.
const INTERRUPT: Can = Can { block: false, ask: false, redact: false, notes: false, halt: true };

const MOMENTS: &[Moment] = &[
    moment("sessionStart", EventKind::SessionStart, NOTES),
    moment("sessionEnd", EventKind::SessionEnd, Can::NOTHING),
    moment("userPromptSubmitted", EventKind::BeforeModel, PROMPT),
    moment("preToolUse", EventKind::BeforeTool, GATE),
    moment("permissionRequest", EventKind::Observed, INTERRUPT),
    moment("postToolUse", EventKind::AfterTool, RESULT),
    moment("postToolUseFailure", EventKind::AfterTool, Can::NOTHING),
    moment("subagentStart", EventKind::Observed, Can::NOTHING),
    moment("subagentStop", EventKind::BeforeStop, STOP),
    moment("agentStop", EventKind::BeforeStop, STOP),
    moment("errorOccurred", EventKind::OnError, Can::NOTHING),
    moment("SessionStart", EventKind::SessionStart, NOTES),
    moment("SessionEnd", EventKind::SessionEnd, Can::NOTHING),
    moment("UserPromptSubmit", EventKind::BeforeModel, PROMPT),
    moment("PreToolUse", EventKind::BeforeTool, GATE),
    moment("PermissionRequest", EventKind::Observed, Can::NOTHING),
    moment("PostToolUse", EventKind::AfterTool, RESULT),
    moment("PostToolUseFailure", EventKind::AfterTool, Can::NOTHING),
    moment("SubagentStop", EventKind::BeforeStop, STOP),
    moment("Stop", EventKind::BeforeStop, STOP),
    moment("ErrorOccurred", EventKind::OnError, Can::NOTHING),
];

const ABOUT: About =
    About { name: "copilot-cli", title: "Copilot CLI", moments: MOMENTS, patience: Duration::from_secs(30) };

impl Door for Copilot {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn decode(&self, moment: &Moment, payload: &Payload, event: &mut Event) -> Result<(), String> {
        common(payload, event);
        match event.kind {
            EventKind::BeforeModel => event.text = Some(payload.owned("prompt").unwrap_or_default()),
            EventKind::BeforeTool => event.tool = Some(tool(payload)?),
            EventKind::AfterTool => {
                event.tool = Some(tool(payload)?);
                event.result = Some(match moment.name.ends_with("Failure") {
                    true => ToolResult::failed(payload.get("error").cloned().unwrap_or_default()),
                    false => result(payload),
                });
            }
            EventKind::BeforeStop => {
                event.output = payload.get("response").cloned();
                event.stop_reason = owned(payload, "stopReason", "stop_reason");
            }
            EventKind::OnError => event.error = Some(error(payload)),
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
        if decision.effect == Effect::Halt && moment.can.halt {
            let message = words::farewell(decision);
            return Answer::json(&json!({"behavior": "deny", "message": message, "interrupt": true}));
        }
        if !decision.effect.goes_on() && moment.can.block {
            return match moment.kind {
                EventKind::BeforeTool => {
                    let asks = decision.effect == Effect::Escalate && decision.approval.is_none();
                    permission(moment, if asks { "ask" } else { "deny" }, &words::refusal(decision))
                }
                EventKind::AfterTool if decision.effect == Effect::Retry => {
                    modified(Some("failure"), &words::withheld(decision), None)
                }
                EventKind::AfterTool => modified(kind(payload), &words::withheld(decision), None),
                _ => block(&words::refusal(decision)),
            };
        }
        let notes = words::beside(decision).filter(|_| moment.can.notes);
        match (moment.kind, &decision.content, notes) {
            (EventKind::AfterTool, Some(content), notes) if moment.can.redact => {
                modified(kind(payload), content, notes)
            }
            (_, _, Some(notes)) => context(moment, &notes),
            (_, _, None) => self.pass(),
        }
    }

    /// By JSON wherever something can be stopped: an exit code alone stops no prompt there, and its text is lost.
    fn refuse(&self, moment: Option<&Moment>, why: &str) -> Answer {
        match moment.filter(|moment| moment.can.block) {
            Some(moment) => match moment.kind {
                EventKind::BeforeTool => permission(moment, "deny", why),
                EventKind::AfterTool => modified(None, &format!("[result withheld] {why}"), None),
                _ => block(why),
            },
            None => Answer::refusal(why),
        }
    }
}

/// Whether a moment goes by a name that is shared with Claude Code.
fn is_shared(moment: &Moment) -> bool {
    moment.name.starts_with(|c: char| c.is_ascii_uppercase())
}

fn block(reason: &str) -> Answer {
    Answer::json(&json!({"decision": "block", "reason": reason}))
}

fn permission(moment: &Moment, word: &str, reason: &str) -> Answer {
    let own = json!({"permissionDecision": word, "permissionDecisionReason": reason});
    Answer::json(&match (is_shared(moment), own) {
        (true, Value::Object(mut own)) => {
            own.insert("hookEventName".to_owned(), json!(moment.name));
            json!({"hookSpecificOutput": own})
        }
        (_, own) => own,
    })
}

fn context(moment: &Moment, notes: &str) -> Answer {
    Answer::json(&match is_shared(moment) {
        true => json!({"hookSpecificOutput": {"hookEventName": moment.name, "additionalContext": notes}}),
        false => json!({"additionalContext": notes}),
    })
}

/// Another result in place of the one that the model would get.
fn modified(kind: Option<&str>, text: &str, notes: Option<String>) -> Answer {
    let result = json!({"resultType": kind.unwrap_or("success"), "textResultForLlm": text});
    let mut answer = Map::from_iter([("modifiedResult".to_owned(), result)]);
    answer.extend(notes.map(|notes| ("additionalContext".to_owned(), json!(notes))));
    Answer::json(&Value::Object(answer))
}

/// Whether the tool did what it was to do, in the host's word.
fn kind(payload: &Payload) -> Option<&str> {
    told(payload).and_then(|result| either(result, "resultType", "result_type")?.as_str())
}

/// What every payload tells.
fn common(payload: &Payload, event: &mut Event) {
    event.session = owned(payload, "sessionId", "session_id");
    event.cwd = payload.owned("cwd");
    let (id, role) = (owned(payload, "agentId", "agent_id"), owned(payload, "agentType", "agent_type"));
    if id.is_some() || role.is_some() {
        let parent = owned(payload, "parentAgentId", "parent_agent_id");
        // A sub-agent has a session of its own there. To us it works in the session of the agent that started it, so that
        // what was halted or spent there holds for it.
        if parent.is_some() {
            event.session.clone_from(&parent);
        }
        event.parent = parent.or_else(|| id.as_ref().and(event.session.clone()));
        event.agent = Some(Agent { id, role, ..Agent::default() });
    }
}

fn owned(payload: &Payload, own: &str, shared: &str) -> Option<String> {
    payload.owned(own).or_else(|| payload.owned(shared))
}

fn either<'v>(value: &'v Value, own: &str, shared: &str) -> Option<&'v Value> {
    value.get(own).or_else(|| value.get(shared))
}

fn tool(payload: &Payload) -> Result<ToolCall, String> {
    let name = owned(payload, "toolName", "tool_name").ok_or("it names no tool")?;
    let args = ["toolArgs", "tool_input", "toolInput"].into_iter().find(|key| payload.get(key).is_some());
    let mut args = args.map(|key| payload.object(key)).unwrap_or_default();
    if name == "write_bash"
        && let Some(Value::String(input)) = args.get_mut("input")
    {
        *input = typed(input);
    }
    let call_id = owned(payload, "toolCallId", "tool_use_id");
    Ok(ToolCall { call_id, ..ToolCall::new(name, Value::Object(args)) })
}

/// What is typed, with the names of keys as what they do: `ls{enter}` is a command and no file `{enter}`.
fn typed(input: &str) -> String {
    let mut text = String::new();
    let mut rest = input;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let key = after.split_once('}').filter(|(key, _)| is_key(key));
        let Some((key, behind)) = key else {
            text.push('{');
            rest = after;
            continue;
        };
        match key {
            "enter" => text.push('\n'),
            "tab" => text.push('\t'),
            "backspace" => {
                text.pop();
            }
            _ => {}
        }
        rest = behind;
    }
    text.push_str(rest);
    text
}

fn is_key(name: &str) -> bool {
    matches!(
        name,
        "enter" | "tab" | "backspace" | "up" | "down" | "left" | "right" | "escape" | "esc" | "space"
    )
}

/// What the tool returned, as the payload tells it.
fn told(payload: &Payload) -> Option<&Value> {
    payload.get("toolResult").or_else(|| payload.get("tool_result"))
}

fn result(payload: &Payload) -> ToolResult {
    let result = told(payload).cloned().unwrap_or_default();
    let text = either(&result, "textResultForLlm", "text_result_for_llm").cloned();
    let content = text.unwrap_or_else(|| result.clone());
    // The last line of a command's result is the host's own.
    let last = content.as_str().and_then(|text| text.lines().next_back()).unwrap_or_default();
    let code = last.split_once("exit code").and_then(|(_, rest)| number_after(rest, ""));
    let code = code.filter(|_| last.starts_with("<shellId:"));
    match kind(payload) {
        None | Some("success") => ended(ToolResult::ok(content), code),
        Some(_) => ended(ToolResult::failed(content), code),
    }
}

fn error(payload: &Payload) -> ErrorInfo {
    let field = |key: &str| match payload.get("error")? {
        Value::String(text) => (key == "message").then(|| text.clone()),
        error => error.get(key)?.as_str().map(str::to_owned),
    };
    let kind = field("name").or_else(|| owned(payload, "errorContext", "error_context"));
    ErrorInfo { message: field("message"), kind, ..ErrorInfo::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_what_they_do() {
        assert_eq!(typed("rm -rf a{enter}"), "rm -rf a\n");
        assert_eq!(typed("rm -rf ax{backspace}{enter}{up}"), "rm -rf a\n");
        assert_eq!(typed("echo ${HOME} {a,b} {"), "echo ${HOME} {a,b} {");
        assert_eq!(typed("{enter"), "{enter");
    }
}
