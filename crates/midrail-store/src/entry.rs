//! A record as it stands in the audit log, and the labels by which it is found.

use std::collections::BTreeSet;

use jiff::Timestamp;
use midrail_core::{Effect, EventKind, Record};
use serde::Deserialize;

use crate::error::{Result, StoreError};

/// One record as it stands in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Its number: from 1, without gaps.
    pub seq: u64,
    /// What it is found by. The store keeps these beside the body; `verify` holds them against it.
    pub labels: Labels,
    /// The hash of the record before it.
    pub prev: String,
    /// Its hash.
    pub hash: String,
    /// The record as JSON, byte for byte as it was hashed.
    pub body: String,
}

impl AuditEntry {
    /// The record.
    pub fn record(&self) -> Result<Record> {
        serde_json::from_str(&self.body)
            .map_err(|source| StoreError::Decode { what: format!("audit record {}", self.seq), source })
    }
}

/// What a record is found by.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Labels {
    /// When it was decided, in whole microseconds.
    pub time: Timestamp,
    /// The session.
    pub session: String,
    /// The kind of event.
    pub kind: String,
    /// The tool, where the event has one.
    pub tool: Option<String>,
    /// The decision's effect.
    pub effect: String,
    /// The guardrail that decided and those that said more than allow, also in shadow mode. Sorted.
    pub guardrails: Vec<String>,
}

impl Labels {
    /// The labels of a record.
    pub fn from_record(record: &Record) -> Self {
        let decision = &record.decision;
        let raised = decision.verdicts.iter().filter(|said| is_raised(said.effect));
        Labels {
            time: whole_micros(record.time),
            session: record.session.clone(),
            kind: record.event.kind.as_str().to_owned(),
            tool: record.event.tool_name().map(str::to_owned),
            effect: decision.effect.as_str().to_owned(),
            guardrails: sorted(raised.map(|said| &*said.guardrail).chain(decision.by.as_deref())),
        }
    }

    /// The labels of a record's JSON, without building the record.
    pub fn from_body(body: &str) -> Result<Self, serde_json::Error> {
        let outline: Outline = serde_json::from_str(body)?;
        let decision = &outline.decision;
        let raised = decision.verdicts.iter().filter(|said| is_raised(said.effect));
        let guardrails = sorted(raised.map(|said| said.guardrail.as_str()).chain(decision.by.as_deref()));
        Ok(Labels {
            time: whole_micros(outline.time),
            session: outline.session,
            kind: outline.event.kind.as_str().to_owned(),
            tool: outline.event.tool.map(|tool| tool.name),
            effect: decision.effect.as_str().to_owned(),
            guardrails,
        })
    }

    /// The first label in which two differ, with both its values.
    pub(crate) fn difference(&self, other: &Labels) -> Option<(&'static str, String, String)> {
        if self == other {
            return None;
        }
        let list = |labels: &Labels| labels.guardrails.join(", ");
        let tool = |labels: &Labels| labels.tool.clone().unwrap_or_default();
        [
            ("time", self.time.to_string(), other.time.to_string()),
            ("session", self.session.clone(), other.session.clone()),
            ("kind", self.kind.clone(), other.kind.clone()),
            ("tool", tool(self), tool(other)),
            ("effect", self.effect.clone(), other.effect.clone()),
            ("guardrails", list(self), list(other)),
        ]
        .into_iter()
        .find(|(_, mine, theirs)| mine != theirs)
    }
}

#[derive(Deserialize)]
struct Outline {
    time: Timestamp,
    session: String,
    event: OutlineEvent,
    decision: OutlineDecision,
}

#[derive(Deserialize)]
struct OutlineEvent {
    kind: EventKind,
    #[serde(default)]
    tool: Option<OutlineTool>,
}

#[derive(Deserialize)]
struct OutlineTool {
    name: String,
}

#[derive(Deserialize)]
struct OutlineDecision {
    effect: Effect,
    #[serde(default)]
    by: Option<String>,
    #[serde(default)]
    verdicts: Vec<OutlineSaid>,
}

#[derive(Deserialize)]
struct OutlineSaid {
    guardrail: String,
    #[serde(default)]
    effect: Option<Effect>,
}

fn is_raised(effect: Option<Effect>) -> bool {
    effect.is_some_and(|effect| effect > Effect::Allow)
}

fn sorted<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    names.collect::<BTreeSet<_>>().into_iter().map(str::to_owned).collect()
}

pub(crate) fn whole_micros(time: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(time.as_microsecond()).unwrap_or(time)
}
