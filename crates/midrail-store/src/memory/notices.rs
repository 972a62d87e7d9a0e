//! Approvers, notices, alerts, statistics and counters in memory.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::approver::{self, Approver};
use crate::audit_stats::{ActionCounts, AuditStats, Stats};
use crate::entry::{Labels, whole_micros};
use crate::error::Result;
use crate::filter::MAX_PAGE;
use crate::memory::MemoryStore;
use crate::notice::{Alert, NewNotice, PendingDelivery, StoredNotice, is_apart};
use crate::store::{Alerts, Approvers, Notices};

impl Approvers for MemoryStore {
    fn approvers(&self) -> Result<Vec<Approver>> {
        Ok(self.state().approvers.iter().map(|row| row.approver.clone()).collect())
    }

    fn check_key(&self, name: &str, key: &str) -> Result<Option<Approver>> {
        Ok(approver::check_key(&self.state().approvers, name, key, &self.key))
    }
}

impl Notices for MemoryStore {
    fn notices(&self, after_id: u64, limit: usize) -> Result<Vec<StoredNotice>> {
        let state = self.state();
        let after = state.notices.iter().filter(|notice| notice.id > after_id);
        Ok(after.take(limit.min(MAX_PAGE)).cloned().collect())
    }

    fn pending_deliveries(&self, channel: &str, limit: usize) -> Result<Vec<PendingDelivery>> {
        let state = self.state();
        let waiting = state.notices.iter().filter_map(|notice| {
            let delivery = state.deliveries.get(&(channel.to_owned(), notice.id));
            delivery.is_none_or(|delivery| delivery.delivered.is_none()).then(|| PendingDelivery {
                notice: notice.clone(),
                attempts: delivery.map_or(0, |delivery| delivery.attempts),
                tried: delivery.and_then(|delivery| delivery.tried),
            })
        });
        Ok(waiting.take(limit.min(MAX_PAGE)).collect())
    }

    fn claim_delivery(&self, id: u64, channel: &str, now: Timestamp, again_after_s: u64) -> Result<bool> {
        let mut state = self.state();
        let Some(delivery) = state.delivery(id, channel) else { return Ok(false) };
        let is_free = delivery.delivered.is_none()
            && delivery.tried.is_none_or(|tried| is_apart(tried, now, again_after_s));
        if is_free {
            delivery.attempts += 1;
            delivery.tried = Some(whole_micros(now));
        }
        Ok(is_free)
    }

    fn mark_delivered(&self, id: u64, channel: &str, now: Timestamp) -> Result<()> {
        if let Some(delivery) = self.state().delivery(id, channel) {
            delivery.delivered.get_or_insert(whole_micros(now));
        }
        Ok(())
    }
}

impl Alerts for MemoryStore {
    fn fire_alert(&self, alert: &Alert, cooldown_s: u64, notices: &[NewNotice]) -> Result<bool> {
        let mut state = self.state();
        let alert = alert.storable();
        let is_same = |other: &&Alert| other.name == alert.name && other.key == alert.key;
        let last = state.alerts.iter().rev().find(is_same);
        if last.is_some_and(|last| !is_apart(last.fired_at, alert.fired_at, cooldown_s)) {
            return Ok(false);
        }
        state.add_notices(notices, None, alert.fired_at);
        state.alerts.push(alert);
        Ok(true)
    }

    fn alerts(&self, limit: usize) -> Result<Vec<Alert>> {
        Ok(self.state().alerts.iter().rev().take(limit.min(MAX_PAGE)).cloned().collect())
    }
}

impl Stats for MemoryStore {
    fn saved_stats(&self) -> Result<Option<AuditStats>> {
        Ok(self.state().stats.clone())
    }

    fn save_stats(&self, stats: &AuditStats) -> Result<()> {
        // INVARIANT: nothing is ever removed from this log, so saved statistics always belong to it.
        let mut state = self.state();
        if state.stats.as_ref().is_none_or(|saved| saved.seq <= stats.seq) {
            state.stats = Some(stats.clone());
        }
        Ok(())
    }

    fn action_counts(&self, since: Timestamp) -> Result<ActionCounts> {
        let mut counts = ActionCounts::default();
        for Labels { time, kind, effect, .. } in self.state().log.iter().map(|entry| &entry.labels) {
            if *time >= since && ActionCounts::KINDS.iter().any(|action| action.as_str() == kind) {
                counts.decisions += 1;
                counts.blocked += u64::from(matches!(effect.as_str(), "block" | "halt"));
            }
        }
        Ok(counts)
    }

    fn increment_counter(&self, name: &str, by: u64) -> Result<()> {
        let mut state = self.state();
        let value = state.counters.entry(name.to_owned()).or_default();
        *value = value.saturating_add(by).min(u64::MAX / 2);
        Ok(())
    }

    fn counters(&self) -> Result<BTreeMap<String, u64>> {
        Ok(self.state().counters.clone())
    }
}
