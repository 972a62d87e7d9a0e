//! Cursor: hooks of its agent.
//!
//! It asks about one call twice: `preToolUse` about every tool, and then `beforeShellExecution`, `beforeMCPExecution` and
//! `beforeReadFile` about some. The gate is `preToolUse`, and of the moments after a call `postToolUse` is the one that is
//! heard: those two are to be registered, and the others are not, as a call would be counted twice and an approval used up
//! by the first of the two. Whoever registers another of them by hand gets a gate all the same, never an open door.
//! `beforeReadFile` alone is worth it beside `preToolUse`: it brings the file's content, which no later answer can take
//! back, so it is judged as the result of the read.

use std::time::Duration;

use midrail::{Agent, Decision, Event, EventKind, ToolCall, ToolResult};
use serde_json::{Map, Value, json};

use super::result::{ended, flat};
use crate::host::{About, Answer, Can, Door, Moment, Payload, moment};
use crate::words;

/// The door.
pub(super) struct Cursor;

/// It has a question to its user, which it passes over in one of its modes: so a person is asked by Midrail, and the call
/// is stopped meanwhile.
const GATE: Can = Can { block: true, ask: false, redact: false, notes: false, halt: false };
const PROMPT: Can = Can { block: true, ask: false, redact: false, notes: false, halt: false };
const STOP: Can = Can { block: true, ask: false, redact: false, notes: false, halt: false };
/// What a tool returned is with the model already.
const RESULT: Can = Can { block: false, ask: false, redact: false, notes: true, halt: false };
const NOTES: Can = Can { block: false, ask: false, redact: false, notes: true, halt: false };

const MOMENTS: &[Moment] = &[
    moment("sessionStart", EventKind::SessionStart, NOTES),
    moment("sessionEnd", EventKind::SessionEnd, Can::NOTHING),
    moment("beforeSubmitPrompt", EventKind::BeforeModel, PROMPT),
    moment("preToolUse", EventKind::BeforeTool, GATE),
    moment("beforeShellExecution", EventKind::BeforeTool, GATE),
    moment("beforeMCPExecution", EventKind::BeforeTool, GATE),
    moment("beforeReadFile", EventKind::AfterTool, GATE),
    moment("beforeTabFileRead", EventKind::AfterTool, GATE),
    moment("postToolUse", EventKind::AfterTool, RESULT),
    moment("postToolUseFailure", EventKind::AfterTool, Can::NOTHING),
    moment("afterShellExecution", EventKind::AfterTool, Can::NOTHING),
    moment("afterMCPExecution", EventKind::AfterTool, Can::NOTHING),
    moment("afterFileEdit", EventKind::AfterTool, Can::NOTHING),
    moment("afterAgentResponse", EventKind::AfterModel, Can::NOTHING),
    moment("subagentStart", EventKind::Observed, Can::NOTHING),
    moment("subagentStop", EventKind::BeforeStop, STOP),
    moment("stop", EventKind::BeforeStop, STOP),
];

const ABOUT: About =
    About { name: "cursor", title: "Cursor", moments: MOMENTS, patience: Duration::from_secs(60) };

impl Door for Cursor {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn decode(&self, moment: &Moment, payload: &Payload, event: &mut Event) -> Result<(), String> {
        common(payload, event);
        match event.kind {
            EventKind::BeforeModel => event.text = Some(payload.owned("prompt").unwrap_or_default()),
            EventKind::AfterModel => event.text = Some(payload.owned("text").unwrap_or_default()),
            EventKind::BeforeTool => event.tool = Some(tool(moment, payload)?),
            EventKind::AfterTool => {
                event.tool = Some(tool(moment, payload)?);
                event.result = Some(result(moment, payload));
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
    fn beside(&self, moment: &Moment, payload: &Payload) -> Vec<Event> {
        let attached = payload.get("attachments").filter(|_| moment.kind == EventKind::BeforeModel);
        let files = attached.and_then(Value::as_array).into_iter().flatten();
        let files = files.filter_map(|file| file.get("file_path").or_else(|| file.get("filePath"))?.as_str());
        files.map(|file| Event::before_tool("Read", json!({"file_path": file}))).collect()
    }

    fn encode(&self, moment: &Moment, _: &Payload, decision: &Decision) -> Answer {
        if !decision.effect.goes_on() && moment.can.block {
            return stopped(moment, &words::refusal(decision));
        }
        match words::beside(decision).filter(|_| moment.can.notes) {
            Some(notes) => Answer::json(&json!({"additional_context": notes})),
            None => self.pass(),
        }
    }

    /// An empty answer is a failure to a hook that is registered with `failClosed`, and `allow` would go before what its
    /// own user allows.
    fn pass(&self) -> Answer {
        Answer::json(&json!({}))
    }

    /// An exit code alone does nothing where the agent wants to stop.
    fn refuse(&self, moment: Option<&Moment>, why: &str) -> Answer {
        match moment.filter(|moment| moment.can.block) {
            Some(moment) => stopped(moment, why),
            None => Answer::refusal(why),
        }
    }

    fn is_sent_back(&self, payload: &Payload) -> bool {
        payload.get("loop_count").and_then(Value::as_u64).is_some_and(|count| count > 0)
    }
}

fn stopped(moment: &Moment, why: &str) -> Answer {
    Answer::json(&match (moment.kind, moment.name) {
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

fn tool(moment: &Moment, payload: &Payload) -> Result<ToolCall, String> {
    let given = |keys: &[&str]| {
        let fields = keys.iter().filter_map(|key| Some(((*key).to_owned(), payload.get(key)?.clone())));
        Value::Object(fields.collect::<Map<_, _>>())
    };
    let lacking = |key: &str| payload.get(key).is_none().then(|| format!("it has no `{key}`"));
    let (key, name, args) = match moment.name {
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

fn result(moment: &Moment, payload: &Payload) -> ToolResult {
    let field = |key: &str| payload.get(key).cloned().unwrap_or_default();
    match moment.name {
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
