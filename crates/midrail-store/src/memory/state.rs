//! The contents of a store in memory.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use midrail_core::AuditRef;
use serde_json::Value;

use crate::approval::{Approval, ApprovalState};
use crate::approver::StoredApprover;
use crate::audit_stats::AuditStats;
use crate::checkpoint::Checkpoint;
use crate::draft::{is_shared, storage_session};
use crate::entry::{AuditEntry, whole_micros};
use crate::notice::{Alert, NewNotice, StoredNotice};

#[derive(Default)]
pub(super) struct State {
    pub(super) sessions: BTreeMap<String, BTreeMap<String, (Value, u64)>>,
    pub(super) log: Vec<AuditEntry>,
    pub(super) checkpoints: BTreeMap<u64, Checkpoint>,
    pub(super) approvals: BTreeMap<String, Approval>,
    /// The pending ones, so that a decision does not search all approvals.
    pub(super) pending: BTreeSet<String>,
    pub(super) policies: BTreeMap<String, String>,
    pub(super) approvers: Vec<StoredApprover>,
    pub(super) notices: Vec<StoredNotice>,
    pub(super) deliveries: BTreeMap<(String, u64), Delivery>,
    /// The notice through which each channel has delivered everything.
    pub(super) delivered_through: BTreeMap<String, u64>,
    pub(super) alerts: Vec<Alert>,
    pub(super) stats: Option<AuditStats>,
    pub(super) counters: BTreeMap<String, u64>,
}

/// The delivery of a notice by a channel.
#[derive(Default)]
pub(super) struct Delivery {
    pub(super) attempts: u64,
    pub(super) tried: Option<Timestamp>,
    pub(super) delivered: Option<Timestamp>,
}

impl State {
    pub(super) fn slice(&self, session: &str, key: &str) -> Option<&(Value, u64)> {
        self.sessions.get(storage_session(session, key)).and_then(|slices| slices.get(key))
    }

    /// The number of slices of a session, without shared ones.
    pub(super) fn own_slices(&self, session: &str) -> usize {
        let slices = self.sessions.get(session).into_iter().flatten();
        slices.filter(|(key, _)| !is_shared(key)).count()
    }

    pub(super) fn head(&self) -> Option<AuditRef> {
        self.log.last().map(|entry| AuditRef { seq: entry.seq, hash: entry.hash.clone() })
    }

    pub(super) fn set_approval(&mut self, approval: &Approval) {
        if approval.state == ApprovalState::Pending {
            self.pending.insert(approval.id.clone());
        } else {
            self.pending.remove(&approval.id);
        }
        self.approvals.insert(approval.id.clone(), approval.clone());
    }

    pub(super) fn add_notices(&mut self, notices: &[NewNotice], seq: Option<u64>, time: Timestamp) {
        for new in notices {
            let NewNotice { to, kind, message, body } = new.clone();
            let id = self.last_notice() + 1;
            self.notices.push(StoredNotice { id, seq, time: whole_micros(time), to, kind, message, body });
        }
    }

    pub(super) fn last_notice(&self) -> u64 {
        self.notices.last().map_or(0, |notice| notice.id)
    }

    pub(super) fn delivered_through(&self, channel: &str) -> u64 {
        self.delivered_through.get(channel).copied().unwrap_or(0)
    }

    pub(super) fn delivery(&mut self, id: u64, channel: &str) -> Option<&mut Delivery> {
        let exists = (1..=self.last_notice()).contains(&id);
        exists.then(|| self.deliveries.entry((channel.to_owned(), id)).or_default())
    }
}
