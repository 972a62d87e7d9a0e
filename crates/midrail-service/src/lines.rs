//! A record of the audit log in a line: what lists, sessions and the live stream show of it.

use std::borrow::Cow;

use jiff::Timestamp;
use midrail::Effect;
use midrail::store::Entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Letters of a reason that a line shows.
const REASON: usize = 300;

/// A record in short.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "RecordLine")]
pub(crate) struct Line {
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
    /// Who started the agent, where it is a sub-agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent: Option<String>,
    /// The request to a person that it makes, answers or changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) approval: Option<String>,
    /// What was done, where the engine recorded it of its own accord: `bypass_requested`, `paused`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) what: Option<String>,
    /// The whole record, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) record: Option<Value>,
}

impl Line {
    /// A record in short. What cannot be read of it is left out.
    pub(crate) fn of(entry: &Entry) -> Self {
        let labels = entry.labels.clone();
        let outline: Outline<'_> = serde_json::from_str(&entry.body).unwrap_or_default();
        let mut line = Line {
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
            record: None,
        };
        // An agent can say anything beside what an event has; the engine's own words are in its own records alone.
        if !line.is_decision() {
            let own: Own<'_> = serde_json::from_str(&entry.body).unwrap_or_default();
            line.what = own.event.what.map(Cow::into_owned);
            line.approval = own.event.approval.and_then(|approval| approval.id).map(Cow::into_owned);
        }
        line
    }

    /// The same with the whole record.
    pub(crate) fn full(entry: &Entry) -> Self {
        Line { record: serde_json::from_str(&entry.body).ok(), ..Line::of(entry) }
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
    approval: Option<Named<'a>>,
}
