//! Approvers, notices, alerts, figures and counters in memory.

use std::collections::BTreeMap;

use jiff::Timestamp;
use midrail_core::Effect;

use crate::approver::{self, Approver, ApproverChange, Enrolled};
use crate::audit_stats::{ActionCounts, AuditStats};
use crate::entry::whole_micros;
use crate::error::Result;
use crate::filter::MAX_PAGE;
use crate::key::StoreKey;
use crate::memory::{MemoryStore, State};
use crate::notice::{Alert, NewNotice, PendingDelivery, StoredNotice, is_apart};
use crate::store::{Alerts, Approvers, Commit, Notices, Stats};

/// How far a channel is with a notice.
#[derive(Default)]
pub(super) struct Delivery {
    attempts: u64,
    tried: Option<Timestamp>,
    delivered: Option<Timestamp>,
}

/// The approvers after a commit. `None`: they stay as they are.
pub(super) fn enrolled(
    rows: &[Enrolled],
    commit: &Commit<'_>,
    key: &StoreKey,
) -> Result<Option<Vec<Enrolled>>> {
    if commit.approvers.is_empty() {
        return Ok(None);
    }
    let mut rows = rows.to_vec();
    for change in &commit.approvers {
        match change {
            ApproverChange::Add(new) => rows.push(Enrolled::new(&rows, new, commit.record.time, key)?),
            ApproverChange::Revoke(name) => {
                approver::to_revoke(&rows, name)?;
                let is_current =
                    |row: &&mut Enrolled| row.approver.name == *name && row.approver.revoked.is_none();
                if let Some(row) = rows.iter_mut().find(is_current) {
                    row.approver.revoked = Some(whole_micros(commit.record.time));
                }
            }
        }
    }
    Ok(Some(rows))
}

impl State {
    /// Adds notices to the list.
    pub(super) fn post(&mut self, notices: &[NewNotice], seq: Option<u64>, time: Timestamp) {
        for new in notices {
            let NewNotice { to, kind, message, body } = new.clone();
            let id = self.last_notice() + 1;
            self.notices.push(StoredNotice { id, seq, time: whole_micros(time), to, kind, message, body });
        }
    }

    fn last_notice(&self) -> u64 {
        self.notices.last().map_or(0, |notice| notice.id)
    }

    fn delivery(&mut self, id: u64, channel: &str) -> Option<&mut Delivery> {
        if !(1..=self.last_notice()).contains(&id) {
            return None;
        }
        Some(self.deliveries.entry((channel.to_owned(), id)).or_default())
    }
}

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
        let passed = state.passed.get(channel).copied().unwrap_or(0);
        let waiting = state.notices.iter().filter(|notice| notice.id > passed).filter_map(|notice| {
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
        if id <= state.passed.get(channel).copied().unwrap_or(0) {
            return Ok(false);
        }
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

    fn skip_notices(&self, channel: &str, through_id: u64) -> Result<()> {
        let mut state = self.state();
        let through = through_id.min(state.last_notice());
        let passed = state.passed.entry(channel.to_owned()).or_default();
        *passed = through.max(*passed);
        Ok(())
    }
}

impl Alerts for MemoryStore {
    fn fire_alert(&self, alert: &Alert, cooldown_s: u64, notices: &[NewNotice]) -> Result<bool> {
        let mut state = self.state();
        let alert = alert.kept();
        let is_same = |other: &&Alert| other.name == alert.name && other.key == alert.key;
        let last = state.alerts.iter().rev().find(is_same);
        if last.is_some_and(|last| !is_apart(last.fired_at, alert.fired_at, cooldown_s)) {
            return Ok(false);
        }
        state.post(notices, None, alert.fired_at);
        state.alerts.push(alert);
        Ok(true)
    }

    fn alerts(&self, limit: usize) -> Result<Vec<Alert>> {
        Ok(self.state().alerts.iter().rev().take(limit.min(MAX_PAGE)).cloned().collect())
    }
}

impl Stats for MemoryStore {
    fn saved_stats(&self) -> Result<Option<AuditStats>> {
        Ok(self.state().figures.clone())
    }

    fn save_stats(&self, figures: &AuditStats) -> Result<()> {
        // INVARIANT: nothing is ever cut from this log, so what is saved is always of it.
        let mut state = self.state();
        if state.figures.as_ref().is_none_or(|saved| saved.seq <= figures.seq) {
            state.figures = Some(figures.clone());
        }
        Ok(())
    }

    fn action_counts(&self, since: Timestamp) -> Result<ActionCounts> {
        let mut window = ActionCounts::default();
        for labels in self.state().log.iter().map(|entry| &entry.labels).filter(|labels| labels.time >= since)
        {
            if ActionCounts::KINDS.iter().any(|kind| kind.as_str() == labels.kind) {
                window.decisions += 1;
                let stops = [Effect::Block, Effect::Halt];
                window.blocked += u64::from(stops.iter().any(|effect| effect.as_str() == labels.effect));
            }
        }
        Ok(window)
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
