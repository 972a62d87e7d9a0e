//! Copilot CLI: hooks of the type `command`, under its own names (`preToolUse`) and under those that it shares with Claude
//! Code (`PreToolUse`), which bring other payloads and take other answers.

use std::time::Duration;

use midrail::{Agent, Decision, Effect, ErrorInfo, Event, EventKind, ToolCall, ToolResult};
use serde_json::{Map, Value, json};

use super::result::{ended, number_after};
use crate::host::{Adapter, Capabilities, HookEvent, HookOutput, HostInfo, Payload, hook_event};
use crate::mentions;
use crate::messages;

/// The adapter.
pub(super) struct Copilot;

/// Where nobody sits before it, it takes a question for a no.
const GATE: Capabilities = Capabilities { block: true, ask: true, redact: false, notes: false, halt: false };
const RESULT: Capabilities = Capabilities { block: true, ask: false, redact: true, notes: true, halt: false };
const PROMPT: Capabilities =
    Capabilities { block: true, ask: false, redact: false, notes: false, halt: false };
const STOP: Capabilities = Capabilities { block: true, ask: false, redact: false, notes: false, halt: false };
const NOTES: Capabilities =
    Capabilities { block: false, ask: false, redact: false, notes: true, halt: false };
/// The one hook_event at which a run can be ended. It comes after preToolUse, which has decided about the same call, and only
/// where that let it pass: so nothing is decided here but whether the run was halted in between.
const INTERRUPT: Capabilities =
    Capabilities { block: false, ask: false, redact: false, notes: false, halt: true };

const HOOK_EVENTS: &[HookEvent] = &[
    hook_event("sessionStart", EventKind::SessionStart, NOTES),
    hook_event("sessionEnd", EventKind::SessionEnd, Capabilities::NOTHING),
    hook_event("userPromptSubmitted", EventKind::BeforeModel, PROMPT),
    hook_event("preToolUse", EventKind::BeforeTool, GATE),
    hook_event("permissionRequest", EventKind::Observed, INTERRUPT),
    hook_event("postToolUse", EventKind::AfterTool, RESULT),
    hook_event("postToolUseFailure", EventKind::AfterTool, Capabilities::NOTHING),
    hook_event("subagentStart", EventKind::Observed, Capabilities::NOTHING),
    hook_event("subagentStop", EventKind::BeforeStop, STOP),
    hook_event("agentStop", EventKind::BeforeStop, STOP),
    hook_event("errorOccurred", EventKind::OnError, Capabilities::NOTHING),
    hook_event("SessionStart", EventKind::SessionStart, NOTES),
    hook_event("SessionEnd", EventKind::SessionEnd, Capabilities::NOTHING),
    hook_event("UserPromptSubmit", EventKind::BeforeModel, PROMPT),
    hook_event("PreToolUse", EventKind::BeforeTool, GATE),
    hook_event("PermissionRequest", EventKind::Observed, Capabilities::NOTHING),
    hook_event("PostToolUse", EventKind::AfterTool, RESULT),
    hook_event("PostToolUseFailure", EventKind::AfterTool, Capabilities::NOTHING),
    hook_event("SubagentStop", EventKind::BeforeStop, STOP),
    hook_event("Stop", EventKind::BeforeStop, STOP),
    hook_event("ErrorOccurred", EventKind::OnError, Capabilities::NOTHING),
];

const INFO: HostInfo = HostInfo {
    name: "copilot-cli",
    title: "Copilot CLI",
    hook_events: HOOK_EVENTS,
    timeout: Duration::from_secs(30),
};

impl Adapter for Copilot {
    fn info(&self) -> &'static HostInfo {
        &INFO
    }

    fn decode(&self, hook_event: &HookEvent, payload: &Payload, event: &mut Event) -> Result<(), String> {
        common(payload, event);
        match event.kind {
            EventKind::BeforeModel => event.text = Some(payload.owned("prompt").unwrap_or_default()),
            EventKind::BeforeTool => event.tool = Some(tool(payload)?),
            EventKind::AfterTool => {
                event.tool = Some(tool(payload)?);
                event.result = Some(match hook_event.name.ends_with("Failure") {
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
    fn implied_events(&self, hook_event: &HookEvent, payload: &Payload) -> Vec<Event> {
        match hook_event.kind {
            EventKind::BeforeModel => mentions::reads(payload.text("prompt").unwrap_or_default()),
            _ => Vec::new(),
        }
    }

    fn encode(&self, hook_event: &HookEvent, payload: &Payload, decision: &Decision) -> HookOutput {
        if decision.effect == Effect::Halt && hook_event.capabilities.halt {
            let message = messages::halt_message(decision);
            return HookOutput::json(&json!({"behavior": "deny", "message": message, "interrupt": true}));
        }
        if !decision.effect.allows() && hook_event.capabilities.block {
            return match hook_event.kind {
                EventKind::BeforeTool => {
                    let asks = decision.effect == Effect::Escalate && decision.approval.is_none();
                    permission(hook_event, if asks { "ask" } else { "deny" }, &messages::refusal(decision))
                }
                EventKind::AfterTool if decision.effect == Effect::Retry => {
                    modified(Some("failure"), &messages::withheld_result(decision), None)
                }
                EventKind::AfterTool => modified(kind(payload), &messages::withheld_result(decision), None),
                _ => block(&messages::refusal(decision)),
            };
        }
        let notes = messages::context(decision).filter(|_| hook_event.capabilities.notes);
        match (hook_event.kind, &decision.content, notes) {
            (EventKind::AfterTool, Some(content), notes) if hook_event.capabilities.redact => {
                modified(kind(payload), content, notes)
            }
            (_, _, Some(notes)) => context(hook_event, &notes),
            (_, _, None) => self.allow(),
        }
    }

    /// By JSON wherever something can be stopped: an exit code alone stops no prompt there, and its text is lost.
    fn refuse(&self, hook_event: Option<&HookEvent>, why: &str) -> HookOutput {
        match hook_event.filter(|hook_event| hook_event.capabilities.block) {
            Some(hook_event) => match hook_event.kind {
                EventKind::BeforeTool => permission(hook_event, "deny", why),
                EventKind::AfterTool => modified(None, &format!("[result withheld] {why}"), None),
                _ => block(why),
            },
            None => HookOutput::refusal(why),
        }
    }
}

/// Whether a hook_event goes by a name that is shared with Claude Code.
fn is_shared(hook_event: &HookEvent) -> bool {
    hook_event.name.starts_with(|c: char| c.is_ascii_uppercase())
}

fn block(reason: &str) -> HookOutput {
    HookOutput::json(&json!({"decision": "block", "reason": reason}))
}

fn permission(hook_event: &HookEvent, word: &str, reason: &str) -> HookOutput {
    let own = json!({"permissionDecision": word, "permissionDecisionReason": reason});
    HookOutput::json(&match (is_shared(hook_event), own) {
        (true, Value::Object(mut own)) => {
            own.insert("hookEventName".to_owned(), json!(hook_event.name));
            json!({"hookSpecificOutput": own})
        }
        (_, own) => own,
    })
}

fn context(hook_event: &HookEvent, notes: &str) -> HookOutput {
    HookOutput::json(&match is_shared(hook_event) {
        true => json!({"hookSpecificOutput": {"hookEventName": hook_event.name, "additionalContext": notes}}),
        false => json!({"additionalContext": notes}),
    })
}

/// Another result in place of the one that the model would get.
fn modified(kind: Option<&str>, text: &str, notes: Option<String>) -> HookOutput {
    let result = json!({"resultType": kind.unwrap_or("success"), "textResultForLlm": text});
    let mut answer = Map::from_iter([("modifiedResult".to_owned(), result)]);
    answer.extend(notes.map(|notes| ("additionalContext".to_owned(), json!(notes))));
    HookOutput::json(&Value::Object(answer))
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
