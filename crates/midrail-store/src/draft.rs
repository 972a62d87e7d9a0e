//! The parts of a commit that all stores handle alike: the body, its hash, and the conflict checks.

use std::collections::BTreeMap;
use std::sync::Arc;

use midrail_core::{Record, to_compact_json, to_json};
use serde::Serialize;

use crate::approval::{Approval, ApprovalChange};
use crate::approver::StoredApprover;
use crate::chain::{body_hash, link_hash};
use crate::entry::{AuditEntry, Labels};
use crate::error::{Result, StoreError};
use crate::slice_keys::is_shared;
use crate::state_digests::{StateDigests, text_digest};

/// A record before it has its place in the chain. It is built before anything is locked.
pub(crate) struct Draft {
    pub(crate) labels: Labels,
    pub(crate) body: String,
    pub(crate) body_hash: String,
    digests: StateDigests,
}

impl Draft {
    pub(crate) fn new(record: &Record, digests: StateDigests) -> Result<Self> {
        let body =
            to_compact_json(record).map_err(|source| encode_error("the audit record".to_owned(), source))?;
        Ok(Draft { labels: Labels::from_record(record), body_hash: body_hash(&body), body, digests })
    }

    /// The record at its place, with the approvers that it changed, and the digests that the slices had before which it changes.
    pub(crate) fn entry(
        &self,
        seq: u64,
        prev: String,
        approvers: &[StoredApprover],
        before: BTreeMap<String, String>,
    ) -> AuditEntry {
        let changes = self.digests.text(approvers, before);
        let hash = link_hash(seq, &prev, &self.body_hash, Some(&text_digest(&changes)));
        let (labels, body) = (self.labels.clone(), self.body.clone());
        AuditEntry { seq, labels, prev, hash, body, changes: Some(changes) }
    }
}

/// Encodes a value as JSON. `what` names it in an error.
pub(crate) fn encode(value: &impl Serialize, what: impl FnOnce() -> String) -> Result<String> {
    to_json(value).map_err(|source| encode_error(what(), source))
}

fn encode_error(what: String, source: serde_json::Error) -> StoreError {
    StoreError::Encode { what, source: Arc::new(source) }
}

/// Checks that a slice still has the version that was read.
pub(crate) fn check_slice(key: &str, read: u64, now: u64) -> Result<()> {
    if read == now {
        return Ok(());
    }
    let what = if is_shared(key) { "the shared slice" } else { "the session's slice" };
    Err(StoreError::Conflict { what: format!("{what} `{key}`") })
}

/// Checks that an approval still has the state and turn that were read, and that the change is allowed.
pub(crate) fn check_approval(change: &ApprovalChange, now: Option<&Approval>) -> Result<()> {
    let conflict =
        |why: String| Err(StoreError::Conflict { what: format!("the approval `{}` ({why})", change.now.id) });
    match now {
        _ if change.was != now.map(|row| row.state) => conflict(
            now.map_or("it does not exist".to_owned(), |row| format!("it is {}", row.state.as_str())),
        ),
        Some(row) if row.turn != change.turn => conflict("it has moved to the next authority".to_owned()),
        Some(row) => match row.refuses(&change.now) {
            Some(what) => Err(StoreError::Refused { what }),
            None => Ok(()),
        },
        None => Ok(()),
    }
}
