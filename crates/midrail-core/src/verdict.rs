//! What one guardrail says of one event.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::effect::Effect;

/// What one guardrail says. Built up from an effect: `Verdict::block("…").advise("…")`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Verdict {
    /// The step of the ladder that it asks for.
    pub effect: Effect,
    /// What was stopped and why, for the agent and for people.
    pub reason: String,
    /// What to do instead.
    pub advice: Option<String>,
    /// The denial in parts that a program can read.
    pub metadata: Map<String, Value>,
    /// Parts of the text to replace.
    pub redactions: Vec<Redaction>,
    /// A text in place of the whole result.
    pub replacement: Option<String>,
    /// Guidance for the next try (`retry`).
    pub retry_message: Option<String>,
    /// What the user is told (`halt`).
    pub user_message: Option<String>,
    /// A note to the agent that comes with the answer.
    pub feedback: Option<String>,
    /// Consequences beyond the verdict: `flag_trajectory`, `increment_strike`, `emit_alert`.
    pub effects: Vec<String>,
    /// How to go on after an error (`on_error`).
    pub recovery: Option<Recovery>,
    /// What others are told: the orchestrator, people.
    pub notices: Vec<Notice>,
    /// It did not look, so this is no success: tries that were used up stay used up.
    pub not_checked: bool,
    /// It is no objection, but what follows where nobody answered in time: what a pack says of objections does not change it.
    pub timed_out: bool,
    /// What exactly was found, so that a person who lets an agent stop all the same lets it stop with this and with
    /// nothing else. `None`: whatever follows from the event.
    pub stop_finding: Option<StopFinding>,
}

impl Verdict {
    /// Nothing to object to.
    pub fn allow() -> Self {
        Verdict::default()
    }

    /// An effect with its reason.
    pub fn new(effect: Effect, reason: impl Into<String>) -> Self {
        Verdict { effect, reason: reason.into(), ..Verdict::default() }
    }

    /// It is not looked at, and the record says why.
    pub fn not_checked(reason: impl Into<String>) -> Self {
        Verdict { not_checked: true, ..Verdict::new(Effect::Allow, reason) }
    }

    /// This action may not happen.
    pub fn block(reason: impl Into<String>) -> Self {
        Verdict::new(Effect::Block, reason)
    }

    /// This action may happen, and the agent is told.
    pub fn warn(reason: impl Into<String>) -> Self {
        Verdict::new(Effect::Warn, reason)
    }

    /// Adds what to do instead.
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// Adds what exactly was found.
    pub fn with_stop_finding(mut self, finding: StopFinding) -> Self {
        self.stop_finding = Some(finding);
        self
    }

    /// Adds a part that a program can read.
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }
}

/// What a guardrail found when an agent wanted to stop: the same text for the same thing, however often it looks. Nothing
/// of the event's own texts stands in it, because those are not kept as they came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopFinding {
    /// What was found.
    pub what: String,
    /// Whether it was found in what the agent ends with, so that another output is another finding.
    pub in_output: bool,
}

impl StopFinding {
    /// Something in the state of the work.
    pub fn new(what: impl Into<String>) -> Self {
        StopFinding { what: what.into(), in_output: false }
    }

    /// Something in what the agent ends with.
    pub fn in_output(what: impl Into<String>) -> Self {
        StopFinding { what: what.into(), in_output: true }
    }
}

/// Something to tell to someone other than the agent. It is delivered as the packs say.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Notice {
    /// Whom: `orchestrator`, or the role of a person.
    pub to: String,
    /// What.
    pub message: String,
}

/// A part of the text to replace: bytes `start..end`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Redaction {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// What stands there instead.
    pub replacement: String,
}

/// How to go on after an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Recovery {
    /// Try the failed action again.
    Retry,
    /// Undo partial changes.
    Rollback,
    /// Hand it to a supervisor or person.
    Escalate,
    /// Keep the agent from further work.
    Quarantine,
}

impl Recovery {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Recovery::Retry => "retry",
            Recovery::Rollback => "rollback",
            Recovery::Escalate => "escalate",
            Recovery::Quarantine => "quarantine",
        }
    }
}
