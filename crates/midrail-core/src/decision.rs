//! What the engine answers: the decision as it stands on the wire.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::budget::Autonomy;
use crate::effect::Effect;
use crate::event::Risk;
use crate::pause::Pause;
use crate::session::Changes;
use crate::verdict::{Notice, Recovery};

/// One decision.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// The highest step that any guardrail asked for.
    pub effect: Effect,
    /// What the deciding guardrail asked for, where the host can only do something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "meant")]
    pub requested: Option<Effect>,
    /// The guardrail that decided: the first of the chain at that step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Arc<str>>,
    /// What was stopped, and why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What to do instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// What each guardrail of the chain said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<VerdictRecord>,
    /// Notes to the agent that come with this answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feedback: Vec<String>,
    /// The text that may pass on, where it was changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Guidance for the next try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// The approval that this action waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalRequest>,
    /// The denial in parts that a program can read.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// Consequences beyond the effect, of all guardrails together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<String>,
    /// How to go on after an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// The result is withheld, and the host is asked to undo the action.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rollback_requested: bool,
    /// What the user is told at the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_message: Option<String>,
    /// What the effect would have been, had the guardrails in shadow mode been enforced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub would: Option<Effect>,
    /// Whether the policy is enforced.
    #[serde(default)]
    pub mode: Mode,
    /// The pause under which guardrails spoke without consequence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<Pause>,
    /// The revision of the policy that decided.
    #[serde(default)]
    pub policy: Arc<str>,
    /// How much can go wrong with the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// How far the agent may go on its own, where its budgets restrain it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autonomy: Option<Autonomy>,
    /// What others are told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
    /// Where this decision stands in the audit log.
    #[serde(default, skip_serializing_if = "Suppressed::is_empty")]
    pub audit: Suppressed<AuditRef>,
    /// What changes in the session. Not on the wire.
    #[serde(skip)]
    pub changes: Changes,
    /// Approvals to ask for, one a guardrail that escalates. Not on the wire.
    #[serde(skip)]
    pub requests: Vec<ApprovalRequest>,
}

impl Decision {
    /// A warning in words, for the agent that goes on with it.
    pub fn warning(&self) -> Option<String> {
        if self.effect != Effect::Warn {
            return None;
        }
        let by = self.by.as_deref().unwrap_or("midrail");
        let advice = self.advice.as_ref().map(|advice| format!(" {advice}")).unwrap_or_default();
        Some(format!("Warning of `{by}`: {}{advice}", self.reason))
    }
}

/// What one guardrail of the chain said.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct VerdictRecord {
    /// The guardrail's id.
    pub guardrail: Arc<str>,
    /// The effect that it asked for. Absent where it was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// It was not asked, because it could not have raised the effect.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skipped: bool,
    /// It spoke in shadow mode: recorded, and without consequence.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shadow: bool,
    /// It failed, and its `on_error` or `on_missing` spoke for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The digest that a person's answer to it is bound to, where that follows from what it found and not from the event
    /// alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// How long it took, in microseconds.
    #[serde(default, skip_serializing_if = "Suppressed::is_empty")]
    pub duration_us: Suppressed<u64>,
}

/// Whether verdicts have consequences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// They do.
    #[default]
    Enforce,
    /// They are recorded only.
    Shadow,
}

/// Guidance for the next try.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Retry {
    /// What to do differently.
    pub message: String,
    /// Which try this was.
    pub attempt: u32,
    /// How many there are.
    pub max_attempts: u32,
}

/// A request to a person.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalRequest {
    /// Its name. The same action of the same session gets the same name until it is decided.
    pub id: String,
    /// An escalation or a bypass.
    pub kind: ApprovalKind,
    /// The role that may decide it.
    pub approver: String,
    /// When no answer becomes a block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub expires: Option<Timestamp>,
    /// The guardrail that asks. Not on the wire: it is `by`.
    #[serde(skip)]
    pub guardrail: Arc<str>,
    /// The exact action: a digest of tool, arguments, session and task. Not on the wire.
    #[serde(skip)]
    pub action: String,
}

/// Why a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalKind {
    /// A guardrail wants a person's judgement.
    #[default]
    Escalation,
    /// An agent wants a guardrail lifted for one action.
    Bypass,
}

/// Where a decision stands in the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditRef {
    /// The record's number.
    pub seq: u64,
    /// The record's hash.
    pub hash: String,
}

/// A value that stands beside a decision and is no part of it: left out of its equality and hash.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Suppressed<T>(pub Option<T>);

impl<T> Suppressed<T> {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

impl<T> Default for Suppressed<T> {
    fn default() -> Self {
        Suppressed(None)
    }
}

impl<T> PartialEq for Suppressed<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Eq for Suppressed<T> {}

impl<T> Hash for Suppressed<T> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
