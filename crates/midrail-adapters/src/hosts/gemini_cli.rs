//! Gemini CLI: command hooks.

mod policy;

use std::path::{Path, PathBuf};

use midrail::{Decision, Effect, Event, EventKind, ToolResult};
use serde_json::{Value, json};

use super::claude_code::{Answer, common, tool};
use crate::host::result::{flat, number_after, with_exit_code};
use crate::host::{Adapter, Decoded, HookEvent, HookOutput, Installation, Payload, Setup, modified_args};
use crate::messages;
use crate::setup::check::CheckResult;
use crate::setup::command;
use crate::setup::json::{self, JsonFormat, Layout};
use crate::transcripts::reader::Transcripts;

pub(super) use self::policy::POLICY;
pub(super) const TRANSCRIPTS: Option<Transcripts> = None;

pub(super) struct GeminiCli;

impl Adapter for GeminiCli {
    fn decode(&self, _: &HookEvent, payload: &Payload, event: &mut Event) -> Decoded {
        common(payload, event);
        match event.kind {
            EventKind::BeforeModel => event.text = Some(payload.owned("prompt").unwrap_or_default()),
            EventKind::AfterModel => event.text = Some(model_text(payload)),
            EventKind::BeforeTool | EventKind::AfterTool => {
                let mut tool = tool(payload)?;
                if let Some(name) = server_tool(payload) {
                    tool.name = name;
                }
                event.tool = Some(tool);
                event.result = (event.kind == EventKind::AfterTool).then(|| result(payload));
            }
            EventKind::BeforeStop => event.output = payload.get("prompt_response").cloned(),
            _ => {}
        }
        Ok(())
    }

    fn encode(&self, hook_event: &HookEvent, payload: &Payload, decision: &Decision) -> HookOutput {
        let can = hook_event.capabilities;
        let is_result = hook_event.kind == EventKind::AfterTool;
        let mut answer = Answer::default();
        if decision.effect == Effect::Halt && can.halt {
            answer.halt(decision);
        }
        match &decision.content {
            _ if !decision.effect.allows() && can.block => {
                let withheld = is_result.then(|| messages::withheld_result(decision));
                answer.decide("deny", withheld.unwrap_or_else(|| messages::refusal(decision)));
            }
            Some(content) if is_result && can.block => {
                answer.decide("deny", messages::replaced_result(decision, content));
            }
            Some(content) if hook_event.kind == EventKind::AfterModel => {
                answer.specific("llm_response", response(payload, content));
            }
            Some(_) if hook_event.kind == EventKind::BeforeTool => {
                let args = modified_args(hook_event, decision).unwrap_or_default();
                // Gemini CLI adds these to the agent's own arguments, and so removes none.
                if payload.object("tool_input").keys().any(|name| !args.contains_key(name)) {
                    return self.refuse(Some(hook_event), &messages::refusal(decision));
                }
                answer.specific("tool_input", args);
            }
            _ => {
                if let Some(notes) = messages::context(decision).filter(|_| can.notes) {
                    answer.specific("additionalContext", notes);
                }
            }
        }
        answer.output(hook_event)
    }

    fn refuse(&self, hook_event: Option<&HookEvent>, reason: &str) -> HookOutput {
        match hook_event.filter(|hook_event| hook_event.kind == EventKind::AfterTool) {
            Some(hook_event) => {
                let mut answer = Answer::default();
                answer.decide("deny", format!("[result withheld] {reason}"));
                answer.output(hook_event)
            }
            None => HookOutput::refusal(reason),
        }
    }
}

/// The usual name of a tool of an MCP server. Gemini CLI calls it `mcp_fs_read_text_file`, which does not show where the
/// server's name ends, and sends both names separately.
fn server_tool(payload: &Payload) -> Option<String> {
    let name = |path| payload.pointer("mcp_context", path).filter(|name| !name.is_empty());
    Some(format!("mcp__{}__{}", name("/server_name")?, name("/tool_name")?))
}

/// The text of the model.
fn model_text(payload: &Payload) -> String {
    payload.pointer("llm_response", "/text").unwrap_or_else(|| {
        let parts = payload.get("llm_response").and_then(|it| it.pointer("/candidates/0/content/parts"));
        match parts.map(flat) {
            Some(Value::String(text)) => text,
            Some(other) => other.to_string(),
            None => String::new(),
        }
    })
}

fn result(payload: &Payload) -> ToolResult {
    let response = payload.value("tool_response");
    let content = response.get("llmContent").map_or_else(|| response.clone(), flat);
    // The host's lines follow the output of the program.
    let mut lines = content.as_str().unwrap_or_default().lines().rev();
    let code = lines.find_map(|line| number_after(line, "Exit Code:"));
    match response.get("error").filter(|error| !error.is_null()) {
        Some(_) => with_exit_code(ToolResult::failed(content), code),
        None => with_exit_code(ToolResult::ok(content), code),
    }
}

/// The model's answer with another text. Gemini CLI accepts texts only, so the calls in it are lost.
fn response(payload: &Payload, content: &str) -> Value {
    let reason = payload.pointer("llm_response", "/candidates/0/finishReason");
    let reason = reason.as_deref().unwrap_or("STOP");
    json!({"text": content, "candidates": [{"content": {"role": "model", "parts": [content]}, "finishReason": reason}]})
}

/// The name of Midrail's hooks, by which settings can disable them.
const HOOK_NAME: &str = "midrail";

const JSON: JsonFormat =
    JsonFormat { layout: Layout::Groups, strict: false, comments: true, mark: false, only_hooks: false };

pub(super) const SETUP: Setup = Setup {
    format: |_| &JSON,
    handler: |_, registration, command| {
        vec![
            ("type", json!("command")),
            ("name", json!(HOOK_NAME)),
            ("command", json!(command)),
            ("timeout", json!(registration.seconds.saturating_mul(1000))),
        ]
    },
    trust: None,
    check: |installation| installation.is_project_only().then(|| trust(installation)).into_iter().collect(),
    disabled_in,
    probe: include_str!("gemini_cli/probe.json"),
    is_denial: |answer| {
        answer.get("decision").is_some_and(|decision| decision == "deny" || decision == "block")
            || answer.get("continue") == Some(&Value::Bool(false))
    },
};

fn disabled_in(installation: &Installation<'_>) -> Vec<(PathBuf, &'static str)> {
    let mut disabled = Vec::new();
    for (_, path) in installation.host.settings(installation.env) {
        let settings = json::settings(&path);
        if settings.pointer("/hooksConfig/enabled") == Some(&Value::Bool(false)) {
            disabled.push((path.clone(), "`hooksConfig.enabled: false`"));
        }
        let lists = ["/hooksConfig/disabled", "/hooks/disabled"];
        let names = lists.iter().filter_map(|list| settings.pointer(list)?.as_array()).flatten();
        let is_ours = |name: &str| name == HOOK_NAME || command::is_ours(name, "gemini-cli");
        if names.filter_map(Value::as_str).any(is_ours) {
            disabled.push((path, "the list of disabled hooks"));
        }
    }
    disabled
}

/// Gemini CLI keeps one level of trust per folder; the nearest folder counts.
fn trust(installation: &Installation<'_>) -> CheckResult {
    let (host, env) = (installation.host, installation.env);
    let fix = "start `gemini` here and trust the folder, or run `midrail init --agent gemini-cli`";
    let is_enabled = host.settings(env).iter().rev().find_map(|(_, path)| {
        json::settings(path).pointer("/security/folderTrust/enabled").and_then(Value::as_bool)
    });
    let levels = json::settings(&host.files.folder(env).join("trustedFolders.json"));
    let project = env.project.canonicalize().unwrap_or_else(|_| env.project.clone());
    let levels = levels.as_object().into_iter().flatten().filter_map(|(folder, level)| {
        let (folder, level) = (Path::new(folder), level.as_str()?);
        let folder = if level == "TRUST_PARENT" { folder.parent().unwrap_or(folder) } else { folder };
        project.starts_with(folder).then(|| (folder.components().count(), level))
    });
    let nearest = levels.max_by_key(|(depth, _)| *depth).map(|(_, level)| level);
    match (is_enabled, nearest) {
        (Some(false), _) => CheckResult::good("Gemini CLI does not require trusted folders"),
        (_, Some("TRUST_FOLDER" | "TRUST_PARENT")) => CheckResult::good("Gemini CLI trusts this folder"),
        (_, Some(_)) => {
            CheckResult::bad("Gemini CLI does not trust this folder, and so does not read its hooks", fix)
        }
        (_, None) => {
            CheckResult::bad("Gemini CLI does not trust this folder yet, and reads its hooks only then", fix)
        }
    }
}
