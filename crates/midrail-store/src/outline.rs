//! The parts of a record's JSON that labels and statistics need, read without building the whole record.

use std::borrow::Cow;

use jiff::Timestamp;
use midrail_core::{Effect, EventKind};
use serde::Deserialize;

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
    #[serde(default)]
    pub(crate) would: Option<Effect>,
    #[serde(default, borrow)]
    pub(crate) by: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    pub(crate) verdicts: Vec<VerdictOutline<'a>>,
}

#[derive(Deserialize)]
pub(crate) struct VerdictOutline<'a> {
    #[serde(borrow)]
    pub(crate) guardrail: Cow<'a, str>,
    #[serde(default)]
    pub(crate) effect: Option<Effect>,
    #[serde(default)]
    pub(crate) skipped: bool,
    #[serde(default)]
    pub(crate) shadow: bool,
    #[serde(default)]
    pub(crate) error: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    pub(crate) duration_us: Option<u64>,
}
