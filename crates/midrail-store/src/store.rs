//! What a store can do: the traits that the in-memory and the SQLite store share. All of it is synchronous.

use std::collections::BTreeMap;
use std::io::Write;

use jiff::Timestamp;
use midrail_core::{AuditRef, Changes, Record};
use serde::Serialize;
use serde_json::Value;

use crate::approval::{Approval, ApprovalChange, ApprovalFilter};
use crate::checkpoint::{Checkpoint, PublicKey};
use crate::entry::Entry;
use crate::error::Result;
use crate::export::{self, Exported};
use crate::filter::Filter;
use crate::verify::{self, Expect, Verification};

/// All that a store can do. Behind `&dyn Store` or `Arc<dyn Store>`, by many threads at once.
pub trait Store: Slices + AuditLog + Approvals + Policies + Keys {
    /// Writes one event's record, slice changes and approvals: all of them or none, and durable on return.
    ///
    /// Answers [`Conflict`](crate::StoreError::Conflict), with nothing written, if a slice in `read` has another
    /// version by now or an approval is in another state than `was`.
    fn commit(&self, commit: &Commit<'_>) -> Result<AuditRef>;
}

/// What one event writes. The session is that of the record.
#[derive(Debug, Clone)]
pub struct Commit<'a> {
    /// The audit record. Its JSON is the body that is hashed.
    pub record: &'a Record,
    /// The slices that the decision was made from, with the versions that [`Slices::load`] told.
    pub read: Vec<(String, u64)>,
    /// Slices to set and to remove.
    pub changes: Changes,
    /// All slices of the session are replaced by these before `changes` are made: a snapshot is put back.
    pub replace_all: Option<BTreeMap<String, Value>>,
    /// Approvals that are asked for, decided or used up.
    pub approvals: Vec<ApprovalChange>,
}

impl<'a> Commit<'a> {
    /// A record that changes nothing.
    pub fn new(record: &'a Record) -> Self {
        Commit {
            record,
            read: Vec::new(),
            changes: Changes::default(),
            replace_all: None,
            approvals: Vec::new(),
        }
    }
}

/// The state of sessions, in keyed slices.
pub trait Slices: Send + Sync {
    /// Slices by key, in the order of the keys.
    fn load(&self, session: &str, keys: &[&str]) -> Result<Vec<Slice>>;

    /// Every slice whose key starts with a prefix. An empty prefix gives the whole session, as for a snapshot.
    fn load_prefix(&self, session: &str, prefix: &str) -> Result<BTreeMap<String, Value>>;

    /// The sessions that have records, the latest active first.
    fn sessions(&self) -> Result<Vec<SessionInfo>>;
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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
    fn entry(&self, seq: u64) -> Result<Option<Entry>>;

    /// A page of records, in the order of `seq`. A page of large records is shorter than its limit: the last page is
    /// the one that is empty.
    fn entries(&self, filter: &Filter) -> Result<Vec<Entry>>;

    /// The last record. `None`: the log is empty.
    fn head(&self) -> Result<Option<AuditRef>>;

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
    fn verify(&self, expect: &Expect, progress: &mut dyn FnMut(u64, u64)) -> Result<Verification> {
        verify::log(self, expect, progress)
    }

    /// Writes the log as JSON lines that verify on their own. Of records that the filter leaves out only the hashes
    /// are written, so that the chain still holds; `after_seq`, `limit` and `newest_first` are not heeded.
    fn export(&self, filter: &Filter, out: &mut dyn Write) -> Result<Exported> {
        export::write(self, filter, out)
    }
}

/// Requests to people. They are written by [`Store::commit`].
pub trait Approvals: Send + Sync {
    /// One request.
    fn approval(&self, id: &str) -> Result<Option<Approval>>;

    /// Requests, the latest first.
    fn approvals(&self, filter: &ApprovalFilter) -> Result<Vec<Approval>>;
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
