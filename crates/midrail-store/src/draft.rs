//! What all stores do in the same way when they commit: the body, its hash, and what counts as a conflict.

use std::io;

use midrail_core::{Record, SHARED_PREFIX};

use crate::approval::{Approval, ApprovalChange};
use crate::chain::{body_hash, link_hash};
use crate::entry::{AuditEntry, Labels};
use crate::error::{Result, StoreError};

/// Bytes that most records stay below.
const USUAL: usize = 2 << 10;

/// A record that is ready for its place in the chain. It is made before anything is locked.
pub(crate) struct Draft {
    pub(crate) labels: Labels,
    pub(crate) body: String,
    pub(crate) body_hash: String,
}

impl Draft {
    pub(crate) fn new(record: &Record) -> Result<Self> {
        let failed = |source| StoreError::Encode { what: "the audit record".to_owned(), source };
        let mut body = Vec::with_capacity(USUAL);
        serde_json::to_writer(&mut body, record).map_err(failed)?;
        let body = String::from_utf8(body)
            .map_err(|error| failed(serde_json::Error::io(io::Error::other(error))))?;
        Ok(Draft { labels: Labels::from_record(record), body_hash: body_hash(&body), body })
    }

    /// The session of the record.
    pub(crate) fn session(&self) -> &str {
        &self.labels.session
    }

    /// How large the record is.
    pub(crate) fn bytes(&self) -> usize {
        self.body.len()
    }

    pub(crate) fn entry(self, seq: u64, prev: String) -> AuditEntry {
        let hash = link_hash(seq, &prev, &self.body_hash);
        AuditEntry { seq, labels: self.labels, prev, hash, body: self.body }
    }
}

/// The session that slices of all sessions are kept under. A session may have this name: its own keys begin otherwise.
pub(crate) const COMMON: &str = "";

/// Whether a slice belongs to all sessions.
pub(crate) fn is_shared(key: &str) -> bool {
    key.starts_with(SHARED_PREFIX)
}

/// The session that a slice is kept under.
pub(crate) fn home<'a>(session: &'a str, key: &str) -> &'a str {
    if is_shared(key) { COMMON } else { session }
}

pub(crate) fn conflict_in_slice(key: &str, read: u64, now: u64) -> Result<()> {
    if read == now {
        return Ok(());
    }
    let whose = if is_shared(key) { "the sessions'" } else { "the session's" };
    Err(StoreError::Conflict { what: format!("{whose} `{key}`") })
}

pub(crate) fn conflict_in_approval(change: &ApprovalChange, now: Option<&Approval>) -> Result<()> {
    let state = now.map(|row| row.state);
    if change.was != state {
        let state = state.map_or("not there", |state| state.word());
        return Err(StoreError::Conflict {
            what: format!("the approval `{}` (it is {state})", change.now.id),
        });
    }
    if now.is_some_and(|row| row.turn != change.turn) {
        let what = format!("the approval `{}` (it has moved on)", change.now.id);
        return Err(StoreError::Conflict { what });
    }
    match now.and_then(|row| row.refuses(&change.now)) {
        Some(what) => Err(StoreError::Refused { what }),
        None => Ok(()),
    }
}
