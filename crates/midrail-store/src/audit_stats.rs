//! What the records of the audit log come to, counted: how often each guardrail was asked, what it said and how long
//! it took. A fold over the log, so that it is right however many processes decide, and costs a commit nothing.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::Timestamp;
use midrail_core::{Effect, EventKind};
use serde::{Deserialize, Serialize};

use crate::entry::AuditEntry;
use crate::error::Result;
use crate::filter::AuditFilter;
use crate::store::Stats;

/// Upper bounds of the histogram of durations, in microseconds. A last bucket holds what took longer.
pub const DURATION_BUCKETS_US: [u64; 10] = [10, 50, 100, 500, 1_000, 5_000, 10_000, 50_000, 100_000, 500_000];

/// So many records are counted anew rather than saved.
const WORTH_SAVING: u64 = 256;

/// What the records up to one of them come to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AuditStats {
    /// The last record that is counted. 0: none.
    pub seq: u64,
    /// Its hash.
    pub hash: String,
    /// How many events were decided. What the engine records of its own accord is not among them.
    pub decisions: u64,
    /// How many decisions had an effect.
    pub effects: BTreeMap<Effect, u64>,
    /// What the effects would have been, had shadow mode been enforced, where that is stricter.
    pub would: BTreeMap<Effect, u64>,
    /// Records that could not be read. `midrail audit verify` names them.
    pub unreadable: u64,
    /// Every guardrail that was ever part of a decision, by its id.
    pub guardrails: BTreeMap<String, GuardrailStats>,
}

/// What one guardrail did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GuardrailStats {
    /// What it said, with consequences.
    #[serde(flatten)]
    pub enforced: VerdictCounts,
    /// What it said in shadow mode.
    #[serde(default, skip_serializing_if = "VerdictCounts::is_empty")]
    pub shadow: VerdictCounts,
    /// How long it took, in either mode.
    pub durations: Durations,
    /// When it last said more than allow, with consequences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_triggered: Option<Timestamp>,
}

/// How often a guardrail said what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct VerdictCounts {
    /// How often it was asked: the sum of those from `pass_count` to `block_count`.
    pub invocation_count: u64,
    /// Allow.
    pub pass_count: u64,
    /// Warn.
    pub warn_count: u64,
    /// Redact.
    pub redact_count: u64,
    /// Retry.
    pub retry_count: u64,
    /// Escalate.
    pub escalate_count: u64,
    /// Block and halt.
    pub block_count: u64,
    /// How often it failed or lacked a fact. What was said for it is counted as well.
    pub error_count: u64,
    /// How often it was not asked, because it could not have raised the effect.
    pub skipped_count: u64,
}

impl VerdictCounts {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        *self == VerdictCounts::default()
    }

    fn add(&mut self, effect: Effect) {
        self.invocation_count += 1;
        *match effect {
            Effect::Allow => &mut self.pass_count,
            Effect::Warn => &mut self.warn_count,
            Effect::Redact => &mut self.redact_count,
            Effect::Retry => &mut self.retry_count,
            Effect::Escalate => &mut self.escalate_count,
            Effect::Block | Effect::Halt => &mut self.block_count,
        } += 1;
    }
}

/// How long something took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Durations {
    /// How often it was measured.
    pub count: u64,
    /// All of it together, in microseconds.
    pub total_us: u64,
    /// The longest, in microseconds.
    pub max_us: u64,
    /// How often it took at most as long as [`DURATION_BUCKETS_US`] says, and more than the bucket before.
    pub buckets: [u64; DURATION_BUCKETS_US.len() + 1],
}

impl Durations {
    /// The average, in microseconds. `None`: nothing was measured.
    pub fn average_us(&self) -> Option<u64> {
        self.total_us.checked_div(self.count)
    }

    fn add(&mut self, micros: u64) {
        self.count += 1;
        self.total_us = self.total_us.saturating_add(micros);
        self.max_us = self.max_us.max(micros);
        let bucket = DURATION_BUCKETS_US.partition_point(|bound| *bound < micros);
        if let Some(bucket) = self.buckets.get_mut(bucket) {
            *bucket += 1;
        }
    }
}

/// How many actions were decided since a time, and how many of them were stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, schemars::JsonSchema)]
pub struct ActionCounts {
    /// Actions that the agent was about to take: events of the kinds `before_…`.
    pub decisions: u64,
    /// Those that were blocked or halted.
    pub blocked: u64,
}

impl ActionCounts {
    /// The share of actions that were stopped, from 0 to 1.
    pub fn block_rate(&self) -> f64 {
        let float = |count: u64| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        if self.decisions == 0 { 0.0 } else { float(self.blocked) / float(self.decisions) }
    }

    /// The kinds of event that count.
    pub const KINDS: [EventKind; 4] =
        [EventKind::BeforeModel, EventKind::BeforeTool, EventKind::BeforeHandoff, EventKind::BeforeStop];
}

impl AuditStats {
    /// Counts the next record. One that was counted already is passed over.
    fn add(&mut self, entry: &AuditEntry) {
        if entry.seq <= self.seq {
            return;
        }
        self.seq = entry.seq;
        self.hash.clone_from(&entry.hash);
        let Ok(outline) = serde_json::from_str::<Outline<'_>>(&entry.body) else {
            self.unreadable += 1;
            return;
        };
        if !OWN.contains(&&*outline.event.kind) {
            self.decisions += 1;
            *self.effects.entry(outline.decision.effect).or_default() += 1;
            if let Some(would) = outline.decision.would {
                *self.would.entry(would).or_default() += 1;
            }
        }
        for said in outline.decision.verdicts {
            let figures = match self.guardrails.get_mut(&*said.guardrail) {
                Some(figures) => figures,
                None => self.guardrails.entry(said.guardrail.clone().into_owned()).or_default(),
            };
            figures.add(&said, entry.labels.time);
        }
    }
}

impl GuardrailStats {
    fn add(&mut self, said: &OutlineSaid<'_>, time: Timestamp) {
        let counts = if said.shadow { &mut self.shadow } else { &mut self.enforced };
        counts.skipped_count += u64::from(said.skipped);
        counts.error_count += u64::from(said.error.is_some());
        if let Some(effect) = said.effect {
            counts.add(effect);
            if effect > Effect::Allow && !said.shadow {
                self.last_triggered = self.last_triggered.max(Some(time));
            }
        }
        if let Some(micros) = said.duration_us {
            self.durations.add(micros);
        }
    }
}

/// Counts what is not counted yet, and saves it from time to time.
pub(crate) fn of<S: Stats + ?Sized>(store: &S) -> Result<AuditStats> {
    let saved = store.saved_stats()?.unwrap_or_default();
    // A fold over another log than this one is worth nothing.
    let is_ours = saved.seq == 0 || store.entry(saved.seq)?.is_some_and(|entry| entry.hash == saved.hash);
    let mut figures = if is_ours { saved } else { AuditStats::default() };
    let mut kept = figures.seq;
    loop {
        let page = store.entries(&AuditFilter { after_seq: Some(figures.seq), ..AuditFilter::default() })?;
        if page.is_empty() {
            return Ok(figures);
        }
        page.iter().for_each(|entry| figures.add(entry));
        if figures.seq - kept >= WORTH_SAVING {
            kept = figures.seq;
            // It is only a help for the next time: a store that cannot be written can be counted all the same.
            let _ = store.save_stats(&figures);
        }
    }
}

/// What the records since a time come to.
pub(crate) fn since<S: Stats + ?Sized>(store: &S, since: Timestamp) -> Result<AuditStats> {
    let mut filter = AuditFilter { since: Some(since), ..AuditFilter::default() };
    let mut figures = AuditStats::default();
    loop {
        let page = store.entries(&filter)?;
        let Some(last) = page.last() else { break };
        filter.after_seq = Some(last.seq);
        page.iter().for_each(|entry| figures.add(entry));
    }
    Ok(figures)
}

/// Kinds of event that the engine records of its own accord.
pub(crate) const OWN: [&str; 3] = ["approval_decided", "restored", "administered"];

/// How long each of so many equal parts of a time is, in microseconds.
pub(crate) fn part_us(since: Timestamp, until: Timestamp, parts: usize) -> i64 {
    let whole = until.as_microsecond().saturating_sub(since.as_microsecond()).max(1);
    let parts = i64::try_from(parts).unwrap_or(i64::MAX).max(1);
    // Rounded up, so that the last part reaches the end.
    whole.saturating_sub(1).checked_div(parts).unwrap_or(0).saturating_add(1)
}

/// How many events were decided in each part of a time, by effect.
pub(crate) fn timeline<S: Stats + ?Sized>(
    store: &S,
    since: Timestamp,
    until: Timestamp,
    parts: usize,
) -> Result<Vec<BTreeMap<Effect, u64>>> {
    let mut timeline = vec![BTreeMap::new(); parts];
    let part = part_us(since, until, parts);
    let mut filter = AuditFilter { since: Some(since), until: Some(until), ..AuditFilter::default() };
    loop {
        let page = store.entries(&filter)?;
        let Some(last) = page.last() else { return Ok(timeline) };
        filter.after_seq = Some(last.seq);
        for labels in page.iter().map(|entry| &entry.labels) {
            let offset = labels.time.as_microsecond().saturating_sub(since.as_microsecond());
            let place = offset.checked_div(part).and_then(|place| usize::try_from(place).ok());
            let effects = place.and_then(|place| timeline.get_mut(place));
            if let (Some(effects), Ok(effect)) = (effects, labels.effect.parse::<Effect>())
                && !OWN.contains(&labels.kind.as_str())
            {
                *effects.entry(effect).or_default() += 1;
            }
        }
    }
}

/// How long each guardrail took, in the records since a time.
pub(crate) fn durations<S: Stats + ?Sized>(
    store: &S,
    since: Timestamp,
) -> Result<BTreeMap<String, Durations>> {
    let figures = self::since(store, since)?;
    let measured = figures.guardrails.into_iter().filter(|(_, figures)| figures.durations.count > 0);
    Ok(measured.map(|(id, figures)| (id, figures.durations)).collect())
}

#[derive(Deserialize)]
struct Outline<'a> {
    #[serde(borrow)]
    event: OutlineEvent<'a>,
    #[serde(borrow)]
    decision: OutlineDecision<'a>,
}

#[derive(Deserialize)]
struct OutlineEvent<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
}

#[derive(Deserialize)]
struct OutlineDecision<'a> {
    effect: Effect,
    #[serde(default)]
    would: Option<Effect>,
    #[serde(default, borrow)]
    verdicts: Vec<OutlineSaid<'a>>,
}

#[derive(Deserialize)]
struct OutlineSaid<'a> {
    #[serde(borrow)]
    guardrail: Cow<'a, str>,
    #[serde(default)]
    effect: Option<Effect>,
    #[serde(default)]
    skipped: bool,
    #[serde(default)]
    shadow: bool,
    #[serde(default)]
    error: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    duration_us: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_fall_into_their_buckets() {
        let mut durations = Durations::default();
        assert_eq!(durations.average_us(), None);
        for micros in [0, 10, 11, 50, 51, 500_000, 500_001, u64::MAX] {
            durations.add(micros);
        }
        assert_eq!(durations.buckets, [2, 2, 1, 0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!((durations.count, durations.max_us, durations.total_us), (8, u64::MAX, u64::MAX));
    }
}
