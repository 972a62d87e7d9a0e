//! The decision on an event, in the wire format.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
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
    /// The highest effect that any guardrail requested.
    pub effect: Effect,
    /// The effect that the deciding guardrail requested, if the host does not support it.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "meant")]
    pub requested: Option<Effect>,
    /// The guardrail that decided: the first of the chain with this effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Arc<str>>,
    /// What was stopped, and why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What to do instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// The verdict of each guardrail of the chain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<VerdictRecord>,
    /// Notes to the agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feedback: Vec<String>,
    /// The text to pass on, if it was changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The id of the sandbox that a contained call runs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// No person needs to be asked about this call: it is listed in a pack, and no guardrail objects.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub vouched: bool,
    /// Why no person needs to be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grounds: Option<String>,
    /// Guidance for the next attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// The approval that this action waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalRequest>,
    /// Machine-readable details of the denial.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// Consequences beyond the effect, of all guardrails together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<String>,
    /// How to recover from an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// The result is withheld, and the host should undo the action.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rollback_requested: bool,
    /// The message for the user at the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_message: Option<String>,
    /// The effect if the guardrails in shadow mode were enforced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub would: Option<Effect>,
    /// Whether the policy is enforced.
    #[serde(default)]
    pub mode: Mode,
    /// The pause that put guardrails into shadow mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<Pause>,
    /// The revision of the policy that decided.
    #[serde(default)]
    pub policy: Arc<str>,
    /// The risk of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// The autonomy of the agent, if its budgets restrict it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autonomy: Option<Autonomy>,
    /// Notices to the orchestrator and to people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
    /// The place of this decision in the audit log.
    #[serde(default, skip_serializing_if = "Suppressed::is_empty")]
    pub audit: Suppressed<AuditRef>,
    /// The changes to the session. Not on the wire.
    #[serde(skip)]
    pub changes: Changes,
    /// The approvals to request, one for each guardrail that escalates. Not on the wire.
    #[serde(skip)]
    pub requests: Vec<ApprovalRequest>,
}

impl Decision {
    /// The text of a warning, for the agent.
    pub fn warning(&self) -> Option<String> {
        if self.effect != Effect::Warn {
            return None;
        }
        let by = self.by.as_deref().unwrap_or("midrail");
        let advice = self.advice.as_ref().map(|advice| format!(" {advice}")).unwrap_or_default();
        Some(format!("Warning of `{by}`: {}{advice}", self.reason))
    }
}

/// The recorded verdict of one guardrail.
// In the audit log, a plain allow is only the guardrail's id, or a list: `["id", 41]` for one that took 41 microseconds, and
// `["id", 0, "shadow"]` for one in shadow mode. Twelve of them as objects were half of a record.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self")]
pub struct VerdictRecord {
    /// The guardrail's id.
    pub guardrail: Arc<str>,
    /// The effect that it requested. Absent if it was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// It was skipped, because it could not have raised the effect.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skipped: bool,
    /// It ran in shadow mode: its verdict is recorded, not enforced.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shadow: bool,
    /// Why it failed; its `on_error` or `on_missing` applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The digest that its approval is bound to, if it depends on the finding and not on the event alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// How long it took, in microseconds.
    #[serde(default, skip_serializing_if = "Suppressed::is_empty")]
    pub duration_us: Suppressed<u64>,
}

impl VerdictRecord {
    /// The microseconds that the guardrail took, if it allowed the event and there is nothing else to record.
    fn plain_allow_us(&self) -> Option<u64> {
        let VerdictRecord { guardrail: _, effect, reason, skipped, shadow: _, error, action, duration_us } =
            self;
        let has_more = *skipped || !reason.is_empty() || error.is_some() || action.is_some();
        duration_us.0.filter(|_| *effect == Some(Effect::Allow) && !has_more)
    }
}

impl Serialize for VerdictRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Only records are not written for readers ([`crate::to_compact_json`]).
        match self.plain_allow_us().filter(|_| !serializer.is_human_readable()) {
            Some(duration) if self.shadow => (&self.guardrail, duration, Mode::Shadow).serialize(serializer),
            Some(0) => self.guardrail.serialize(serializer),
            Some(duration) => (&self.guardrail, duration).serialize(serializer),
            None => VerdictRecord::serialize(self, serializer),
        }
    }
}

impl<'de> Deserialize<'de> for VerdictRecord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(VerdictVisitor)
    }
}

/// Reads each form of a verdict.
struct VerdictVisitor;

impl VerdictVisitor {
    fn plain_allow(guardrail: Arc<str>, duration_us: u64) -> VerdictRecord {
        let duration_us = Suppressed(Some(duration_us));
        VerdictRecord { guardrail, effect: Some(Effect::Allow), duration_us, ..VerdictRecord::default() }
    }
}

impl<'de> Visitor<'de> for VerdictVisitor {
    type Value = VerdictRecord;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the verdict of a guardrail")
    }

    fn visit_str<E: de::Error>(self, guardrail: &str) -> Result<VerdictRecord, E> {
        Ok(VerdictVisitor::plain_allow(guardrail.into(), 0))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<VerdictRecord, A::Error> {
        let (Some(guardrail), Some(duration)) = (list.next_element()?, list.next_element()?) else {
            return Err(de::Error::invalid_length(0, &self));
        };
        let shadow = list.next_element()? == Some(Mode::Shadow);
        Ok(VerdictRecord { shadow, ..VerdictVisitor::plain_allow(guardrail, duration) })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<VerdictRecord, A::Error> {
        VerdictRecord::deserialize(MapAccessDeserializer::new(map))
    }
}

/// Whether verdicts are enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// They are enforced.
    #[default]
    Enforce,
    /// They are only recorded.
    Shadow,
}

/// Guidance for the next attempt.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Retry {
    /// What to do differently.
    pub message: String,
    /// The number of this attempt.
    pub attempt: u32,
    /// The number of attempts allowed.
    pub max_attempts: u32,
}

/// A request to an approver.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalRequest {
    /// Its id. The same action of the same session has the same id until it is decided.
    pub id: String,
    /// An escalation or a bypass.
    pub kind: ApprovalKind,
    /// The role that may decide it.
    pub approver: String,
    /// When a missing answer becomes a block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub expires: Option<Timestamp>,
    /// The guardrail that requests it. Not on the wire: it is `by`.
    #[serde(skip)]
    pub guardrail: Arc<str>,
    /// The exact action: a digest of tool, arguments, session and task. Not on the wire.
    #[serde(skip)]
    pub action: String,
}

/// The kind of an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalKind {
    /// A guardrail requires an approval.
    #[default]
    Escalation,
    /// An agent requests to bypass a guardrail for one action.
    Bypass,
}

/// The place of a decision in the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditRef {
    /// The record's number.
    pub seq: u64,
    /// The record's hash.
    pub hash: String,
}

/// A value next to a decision that is not compared with it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Suppressed<T>(pub Option<T>);

impl<T> Suppressed<T> {
    /// Whether there is no value.
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
