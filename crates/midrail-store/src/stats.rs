//! Statistics of the audit log: the trait that all stores implement. They are folds over the log, so they are correct
//! regardless of how many processes decide, and cost a commit nothing.

use std::collections::BTreeMap;

use jiff::Timestamp;
use midrail_core::Effect;

use crate::audit_log::AuditLog;
use crate::audit_stats::{ActionCounts, AuditStats, Durations, Timeline};
use crate::entry::AuditEntry;
use crate::error::Result;
use crate::filter::AuditFilter;

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
        each_page(self, filter, &mut |page| {
            page.iter().for_each(|entry| stats.add(entry));
            if stats.seq - saved_seq >= WORTH_SAVING {
                saved_seq = stats.seq;
                // Saving only speeds up the next call; a store that cannot be written can still be counted.
                let _ = self.save_stats(&stats);
            }
        })?;
        Ok(stats)
    }

    /// Returns the statistics of the records since a time. Reads all of them.
    fn audit_stats_since(&self, since: Timestamp) -> Result<AuditStats> {
        let mut stats = AuditStats::default();
        let filter = AuditFilter { since: Some(since), ..AuditFilter::default() };
        each_page(self, filter, &mut |page| page.iter().for_each(|entry| stats.add(entry)))?;
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
        each_page(self, filter, &mut |page| {
            page.iter().for_each(|entry| timeline.add_record(&entry.labels))
        })?;
        Ok(timeline.counts)
    }

    /// Returns how long each guardrail took in the records since a time. Reads all of them.
    fn durations(&self, since: Timestamp) -> Result<BTreeMap<String, Durations>> {
        let guardrails = self.audit_stats_since(since)?.guardrails.into_iter();
        let durations = guardrails.map(|(id, stats)| (id, stats.durations));
        Ok(durations.filter(|(_, durations)| durations.count > 0).collect())
    }

    /// Adds to a named counter.
    fn increment_counter(&self, name: &str, by: u64) -> Result<()>;

    /// Returns all named counters.
    fn counters(&self) -> Result<BTreeMap<String, u64>>;
}

/// Passes all records that match a filter to `visit`, page by page.
fn each_page<S: AuditLog + ?Sized>(
    log: &S,
    mut filter: AuditFilter,
    visit: &mut dyn FnMut(&[AuditEntry]),
) -> Result<()> {
    loop {
        let page = log.entries(&filter)?;
        let Some(last) = page.last() else { return Ok(()) };
        filter.after_seq = Some(last.seq);
        visit(&page);
    }
}
