//! The traits that all stores implement: sessions, approvals, approvers, notices, alerts, policies and keys. All of them
//! are synchronous.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::Timestamp;
use midrail_core::{AuditRef, Changes, Record};
use serde::Serialize;
use serde_json::Value;

use crate::approval::{Approval, ApprovalChange, ApprovalCount, ApprovalFilter};
use crate::approver::{Approver, ApproverChange};
use crate::audit_stats::Stats;
use crate::checkpoint::{KeyChange, PublicKey};
use crate::error::{Result, StoreDamage, StoreError};
use crate::instance::Instances;
use crate::notice::{Alert, NewNotice, PendingDelivery, StoredNotice};
use crate::retention::Retention;

/// A store. Use it behind `&dyn Store` or `Arc<dyn Store>`, from any number of threads.
pub trait Store:
    Slices + Approvals + Approvers + Notices + Alerts + Stats + Policies + Keys + Instances + Retention
{
    /// Writes the record, slice changes, approvals, approvers and notices of one event: all of them or none, durable
    /// on return.
    ///
    /// Returns [`Conflict`](crate::StoreError::Conflict), and writes nothing, if a slice in `read` has another version
    /// by now or an approval is in another state than `was`. Returns [`Refused`](crate::StoreError::Refused) if a
    /// decided approval would go back, or the name of an approver is taken or unknown.
    fn commit(&self, commit: &Commit<'_>) -> Result<AuditRef>;

    /// Writes several events, each of which succeeds or fails on its own. Returns the results in the same order; those
    /// that succeeded are durable on return.
    fn commit_all(&self, commits: &[&Commit<'_>]) -> Vec<Result<AuditRef>> {
        commits.iter().map(|commit| self.commit(commit)).collect()
    }

    /// Returns how the store differs from the state in which it was last written, if it does: it has lost acknowledged
    /// records, or it is another store. Every commit fails until a person has acknowledged that.
    fn damage(&self) -> Result<Option<StoreDamage>> {
        Ok(None)
    }

    /// Writes a commit to a damaged store. It is the record of the acknowledgement, and the state of the store after it
    /// is trusted from then on.
    fn acknowledge_damage(&self, commit: &Commit<'_>) -> Result<AuditRef> {
        self.commit(commit)
    }

    /// The cost of a commit, which determines how to make many of them.
    fn commit_cost(&self) -> CommitCost {
        CommitCost::Blocking
    }
}

/// The cost of a commit, for a caller that makes many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommitCost {
    /// A commit does not wait.
    Immediate,
    /// Several commits take hardly longer than one: one thread should make them with [`Store::commit_all`].
    Batched,
    /// Each commit waits for a server: as many threads should make them.
    Blocking,
}

/// The writes of one event, in the session of its record. Slices whose keys begin with
/// [`midrail_core::SHARED_PREFIX`] belong to all sessions.
#[derive(Debug, Clone)]
pub struct Commit<'a> {
    /// The audit record. Its JSON is the body that is hashed.
    pub record: Cow<'a, Record>,
    /// The slices that the decision was based on, with the versions that [`Slices::load`] returned.
    pub read: Vec<(String, u64)>,
    /// Slices to set and to remove.
    pub changes: Changes,
    /// Slices that replace all slices of the session before `changes` are made, as for restoring a snapshot. Shared
    /// slices are not replaced.
    pub replace_all: Option<BTreeMap<String, Value>>,
    /// Approvals that are requested, decided or used.
    pub approvals: Vec<ApprovalChange>,
    /// Approvers that are added or revoked, in this order.
    pub approvers: Vec<ApproverChange>,
    /// Notices to deliver.
    pub notices: Vec<NewNotice>,
}

impl<'a> Commit<'a> {
    /// A record without changes.
    pub fn new(record: &'a Record) -> Self {
        Commit::with(Cow::Borrowed(record))
    }

    /// The same, with an owned record.
    pub fn owned(record: Record) -> Self {
        Commit::with(Cow::Owned(record))
    }

    fn with(record: Cow<'a, Record>) -> Self {
        Commit {
            record,
            read: Vec::new(),
            changes: Changes::default(),
            replace_all: None,
            approvals: Vec::new(),
            approvers: Vec::new(),
            notices: Vec::new(),
        }
    }
}

/// The state of sessions, in keyed slices. Slices whose keys begin with [`midrail_core::SHARED_PREFIX`] belong to all
/// sessions: every session reads and writes the same ones.
pub trait Slices: Send + Sync {
    /// Returns slices by key, in the order of the keys.
    fn load(&self, session: &str, keys: &[&str]) -> Result<Vec<Slice>>;

    /// Returns every slice whose key starts with a prefix. An empty prefix returns the whole session, as for a snapshot.
    /// Shared slices are returned only for a prefix that begins with [`midrail_core::SHARED_PREFIX`].
    fn load_prefix(&self, session: &str, prefix: &str) -> Result<BTreeMap<String, Value>>;

    /// Returns the first `most` keys of shared slices from `from` on and before `before`, in order. The cost depends on
    /// the number of returned keys only.
    fn shared_keys(&self, from: &str, before: &str, most: usize) -> Result<Vec<String>>;

    /// Returns sessions that have records, the most recently active first. Details are read for matching sessions only.
    fn find_sessions(&self, filter: &SessionFilter) -> Result<Vec<SessionInfo>>;

    /// Returns all sessions that have records, the most recently active first.
    fn sessions(&self) -> Result<Vec<SessionInfo>> {
        self.find_sessions(&SessionFilter::default())
    }

    /// Returns one session, if it has records.
    fn session(&self, name: &str) -> Result<Option<SessionInfo>> {
        let one = SessionFilter { named: Some(name.to_owned()), ..SessionFilter::default() };
        Ok(self.find_sessions(&one)?.into_iter().next())
    }
}

/// A filter of sessions. All set fields must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionFilter {
    /// The session with this name.
    pub named: Option<String>,
    /// Sessions whose names contain this text.
    pub containing: Option<String>,
    /// Sessions whose last record is before this one: the last `last_seq` of the previous page.
    pub before_seq: Option<u64>,
    /// The maximum number of sessions. `None`: all.
    pub limit: Option<usize>,
}

impl SessionFilter {
    /// Whether a session matches.
    pub(crate) fn matches(&self, session: &str, last_seq: u64) -> bool {
        self.named.as_deref().is_none_or(|name| name == session)
            && self.containing.as_deref().is_none_or(|part| session.contains(part))
            && self.before_seq.is_none_or(|before| last_seq < before)
    }
}

/// One slice.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Slice {
    /// Its value. `None`: it does not exist.
    pub value: Option<Value>,
    /// The `seq` of the record that it was last written with; 0 if it does not exist. A slice that is removed and
    /// created again has a later `seq`, so a version never returns with another value.
    pub version: u64,
}

/// A summary of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct SessionInfo {
    /// Its name.
    pub session: String,
    /// The number of its records.
    pub records: u64,
    /// The number of its slices.
    pub slices: u64,
    /// Its last record.
    pub last_seq: u64,
    /// The time of that record.
    pub last_active: Timestamp,
}

/// Approval requests. [`Store::commit`] writes them.
pub trait Approvals: Send + Sync {
    /// Returns one request.
    fn approval(&self, id: &str) -> Result<Option<Approval>>;

    /// Returns requests, the latest first.
    fn approvals(&self, filter: &ApprovalFilter) -> Result<Vec<Approval>>;

    /// Returns the number of requests by guardrail, kind and state.
    fn approval_counts(&self) -> Result<Vec<ApprovalCount>>;
}

/// People who may answer approval requests. [`Store::commit`] writes them, so that each change has a record.
pub trait Approvers: Send + Sync {
    /// Returns all approvers, including revoked ones, in the order in which they were added.
    fn approvers(&self) -> Result<Vec<Approver>>;

    /// Returns the current approver with this name.
    fn approver(&self, name: &str) -> Result<Option<Approver>> {
        let is_current = |approver: &Approver| approver.name == name && approver.revoked.is_none();
        Ok(self.approvers()?.into_iter().find(is_current))
    }

    /// Returns the current approver with this name, if this is their key. Compares in constant time.
    fn check_key(&self, name: &str, key: &str) -> Result<Option<Approver>>;
}

/// Notices to people and programs. They are written together with the record or alert that causes them, and wait until
/// each channel has delivered them, also when the process that wrote them has ended. A channel is a name such as
/// `webhook`.
pub trait Notices: Send + Sync {
    /// Returns a page of notices after `after_id`, in the order in which they were written.
    fn notices(&self, after_id: u64, limit: usize) -> Result<Vec<StoredNotice>>;

    /// Returns a page of notices that a channel has not delivered, the oldest first.
    fn pending_deliveries(&self, channel: &str, limit: usize) -> Result<Vec<PendingDelivery>>;

    /// Claims the next attempt to deliver a notice, and counts it. Returns `false` if the notice is delivered, or another
    /// process tried less than `again_after_s` ago. After `true`, the caller delivers it and calls
    /// [`mark_delivered`](Self::mark_delivered); if the caller fails before, the next attempt can be claimed after that
    /// time.
    fn claim_delivery(&self, id: u64, channel: &str, now: Timestamp, again_after_s: u64) -> Result<bool>;

    /// Marks a notice as delivered by a channel.
    fn mark_delivered(&self, id: u64, channel: &str, now: Timestamp) -> Result<()>;
}

/// Alerts that were raised.
pub trait Alerts: Send + Sync {
    /// Raises an alert with its notices, unless one with the same name and key was raised less than `cooldown_s` ago.
    /// Returns `true` to exactly one of all processes that try.
    fn fire_alert(&self, alert: &Alert, cooldown_s: u64, notices: &[NewNotice]) -> Result<bool>;

    /// Returns alerts, the latest first.
    fn alerts(&self, limit: usize) -> Result<Vec<Alert>>;
}

/// The sources of all policies that ever decided, so that records can be replayed later.
pub trait Policies: Send + Sync {
    /// Stores the source of a policy under its revision, unless it is stored already.
    fn save_policy(&self, revision: &str, body: &str) -> Result<()>;

    /// Returns the source of a policy.
    fn policy(&self, revision: &str) -> Result<Option<String>>;
}

/// The keys of a store, created on first use.
pub trait Keys: Send + Sync {
    /// The key for fingerprints of secrets: the same secret has the same fingerprint in this store, and another one in
    /// every other store.
    fn fingerprint_key(&self) -> Result<[u8; 32]>;

    /// The key that signs checkpoints.
    fn public_key(&self) -> Result<PublicKey>;

    /// Replaces the key that signs checkpoints. The old key signs the change, so that a log that is verified with it still
    /// verifies.
    fn replace_signing_key(&self, _time: Timestamp) -> Result<KeyChange> {
        Err(StoreError::Refused { what: "the key of this store cannot be replaced".to_owned() })
    }
}
