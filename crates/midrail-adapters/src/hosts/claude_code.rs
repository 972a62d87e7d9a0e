//! Claude Code: command hooks.

mod format;
mod setup;
mod transcripts;

use std::time::Duration;

use midrail::{ActionType, Decision, Effect, ErrorInfo, Event, EventKind, ToolResult};
use serde_json::Value;

pub(super) use self::format::{Answer, common, tool};
use crate::host::{
    Adapter, Capabilities, DecodeError, HookEvent, HookOutput, HostSpec, OnFailure, Payload, hook_event,
};
use crate::messages;
use crate::shape;

const GATE: Capabilities = Capabilities { ask: true, ..PROMPT };
const RESULT: Capabilities = Capabilities { redact: true, ..PROMPT };
const PROMPT: Capabilities = Capabilities { notes: true, ..STOP };
const STOP: Capabilities = Capabilities { halt: true, ..Capabilities::BLOCK };
/// No answer can take back the error of a failed call.
const FAILURE: Capabilities = Capabilities { halt: true, ..Capabilities::NOTES };

// Not registered: PermissionRequest (PreToolUse decides the same call), PostToolBatch (the same results again),
// MessageDisplay (one process per piece of text), and events that neither act nor carry content.
const HOOK_EVENTS: &[HookEvent] = &[
    hook_event("SessionStart", EventKind::SessionStart, Capabilities::NOTES).register(),
    hook_event("UserPromptSubmit", EventKind::BeforeModel, PROMPT).register(),
    hook_event("PreToolUse", EventKind::BeforeTool, GATE).register(),
    hook_event("PostToolUse", EventKind::AfterTool, RESULT).register(),
    hook_event("PostToolUseFailure", EventKind::AfterTool, FAILURE).register(),
    hook_event("SubagentStart", EventKind::Observed, Capabilities::NOTES).register(),
    hook_event("SubagentStop", EventKind::BeforeStop, STOP).register(),
    hook_event("Stop", EventKind::BeforeStop, STOP).register(),
    hook_event("StopFailure", EventKind::OnError, Capabilities::NONE).register(),
    // All hooks together have 1.5 s when a session ends.
    hook_event("SessionEnd", EventKind::SessionEnd, Capabilities::NONE).register_with(OnFailure::Allow, 1),
];

pub(super) static HOST: HostSpec = HostSpec {
    name: "claude-code",
    title: "Claude Code",
    hook_events: HOOK_EVENTS,
    timeout: Duration::from_secs(600),
    quick_events: &[],
    adapter: &ClaudeCode,
    settings_files: &[
        "**/.claude",
        "**/.claude/settings.json",
        "**/.claude/settings.local.json",
        "**/.claude/hooks/**",
        "$CLAUDE_CONFIG_DIR",
        "$CLAUDE_CONFIG_DIR/settings.json",
        "$CLAUDE_CONFIG_DIR/settings.local.json",
        "/etc/claude-code/**",
        "**/library/application support/claudecode/**",
    ],
    tools: &[
        (ActionType::FileRead, &["Read", "NotebookRead"]),
        (ActionType::FileWrite, &["Write", "Edit", "MultiEdit", "NotebookEdit"]),
        (ActionType::Command, &["Bash"]),
        (ActionType::Network, &["WebFetch", "WebSearch"]),
    ],
    transcripts: Some(transcripts::TRANSCRIPTS),
    setup: setup::SETUP,
};

struct ClaudeCode;

impl Adapter for ClaudeCode {
    fn decode(
        &self,
        hook_event: &HookEvent,
        payload: &Payload,
        event: &mut Event,
    ) -> Result<(), DecodeError> {
        common(payload, event);
        match event.kind {
            EventKind::BeforeModel => event.text = payload.owned("prompt"),
            EventKind::BeforeTool => event.tool = Some(tool(payload)?),
            EventKind::AfterTool => {
                event.tool = Some(tool(payload)?);
                event.result = Some(match hook_event.name {
                    "PostToolUseFailure" => ToolResult::failed(payload.value("error")),
                    _ => ToolResult::ok(payload.value("tool_response")),
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

    fn encode(&self, hook_event: &HookEvent, payload: &Payload, decision: &Decision) -> HookOutput {
        let can = hook_event.capabilities;
        let mut answer = Answer::default();
        if decision.effect == Effect::Halt && can.halt {
            answer.halt(decision);
        }
        if !decision.effect.allows() && can.block {
            if hook_event.kind == EventKind::BeforeTool {
                answer.permission(decision);
            } else {
                answer.decide("block", messages::refusal(decision));
            }
        }
        let Replacement { output, context } = match hook_event.name {
            "PostToolUse" => replacement(payload.get("tool_response"), decision),
            _ => Replacement::default(),
        };
        if let Some(output) = output {
            answer.specific("updatedToolOutput", output);
        }
        if can.notes
            && (decision.effect.allows() || !can.block)
            && let Some(notes) = context.or_else(|| messages::context(decision))
        {
            // The user sees this; only the agent sees the additional context.
            if messages::is_halted(decision) && hook_event.kind == EventKind::SessionStart {
                answer.set("systemMessage", notes.as_str());
            }
            answer.specific("additionalContext", notes);
        }
        answer.output(hook_event)
    }
}

/// What the model gets instead of a result.
#[derive(Default)]
struct Replacement {
    /// A result of the same shape: Claude Code ignores a result of another shape and shows the original.
    output: Option<Value>,
    /// The new text, if that shape has no place that the model sees.
    context: Option<String>,
}

/// What is in a result whose new text is in the additional context.
const ELSEWHERE: &str = "[result replaced] the new result is in the additional context";

fn replacement(result: Option<&Value>, decision: &Decision) -> Replacement {
    if !decision.effect.allows() {
        let text = messages::withheld_result(decision);
        let withheld =
            |result| shape::with_text(result, &text).unwrap_or_else(|| shape::emptied(result, &text));
        return Replacement { output: result.map(withheld), context: None };
    }
    let Some(content) = &decision.content else { return Replacement::default() };
    // A redacted result has the shape of the original; otherwise the content is a text of a script.
    let redacted = |result: &Value| {
        serde_json::from_str(content).ok().filter(|new| !result.is_string() && shape::is_like(new, result))
    };
    let output = result.and_then(|result| redacted(result).or_else(|| shape::with_text(result, content)));
    match output {
        Some(output) => Replacement { output: Some(output), context: None },
        None => Replacement {
            output: result.map(|result| shape::emptied(result, ELSEWHERE)),
            context: Some(messages::replaced_result(decision, content)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    use crate::hook::Hook;

    fn hook(payload: Value) -> Hook {
        Hook::read(&HOST, None, payload.to_string().as_bytes()).unwrap()
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
