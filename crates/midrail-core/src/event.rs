//! The event: what an agent is about to do, or did, in the wire format. Nothing is derived from it here.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::host::Host;
use crate::offer::{McpServer, OfferedTool};
use crate::sandbox::SandboxOutcome;

/// One event. All fields except `kind` are optional; an absent field is unknown.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// The kind of event.
    pub kind: EventKind,
    /// The session that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// When it happened. The engine sets it if the host does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub time: Option<Timestamp>,
    /// The folder that the agent works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The acting agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
    /// The agent's task, and its limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Task>,
    /// The usage so far, and what this action is expected to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolCall>,
    /// The result of the tool call (`after_tool`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ToolResult>,
    /// Text for or from the model (`before_model`, `model_chunk`, `after_model`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The sender of a prompt (`before_model`), if it is not the user of the agent: the author of a mail, a customer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
    /// The stream that a chunk belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    /// Whether this chunk is the last of its stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<bool>,
    /// The hand-off of control to another agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<Handoff>,
    /// The error that the agent ran into (`on_error`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
    /// The output that the agent wants to end with (`before_stop`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Why the agent wants to stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// The prompt that the agent runs under, if a session serves several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// When the run must be finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub deadline: Option<Timestamp>,
    /// The agent or session that started this one, if it is a sub-agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The conversation so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<Value>>,
    /// The assistant's last message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_assistant: Option<String>,
    /// The tools that the model can choose from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available_tools: Option<Vec<String>>,
    /// The source of a session (`session_start`): `startup`, `clear` or `new` for a new run; `resume`, `compact` or any other word if
    /// an earlier run continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The MCP server that offers the tools, or that the call goes to, if the event comes from the MCP proxy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<McpServer>,
    /// What the MCP server offers (`tools_offered`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<OfferedTool>>,
    /// The program that the agent runs in, and what it can do with the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
    /// Fields beyond this format. They are recorded, and have no effect on the decision.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Value>,
}

impl Event {
    /// An event of a kind, with everything else unknown.
    pub fn new(kind: EventKind) -> Self {
        Event { kind, ..Event::default() }
    }

    /// A tool call that is about to happen.
    pub fn before_tool(name: impl Into<String>, args: Value) -> Self {
        Event { tool: Some(ToolCall::new(name, args)), ..Event::new(EventKind::BeforeTool) }
    }

    /// A tool call that has happened, with its result.
    pub fn after_tool(name: impl Into<String>, args: Value, result: ToolResult) -> Self {
        Event {
            tool: Some(ToolCall::new(name, args)),
            result: Some(result),
            ..Event::new(EventKind::AfterTool)
        }
    }

    /// The same event, in a session.
    pub fn in_session(mut self, session: impl Into<String>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// The tool's name, if this event has a tool.
    pub fn tool_name(&self) -> Option<&str> {
        self.tool.as_ref().map(|tool| tool.name.as_str())
    }

    /// Whether this is the result of a successful call. An unknown outcome is no success, and neither is a program that exited with
    /// an error.
    pub fn is_success(&self) -> bool {
        let went_well = |result: &ToolResult| match (result.ok, result.exit_code) {
            (Some(ok), code) => ok && code.unwrap_or(0) == 0,
            (None, code) => code == Some(0),
        };
        self.kind == EventKind::AfterTool && self.result.as_ref().is_some_and(went_well)
    }

    /// The acting agent: its id, or that of the session if it has none.
    pub(crate) fn actor(&self, session: &str) -> String {
        match self.agent.as_ref().and_then(|agent| agent.id.as_deref()) {
            Some(agent) => agent.to_owned(),
            None => ["session:", session].concat(),
        }
    }

    /// The agent or session that started the acting agent, if it is a sub-agent.
    pub(crate) fn parent(&self) -> Option<&str> {
        self.parent.as_deref().map(str::trim).filter(|parent| !parent.is_empty())
    }

    /// Whether it comes from a sub-agent. An empty parent is none.
    pub fn is_sub_agent(&self) -> bool {
        self.parent().is_some()
    }

    /// Whether it starts a new run. A resumed session continues a run, as does one whose source the host does not report; a
    /// sub-agent starts within a run.
    pub fn is_new_run(&self) -> bool {
        self.kind == EventKind::SessionStart
            && !self.is_sub_agent()
            && matches!(self.source.as_deref(), Some("startup" | "clear" | "new"))
    }

    /// The id of the tool call, if the host sends one.
    pub fn call_id(&self) -> Option<&str> {
        self.tool.as_ref()?.call_id.as_deref().filter(|id| !id.is_empty())
    }

    /// How deep an event may be nested. A record contains the event two levels deeper, and must be readable.
    pub const MAX_DEPTH: usize = 100;

    /// The most JSON values in an event: numbers, texts, lists and objects.
    pub const MAX_VALUES: usize = 100_000;

    /// The most bytes of the arguments of a call.
    pub const MAX_ARGS_BYTES: usize = 4 << 20;

    /// The task's id, or an empty text if the host names no task.
    pub fn task_id(&self) -> &str {
        self.task.as_ref().and_then(|task| task.id.as_deref()).unwrap_or("")
    }
}

macro_rules! event_kinds {
    ($($(#[$doc:meta])* $variant:ident = $word:literal $(| $alias:literal)*,)*) => {
        /// The kinds of event.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum EventKind { $($(#[$doc])* $variant,)* }

        impl EventKind {
            /// All kinds, in the order of the documentation.
            pub const ALL: &'static [EventKind] = &[$(EventKind::$variant,)*];

            /// Every name that can be parsed: those on the wire, and those of hosts and dialects.
            pub const WORDS: &'static [&'static str] = &[$($word, $($alias,)*)*];

            /// The name on the wire.
            pub fn as_str(self) -> &'static str {
                match self { $(EventKind::$variant => $word,)* }
            }
        }

        impl FromStr for EventKind {
            type Err = UnknownKind;
            fn from_str(word: &str) -> Result<Self, Self::Err> {
                match word {
                    $($word $(| $alias)* => Ok(EventKind::$variant),)*
                    _ => Err(UnknownKind(word.to_owned())),
                }
            }
        }
    };
}

event_kinds! {
    /// A session begins.
    SessionStart = "session_start" | "SessionStart",
    /// A session ends.
    SessionEnd = "session_end" | "SessionEnd",
    /// An MCP server offers tools, prompts, resources or instructions.
    ToolsOffered = "tools_offered",
    /// A prompt is about to be sent to the model.
    BeforeModel = "before_model" | "llm_before" | "UserPromptSubmit",
    /// A piece of streamed output.
    ModelChunk = "model_chunk" | "llm_stream_chunk",
    /// The model answered.
    AfterModel = "after_model",
    /// A tool is about to be called.
    BeforeTool = "before_tool" | "pre_execution" | "tool_call_start" | "input" | "PreToolUse",
    /// A tool call returned.
    AfterTool = "after_tool" | "post_execution" | "tool_call_result" | "output" | "PostToolUse",
    /// Control is about to go to another agent.
    BeforeHandoff = "before_handoff" | "pre_handoff",
    /// Another agent took over.
    AfterHandoff = "after_handoff" | "post_handoff",
    /// The agent ran into an error.
    OnError = "on_error",
    /// The agent wants to stop.
    BeforeStop = "before_stop" | "Stop" | "SubagentStop",
    /// The host reports something else. It is recorded.
    #[default]
    Observed = "observed",
    /// An approver decided an approval. Created by the engine.
    ApprovalDecided = "approval_decided",
    /// The session was restored from a snapshot. Created by the engine.
    Restored = "restored",
    /// An administrator changed state that decisions depend on: an approval, an approver, a lock. Created by the engine.
    Administered = "administered",
}

impl EventKind {
    /// Whether the engine itself creates events of this kind.
    pub fn is_internal(self) -> bool {
        matches!(self, EventKind::ApprovalDecided | EventKind::Restored | EventKind::Administered)
    }

    /// Whether it requests an action.
    pub(crate) fn is_action(self) -> bool {
        matches!(self, EventKind::BeforeTool | EventKind::BeforeHandoff)
    }

    /// Whether it can wait for an approval. An agent can always stop and report errors.
    pub(crate) fn can_wait(self) -> bool {
        use EventKind::{AfterModel, AfterTool, BeforeModel, ModelChunk};
        self.is_action() || matches!(self, BeforeModel | ModelChunk | AfterModel | AfterTool)
    }
}

/// The name of an unknown kind of event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown kind of event `{0}`")]
pub struct UnknownKind(pub String);

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl<'de> Deserialize<'de> for EventKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        word.parse().map_err(serde::de::Error::custom)
    }
}

/// The acting agent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Agent {
    /// The agent's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its role: implementer, reviewer, architect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The capabilities that it declares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<String>>,
    /// The tools it may call. Absent: no limit. Empty: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<Vec<String>>,
    /// Its level of autonomy, as the pack defines it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autonomy_level: Option<Value>,
    /// Fields beyond this format.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Value>,
}

/// The agent's task, and its limits. An absent limit is no limit.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// The task's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The goal, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// The risk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// Which files may be touched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// Tokens that may be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_budget: Option<u64>,
    /// Seconds that the task may take.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "time_budget")]
    pub time_budget_s: Option<f64>,
    /// Calls to other machines that may be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_call_budget: Option<u64>,
    /// Money that may be spent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_budget: Option<f64>,
    /// Tools that this task adds to those of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub additional_tools: Option<Vec<String>>,
    /// Fields beyond this format.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Value>,
}

/// The risk of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    /// Almost no damage is possible.
    Low,
    /// Damage can be repaired.
    Medium,
    /// Damage is hard to repair.
    High,
    /// Damage cannot be repaired.
    Critical,
}

impl Risk {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Risk::Low => "low",
            Risk::Medium => "medium",
            Risk::High => "high",
            Risk::Critical => "critical",
        }
    }
}

/// The scope of a task.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Scope {
    /// The files.
    #[serde(default)]
    pub files: FileScope,
}

/// Which files a task may touch, as glob patterns. Absent: no limit. Empty: none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct FileScope {
    /// Files that may be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Vec<String>>,
    /// Files that may be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<Vec<String>>,
    /// Files that may not be touched at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deny: Option<Vec<String>>,
}

/// The usage so far, and what this action is expected to use.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Tokens used so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Tokens that this action is expected to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_tokens: Option<u64>,
    /// Seconds since the task began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_s: Option<f64>,
    /// Seconds that this action is expected to take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_s: Option<f64>,
    /// Calls to other machines so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_calls: Option<u64>,
    /// Money spent so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Money that this action is expected to cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_cost: Option<f64>,
    /// The usage of the call that this event ends. Midrail adds it up if the host reports no totals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallUsage>,
    /// Fields beyond this format.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Value>,
}

/// The usage of one call.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CallUsage {
    /// Tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Calls to other machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_calls: Option<u64>,
    /// Money.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Fields beyond this format.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Value>,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// The tool's name, as its host spells it.
    pub name: String,
    /// The id of this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The arguments.
    #[serde(default)]
    pub args: Map<String, Value>,
    /// The annotations that an MCP server gives to the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Map<String, Value>>,
    /// Fields beyond this format.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Value>,
}

impl ToolCall {
    /// A call of a tool. Arguments that are not an object are stored under `value`.
    pub fn new(name: impl Into<String>, args: Value) -> Self {
        let args = match args {
            Value::Object(map) => map,
            Value::Null => Map::new(),
            other => Map::from_iter([("value".to_owned(), other)]),
        };
        ToolCall { name: name.into(), call_id: None, args, ..ToolCall::default() }
    }
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ToolResult {
    /// Whether it succeeded. Absent: unknown, which never counts as a success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    /// The content: text, or the tool's own structure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Value>,
    /// The exit code, if the tool ran a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// What the sandbox of a contained call refused and restored. Absent: nothing, or the call was not contained.
    #[serde(default, rename = "box", skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxOutcome>,
    /// Fields beyond this format.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Value>,
}

impl ToolResult {
    /// A successful call.
    pub fn ok(content: impl Into<Value>) -> Self {
        ToolResult { ok: Some(true), content: Some(content.into()), ..ToolResult::default() }
    }

    /// A failed call.
    pub fn failed(content: impl Into<Value>) -> Self {
        ToolResult { ok: Some(false), content: Some(content.into()), ..ToolResult::default() }
    }
}

/// The hand-off of control from one agent to another.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Handoff {
    /// The agent that takes over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The context for the receiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Value>,
    /// The artifacts for the receiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Vec<Value>>,
    /// The reason for the hand-off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
    /// The labels of what the sender of the hand-off has seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<Vec<String>>,
    /// Information about the receiver: its capabilities and budgets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver: Option<Value>,
    /// Fields beyond this format.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Value>,
}

/// An error that the agent ran into.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ErrorInfo {
    /// The message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Its class, as the host names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The number of attempts so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Fields beyond this format.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Value>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_kind_and_alias_reads() {
        for kind in EventKind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(*kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), json!(kind.as_str()));
        }
        assert_eq!("PreToolUse".parse(), Ok(EventKind::BeforeTool));
        assert_eq!("llm_stream_chunk".parse(), Ok(EventKind::ModelChunk));
        assert_eq!("explode".parse::<EventKind>(), Err(UnknownKind("explode".into())));
    }

    #[test]
    fn unknown_fields_of_a_host_survive() {
        let value =
            json!({"kind": "before_tool", "tool": {"name": "Write", "args": {}, "mcp": 1}, "model": "m"});
        let event: Event = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(event.extra["model"], json!("m"));
        assert_eq!(serde_json::to_value(&event).unwrap(), value);
    }

    #[test]
    fn an_unknown_outcome_is_no_success() {
        let mut event = Event::after_tool("test", json!({}), ToolResult::default());
        assert!(!event.is_success());
        event.result = Some(ToolResult::ok("fine"));
        assert!(event.is_success());
        // A program that ended well is a success, also where the host says nothing more.
        for (ok, exit_code, expected) in [
            (None, Some(0), true),
            (None, Some(1), false),
            (None, None, false),
            (Some(false), Some(0), false),
            (Some(true), Some(1), false),
        ] {
            event.result = Some(ToolResult { ok, exit_code, ..ToolResult::default() });
            assert_eq!(event.is_success(), expected, "{ok:?} {exit_code:?}");
        }
    }

    #[test]
    fn a_sub_agent_has_a_parent_with_a_name() {
        let of = |parent: Option<&str>| {
            Event { parent: parent.map(str::to_owned), ..Event::new(EventKind::BeforeStop) }.is_sub_agent()
        };
        assert!(of(Some("main")) && !of(None) && !of(Some("")) && !of(Some("  ")));
    }
}
