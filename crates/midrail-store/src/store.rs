//! What a store can do: the traits that all stores share. All of it is synchronous.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use midrail_core::{AuditRef, Changes, Effect, Record};
use serde::Serialize;
use serde_json::Value;

use crate::approval::{Approval, ApprovalChange, ApprovalCount, ApprovalFilter};
use crate::approver::{Approver, ApproverChange};
use crate::audit_stats::{self, ActionCounts, AuditStats, Durations};
use crate::checkpoint::{Checkpoint, PublicKey};
use crate::entry::AuditEntry;
use crate::error::Result;
use crate::export::{self, ExportSummary};
use crate::filter::AuditFilter;
use crate::notice::{Alert, NewNotice, PendingDelivery, StoredNotice};
use crate::verify::{self, TrustAnchor, Verification};

/// How often a store that cannot be told looks whether others have written.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// All that a store can do. Behind `&dyn Store` or `Arc<dyn Store>`, by many threads at once.
pub trait Store:
    Slices + AuditLog + Approvals + Approvers + Notices + Alerts + Stats + Policies + Keys
{
    /// Writes one event's record, slice changes, approvals, approvers and notices: all of them or none, and durable on
    /// return.
    ///
    /// Answers [`Conflict`](crate::StoreError::Conflict), with nothing written, if a slice in `read` has another
    /// version by now or an approval is in another state than `was`; and [`Refused`](crate::StoreError::Refused) if an
    /// approval that was decided would go back, or an approver's name is taken or unknown.
    fn commit(&self, commit: &Commit<'_>) -> Result<AuditRef>;

    /// Writes several events, each of which succeeds or fails for itself. Answers in their order; each that succeeded is
    /// durable on return.
    fn commit_all(&self, commits: &[&Commit<'_>]) -> Vec<Result<AuditRef>> {
        commits.iter().map(|commit| self.commit(commit)).collect()
    }

    /// The cost of a commit, which decides how to make many of them.
    fn commit_cost(&self) -> CommitCost {
        CommitCost::Blocking
    }
}

/// The cost of a commit, for a caller that has many to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommitCost {
    /// A commit waits for nothing.
    Immediate,
    /// Several commits take hardly longer than one: one thread should make them with [`Store::commit_all`].
    Batched,
    /// Each commit waits for a server: as many threads should make them.
    Blocking,
}

/// What one event writes. The session is that of the record; slices whose keys begin with [`midrail_core::SHARED_PREFIX`]
/// belong to all sessions.
#[derive(Debug, Clone)]
pub struct Commit<'a> {
    /// The audit record. Its JSON is the body that is hashed.
    pub record: Cow<'a, Record>,
    /// The slices that the decision was made from, with the versions that [`Slices::load`] told.
    pub read: Vec<(String, u64)>,
    /// Slices to set and to remove.
    pub changes: Changes,
    /// All slices of the session are replaced by these before `changes` are made: a snapshot is put back. Those that
    /// belong to all sessions stay as they are.
    pub replace_all: Option<BTreeMap<String, Value>>,
    /// Approvals that are asked for, decided or used up.
    pub approvals: Vec<ApprovalChange>,
    /// People who are made approvers or revoked, in this order.
    pub approvers: Vec<ApproverChange>,
    /// What others are told.
    pub notices: Vec<NewNotice>,
}

impl<'a> Commit<'a> {
    /// A record that changes nothing.
    pub fn new(record: &'a Record) -> Self {
        Commit::with(Cow::Borrowed(record))
    }

    /// The same, of a record that is given away.
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

/// The state of sessions, in keyed slices. Slices whose keys begin with [`midrail_core::SHARED_PREFIX`] belong to all sessions:
/// every session reads and writes the same ones.
pub trait Slices: Send + Sync {
    /// Slices by key, in the order of the keys.
    fn load(&self, session: &str, keys: &[&str]) -> Result<Vec<Slice>>;

    /// Every slice whose key starts with a prefix. An empty prefix gives the whole session, as for a snapshot. Slices of
    /// all sessions are given for a prefix that begins with [`midrail_core::SHARED_PREFIX`], and for no other.
    fn load_prefix(&self, session: &str, prefix: &str) -> Result<BTreeMap<String, Value>>;

    /// The first keys of slices that belong to all sessions, from one key on and before another, in their order. It costs
    /// as much as there are given, however many there are.
    fn shared_keys(&self, from: &str, before: &str, most: usize) -> Result<Vec<String>>;

    /// Sessions that have records, the latest active first. What is told of each is looked up for those alone that are
    /// wanted.
    fn find_sessions(&self, wanted: &SessionFilter) -> Result<Vec<SessionInfo>>;

    /// All sessions that have records, the latest active first.
    fn sessions(&self) -> Result<Vec<SessionInfo>> {
        self.find_sessions(&SessionFilter::default())
    }

    /// One session, if it has records.
    fn session(&self, name: &str) -> Result<Option<SessionInfo>> {
        let one = SessionFilter { named: Some(name.to_owned()), ..SessionFilter::default() };
        Ok(self.find_sessions(&one)?.into_iter().next())
    }
}

/// Which sessions. Everything that is set must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionFilter {
    /// The one of this name.
    pub named: Option<String>,
    /// Those that have this in their names.
    pub containing: Option<String>,
    /// Those whose last record comes before this one: the `last_seq` with which the page before ended.
    pub before_seq: Option<u64>,
    /// At most so many. `None`: all of them.
    pub limit: Option<usize>,
}

impl SessionFilter {
    /// Whether a session is one of those, wherever the pages stand.
    pub(crate) fn matches(&self, session: &str, last_seq: u64) -> bool {
        self.named.as_deref().is_none_or(|name| name == session)
            && self.containing.as_deref().is_none_or(|part| session.contains(part))
            && self.before_seq.is_none_or(|before| last_seq < before)
    }
}

/// One slice.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Slice {
    /// Its value. `None`: there is none.
    pub value: Option<Value>,
    /// The `seq` of the record that it was last written with, and 0 where there is none. A slice that is removed
    /// and made again has a later `seq`, so a version never comes back with another value.
    pub version: u64,
}

/// A session in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct SessionInfo {
    /// Its name.
    pub session: String,
    /// How many records it has.
    pub records: u64,
    /// How many slices it has.
    pub slices: u64,
    /// The last of its records.
    pub last_seq: u64,
    /// The time of that record.
    pub last_active: Timestamp,
}

/// The append-only log. See [`chain`](crate::chain) for how its records hang together.
pub trait AuditLog: Send + Sync {
    /// One record.
    fn entry(&self, seq: u64) -> Result<Option<AuditEntry>>;

    /// A page of records, in the order of `seq`. A page of large records is shorter than its limit: the last page is
    /// the one that is empty.
    fn entries(&self, filter: &AuditFilter) -> Result<Vec<AuditEntry>>;

    /// The last record. `None`: the log is empty.
    fn head(&self) -> Result<Option<AuditRef>>;

    /// Waits until the log has a record after a `seq`, whoever writes it, and no longer than this. Answers the last record
    /// either way. Whatever changes a session, an approval or an approver is a record, so this hears of them all.
    fn wait_for_record(&self, seq: u64, at_most: Duration) -> Result<Option<AuditRef>> {
        let started = Instant::now();
        loop {
            let head = self.head()?;
            let left = at_most.saturating_sub(started.elapsed());
            if left.is_zero() || head.as_ref().is_some_and(|head| head.seq > seq) {
                return Ok(head);
            }
            thread::sleep(LOOK_EVERY.min(left));
        }
    }

    /// A page of signed checkpoints after a `seq`, at most `limit` of them.
    fn checkpoints(&self, after_seq: u64, limit: usize) -> Result<Vec<Checkpoint>>;

    /// The last signed checkpoint.
    fn last_checkpoint(&self) -> Result<Option<Checkpoint>>;

    /// Every key that has signed a checkpoint.
    fn public_keys(&self) -> Result<Vec<PublicKey>>;

    /// Signs the head as it is now, if it is not signed yet. `None`: the log is empty.
    fn checkpoint_now(&self, time: Timestamp) -> Result<Option<Checkpoint>>;

    /// Goes through the whole log and names the first record that does not fit. `progress` hears how many records
    /// are done, and how many there are. Records that are added meanwhile are left for the next time.
    fn verify(&self, expect: &TrustAnchor, progress: &mut dyn FnMut(u64, u64)) -> Result<Verification> {
        verify::log(self, expect, progress)
    }

    /// Writes the log as JSON lines that verify on their own. Of records that the filter leaves out only the hashes
    /// are written, so that the chain still holds; `after_seq`, `limit` and `newest_first` are not heeded.
    fn export(&self, filter: &AuditFilter, out: &mut dyn Write) -> Result<ExportSummary> {
        export::write(self, filter, &|_| true, out)
    }

    /// The same for somebody who may not see every record: of those that are not `shown` only the hashes are written.
    fn export_shown(
        &self,
        filter: &AuditFilter,
        shown: &dyn Fn(&AuditEntry) -> bool,
        out: &mut dyn Write,
    ) -> Result<ExportSummary> {
        export::write(self, filter, shown, out)
    }
}

/// Requests to people. They are written by [`Store::commit`].
pub trait Approvals: Send + Sync {
    /// One request.
    fn approval(&self, id: &str) -> Result<Option<Approval>>;

    /// Requests, the latest first.
    fn approvals(&self, filter: &ApprovalFilter) -> Result<Vec<Approval>>;

    /// How many requests there are, by guardrail, kind and state.
    fn approval_counts(&self) -> Result<Vec<ApprovalCount>>;
}

/// People who may answer requests. They are written by [`Store::commit`], so that each change is on record.
pub trait Approvers: Send + Sync {
    /// All that there ever were, in the order in which they were added.
    fn approvers(&self) -> Result<Vec<Approver>>;

    /// The one who has this name now.
    fn approver(&self, name: &str) -> Result<Option<Approver>> {
        let is_current = |approver: &Approver| approver.name == name && approver.revoked.is_none();
        Ok(self.approvers()?.into_iter().find(is_current))
    }

    /// The one who has this name now, if this is their key. It is compared in constant time.
    fn check_key(&self, name: &str, key: &str) -> Result<Option<Approver>>;
}

/// What others are told. Notices are written with the record or the alert that they come from, and wait until each
/// channel has delivered them, also when the process that wrote them is gone. A channel is a name such as `webhook`.
pub trait Notices: Send + Sync {
    /// A page of notices after one of them, in the order in which they were written.
    fn notices(&self, after_id: u64, limit: usize) -> Result<Vec<StoredNotice>>;

    /// A page of notices that a channel has not delivered, the oldest first.
    fn pending_deliveries(&self, channel: &str, limit: usize) -> Result<Vec<PendingDelivery>>;

    /// Claims the next attempt to deliver a notice, and counts it. `false`: it is delivered, or another process has
    /// tried it less than `again_after_s` ago. Who is told `true` delivers, and then says so; if it dies before that,
    /// the next attempt can be claimed after that time.
    fn claim_delivery(&self, id: u64, channel: &str, now: Timestamp, again_after_s: u64) -> Result<bool>;

    /// A channel has delivered a notice.
    fn mark_delivered(&self, id: u64, channel: &str, now: Timestamp) -> Result<()>;

    /// A channel is not to deliver anything up to a notice: one that is new, say, and not to tell of long ago.
    fn skip_notices(&self, channel: &str, through_id: u64) -> Result<()>;
}

/// Alerts that were raised.
pub trait Alerts: Send + Sync {
    /// Raises an alert, together with its notices, unless one of the same name and key was raised less than
    /// `cooldown_s` ago. Of all processes that try, exactly one is told `true`.
    fn fire_alert(&self, alert: &Alert, cooldown_s: u64, notices: &[NewNotice]) -> Result<bool>;

    /// Alerts, the latest first.
    fn alerts(&self, limit: usize) -> Result<Vec<Alert>>;
}

/// What the audit log comes to, and small counters beside it.
pub trait Stats: AuditLog {
    /// What the whole log comes to, as it is now. Only records that are not counted yet are read.
    fn audit_stats(&self) -> Result<AuditStats> {
        audit_stats::of(self)
    }

    /// What the records since a time come to. It reads all of them.
    fn audit_stats_since(&self, since: Timestamp) -> Result<AuditStats> {
        audit_stats::since(self, since)
    }

    /// The figures that were saved last.
    fn saved_stats(&self) -> Result<Option<AuditStats>>;

    /// Saves figures, unless those that are saved go further in the same log.
    fn save_stats(&self, figures: &AuditStats) -> Result<()>;

    /// How many actions were decided since a time, and how many were stopped.
    fn action_counts(&self, since: Timestamp) -> Result<ActionCounts>;

    /// How many events were decided in each of so many equal parts of a time, by effect. What the engine records of its own
    /// accord is not among them.
    fn timeline(
        &self,
        since: Timestamp,
        until: Timestamp,
        parts: usize,
    ) -> Result<Vec<BTreeMap<Effect, u64>>> {
        audit_stats::timeline(self, since, until, parts)
    }

    /// How long each guardrail took in the records since a time. It reads all of them.
    fn durations(&self, since: Timestamp) -> Result<BTreeMap<String, Durations>> {
        audit_stats::durations(self, since)
    }

    /// Adds to a named counter.
    fn increment_counter(&self, name: &str, by: u64) -> Result<()>;

    /// All named counters.
    fn counters(&self) -> Result<BTreeMap<String, u64>>;
}

/// The source of every policy that ever decided, so that a record can be replayed a year later.
pub trait Policies: Send + Sync {
    /// Keeps a policy's source under its revision. What is already kept stays as it is.
    fn save_policy(&self, revision: &str, body: &str) -> Result<()>;

    /// A policy's source.
    fn policy(&self, revision: &str) -> Result<Option<String>>;
}

/// The keys of a store, made on first use.
pub trait Keys: Send + Sync {
    /// The key for fingerprints of secrets: the same secret has the same fingerprint in this store, and another in
    /// every other store.
    fn fingerprint_key(&self) -> Result<[u8; 32]>;

    /// The key that checkpoints are signed with from now on.
    fn public_key(&self) -> Result<PublicKey>;
}
