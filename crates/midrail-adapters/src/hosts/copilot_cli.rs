//! Copilot CLI: command hooks, under its own event names (`preToolUse`) and under those of Claude Code (`PreToolUse`),
//! which have other payloads and answers.

mod policy;

use std::path::PathBuf;

use midrail::{Decision, Effect, ErrorInfo, Event, EventKind, ToolCall, ToolResult};
use serde_json::{Value, json};

use super::claude_code::Answer;
use crate::host::result::{number_after, with_exit_code};
use crate::host::{
    Adapter, Capabilities, DecodeError, Decoded, HookEvent, HookOutput, Installation, Payload, Setup,
    hook_event, modified_args, set_agent,
};
use crate::messages;
use crate::setup::check::CheckResult;
use crate::setup::json::{self, JsonFormat, Layout};
use crate::transcripts::reader::Transcripts;

pub(super) use self::policy::POLICY;
pub(super) const TRANSCRIPTS: Option<Transcripts> = None;

pub(super) struct CopilotCli;

impl Adapter for CopilotCli {
    fn decode(&self, hook_event: &HookEvent, payload: &Payload, event: &mut Event) -> Decoded {
        event.session = owned(payload, "sessionId", "session_id");
        event.cwd = payload.owned("cwd");
        let (id, role) = (owned(payload, "agentId", "agent_id"), owned(payload, "agentType", "agent_type"));
        set_agent(event, id, role, owned(payload, "parentAgentId", "parent_agent_id"));
        match event.kind {
            EventKind::BeforeModel => event.text = Some(payload.owned("prompt").unwrap_or_default()),
            EventKind::BeforeTool => event.tool = Some(tool(payload)?),
            EventKind::AfterTool => {
                event.tool = Some(tool(payload)?);
                event.result = Some(if hook_event.name.ends_with("Failure") {
                    ToolResult::failed(payload.value("error"))
                } else {
                    result(payload)
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

    fn variant(&self, hook_event: &'static HookEvent, payload: &Payload) -> &'static HookEvent {
        let types = owned(payload, "toolName", "tool_name").as_deref() == Some("write_bash");
        if types && hook_event.name == TYPED.name { &TYPED } else { hook_event }
    }

    fn encode(&self, hook_event: &HookEvent, payload: &Payload, decision: &Decision) -> HookOutput {
        let can = hook_event.capabilities;
        let is_result = hook_event.kind == EventKind::AfterTool;
        let mut answer = Answer::default();
        if decision.effect == Effect::Halt && can.halt {
            answer.set("behavior", "deny");
            answer.set("message", messages::halt_message(decision));
            answer.set("interrupt", true);
        } else if !decision.effect.allows() && can.block {
            match hook_event.kind {
                EventKind::BeforeTool => answer.permission(decision),
                EventKind::AfterTool => {
                    let kind = if decision.effect == Effect::Retry { Some("failure") } else { kind(payload) };
                    answer.set("modifiedResult", modified(kind, &messages::withheld_result(decision)));
                }
                _ => answer.decide("block", messages::refusal(decision)),
            }
        } else {
            let notes = messages::context(decision).filter(|_| can.notes);
            if let Some(args) = modified_args(hook_event, decision) {
                answer.specific("modifiedArgs", args);
            }
            if decision.vouched && can.vouch {
                answer.permit("allow", messages::grounds(decision));
            }
            match decision.content.as_ref().filter(|_| is_result && can.redact) {
                Some(content) => {
                    answer.set("modifiedResult", modified(kind(payload), content));
                    if let Some(notes) = notes {
                        answer.set("additionalContext", notes);
                    }
                }
                None => {
                    if let Some(notes) = notes {
                        answer.specific("additionalContext", notes);
                    }
                }
            }
        }
        output(answer, hook_event)
    }

    /// In JSON wherever something can be blocked: an exit code alone blocks no prompt, and its text is lost.
    fn refuse(&self, hook_event: Option<&HookEvent>, reason: &str) -> HookOutput {
        let Some(hook_event) = hook_event.filter(|hook_event| hook_event.capabilities.block) else {
            return HookOutput::refusal(reason);
        };
        let mut answer = Answer::default();
        match hook_event.kind {
            EventKind::BeforeTool => answer.permit("deny", reason),
            EventKind::AfterTool => {
                answer.set("modifiedResult", modified(None, &format!("[result withheld] {reason}")));
            }
            _ => answer.decide("block", reason),
        }
        output(answer, hook_event)
    }
}

/// Input to a running program. Midrail decodes what is typed, and so cannot change the arguments.
const TYPED: HookEvent =
    hook_event("preToolUse", EventKind::BeforeTool, Capabilities { ask: true, ..Capabilities::BLOCK });

/// Under its own event names, Copilot CLI has the fields of an event at the top.
fn output(answer: Answer, hook_event: &HookEvent) -> HookOutput {
    let is_shared = hook_event.name.starts_with(|c: char| c.is_ascii_uppercase());
    if is_shared { answer.output(hook_event) } else { answer.flat_output() }
}

/// A result that replaces the one for the model.
fn modified(kind: Option<&str>, text: &str) -> Value {
    json!({"resultType": kind.unwrap_or("success"), "textResultForLlm": text})
}

/// The host's word for the outcome of a tool.
fn kind(payload: &Payload) -> Option<&str> {
    either(reported_result(payload)?, "resultType", "result_type")?.as_str()
}

fn owned(payload: &Payload, own: &str, shared: &str) -> Option<String> {
    payload.owned(own).or_else(|| payload.owned(shared))
}

fn either<'v>(value: &'v Value, own: &str, shared: &str) -> Option<&'v Value> {
    value.get(own).or_else(|| value.get(shared))
}

fn tool(payload: &Payload) -> Decoded<ToolCall> {
    let name = owned(payload, "toolName", "tool_name").ok_or(DecodeError::NoTool)?;
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

/// Typed input with key names replaced by their characters: `ls{enter}` is a command.
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

fn reported_result(payload: &Payload) -> Option<&Value> {
    payload.get("toolResult").or_else(|| payload.get("tool_result"))
}

fn result(payload: &Payload) -> ToolResult {
    let result = reported_result(payload).cloned().unwrap_or_default();
    let text = either(&result, "textResultForLlm", "text_result_for_llm").cloned();
    let content = text.unwrap_or_else(|| result.clone());
    // The last line of a command's result is the host's.
    let last = content.as_str().and_then(|text| text.lines().next_back()).unwrap_or_default();
    let code = last.split_once("exit code").and_then(|(_, rest)| number_after(rest, ""));
    let code = code.filter(|_| last.starts_with("<shellId:"));
    match kind(payload) {
        None | Some("success") => with_exit_code(ToolResult::ok(content), code),
        Some(_) => with_exit_code(ToolResult::failed(content), code),
    }
}

fn error(payload: &Payload) -> ErrorInfo {
    let message = payload.owned("error").or_else(|| payload.pointer("error", "/message"));
    let kind = payload.pointer("error", "/name").or_else(|| owned(payload, "errorContext", "error_context"));
    ErrorInfo { message, kind, ..ErrorInfo::default() }
}

const JSON: JsonFormat =
    JsonFormat { layout: Layout::Flat, strict: false, comments: false, mark: false, only_hooks: false };

pub(super) const SETUP: Setup = Setup {
    format: |_| &JSON,
    handler: |_, registration, command| {
        vec![
            ("type", json!("command")),
            ("bash", json!(command)),
            ("timeoutSec", json!(registration.seconds)),
        ]
    },
    trust: None,
    check: |installation| installation.is_project_only().then(|| trust(installation)).into_iter().collect(),
    disabled_in,
    probe: include_str!("copilot_cli/probe.json"),
    is_denial: |answer| {
        answer.get("permissionDecision").is_some_and(|decision| decision == "deny" || decision == "ask")
    },
};

/// Copilot CLI reads the setting in any settings file, also in those of Claude Code, and in a file of hooks.
fn disabled_in(installation: &Installation<'_>) -> Vec<(PathBuf, &'static str)> {
    let env = installation.env;
    let mut files = installation.disabling_files();
    let entries = std::fs::read_dir(installation.host.files.folder(env)).into_iter().flatten().flatten();
    let mut own: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    own.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    own.sort();
    files.extend(own);
    files.extend(installation.files.iter().map(|file| file.path.clone()));
    files.retain(|path| {
        json::settings(path).get("disableAllHooks").is_some_and(|value| *value != Value::Bool(false))
    });
    files.into_iter().map(|path| (path, "`disableAllHooks`")).collect()
}

/// Copilot CLI keeps a list of trusted folders.
fn trust(installation: &Installation<'_>) -> CheckResult {
    let env = installation.env;
    let folder = installation.host.files.folder(env);
    let project = env.project.canonicalize().unwrap_or_else(|_| env.project.clone());
    let is_trusted = ["config.json", "settings.json"].iter().any(|name| {
        let settings = json::settings(&folder.join(name));
        let lists =
            ["trusted_folders", "trustedFolders"].iter().filter_map(|key| settings.get(key)?.as_array());
        let mut folders = lists.flatten().filter_map(Value::as_str);
        folders.any(|folder| project.starts_with(folder) || env.project.starts_with(folder))
    });
    if is_trusted {
        return CheckResult::good("Copilot CLI trusts this folder");
    }
    CheckResult::bad(
        "Copilot CLI does not trust this folder yet, and reads its hooks only then",
        "start `copilot` here and trust the folder, or run `midrail init --agent copilot-cli`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_names_become_characters() {
        assert_eq!(typed("rm -rf a{enter}"), "rm -rf a\n");
        assert_eq!(typed("rm -rf ax{backspace}{enter}{up}"), "rm -rf a\n");
        assert_eq!(typed("echo ${HOME} {a,b} {"), "echo ${HOME} {a,b} {");
        assert_eq!(typed("{enter"), "{enter");
    }
}
