//! What an agent is about to do, or did: the event as it stands on the wire. No meaning is derived here.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::host::Host;

/// One event. Everything but `kind` is optional; what is absent is unknown.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// What kind of moment this is.
    pub kind: EventKind,
    /// The session, or run, that this belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// When it happened. The engine fills it in where a host does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub time: Option<Timestamp>,
    /// The folder that the agent works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Who acts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
    /// What the agent was asked to do, and within which limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Task>,
    /// What has been used up so far, and what this action is expected to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolCall>,
    /// What the tool answered (`after_tool`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ToolResult>,
    /// Text for or from the model (`before_model`, `model_chunk`, `after_model`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
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
    /// The prompt that the agent runs under, where a session serves several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// When the run has to be finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub deadline: Option<Timestamp>,
    /// The agent or session that started this one, where it is a sub-agent.
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
    /// What a session begins from (`session_start`): `startup`, `clear` or `new` where it is a new run; `resume`, `compact` and
    /// whatever else where an earlier one goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The program that the agent runs in, and what it can do with the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
    /// What a host sent beyond this format: kept in the record, passed over by the law.
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

    /// Whether this is the result of a call that went well. An unknown outcome is not a success, and neither is a
    /// program that ended with an error.
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
            None => format!("session:{session}"),
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

    /// The host's name for this call, if it has one.
    pub fn call_id(&self) -> Option<&str> {
        self.tool.as_ref()?.call_id.as_deref().filter(|id| !id.is_empty())
    }

    /// How deep an event may be nested. A record holds the event two levels deeper, and has to be read back.
    pub const MAX_DEPTH: usize = 100;

    /// The task's id, or an empty text where the host names no task.
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

            /// The word on the wire.
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
    /// A session is over.
    SessionEnd = "session_end" | "SessionEnd",
    /// A prompt is about to go to the model.
    BeforeModel = "before_model" | "llm_before" | "UserPromptSubmit",
    /// A piece of streamed output.
    ModelChunk = "model_chunk" | "llm_stream_chunk",
    /// The model has answered.
    AfterModel = "after_model",
    /// A tool is about to be called.
    BeforeTool = "before_tool" | "pre_execution" | "tool_call_start" | "input" | "PreToolUse",
    /// A tool has answered.
    AfterTool = "after_tool" | "post_execution" | "tool_call_result" | "output" | "PostToolUse",
    /// Control is about to go to another agent.
    BeforeHandoff = "before_handoff" | "pre_handoff",
    /// Another agent has taken over.
    AfterHandoff = "after_handoff" | "post_handoff",
    /// The agent ran into an error.
    OnError = "on_error",
    /// The agent wants to stop.
    BeforeStop = "before_stop" | "Stop" | "SubagentStop",
    /// A host tells of something that none of the others is. It is recorded.
    #[default]
    Observed = "observed",
    /// A person has decided an approval. Made by the engine.
    ApprovalDecided = "approval_decided",
    /// The session was set back to a snapshot. Made by the engine.
    Restored = "restored",
    /// Somebody changed what decisions are made from: a request to people, an approver, a lock. Made by the engine.
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

/// A word that names no kind of event.
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

/// Who acts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Agent {
    /// The agent's name in its system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The part it plays: implementer, reviewer, architect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// What it says it can do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<String>>,
    /// The tools it may call. Absent: no limit. Empty: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<Vec<String>>,
    /// How much it may decide by itself, in the words of the pack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autonomy_level: Option<Value>,
    /// What a host sent beyond this format.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Value>,
}

/// What the agent was asked to do, and within which limits. An absent limit is no limit.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// The task's name in its system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What is to be reached, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// How much can go wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// Which files may be touched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// Tokens that may be spent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_budget: Option<u64>,
    /// Seconds that may be spent.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "time_budget")]
    pub time_budget_s: Option<f64>,
    /// Calls to the outside that may be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_call_budget: Option<u64>,
    /// Money that may be spent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_budget: Option<f64>,
    /// Tools that this task adds to those of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub additional_tools: Option<Vec<String>>,
    /// What a host sent beyond this format.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Value>,
}

/// How much can go wrong with a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    /// Hardly anything.
    Low,
    /// Something that can be mended.
    Medium,
    /// Something that is hard to mend.
    High,
    /// Something that cannot be mended.
    Critical,
}

impl Risk {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Risk::Low => "low",
            Risk::Medium => "medium",
            Risk::High => "high",
            Risk::Critical => "critical",
        }
    }
}

/// The bounds of a task.
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

/// What has been used up so far, and what this action is expected to use.
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
    /// Calls to the outside so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_calls: Option<u64>,
    /// Money spent so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Money that this action is expected to cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_cost: Option<f64>,
    /// What the call alone used that this event tells the outcome of. Midrail sums it up where a host does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallUsage>,
    /// What a host sent beyond this format.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Value>,
}

/// What one call used.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CallUsage {
    /// Tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Calls to the outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_calls: Option<u64>,
    /// Money.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// What a host sent beyond this format.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Value>,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// The tool's name, as its host spells it.
    pub name: String,
    /// The host's name for this one call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The arguments.
    #[serde(default)]
    pub args: Map<String, Value>,
    /// What a host sent beyond this format.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Value>,
}

impl ToolCall {
    /// A call of a tool. Arguments that are no object are kept under `value`.
    pub fn new(name: impl Into<String>, args: Value) -> Self {
        let args = match args {
            Value::Object(map) => map,
            Value::Null => Map::new(),
            other => Map::from_iter([("value".to_owned(), other)]),
        };
        ToolCall { name: name.into(), call_id: None, args, extra: BTreeMap::new() }
    }
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ToolResult {
    /// Whether it went well. Absent: unknown, which never counts as a success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    /// The answer: text, or the tool's own structure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Value>,
    /// The exit code, where the tool ran a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// What a host sent beyond this format.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Value>,
}

impl ToolResult {
    /// A call that went well.
    pub fn ok(content: impl Into<Value>) -> Self {
        ToolResult { ok: Some(true), content: Some(content.into()), ..ToolResult::default() }
    }

    /// A call that failed.
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
    /// What it needs to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Value>,
    /// What it gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Vec<Value>>,
    /// Why it takes over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
    /// What is known of the receiver: its capabilities and budgets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver: Option<Value>,
    /// What a host sent beyond this format.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Value>,
}

/// An error that the agent ran into.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ErrorInfo {
    /// What it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Its class, in the words of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// How many times the action has been tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// What a host sent beyond this format.
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
