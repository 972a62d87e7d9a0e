//! A record in the audit log, and the labels by which it is found.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use midrail_core::{Effect, EventKind, Mode, Record, VerdictRecord};
use serde::Deserialize;
use serde_json::Value;

use crate::chain::erased_body;
use crate::error::{Result, StoreError};

/// A record in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Its number: from 1, without gaps.
    pub seq: u64,
    /// The labels by which it is found. The store keeps them next to the body; `verify` compares the two.
    pub labels: Labels,
    /// The hash of the previous record.
    pub prev: String,
    /// Its hash.
    pub hash: String,
    /// The record as JSON, byte for byte as it was hashed.
    pub body: String,
    /// The digests of the state that it changed, as JSON, byte for byte as it was hashed. Empty: it changed nothing.
    /// `None`: an older version wrote it.
    pub changes: Option<String>,
}

impl AuditEntry {
    /// Whether its content was erased. What remains cannot be replayed.
    pub fn is_erased(&self) -> bool {
        erased_body(&self.body).is_some()
    }

    /// The record as JSON, with each verdict as an object. The log has a shorter form of plain allows.
    pub fn json(&self) -> serde_json::Result<Value> {
        let mut body: Value = serde_json::from_str(&self.body)?;
        let verdicts = body.pointer_mut("/decision/verdicts").and_then(Value::as_array_mut);
        for verdict in verdicts.into_iter().flatten().filter(|verdict| !verdict.is_object()) {
            *verdict = serde_json::to_value(serde_json::from_value::<VerdictRecord>(verdict.take())?)?;
        }
        Ok(body)
    }

    /// Decodes the record.
    pub fn record(&self) -> Result<Record> {
        serde_json::from_str(&self.body).map_err(|source| StoreError::Decode {
            what: format!("audit record {}", self.seq),
            source: Arc::new(source),
        })
    }
}

/// The labels by which a record is found.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Labels {
    /// The time of the decision, in whole microseconds.
    pub time: Timestamp,
    /// The session.
    pub session: String,
    /// The kind of event.
    pub kind: String,
    /// The tool, if the event has one.
    pub tool: Option<String>,
    /// The effect of the decision.
    pub effect: String,
    /// The guardrail that decided, and those with a verdict above allow, also in shadow mode. Sorted.
    pub guardrails: Vec<String>,
}

impl Labels {
    /// The labels of a record.
    pub fn from_record(record: &Record) -> Self {
        let decision = &record.decision;
        let raised = decision.verdicts.iter().filter(|verdict| is_raised(verdict.effect));
        Labels {
            time: whole_micros(record.time),
            session: record.session.clone(),
            kind: record.event.kind.as_str().to_owned(),
            tool: record.event.tool_name().map(str::to_owned),
            effect: decision.effect.as_str().to_owned(),
            guardrails: sorted(raised.map(|verdict| &*verdict.guardrail).chain(decision.by.as_deref())),
        }
    }

    /// The labels of a record's JSON, without building the record.
    pub fn from_body(body: &str) -> Result<Self, serde_json::Error> {
        let RecordOutline { time, session, event, decision } = serde_json::from_str(body)?;
        let raised = decision.verdicts.iter().filter(|verdict| is_raised(verdict.effect));
        Ok(Labels {
            time: whole_micros(time),
            session: session.into_owned(),
            kind: event.kind.as_str().to_owned(),
            tool: event.tool.map(|tool| tool.name.into_owned()),
            effect: decision.effect.as_str().to_owned(),
            guardrails: sorted(raised.map(|verdict| &*verdict.guardrail).chain(decision.by.as_deref())),
        })
    }

    /// The first label that differs, with both values.
    pub(crate) fn difference(&self, other: &Labels) -> Option<(&'static str, String, String)> {
        let texts = |labels: &Labels| {
            let Labels { time, session, kind, tool, effect, guardrails } = labels.clone();
            let tool = tool.unwrap_or_default();
            [time.to_string(), session, kind, tool, effect, guardrails.join(", ")]
        };
        if self == other {
            return None;
        }
        let names = ["time", "session", "kind", "tool", "effect", "guardrails"];
        let pairs = names.into_iter().zip(texts(self)).zip(texts(other));
        pairs.map(|((name, own), theirs)| (name, own, theirs)).find(|(_, own, theirs)| own != theirs)
    }
}

fn is_raised(effect: Option<Effect>) -> bool {
    effect.is_some_and(|effect| effect > Effect::Allow)
}

fn sorted<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    names.collect::<BTreeSet<_>>().into_iter().map(str::to_owned).collect()
}

/// A time in whole microseconds, as the stores keep it.
pub(crate) fn whole_micros(time: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(time.as_microsecond()).unwrap_or(time)
}

#[derive(Deserialize)]
pub(crate) struct RecordOutline<'a> {
    pub(crate) time: Timestamp,
    #[serde(borrow)]
    pub(crate) session: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) event: EventOutline<'a>,
    #[serde(borrow)]
    pub(crate) decision: DecisionOutline<'a>,
}

#[derive(Deserialize)]
pub(crate) struct EventOutline<'a> {
    pub(crate) kind: EventKind,
    #[serde(default, borrow)]
    pub(crate) tool: Option<ToolOutline<'a>>,
}

#[derive(Deserialize)]
pub(crate) struct ToolOutline<'a> {
    #[serde(borrow)]
    pub(crate) name: Cow<'a, str>,
}

#[derive(Deserialize)]
pub(crate) struct DecisionOutline<'a> {
    pub(crate) effect: Effect,
    pub(crate) would: Option<Effect>,
    #[serde(default, borrow)]
    pub(crate) by: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    pub(crate) verdicts: Vec<VerdictOutline<'a>>,
}

#[derive(Deserialize)]
#[serde(from = "VerdictForm<'a>", bound(deserialize = "'de: 'a"))]
pub(crate) struct VerdictOutline<'a> {
    pub(crate) guardrail: Cow<'a, str>,
    pub(crate) effect: Option<Effect>,
    pub(crate) is_skipped: bool,
    pub(crate) is_in_shadow: bool,
    pub(crate) has_failed: bool,
    pub(crate) duration_us: Option<u64>,
}

/// The forms of a verdict in a record ([`midrail_core::VerdictRecord`]).
#[derive(Deserialize)]
#[serde(untagged)]
enum VerdictForm<'a> {
    PlainAllow(#[serde(borrow)] Cow<'a, str>),
    TimedAllow(#[serde(borrow)] Cow<'a, str>, u64),
    ShadowAllow(#[serde(borrow)] Cow<'a, str>, u64, Mode),
    Verdict {
        #[serde(borrow)]
        guardrail: Cow<'a, str>,
        effect: Option<Effect>,
        #[serde(default)]
        skipped: bool,
        #[serde(default)]
        shadow: bool,
        error: Option<serde::de::IgnoredAny>,
        duration_us: Option<u64>,
    },
}

impl<'a> From<VerdictForm<'a>> for VerdictOutline<'a> {
    fn from(form: VerdictForm<'a>) -> Self {
        let plain_allow = |guardrail, duration_us, mode| VerdictOutline {
            guardrail,
            effect: Some(Effect::Allow),
            is_skipped: false,
            is_in_shadow: mode == Mode::Shadow,
            has_failed: false,
            duration_us: Some(duration_us),
        };
        match form {
            VerdictForm::PlainAllow(guardrail) => plain_allow(guardrail, 0, Mode::Enforce),
            VerdictForm::TimedAllow(guardrail, duration) => plain_allow(guardrail, duration, Mode::Enforce),
            VerdictForm::ShadowAllow(guardrail, duration, mode) => plain_allow(guardrail, duration, mode),
            VerdictForm::Verdict { guardrail, effect, skipped, shadow, error, duration_us } => {
                VerdictOutline {
                    guardrail,
                    effect,
                    is_skipped: skipped,
                    is_in_shadow: shadow,
                    has_failed: error.is_some(),
                    duration_us,
                }
            }
        }
    }
}
