//! The digests of the state that a record changed: slices, approvals and approvers. They are part of the record's hash, so
//! the chain covers the current state, too.

use std::collections::BTreeMap;

use midrail_core::to_json;
use serde::{Deserialize, Serialize};

use crate::approver::{Approver, StoredApprover};
use crate::chain::sha256;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
use crate::entry::AuditEntry;

/// The digests of the state that one record changed, as JSON without whitespace. A record without changes has the empty
/// text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StateDigests {
    /// Whether all other slices of the session were removed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) replaced: bool,
    /// The SHA-256 of each slice, by key. `None`: it was removed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) slices: BTreeMap<String, Option<String>>,
    /// The SHA-256 that those of them had before which existed. `None`: an older version wrote the record, or it changed no slice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<BTreeMap<String, String>>,
    /// The SHA-256 of each approval, by id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) approvals: BTreeMap<String, String>,
    /// The digest of each approver, by [`approver_id`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) approvers: BTreeMap<String, String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

impl StateDigests {
    /// The digests of slices and approvals, from the texts that are stored.
    pub(crate) fn new<'t>(
        replaced: bool,
        slices: impl Iterator<Item = (&'t String, Option<&'t str>)>,
        approvals: impl Iterator<Item = (&'t String, &'t str)>,
    ) -> Self {
        StateDigests {
            replaced,
            slices: slices.map(|(key, text)| (key.clone(), text.map(text_digest))).collect(),
            before: None,
            approvals: approvals.map(|(id, text)| (id.clone(), text_digest(text))).collect(),
            approvers: BTreeMap::new(),
        }
    }

    /// The text that is hashed and stored, with the approvers that were changed, and the digests that the changed slices had
    /// before.
    pub(crate) fn text(&self, approvers: &[StoredApprover], before: BTreeMap<String, String>) -> String {
        let mut all = self.clone();
        all.before = (!all.slices.is_empty()).then_some(before);
        all.approvers.extend(approvers.iter().map(|row| (approver_id(&row.hash), approver_digest(row))));
        if all == StateDigests::default() {
            return String::new();
        }
        // A struct of texts can always be encoded; a wrong text would be found by `verify`.
        to_json(&all).unwrap_or_default()
    }

    /// The digests of a record. `None`: it has none.
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn of(entry: &AuditEntry) -> Option<Self> {
        match entry.changes.as_deref()? {
            "" => Some(StateDigests::default()),
            text => serde_json::from_str(text).ok(),
        }
    }
}

pub(crate) fn text_digest(text: &str) -> String {
    sha256(text)
}

/// The name of an approver's row: it is unique and never changes, but the hash of their key is not repeated.
pub(crate) fn approver_id(hash: &str) -> String {
    let mut id = text_digest(hash);
    id.truncate(32);
    id
}

pub(crate) fn approver_digest(StoredApprover { approver, hash }: &StoredApprover) -> String {
    let Approver { name, roles, created, revoked } = approver;
    let revoked = revoked.map(|time| time.as_microsecond());
    text_digest(&serde_json::json!([name, roles, created.as_microsecond(), revoked, hash]).to_string())
}
