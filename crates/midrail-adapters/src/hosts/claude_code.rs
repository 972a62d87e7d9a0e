//! Claude Code: hooks of the type `command`.

use std::time::Duration;

use midrail::{Agent, Decision, Effect, ErrorInfo, Event, EventKind, ToolCall, ToolResult};
use serde_json::{Map, Value, json};

use crate::host::{Adapter, Capabilities, HookEvent, HookOutput, HostInfo, Payload, hook_event};
use crate::mentions;
use crate::messages;
use crate::shape;

/// The adapter.
pub(super) struct ClaudeCode;

const GATE: Capabilities = Capabilities { block: true, ask: true, redact: false, notes: true, halt: true };
const RESULT: Capabilities = Capabilities { block: true, ask: false, redact: true, notes: true, halt: true };
const PROMPT: Capabilities = Capabilities { block: true, ask: false, redact: false, notes: true, halt: true };
const STOP: Capabilities = Capabilities { block: true, ask: false, redact: false, notes: false, halt: true };
const NOTES: Capabilities =
    Capabilities { block: false, ask: false, redact: false, notes: true, halt: false };
/// A failed call tells its error, which no answer takes back.
const FAILURE: Capabilities =
    Capabilities { block: false, ask: false, redact: false, notes: true, halt: true };

const HOOK_EVENTS: &[HookEvent] = &[
    hook_event("SessionStart", EventKind::SessionStart, NOTES),
    hook_event("SessionEnd", EventKind::SessionEnd, Capabilities::NOTHING),
    hook_event("UserPromptSubmit", EventKind::BeforeModel, PROMPT),
    hook_event("PreToolUse", EventKind::BeforeTool, GATE),
    hook_event("PostToolUse", EventKind::AfterTool, RESULT),
    hook_event("PostToolUseFailure", EventKind::AfterTool, FAILURE),
    hook_event("SubagentStart", EventKind::Observed, NOTES),
    hook_event("SubagentStop", EventKind::BeforeStop, STOP),
    hook_event("Stop", EventKind::BeforeStop, STOP),
    hook_event("StopFailure", EventKind::OnError, Capabilities::NOTHING),
];

const INFO: HostInfo = HostInfo {
    name: "claude-code",
    title: "Claude Code",
    hook_events: HOOK_EVENTS,
    timeout: Duration::from_secs(600),
};

impl Adapter for ClaudeCode {
    fn info(&self) -> &'static HostInfo {
        &INFO
    }

    fn decode(&self, hook_event: &HookEvent, payload: &Payload, event: &mut Event) -> Result<(), String> {
        common(payload, event);
        match event.kind {
            EventKind::BeforeModel => event.text = payload.owned("prompt"),
            EventKind::BeforeTool => event.tool = Some(tool(payload)?),
            EventKind::AfterTool => {
                event.tool = Some(tool(payload)?);
                event.result = Some(match hook_event.name {
                    "PostToolUseFailure" => {
                        ToolResult::failed(payload.get("error").cloned().unwrap_or_default())
                    }
                    _ => ToolResult::ok(payload.get("tool_response").cloned().unwrap_or_default()),
                });
            }
            EventKind::BeforeStop => event.output = payload.get("last_assistant_message").cloned(),
            EventKind::OnError => {
                let message = payload.owned("error").or_else(|| payload.owned("reason"));
                event.error = Some(ErrorInfo { message, ..ErrorInfo::default() });
            }
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
        let mut own = Map::from_iter([("hookEventName".to_owned(), json!(hook_event.name))]);
        let is_stopped = !decision.effect.allows() && hook_event.capabilities.block;
        match hook_event.kind {
            EventKind::BeforeTool if is_stopped => {
                let asks = decision.effect == Effect::Escalate && decision.approval.is_none();
                own.insert("permissionDecision".to_owned(), json!(if asks { "ask" } else { "deny" }));
                own.insert("permissionDecisionReason".to_owned(), json!(messages::refusal(decision)));
            }
            _ if is_stopped => {
                answer.insert("decision".to_owned(), json!("block"));
                answer.insert("reason".to_owned(), json!(messages::refusal(decision)));
            }
            _ => {}
        }
        let Replaced { output, beside } = match hook_event.name {
            "PostToolUse" => replaced(payload.get("tool_response"), decision),
            _ => Replaced::default(),
        };
        own.extend(output.map(|output| ("updatedToolOutput".to_owned(), output)));
        if hook_event.capabilities.notes
            && (decision.effect.allows() || !hook_event.capabilities.block)
            && let Some(notes) = beside.or_else(|| messages::context(decision))
        {
            // Its user sees this, and what the agent is told only the agent.
            if messages::is_halted(decision) && hook_event.kind == EventKind::SessionStart {
                answer.insert("systemMessage".to_owned(), json!(notes));
            }
            own.insert("additionalContext".to_owned(), json!(notes));
        }
        if own.len() > 1 {
            answer.insert("hookSpecificOutput".to_owned(), Value::Object(own));
        }
        if answer.is_empty() { self.allow() } else { HookOutput::json(&Value::Object(answer)) }
    }
}

/// What every payload tells.
pub(super) fn common(payload: &Payload, event: &mut Event) {
    event.session = payload.owned("session_id");
    event.cwd = payload.owned("cwd");
    event.prompt = payload.owned("prompt_id");
    let (id, role) = (payload.owned("agent_id"), payload.owned("agent_type"));
    if id.is_some() || role.is_some() {
        // A main agent may have a type, and has no id.
        event.parent = id.as_ref().and(event.session.clone());
        event.agent = Some(Agent { id, role, ..Agent::default() });
    }
    for key in ["permission_mode", "model"] {
        event.extra.extend(payload.get(key).map(|value| (key.to_owned(), value.clone())));
    }
}

/// The tool call.
pub(super) fn tool(payload: &Payload) -> Result<ToolCall, String> {
    let name = payload.owned("tool_name").ok_or("it names no tool")?;
    let call_id = payload.owned("tool_use_id");
    Ok(ToolCall { call_id, ..ToolCall::new(name, Value::Object(payload.object("tool_input"))) })
}

/// What the model gets in place of a result.
#[derive(Default)]
struct Replaced {
    /// In the result's own shape: another shape would be passed over, and the result with it.
    output: Option<Value>,
    /// The new text, where that shape has no place that the model sees.
    beside: Option<String>,
}

/// What is in a result whose new text is told beside it.
const ELSEWHERE: &str = "[result replaced] the new one is told beside this";

fn replaced(result: Option<&Value>, decision: &Decision) -> Replaced {
    if !decision.effect.allows() {
        let text = messages::withheld_result(decision);
        let output = result
            .map(|result| shape::telling(result, &text).unwrap_or_else(|| shape::emptied(result, &text)));
        return Replaced { output, beside: None };
    }
    let Some(content) = &decision.content else { return Replaced::default() };
    // With parts replaced it is what it was; else it is somebody's own text.
    let whole = |result: &Value| {
        serde_json::from_str(content).ok().filter(|new| !result.is_string() && shape::is_like(new, result))
    };
    let output = result.and_then(|result| whole(result).or_else(|| shape::telling(result, content)));
    match output {
        Some(output) => Replaced { output: Some(output), beside: None },
        None => Replaced {
            output: result.map(|result| shape::emptied(result, ELSEWHERE)),
            beside: Some(messages::replaced_result(decision, content)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::{Hook, adapter};

    fn hook(payload: Value) -> Hook {
        Hook::read(adapter("claude-code").unwrap(), None, payload.to_string().as_bytes()).unwrap()
    }

    fn block(reason: &str) -> Decision {
        Decision {
            effect: Effect::Block,
            by: Some("g".into()),
            reason: reason.to_owned(),
            ..Decision::default()
        }
    }

    #[test]
    fn a_sub_agents_call_is_one() {
        let events = hook(json!({
            "hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/repo", "agent_id": "a1", "agent_type": "general-purpose",
            "tool_name": "Read", "tool_input": {"file_path": "/repo/a"}, "tool_use_id": "t"
        }))
        .events()
        .unwrap();
        let event = events.first().unwrap();
        assert_eq!(event.kind, EventKind::BeforeTool);
        assert_eq!((event.parent.as_deref(), event.call_id()), (Some("s"), Some("t")));
        assert!(event.is_sub_agent());
    }

    #[test]
    fn a_deny_says_why_and_a_halt_ends_the_run() {
        let hook = hook(json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {}}));
        let answer: Value = serde_json::from_str(&hook.answer(vec![block("no")]).stdout).unwrap();
        assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny");
        assert!(answer.get("continue").is_none());
        let halt = Decision { effect: Effect::Halt, ..block("no") };
        let answer: Value = serde_json::from_str(&hook.answer(vec![halt]).stdout).unwrap();
        assert_eq!(answer["continue"], false);
        assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny");
    }

    #[test]
    fn a_run_that_is_over_says_so_when_it_is_resumed() {
        let hook = hook(json!({"hook_event_name": "SessionStart", "session_id": "s", "source": "resume"}));
        let over = Decision {
            requested: Some(Effect::Halt),
            advice: Some("A supervisor lets it go on.".to_owned()),
            ..block("this run was halted")
        };
        let answer: Value = serde_json::from_str(&hook.answer(vec![over]).stdout).unwrap();
        let told = "Midrail ended this run (`g`): this run was halted\nA supervisor lets it go on.";
        assert_eq!(answer["systemMessage"], told);
        assert_eq!(answer["hookSpecificOutput"]["additionalContext"], told);
    }

    #[test]
    fn a_withheld_result_keeps_its_shape() {
        let response = json!({"stdout": "k", "stderr": "", "interrupted": false, "isImage": false});
        let hook = hook(json!({
            "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {}, "tool_response": response
        }));
        let answer: Value = serde_json::from_str(&hook.answer(vec![block("no")]).stdout).unwrap();
        let output = &answer["hookSpecificOutput"]["updatedToolOutput"];
        assert!(output["stdout"].as_str().unwrap().starts_with("[result withheld]"));
        assert_eq!(output["interrupted"], false);
        let content =
            json!({"stdout": "*", "stderr": "", "interrupted": false, "isImage": false}).to_string();
        let redact = Decision { effect: Effect::Redact, content: Some(content), ..Decision::default() };
        let answer: Value = serde_json::from_str(&hook.answer(vec![redact]).stdout).unwrap();
        assert_eq!(answer["hookSpecificOutput"]["updatedToolOutput"]["stdout"], "*");
    }

    #[test]
    fn a_text_in_place_of_a_result_reaches_the_agent() {
        let own = |response: Value, content: &str| {
            let hook = hook(json!({
                "hook_event_name": "PostToolUse", "tool_name": "x", "tool_input": {}, "tool_response": response
            }));
            let replaced = Decision {
                effect: Effect::Redact,
                by: Some("g".into()),
                content: Some(content.to_owned()),
                ..Decision::default()
            };
            let answer: Value = serde_json::from_str(&hook.answer(vec![replaced]).stdout).unwrap();
            answer["hookSpecificOutput"].clone()
        };
        let bash = json!({"stdout": "old", "stderr": "e", "interrupted": false});
        // Also one that happens to be JSON, and of no shape that the host would take.
        for text in ["NEW", "7", "null", r#"{"stdout":"NEW"}"#] {
            let own = own(bash.clone(), text);
            assert_eq!(own["updatedToolOutput"], json!({"stdout": text, "stderr": "", "interrupted": false}));
            assert!(own.get("additionalContext").is_none());
        }
        let read = json!({"type": "text", "file": {"filePath": "/a", "content": "old", "numLines": 1}});
        assert_eq!(own(read, "NEW")["updatedToolOutput"]["file"]["content"], "NEW");
        assert_eq!(
            own(json!([{"type": "text", "text": "old"}]), "NEW")["updatedToolOutput"][0]["text"],
            "NEW"
        );
        // Of an edit the model is told that there was one.
        let edit = json!({"filePath": "/a", "oldString": "old", "newString": "b", "structuredPatch": []});
        let own = own(edit, "NEW");
        assert!(own["additionalContext"].as_str().unwrap().ends_with("\nNEW"), "{own}");
        assert_eq!(own["updatedToolOutput"]["filePath"], ELSEWHERE);
        assert_eq!(own["updatedToolOutput"]["oldString"], "");
    }

    #[test]
    fn mentioned_files_have_to_pass_as_reads() {
        let hook =
            hook(json!({"hook_event_name": "UserPromptSubmit", "prompt": "look at @.env and mail a@b.c"}));
        let events = hook.events().unwrap();
        assert_eq!(events.len(), 2);
        let answer = hook.answer(vec![Decision::default(), block("private")]);
        assert!(answer.stdout.contains("\"decision\":\"block\""), "{}", answer.stdout);
    }

    #[test]
    fn what_is_not_known_passes_and_is_kept() {
        let hook = hook(json!({"hook_event_name": "SomethingNew", "session_id": "s", "x": 1}));
        let event = hook.events().unwrap().remove(0);
        assert_eq!((event.kind, event.session.as_deref()), (EventKind::Observed, Some("s")));
        assert_eq!(event.extra["payload"]["x"], 1);
        assert_eq!(hook.answer(vec![Decision::default()]), HookOutput::default());
    }
}
