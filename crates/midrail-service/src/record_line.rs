//! A record of the audit log in short, for lists, sessions and the live stream.

use jiff::Timestamp;
use midrail::Effect;
use midrail::core::{Record, VerdictRecord};
use midrail::store::AuditEntry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Characters of a reason that a line shows.
const REASON: usize = 300;

/// A record in short.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub(crate) struct RecordLine {
    /// Its number.
    pub(crate) seq: u64,
    /// When it was decided.
    pub(crate) time: Timestamp,
    /// The session.
    pub(crate) session: String,
    /// The kind of event.
    pub(crate) kind: String,
    /// The tool, if the event has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool: Option<String>,
    /// The effect of the decision.
    pub(crate) effect: String,
    /// The effect if guardrails in shadow mode were enforced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) would: Option<Effect>,
    /// The guardrail that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<String>,
    /// Why, cut short.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) reason: String,
    /// The guardrails that returned more than allow, also in shadow mode, and the one that decided.
    pub(crate) guardrails: Vec<String>,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    /// The agent that started this sub-agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent: Option<String>,
    /// The approval that it requests, answers or changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) approval: Option<String>,
    /// The administrative change, such as `bypass_requested` or `paused`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) what: Option<String>,
    /// The verdicts of all evaluated guardrails in chain order, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) verdicts: Option<Vec<VerdictLine>>,
    /// The full record, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) record: Option<Value>,
    /// The agent of the approval that an administrative record is about.
    #[serde(skip)]
    pub(crate) asked_by: Option<String>,
}

/// The verdict of one guardrail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct VerdictLine {
    /// Its id.
    pub(crate) guardrail: String,
    /// The effect that it requested.
    pub(crate) effect: Effect,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) reason: String,
    /// It ran in shadow mode and was not enforced.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) shadow: bool,
    /// It failed, and its `on_error` or `on_missing` was applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

impl RecordLine {
    /// A record in short. Fields that cannot be read are left out.
    pub(crate) fn new(entry: &AuditEntry) -> Self {
        RecordLine::from_record(entry, entry.record().ok().as_ref())
    }

    /// The same with all verdicts.
    pub(crate) fn with_verdicts(entry: &AuditEntry) -> Self {
        let record = entry.record().ok();
        let verdicts = record.iter().flat_map(|record| &record.decision.verdicts);
        let verdicts = verdicts.filter_map(VerdictLine::new).collect();
        RecordLine { verdicts: Some(verdicts), ..RecordLine::from_record(entry, record.as_ref()) }
    }

    /// The same with the full record.
    pub(crate) fn with_record(entry: &AuditEntry) -> Self {
        RecordLine { record: entry.json().ok(), ..RecordLine::new(entry) }
    }

    fn from_record(entry: &AuditEntry, record: Option<&Record>) -> Self {
        let labels = entry.labels.clone();
        let (event, decision) = (record.map(|record| &record.event), record.map(|record| &record.decision));
        let mut line = RecordLine {
            seq: entry.seq,
            time: labels.time,
            session: labels.session,
            kind: labels.kind,
            tool: labels.tool,
            effect: labels.effect,
            would: decision.and_then(|decision| decision.would),
            by: decision.and_then(|decision| decision.by.as_deref()).map(str::to_owned),
            reason: decision
                .map(|decision| decision.reason.chars().take(REASON).collect())
                .unwrap_or_default(),
            guardrails: labels.guardrails,
            agent: event.and_then(|event| event.agent.as_ref()?.id.clone()),
            parent: event.and_then(|event| event.parent.clone()),
            approval: decision.and_then(|decision| Some(decision.approval.as_ref()?.id.clone())),
            ..RecordLine::default()
        };
        // Agents can add any field to an event; these fields are trusted only in the engine's own records.
        if !line.is_decision() {
            let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
            let approval = event.and_then(|event| event.extra.get("approval"));
            line.what = text(event.and_then(|event| event.extra.get("what")));
            line.asked_by = text(approval.and_then(|approval| approval.get("requested_by")));
            line.approval = text(approval.and_then(|approval| approval.get("id")));
        }
        line
    }

    /// Whether the record is a decision about an event, not an administrative change.
    pub(crate) fn is_decision(&self) -> bool {
        !matches!(self.kind.as_str(), "approval_decided" | "restored" | "administered")
    }
}

impl VerdictLine {
    /// The verdict of an evaluated guardrail. Skipped ones have none.
    fn new(verdict: &VerdictRecord) -> Option<Self> {
        let VerdictRecord { guardrail, effect, reason, shadow, error, .. } = verdict;
        let (guardrail, reason, error) = (guardrail.to_string(), reason.clone(), error.clone());
        Some(VerdictLine { guardrail, effect: (*effect)?, reason, shadow: *shadow, error })
    }
}
