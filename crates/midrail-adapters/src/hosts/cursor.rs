//! Cursor: hooks of its agent.
//!
//! It asks about one call twice: `preToolUse` about every tool, and then `beforeShellExecution`, `beforeMCPExecution` and
//! `beforeReadFile` about some. The gate is `preToolUse`, and of the hook_events after a call `postToolUse` is the one that is
//! heard: those two are to be registered, and the others are not, as a call would be counted twice and an approval used up
//! by the first of the two. Whoever registers another of them by hand gets a gate all the same, never an open adapter.
//! `beforeReadFile` alone is worth it beside `preToolUse`: it brings the file's content, which no later answer can take
//! back, so it is judged as the result of the read.

use std::time::Duration;

use midrail::{Agent, Decision, Event, EventKind, ToolCall, ToolResult};
use serde_json::{Map, Value, json};

use super::result::{ended, flat};
use crate::host::{Adapter, Capabilities, HookEvent, HookOutput, HostInfo, Payload, hook_event};
use crate::messages;

/// The adapter.
pub(super) struct Cursor;

/// It has a question to its user, which it passes over in one of its modes: so a person is asked by Midrail, and the call
/// is stopped meanwhile.
const GATE: Capabilities = Capabilities { block: true, ask: false, redact: false, notes: false, halt: false };
const PROMPT: Capabilities =
    Capabilities { block: true, ask: false, redact: false, notes: false, halt: false };
const STOP: Capabilities = Capabilities { block: true, ask: false, redact: false, notes: false, halt: false };
/// What a tool returned is with the model already.
const RESULT: Capabilities =
    Capabilities { block: false, ask: false, redact: false, notes: true, halt: false };
const NOTES: Capabilities =
    Capabilities { block: false, ask: false, redact: false, notes: true, halt: false };

const HOOK_EVENTS: &[HookEvent] = &[
    hook_event("sessionStart", EventKind::SessionStart, NOTES),
    hook_event("sessionEnd", EventKind::SessionEnd, Capabilities::NOTHING),
    hook_event("beforeSubmitPrompt", EventKind::BeforeModel, PROMPT),
    hook_event("preToolUse", EventKind::BeforeTool, GATE),
    hook_event("beforeShellExecution", EventKind::BeforeTool, GATE),
    hook_event("beforeMCPExecution", EventKind::BeforeTool, GATE),
    hook_event("beforeReadFile", EventKind::AfterTool, GATE),
    hook_event("beforeTabFileRead", EventKind::AfterTool, GATE),
    hook_event("postToolUse", EventKind::AfterTool, RESULT),
    hook_event("postToolUseFailure", EventKind::AfterTool, Capabilities::NOTHING),
    hook_event("afterShellExecution", EventKind::AfterTool, Capabilities::NOTHING),
    hook_event("afterMCPExecution", EventKind::AfterTool, Capabilities::NOTHING),
    hook_event("afterFileEdit", EventKind::AfterTool, Capabilities::NOTHING),
    hook_event("afterAgentResponse", EventKind::AfterModel, Capabilities::NOTHING),
    hook_event("subagentStart", EventKind::Observed, Capabilities::NOTHING),
    hook_event("subagentStop", EventKind::BeforeStop, STOP),
    hook_event("stop", EventKind::BeforeStop, STOP),
];

const INFO: HostInfo =
    HostInfo { name: "cursor", title: "Cursor", hook_events: HOOK_EVENTS, timeout: Duration::from_secs(60) };

impl Adapter for Cursor {
    fn info(&self) -> &'static HostInfo {
        &INFO
    }

    fn decode(&self, hook_event: &HookEvent, payload: &Payload, event: &mut Event) -> Result<(), String> {
        common(payload, event);
        match event.kind {
            EventKind::BeforeModel => event.text = Some(payload.owned("prompt").unwrap_or_default()),
            EventKind::AfterModel => event.text = Some(payload.owned("text").unwrap_or_default()),
            EventKind::BeforeTool => event.tool = Some(tool(hook_event, payload)?),
            EventKind::AfterTool => {
                event.tool = Some(tool(hook_event, payload)?);
                event.result = Some(result(hook_event, payload));
            }
            EventKind::BeforeStop => {
                event.output = payload.get("summary").cloned();
                event.stop_reason = payload.owned("status");
            }
            _ => {}
        }
        Ok(())
    }

    /// Files that are attached to a prompt are put into it without a tool call.
    fn implied_events(&self, hook_event: &HookEvent, payload: &Payload) -> Vec<Event> {
        let attached = payload.get("attachments").filter(|_| hook_event.kind == EventKind::BeforeModel);
        let files = attached.and_then(Value::as_array).into_iter().flatten();
        let files = files.filter_map(|file| file.get("file_path").or_else(|| file.get("filePath"))?.as_str());
        files.map(|file| Event::before_tool("Read", json!({"file_path": file}))).collect()
    }

    fn encode(&self, hook_event: &HookEvent, _: &Payload, decision: &Decision) -> HookOutput {
        if !decision.effect.allows() && hook_event.capabilities.block {
            return stopped(hook_event, &messages::refusal(decision));
        }
        match messages::context(decision).filter(|_| hook_event.capabilities.notes) {
            Some(notes) => HookOutput::json(&json!({"additional_context": notes})),
            None => self.allow(),
        }
    }

    /// An empty answer is a failure to a hook that is registered with `failClosed`, and `allow` would go before what its
    /// own user allows.
    fn allow(&self) -> HookOutput {
        HookOutput::json(&json!({}))
    }

    /// An exit code alone does nothing where the agent wants to stop.
    fn refuse(&self, hook_event: Option<&HookEvent>, why: &str) -> HookOutput {
        match hook_event.filter(|hook_event| hook_event.capabilities.block) {
            Some(hook_event) => stopped(hook_event, why),
            None => HookOutput::refusal(why),
        }
    }

    fn is_continuation(&self, payload: &Payload) -> bool {
        payload.get("loop_count").and_then(Value::as_u64).is_some_and(|count| count > 0)
    }
}

fn stopped(hook_event: &HookEvent, why: &str) -> HookOutput {
    HookOutput::json(&match (hook_event.kind, hook_event.name) {
        (EventKind::BeforeModel, _) => json!({"continue": false, "user_message": why}),
        (EventKind::BeforeStop, _) => json!({"followup_message": why}),
        (_, "beforeReadFile" | "beforeTabFileRead") => json!({"permission": "deny", "user_message": why}),
        _ => json!({"permission": "deny", "user_message": why, "agent_message": why}),
    })
}

/// What every payload tells.
fn common(payload: &Payload, event: &mut Event) {
    event.session = payload.owned("conversation_id").or_else(|| payload.owned("session_id"));
    event.prompt = payload.owned("generation_id");
    let root = payload.get("workspace_roots").and_then(|roots| roots.get(0)?.as_str());
    event.cwd = payload.owned("cwd").or_else(|| root.map(str::to_owned));
    let (id, role) = (payload.owned("subagent_id"), payload.owned("subagent_type"));
    if id.is_some() || role.is_some() {
        let parent = payload.owned("parent_conversation_id");
        if parent.is_some() {
            event.session.clone_from(&parent);
        }
        event.parent = parent.or_else(|| event.session.clone());
        event.agent = Some(Agent { id, role, ..Agent::default() });
    }
    event.extra.extend(payload.get("model").map(|value| ("model".to_owned(), value.clone())));
}

fn tool(hook_event: &HookEvent, payload: &Payload) -> Result<ToolCall, String> {
    let given = |keys: &[&str]| {
        let fields = keys.iter().filter_map(|key| Some(((*key).to_owned(), payload.get(key)?.clone())));
        Value::Object(fields.collect::<Map<_, _>>())
    };
    let lacking = |key: &str| payload.get(key).is_none().then(|| format!("it has no `{key}`"));
    let (key, name, args) = match hook_event.name {
        "beforeShellExecution" | "afterShellExecution" => {
            ("command", "Shell".to_owned(), given(&["command", "cwd"]))
        }
        "beforeReadFile" | "beforeTabFileRead" => ("file_path", "Read".to_owned(), given(&["file_path"])),
        "afterFileEdit" => ("file_path", "Write".to_owned(), given(&["file_path", "edits"])),
        _ => {
            let name = payload.owned("tool_name").ok_or("it names no tool")?;
            let name = name.strip_prefix("MCP:").map(str::to_owned).unwrap_or(name);
            let name = match payload.text("mcp_server_name") {
                Some(server) if !name.starts_with("mcp__") => format!("mcp__{server}__{name}"),
                _ => name,
            };
            ("tool_name", name, Value::Object(payload.object("tool_input")))
        }
    };
    match lacking(key) {
        Some(why) => Err(why),
        None => Ok(ToolCall { call_id: payload.owned("tool_use_id"), ..ToolCall::new(name, args) }),
    }
}

fn result(hook_event: &HookEvent, payload: &Payload) -> ToolResult {
    let field = |key: &str| payload.get(key).cloned().unwrap_or_default();
    match hook_event.name {
        "postToolUseFailure" => ToolResult::failed(field("error_message")),
        "beforeReadFile" | "beforeTabFileRead" => ToolResult::ok(field("content")),
        "afterShellExecution" => ToolResult::ok(field("output")),
        "afterFileEdit" => ToolResult::ok(Value::Null),
        "afterMCPExecution" => ToolResult::ok(inner(field("result_json"))),
        _ => {
            let output = inner(field("tool_output"));
            let code = output.get("exitCode").or_else(|| output.get("exit_code")).and_then(Value::as_i64);
            ended(ToolResult::ok(output), code)
        }
    }
}

/// What a text holds that is JSON.
fn inner(value: Value) -> Value {
    let inner = value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let inner = inner.filter(|inner| inner.is_object() || inner.is_array());
    inner.map_or(value, |inner| flat(&inner))
}
