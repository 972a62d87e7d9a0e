//! The statistics of the audit log: how often each guardrail was evaluated, its verdicts and its durations.

use std::collections::BTreeMap;

use jiff::Timestamp;
use midrail_core::{Effect, EventKind};
use serde::{Deserialize, Serialize};

use crate::audit_log::{AuditLog, pages};
use crate::entry::{AuditEntry, Labels, RecordOutline, VerdictOutline};
use crate::error::Result;
use crate::filter::AuditFilter;

/// Upper bounds of the histogram of durations, in microseconds. A last bucket holds longer durations.
pub const DURATION_BUCKETS_US: [u64; 10] = [10, 50, 100, 500, 1_000, 5_000, 10_000, 50_000, 100_000, 500_000];

/// Kinds of event that the engine records itself.
pub(crate) const ENGINE_KINDS: [&str; 3] = ["approval_decided", "restored", "administered"];

/// The statistics of all records up to one of them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AuditStats {
    /// The last counted record. 0: none.
    pub seq: u64,
    /// Its hash.
    pub hash: String,
    /// The number of decided events. Records that the engine creates itself do not count.
    pub decisions: u64,
    /// The number of decisions by effect.
    pub effects: BTreeMap<Effect, u64>,
    /// The number of decisions by the effect that enforcing shadow mode would have had, where that is stricter.
    pub would: BTreeMap<Effect, u64>,
    /// The number of records that cannot be read. `midrail audit verify` reports them.
    pub unreadable: u64,
    /// Every guardrail that was ever part of a decision, by id.
    pub guardrails: BTreeMap<String, GuardrailStats>,
}

/// The statistics of one guardrail.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GuardrailStats {
    /// Its enforced verdicts.
    #[serde(flatten)]
    pub enforced: VerdictCounts,
    /// Its verdicts in shadow mode.
    #[serde(default, skip_serializing_if = "VerdictCounts::is_empty")]
    pub shadow: VerdictCounts,
    /// Its durations, in both modes.
    pub durations: Durations,
    /// The time of its last enforced verdict above allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_triggered: Option<Timestamp>,
}

/// The number of verdicts of a guardrail by effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct VerdictCounts {
    /// The number of evaluations: the sum of the counts from `pass_count` to `block_count`.
    pub invocation_count: u64,
    /// Allow.
    pub pass_count: u64,
    /// Warn.
    pub warn_count: u64,
    /// Redact.
    pub redact_count: u64,
    /// Contain.
    #[serde(default)]
    pub contain_count: u64,
    /// Retry.
    pub retry_count: u64,
    /// Escalate.
    pub escalate_count: u64,
    /// Block and halt.
    pub block_count: u64,
    /// The number of failures and missing facts. The verdict that replaced it is counted as well.
    pub error_count: u64,
    /// The number of events for which it was skipped, because it could not have raised the effect.
    pub skipped_count: u64,
}

impl VerdictCounts {
    /// Whether all counts are zero.
    pub fn is_empty(&self) -> bool {
        *self == VerdictCounts::default()
    }

    fn add(&mut self, effect: Effect) {
        self.invocation_count += 1;
        *match effect {
            Effect::Allow => &mut self.pass_count,
            Effect::Warn => &mut self.warn_count,
            Effect::Redact => &mut self.redact_count,
            Effect::Contain => &mut self.contain_count,
            Effect::Retry => &mut self.retry_count,
            Effect::Escalate => &mut self.escalate_count,
            Effect::Block | Effect::Halt => &mut self.block_count,
        } += 1;
    }
}

/// A histogram of durations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Durations {
    /// The number of measurements.
    pub count: u64,
    /// The sum, in microseconds.
    pub total_us: u64,
    /// The longest, in microseconds.
    pub max_us: u64,
    /// The number of durations up to each bound of [`DURATION_BUCKETS_US`] and above the previous bound.
    pub buckets: [u64; DURATION_BUCKETS_US.len() + 1],
}

impl Durations {
    /// The average, in microseconds. `None`: there are no measurements.
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

/// The number of decided actions, and how many of them were stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, schemars::JsonSchema)]
pub struct ActionCounts {
    /// Actions that the agent was about to take: events of the kinds `before_…`.
    pub decisions: u64,
    /// Actions that were blocked or halted.
    pub blocked: u64,
}

impl ActionCounts {
    /// The share of stopped actions, from 0 to 1.
    pub fn block_rate(&self) -> f64 {
        let float = |count: u64| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        if self.decisions == 0 { 0.0 } else { float(self.blocked) / float(self.decisions) }
    }

    /// The counts after one more record.
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn with(self, kind: &str, effect: &str) -> Self {
        let is_action = Self::KINDS.iter().any(|action| action.as_str() == kind);
        let is_stopped =
            is_action && [Effect::Block, Effect::Halt].iter().any(|stop| stop.as_str() == effect);
        ActionCounts {
            decisions: self.decisions.saturating_add(is_action.into()),
            blocked: self.blocked.saturating_add(is_stopped.into()),
        }
    }

    /// The counts since earlier ones.
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn since(self, earlier: Self) -> Self {
        ActionCounts {
            decisions: self.decisions.saturating_sub(earlier.decisions),
            blocked: self.blocked.saturating_sub(earlier.blocked),
        }
    }

    /// The kinds of event that count as actions.
    pub const KINDS: [EventKind; 4] =
        [EventKind::BeforeModel, EventKind::BeforeTool, EventKind::BeforeHandoff, EventKind::BeforeStop];
}

impl AuditStats {
    /// Counts a record, unless it was counted before.
    pub(crate) fn add(&mut self, entry: &AuditEntry) {
        if entry.seq <= self.seq {
            return;
        }
        self.seq = entry.seq;
        self.hash.clone_from(&entry.hash);
        let Ok(outline) = serde_json::from_str::<RecordOutline<'_>>(&entry.body) else {
            self.unreadable += 1;
            return;
        };
        if !ENGINE_KINDS.contains(&outline.event.kind.as_str()) {
            self.decisions += 1;
            *self.effects.entry(outline.decision.effect).or_default() += 1;
            if let Some(would) = outline.decision.would {
                *self.would.entry(would).or_default() += 1;
            }
        }
        for verdict in outline.decision.verdicts {
            let stats = match self.guardrails.get_mut(&*verdict.guardrail) {
                Some(stats) => stats,
                None => self.guardrails.entry(verdict.guardrail.clone().into_owned()).or_default(),
            };
            stats.add(&verdict, entry.labels.time);
        }
    }
}

impl GuardrailStats {
    fn add(&mut self, verdict: &VerdictOutline<'_>, time: Timestamp) {
        let counts = if verdict.is_in_shadow { &mut self.shadow } else { &mut self.enforced };
        counts.skipped_count += u64::from(verdict.is_skipped);
        counts.error_count += u64::from(verdict.has_failed);
        if let Some(effect) = verdict.effect {
            counts.add(effect);
            if effect > Effect::Allow && !verdict.is_in_shadow {
                self.last_triggered = self.last_triggered.max(Some(time));
            }
        }
        if let Some(micros) = verdict.duration_us {
            self.durations.add(micros);
        }
    }
}

/// The number of decided events in equal parts of a period, by effect.
pub(crate) struct Timeline {
    pub(crate) first_us: i64,
    /// The length of a part, in microseconds.
    pub(crate) part_us: i64,
    pub(crate) counts: Vec<BTreeMap<Effect, u64>>,
}

impl Timeline {
    pub(crate) fn new(since: Timestamp, until: Timestamp, parts: usize) -> Self {
        let whole = until.as_microsecond().saturating_sub(since.as_microsecond()).max(1);
        let count = i64::try_from(parts).unwrap_or(i64::MAX).max(1);
        // Rounded up, so that the last part reaches the end.
        let part_us = whole.saturating_sub(1).checked_div(count).unwrap_or(0).saturating_add(1);
        Timeline { first_us: since.as_microsecond(), part_us, counts: vec![BTreeMap::new(); parts] }
    }

    /// Counts a record, unless the engine created it itself.
    pub(crate) fn add_record(&mut self, labels: &Labels) {
        if ENGINE_KINDS.contains(&labels.kind.as_str()) {
            return;
        }
        let offset = labels.time.as_microsecond().saturating_sub(self.first_us);
        self.add(offset.checked_div(self.part_us).unwrap_or(-1), &labels.effect, 1);
    }

    /// Adds to the count of an effect in a part. A part outside of the period is ignored.
    pub(crate) fn add(&mut self, part: i64, effect: &str, count: u64) {
        let effects = usize::try_from(part).ok().and_then(|part| self.counts.get_mut(part));
        if let (Some(effects), Ok(effect)) = (effects, effect.parse::<Effect>()) {
            *effects.entry(effect).or_default() += count;
        }
    }
}

/// Fewer records than this are counted again instead of being saved.
const WORTH_SAVING: u64 = 256;

/// Statistics of the audit log, and named counters.
pub trait Stats: AuditLog {
    /// Returns the statistics of the whole log. Reads only records that were not counted yet.
    fn audit_stats(&self) -> Result<AuditStats> {
        let saved = self.saved_stats()?.unwrap_or_default();
        // Saved statistics of another log are worthless.
        let is_ours = saved.seq == 0 || self.entry(saved.seq)?.is_some_and(|entry| entry.hash == saved.hash);
        let mut stats = if is_ours { saved } else { AuditStats::default() };
        let mut saved_seq = stats.seq;
        let filter = AuditFilter { after_seq: Some(stats.seq), ..AuditFilter::default() };
        for page in pages(self, filter, usize::MAX) {
            page?.iter().for_each(|entry| stats.add(entry));
            if stats.seq - saved_seq >= WORTH_SAVING {
                saved_seq = stats.seq;
                // Saving only speeds up the next call; a store that cannot be written can still be counted.
                let _ = self.save_stats(&stats);
            }
        }
        Ok(stats)
    }

    /// Returns the statistics of the records since a time. Reads all of them.
    fn audit_stats_since(&self, since: Timestamp) -> Result<AuditStats> {
        let mut stats = AuditStats::default();
        let filter = AuditFilter { since: Some(since), ..AuditFilter::default() };
        for page in pages(self, filter, usize::MAX) {
            page?.iter().for_each(|entry| stats.add(entry));
        }
        Ok(stats)
    }

    /// Returns the statistics that were saved last.
    fn saved_stats(&self) -> Result<Option<AuditStats>>;

    /// Saves statistics, unless the saved ones cover more records of the same log.
    fn save_stats(&self, stats: &AuditStats) -> Result<()>;

    /// Returns how many actions were decided since a time, and how many of them were stopped.
    fn action_counts(&self, since: Timestamp) -> Result<ActionCounts>;

    /// Returns how many events were decided in each of `parts` equal parts of a period, by effect. Records that the
    /// engine creates itself do not count.
    fn timeline(
        &self,
        since: Timestamp,
        until: Timestamp,
        parts: usize,
    ) -> Result<Vec<BTreeMap<Effect, u64>>> {
        let mut timeline = Timeline::new(since, until, parts);
        let filter = AuditFilter { since: Some(since), until: Some(until), ..AuditFilter::default() };
        for page in pages(self, filter, usize::MAX) {
            page?.iter().for_each(|entry| timeline.add_record(&entry.labels));
        }
        Ok(timeline.counts)
    }

    /// Adds to a named counter.
    fn increment_counter(&self, name: &str, by: u64) -> Result<()>;

    /// Returns all named counters.
    fn counters(&self) -> Result<BTreeMap<String, u64>>;
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
