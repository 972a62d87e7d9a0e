//! Cursor: hooks of its agent.
//!
//! Cursor calls `preToolUse` for every tool, and then `beforeShellExecution` or `beforeMCPExecution` for some of the same
//! calls. `midrail init` registers only the first: with the others, a call would be counted twice, and the first event would
//! use up an approval. The others still block if a user registers them.
//!
//! `beforeReadFile` carries the content of a file that was read, before the model has it. It is the result of the read; the
//! `postToolUse` of the same call has the length only, and is observed.

mod policy;

use midrail::{Decision, Event, EventKind, ToolCall, ToolResult};
use serde_json::{Map, Value, json};

use crate::host::result::{flat, with_exit_code};
use crate::host::{
    Adapter, Capabilities, DecodeError, Decoded, HookEvent, HookOutput, Installation, OnFailure, Payload,
    Setup, hook_event, modified_args, set_agent,
};
use crate::messages;
use crate::setup::check::CheckResult;
use crate::setup::json::{self, JsonFormat, Layout};
use crate::transcripts::reader::Transcripts;

pub(super) use self::policy::POLICY;
pub(super) const TRANSCRIPTS: Option<Transcripts> = None;

pub(super) struct Cursor;

impl Adapter for Cursor {
    fn decode(&self, hook_event: &HookEvent, payload: &Payload, event: &mut Event) -> Decoded {
        event.session = payload.owned("conversation_id").or_else(|| payload.owned("session_id"));
        event.prompt = payload.owned("generation_id");
        event.cwd = payload.owned("cwd").or_else(|| payload.pointer("workspace_roots", "/0"));
        let (id, role) = (payload.owned("subagent_id"), payload.owned("subagent_type"));
        let parent = payload.owned("parent_conversation_id").or_else(|| event.session.clone());
        set_agent(event, id, role, parent);
        event.extra.extend(payload.get("model").map(|value| ("model".to_owned(), value.clone())));
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

    fn variant(&self, hook_event: &'static HookEvent, payload: &Payload) -> &'static HookEvent {
        let tool = payload.text("tool_name").unwrap_or_default();
        match hook_event.name {
            "postToolUse" if tool.starts_with("MCP:") => &MCP_RESULT,
            "postToolUse" if tool == "Read" => &READ_RESULT,
            _ => hook_event,
        }
    }

    fn attachments(&self, payload: &Payload) -> Vec<Event> {
        let files = payload.get("attachments").and_then(Value::as_array).into_iter().flatten();
        let files = files.filter_map(|file| file.get("file_path").or_else(|| file.get("filePath"))?.as_str());
        files.map(|file| Event::before_tool("Read", json!({"file_path": file}))).collect()
    }

    fn encode(&self, hook_event: &HookEvent, _: &Payload, decision: &Decision) -> HookOutput {
        let can = hook_event.capabilities;
        if !decision.effect.allows() && can.block {
            return match hook_event.name {
                "postToolUse" => HookOutput::json(&json!({REPLACED: messages::withheld_result(decision)})),
                _ => block(hook_event, &messages::refusal(decision)),
            };
        }
        let mut answer = Map::new();
        if let Some(notes) = messages::context(decision).filter(|_| can.notes) {
            answer.insert("additional_context".to_owned(), notes.into());
        }
        if let Some(args) = modified_args(hook_event, decision) {
            answer.insert("updated_input".to_owned(), args.into());
        } else if let Some(content) = decision.content.as_ref().filter(|_| can.redact) {
            let result = serde_json::from_str(content).ok().filter(Value::is_object);
            answer.insert(REPLACED.to_owned(), result.unwrap_or_else(|| content.as_str().into()));
        }
        if decision.vouched && can.vouch {
            answer.insert("permission".to_owned(), "allow".into());
        }
        HookOutput::json(&Value::Object(answer))
    }

    /// For a hook that is registered with `failClosed`, an empty answer is a failure, and `allow` would override the user's
    /// own settings.
    fn allow(&self) -> HookOutput {
        HookOutput::json(&json!({}))
    }

    /// An exit code alone does not make an agent continue.
    fn refuse(&self, hook_event: Option<&HookEvent>, reason: &str) -> HookOutput {
        match hook_event.filter(|hook_event| hook_event.capabilities.block) {
            Some(hook_event) => block(hook_event, reason),
            None => HookOutput::refusal(reason),
        }
    }

    fn is_continuation(&self, payload: &Payload) -> bool {
        payload.get("loop_count").and_then(Value::as_u64).is_some_and(|count| count > 0)
    }
}

/// The field with the result that the model gets instead, as a text or a result of MCP.
const REPLACED: &str = "updated_mcp_tool_output";

/// The result of an MCP tool: unlike those of other tools, it can be replaced.
const MCP_RESULT: HookEvent = hook_event(
    "postToolUse",
    EventKind::AfterTool,
    Capabilities { redact: true, notes: true, ..Capabilities::BLOCK },
);

/// The end of a read, whose result was decided before.
const READ_RESULT: HookEvent = hook_event("postToolUse", EventKind::Observed, Capabilities::NOTES);

fn block(hook_event: &HookEvent, reason: &str) -> HookOutput {
    HookOutput::json(&match hook_event.kind {
        EventKind::BeforeModel => json!({"continue": false, "user_message": reason}),
        EventKind::BeforeStop => json!({"followup_message": reason}),
        EventKind::AfterTool => json!({"permission": "deny", "user_message": reason}),
        _ => json!({"permission": "deny", "user_message": reason, "agent_message": reason}),
    })
}

fn tool(hook_event: &HookEvent, payload: &Payload) -> Decoded<ToolCall> {
    let fields = |keys: &[&'static str]| {
        let fields = keys.iter().filter_map(|key| Some(((*key).to_owned(), payload.get(key)?.clone())));
        Value::Object(fields.collect::<Map<_, _>>())
    };
    let (required, name, args) = match hook_event.name {
        "beforeShellExecution" | "afterShellExecution" => {
            ("command", "Shell".to_owned(), fields(&["command", "cwd"]))
        }
        "beforeReadFile" | "beforeTabFileRead" => ("file_path", "Read".to_owned(), fields(&["file_path"])),
        "afterFileEdit" => ("file_path", "Write".to_owned(), fields(&["file_path", "edits"])),
        _ => {
            let name = payload.text("tool_name").ok_or(DecodeError::NoTool)?;
            let name = name.strip_prefix("MCP:").unwrap_or(name);
            let name = match payload.text("mcp_server_name") {
                Some(server) if !name.starts_with("mcp__") => format!("mcp__{server}__{name}"),
                _ => name.to_owned(),
            };
            ("tool_name", name, Value::Object(payload.object("tool_input")))
        }
    };
    payload.get(required).ok_or(DecodeError::MissingField(required))?;
    Ok(ToolCall { call_id: payload.owned("tool_use_id"), ..ToolCall::new(name, args) })
}

fn result(hook_event: &HookEvent, payload: &Payload) -> ToolResult {
    match hook_event.name {
        "postToolUseFailure" => ToolResult::failed(payload.value("error_message")),
        "beforeReadFile" | "beforeTabFileRead" => ToolResult::ok(payload.value("content")),
        "afterShellExecution" => ToolResult::ok(payload.value("output")),
        "afterFileEdit" => ToolResult::ok(Value::Null),
        "afterMCPExecution" => ToolResult::ok(parsed(payload.value("result_json"))),
        _ => {
            let output = parsed(payload.value("tool_output"));
            let code = output.get("exitCode").or_else(|| output.get("exit_code")).and_then(Value::as_i64);
            with_exit_code(ToolResult::ok(output), code)
        }
    }
}

/// The JSON in a string; the value itself if there is none.
fn parsed(value: Value) -> Value {
    let inner = value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let inner = inner.filter(|inner| inner.is_object() || inner.is_array());
    inner.map_or(value, |inner| flat(&inner))
}

const JSON: JsonFormat =
    JsonFormat { layout: Layout::Flat, strict: true, comments: true, mark: false, only_hooks: false };

pub(super) const SETUP: Setup = Setup {
    format: |_| &JSON,
    handler: |_, registration, command| {
        let mut fields = vec![("command", json!(command)), ("timeout", json!(registration.seconds))];
        if registration.on_failure == OnFailure::Block {
            fields.push(("failClosed", json!(true)));
        }
        fields
    },
    trust: None,
    check,
    disabled_in: |_| Vec::new(),
    probe: include_str!("cursor/probe.json"),
    is_denial: |answer| {
        answer.get("permission").is_some_and(|permission| permission == "deny" || permission == "ask")
    },
};

/// Checks that Cursor does not ignore the files.
fn check(installation: &Installation<'_>) -> Vec<CheckResult> {
    let known = installation.host.known_events;
    let mut results = Vec::new();
    for file in installation.files {
        let path = file.path.display();
        let settings = json::value(&file.text).unwrap_or_default();
        let events = settings.get("hooks").and_then(Value::as_object).into_iter().flatten();
        let unknown: Vec<&str> =
            events.map(|(event, _)| event.as_str()).filter(|event| !known.contains(event)).collect();
        if !unknown.is_empty() {
            let events = unknown.join(", ");
            results.push(CheckResult::bad(
                format!("Cursor ignores {path}, because it does not know the events {events}"),
                "remove these events from the file",
            ));
        }
        if settings.get("version") != Some(&Value::from(1)) {
            results.push(CheckResult::bad(
                format!("Cursor ignores {path}, because it lacks `\"version\": 1`"),
                "add `\"version\": 1` at the top of the file",
            ));
        }
    }
    results
}
