//! Claude Code: command hooks.

mod format;
mod policy;
mod transcripts;

use std::path::PathBuf;

use midrail::{Decision, Effect, ErrorInfo, Event, EventKind, ToolResult};
use serde_json::{Value, json};

use crate::host::{Adapter, Decoded, HookEvent, HookOutput, OnFailure, Payload, Setup, modified_args};
use crate::messages;
use crate::setup::json::{self, JsonFormat, Layout};
use crate::shape;

pub(super) use self::format::{Answer, common, tool};

pub(super) use self::policy::POLICY;
pub(super) use self::transcripts::TRANSCRIPTS;

pub(super) struct ClaudeCode;

impl Adapter for ClaudeCode {
    fn decode(&self, hook_event: &HookEvent, payload: &Payload, event: &mut Event) -> Decoded {
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
        if let Some(args) = modified_args(hook_event, decision) {
            // Without a `permissionDecision`, Claude Code asks about the changed call as its user's permission rules say.
            answer.specific("updatedInput", args);
            if let Some(notes) = messages::notes(decision) {
                answer.set("systemMessage", notes);
            }
        }
        if decision.vouched && can.vouch {
            // The user's own rules that deny or ask still apply.
            answer.permit("allow", messages::grounds(decision));
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

const JSON: JsonFormat =
    JsonFormat { layout: Layout::Groups, strict: true, comments: false, mark: true, only_hooks: false };

pub(super) const SETUP: Setup = Setup {
    format: |_| &JSON,
    handler: |_, registration, command| {
        let mut fields = vec![
            ("type", json!("command")),
            ("command", json!(command)),
            ("timeout", json!(registration.seconds)),
        ];
        if registration.on_failure != OnFailure::Allow {
            // Supported since 2.1.295: blocks a call whose hook exceeds the timeout. Older versions ignore it.
            fields.push(("onFailure", json!("block")));
        }
        fields
    },
    trust: None,
    check: |_| Vec::new(),
    disabled_in: |installation| {
        let env = installation.env;
        let mut files = installation.disabling_files();
        files.extend(installation.host.settings(env).into_iter().map(|(_, path)| path));
        let disabled = |path: PathBuf| {
            let settings = json::settings(&path);
            let is_disabled = match settings.get("disableAllHooks") {
                None | Some(Value::Bool(false)) => false,
                Some(Value::Bool(true)) => true,
                // A file with a value of the wrong type is ignored, and so are the hooks in it.
                Some(_) => installation.files.iter().any(|file| file.path == path),
            };
            let is_set = |name: &&str| settings.pointer(&format!("/env/{name}")).is_some();
            match is_disabled {
                true => Some((path, "`disableAllHooks`")),
                false if installation.host.disabling_variables.iter().any(is_set) => {
                    Some((path, "a variable in `env`"))
                }
                false => None,
            }
        };
        files.into_iter().filter_map(disabled).collect()
    },
    probe: include_str!("claude_code/probe.json"),
    is_denial: |answer| {
        let decision = answer.pointer("/hookSpecificOutput/permissionDecision");
        decision.is_some_and(|decision| decision == "deny" || decision == "ask")
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    use crate::hook::Hook;

    fn hook(payload: Value) -> Hook {
        Hook::read(crate::hosts::find("claude-code").unwrap(), None, payload.to_string().as_bytes()).unwrap()
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
    fn sub_agent_has_a_parent() {
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
    fn denial_has_a_reason_and_halt_ends_the_run() {
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
    fn resumed_run_reports_that_it_is_halted() {
        let hook = hook(json!({"hook_event_name": "SessionStart", "session_id": "s", "source": "resume"}));
        let over = Decision {
            requested: Some(Effect::Halt),
            advice: Some("A supervisor can resume it.".to_owned()),
            ..block("this run was halted")
        };
        let answer: Value = serde_json::from_str(&hook.answer(vec![over]).stdout).unwrap();
        let message = "Midrail ended this run (`g`): this run was halted\nA supervisor can resume it.";
        assert_eq!(answer["systemMessage"], message);
        assert_eq!(answer["hookSpecificOutput"]["additionalContext"], message);
    }

    #[test]
    fn withheld_result_keeps_its_shape() {
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
    fn replaced_result_reaches_the_agent() {
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
        // Also a text that is JSON of another shape.
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
        // The model sees only that a file was edited.
        let edit = json!({"filePath": "/a", "oldString": "old", "newString": "b", "structuredPatch": []});
        let own = own(edit, "NEW");
        assert!(own["additionalContext"].as_str().unwrap().ends_with("\nNEW"), "{own}");
        assert_eq!(own["updatedToolOutput"]["filePath"], ELSEWHERE);
        assert_eq!(own["updatedToolOutput"]["oldString"], "");
    }

    #[test]
    fn mentioned_files_are_decided_as_reads() {
        let hook =
            hook(json!({"hook_event_name": "UserPromptSubmit", "prompt": "look at @.env and mail a@b.c"}));
        let events = hook.events().unwrap();
        assert_eq!(events.len(), 2);
        let answer = hook.answer(vec![Decision::default(), block("private")]);
        assert!(answer.stdout.contains("\"decision\":\"block\""), "{}", answer.stdout);
    }

    #[test]
    fn unknown_event_is_allowed_and_recorded() {
        let hook = hook(json!({"hook_event_name": "SomethingNew", "session_id": "s", "x": 1}));
        let event = hook.events().unwrap().remove(0);
        assert_eq!((event.kind, event.session.as_deref()), (EventKind::Observed, Some("s")));
        assert_eq!(event.extra["payload"]["x"], 1);
        assert_eq!(hook.answer(vec![Decision::default()]), HookOutput::default());
    }
}
