//! A record of the audit log in a line: what lists, sessions and the live stream show of it.

use std::borrow::Cow;

use jiff::Timestamp;
use midrail::Effect;
use midrail::store::AuditEntry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Letters of a reason that a line shows.
const REASON: usize = 300;

/// A record in short.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct RecordLine {
    /// Its number.
    pub(crate) seq: u64,
    /// When it was decided.
    pub(crate) time: Timestamp,
    /// The session.
    pub(crate) session: String,
    /// The kind of event.
    pub(crate) kind: String,
    /// The tool, where the event has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool: Option<String>,
    /// The effect of the decision.
    pub(crate) effect: String,
    /// What the effect would have been, had shadow mode been enforced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) would: Option<Effect>,
    /// The guardrail that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<String>,
    /// Why, cut short.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) reason: String,
    /// The guardrails that said more than allow, also in shadow mode, and the one that decided.
    pub(crate) guardrails: Vec<String>,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    /// The agent that started this sub-agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent: Option<String>,
    /// The request to a person that it makes, answers or changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) approval: Option<String>,
    /// What was done, where the engine recorded it of its own accord: `bypass_requested`, `paused`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) what: Option<String>,
    /// The verdicts of all evaluated guardrails in chain order, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) verdicts: Option<Vec<VerdictLine>>,
    /// The whole record, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) record: Option<Value>,
    /// The agent of the request that the engine's own record is about.
    #[serde(skip)]
    pub(crate) asked_by: Option<String>,
}

/// What one guardrail said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct VerdictLine {
    /// Its id.
    pub(crate) guardrail: String,
    /// The effect that it asked for.
    pub(crate) effect: Effect,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) reason: String,
    /// It spoke in shadow mode: recorded, and without consequence.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) shadow: bool,
    /// It failed, and its `on_error` or `on_missing` spoke for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

impl RecordLine {
    /// A record in short. What cannot be read of it is left out.
    pub(crate) fn new(entry: &AuditEntry) -> Self {
        let labels = entry.labels.clone();
        let outline: Outline<'_> = serde_json::from_str(&entry.body).unwrap_or_default();
        let mut line = RecordLine {
            seq: entry.seq,
            time: labels.time,
            session: labels.session,
            kind: labels.kind,
            tool: labels.tool,
            effect: labels.effect,
            would: outline.decision.would,
            by: outline.decision.by.map(Cow::into_owned),
            reason: outline.decision.reason.chars().take(REASON).collect(),
            guardrails: labels.guardrails,
            agent: outline.event.agent.and_then(|agent| agent.id).map(Cow::into_owned),
            parent: outline.event.parent.map(Cow::into_owned),
            approval: outline.decision.approval.and_then(|approval| approval.id).map(Cow::into_owned),
            what: None,
            verdicts: None,
            record: None,
            asked_by: None,
        };
        // Agents can add any field to an event; these fields are trusted only in the engine's own records.
        if !line.is_decision() {
            let own: Own<'_> = serde_json::from_str(&entry.body).unwrap_or_default();
            line.what = own.event.what.map(Cow::into_owned);
            let approval = own.event.approval.unwrap_or_default();
            line.asked_by = approval.requested_by.map(Cow::into_owned);
            line.approval = approval.id.map(Cow::into_owned);
        }
        line
    }

    /// The same with what every guardrail said.
    pub(crate) fn with_verdicts(entry: &AuditEntry) -> Self {
        let chain: Chain = serde_json::from_str(&entry.body).unwrap_or_default();
        let verdicts = chain.decision.verdicts.into_iter().filter_map(StoredVerdict::into_line).collect();
        RecordLine { verdicts: Some(verdicts), ..RecordLine::new(entry) }
    }

    /// The same with the whole record.
    pub(crate) fn with_record(entry: &AuditEntry) -> Self {
        RecordLine { record: serde_json::from_str(&entry.body).ok(), ..RecordLine::new(entry) }
    }

    /// Whether an event was decided. Else the engine recorded it of its own accord.
    pub(crate) fn is_decision(&self) -> bool {
        !matches!(self.kind.as_str(), "approval_decided" | "restored" | "administered")
    }
}

#[derive(Deserialize, Default)]
struct Outline<'a> {
    #[serde(borrow)]
    event: OutlineEvent<'a>,
    #[serde(borrow)]
    decision: OutlineDecision<'a>,
}

#[derive(Deserialize, Default)]
struct OutlineEvent<'a> {
    #[serde(default, borrow)]
    agent: Option<Named<'a>>,
    #[serde(default, borrow)]
    parent: Option<Cow<'a, str>>,
}

#[derive(Deserialize, Default)]
struct OutlineDecision<'a> {
    #[serde(default, borrow)]
    by: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    reason: Cow<'a, str>,
    #[serde(default)]
    would: Option<Effect>,
    #[serde(default, borrow)]
    approval: Option<Named<'a>>,
}

#[derive(Deserialize, Default)]
struct Chain {
    decision: ChainDecision,
}

#[derive(Deserialize, Default)]
struct ChainDecision {
    #[serde(default)]
    verdicts: Vec<StoredVerdict>,
}

/// A verdict of a record. A skipped one has no effect.
#[derive(Deserialize)]
struct StoredVerdict {
    guardrail: String,
    #[serde(default)]
    effect: Option<Effect>,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    shadow: bool,
    #[serde(default)]
    error: Option<String>,
}

impl StoredVerdict {
    fn into_line(self) -> Option<VerdictLine> {
        let StoredVerdict { guardrail, effect, reason, shadow, error } = self;
        Some(VerdictLine { guardrail, effect: effect?, reason, shadow, error })
    }
}

#[derive(Deserialize)]
struct Named<'a> {
    #[serde(default, borrow)]
    id: Option<Cow<'a, str>>,
}

#[derive(Deserialize, Default)]
struct Own<'a> {
    #[serde(borrow)]
    event: OwnEvent<'a>,
}

#[derive(Deserialize, Default)]
struct OwnEvent<'a> {
    #[serde(default, borrow)]
    what: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    approval: Option<OwnApproval<'a>>,
}

#[derive(Deserialize, Default)]
struct OwnApproval<'a> {
    #[serde(default, borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    requested_by: Option<Cow<'a, str>>,
}
