//! The verdict of one guardrail on one event.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::effect::Effect;
use crate::grounds::Grounds;
use crate::sandbox::SandboxRequest;

/// The verdict of one guardrail, built from an effect: `Verdict::block("…").advise("…")`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Verdict {
    /// The effect that it requests.
    pub effect: Effect,
    /// What was stopped and why, for the agent and for people.
    pub reason: String,
    /// What to do instead.
    pub advice: Option<String>,
    /// Machine-readable details of the denial.
    pub metadata: Map<String, Value>,
    /// Parts of the text to replace.
    pub redactions: Vec<Redaction>,
    /// A text that replaces the whole result.
    pub replacement: Option<String>,
    /// The sandbox that the call runs in (`contain`).
    pub sandbox: Option<SandboxRequest>,
    /// Why no person needs to be asked about the call.
    pub grounds: Option<Grounds>,
    /// Guidance for the next attempt (`retry`).
    pub retry_message: Option<String>,
    /// The message for the user (`halt`).
    pub user_message: Option<String>,
    /// A note to the agent.
    pub feedback: Option<String>,
    /// Consequences beyond the verdict: `flag_trajectory`, `increment_strike`, `emit_alert`.
    pub effects: Vec<String>,
    /// How to recover from an error (`on_error`).
    pub recovery: Option<Recovery>,
    /// Notices to the orchestrator and to people.
    pub notices: Vec<Notice>,
    /// It did not check the event, so this is no success and does not reset its attempts.
    pub not_checked: bool,
    /// It is no objection, but the effect of a timeout: a pack's overrides for objections do not apply.
    pub timed_out: bool,
    /// What exactly was found, so that an approval to stop covers this and nothing else. `None`: it covers the event.
    pub stop_finding: Option<StopFinding>,
}

impl Verdict {
    /// No objection.
    pub fn allow() -> Self {
        Verdict::default()
    }

    /// Whether it is no objection and has no other consequence.
    pub(crate) fn is_plain_allow(&self) -> bool {
        let Verdict {
            effect,
            reason,
            advice,
            metadata,
            redactions,
            replacement,
            sandbox,
            grounds,
            retry_message,
            user_message,
            feedback,
            effects,
            recovery,
            notices,
            not_checked,
            timed_out,
            stop_finding,
        } = self;
        let texts = [advice, replacement, retry_message, user_message, feedback];
        *effect == Effect::Allow
            && reason.is_empty()
            && metadata.is_empty()
            && redactions.is_empty()
            && effects.is_empty()
            && notices.is_empty()
            && recovery.is_none()
            && stop_finding.is_none()
            && grounds.is_none()
            && sandbox.is_none()
            && !*not_checked
            && !*timed_out
            && texts.iter().all(|text| text.is_none())
    }

    /// An effect with its reason.
    pub fn new(effect: Effect, reason: impl Into<String>) -> Self {
        Verdict { effect, reason: reason.into(), ..Verdict::default() }
    }

    /// No objection, and grounds why no person needs to be asked about the call.
    pub fn vouch(grounds: Grounds) -> Self {
        Verdict { grounds: Some(grounds), ..Verdict::default() }
    }

    /// The event was not checked, for this reason.
    pub fn not_checked(reason: impl Into<String>) -> Self {
        Verdict { not_checked: true, ..Verdict::new(Effect::Allow, reason) }
    }

    /// Block the action.
    pub fn block(reason: impl Into<String>) -> Self {
        Verdict::new(Effect::Block, reason)
    }

    /// Allow the action with a warning to the agent.
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

    /// Adds a machine-readable detail.
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }
}

/// What a guardrail found when an agent wanted to stop: the same text for the same finding on every check. It contains none of
/// the event's own texts, because those are not stored unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopFinding {
    /// What was found.
    pub what: String,
    /// Whether it was found in the agent's output, so that another output is another finding.
    pub in_output: bool,
}

impl StopFinding {
    /// A finding in the state of the work.
    pub fn new(what: impl Into<String>) -> Self {
        StopFinding { what: what.into(), in_output: false }
    }

    /// A finding in the agent's output.
    pub fn in_output(what: impl Into<String>) -> Self {
        StopFinding { what: what.into(), in_output: true }
    }
}

/// A message to someone other than the agent. The packs define how it is delivered.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Notice {
    /// The receiver: `orchestrator`, or the role of a person.
    pub to: String,
    /// The text.
    pub message: String,
}

/// A part of the text to replace: bytes `start..end`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Redaction {
    /// The text inside a structured result or inside the arguments of a call, as a pointer from the event
    /// ([`crate::json_pointer`]). Absent: the whole text that is passed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// The text that replaces it.
    pub replacement: String,
}

impl Redaction {
    /// A part of the whole text.
    pub fn new(start: usize, end: usize, replacement: impl Into<String>) -> Self {
        Redaction { at: None, start, end, replacement: replacement.into() }
    }

    /// The same part of the text at a pointer from the event.
    pub fn at(self, pointer: impl Into<String>) -> Self {
        Redaction { at: Some(pointer.into()), ..self }
    }
}

/// How to recover from an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Recovery {
    /// Retry the failed action.
    Retry,
    /// Undo partial changes.
    Rollback,
    /// Hand over to a supervisor or person.
    Escalate,
    /// Quarantine the agent.
    Quarantine,
}

impl Recovery {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Recovery::Retry => "retry",
            Recovery::Rollback => "rollback",
            Recovery::Escalate => "escalate",
            Recovery::Quarantine => "quarantine",
        }
    }
}
