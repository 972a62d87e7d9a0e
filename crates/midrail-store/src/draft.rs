//! What both stores do in the same way when they commit: the body, its hash, and what counts as a conflict.

use midrail_core::Record;

use crate::approval::{ApprovalChange, ApprovalState};
use crate::chain::{body_hash, link_hash};
use crate::entry::{Entry, Labels};
use crate::error::{Result, StoreError};

/// A record that is ready for its place in the chain. It is made before anything is locked.
pub(crate) struct Draft {
    labels: Labels,
    body: String,
    body_hash: String,
}

impl Draft {
    pub(crate) fn new(record: &Record) -> Result<Self> {
        let body = serde_json::to_string(record)
            .map_err(|source| StoreError::Encode { what: "the audit record".to_owned(), source })?;
        Ok(Draft { labels: Labels::of(record), body_hash: body_hash(&body), body })
    }

    pub(crate) fn entry(self, seq: u64, prev: String) -> Entry {
        let hash = link_hash(seq, &prev, &self.body_hash);
        Entry { seq, labels: self.labels, prev, hash, body: self.body }
    }
}

pub(crate) fn conflict_in_slice(key: &str, read: u64, now: u64) -> Result<()> {
    if read == now { Ok(()) } else { Err(StoreError::Conflict { what: format!("the session's `{key}`") }) }
}

pub(crate) fn conflict_in_approval(change: &ApprovalChange, now: Option<ApprovalState>) -> Result<()> {
    if change.was == now {
        return Ok(());
    }
    let state = now.map_or("not there", ApprovalState::word);
    Err(StoreError::Conflict { what: format!("the approval `{}` (it is {state})", change.now.id) })
}
