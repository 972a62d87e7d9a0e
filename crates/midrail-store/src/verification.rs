//! The result of verifying an audit log, and what the caller knows about the log from another source.

use midrail_core::AuditRef;
use serde::{Deserialize, Serialize};

/// What the caller knows about the log from another source. Without it, a log that was rewritten with a new key looks
/// intact, and so does one whose records after the last checkpoint were removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustAnchor {
    /// A record that must be in the log, with its hash: an earlier head.
    pub head: Option<(u64, String)>,
    /// The ids of the keys that may have signed. `None`: every key that the log itself lists.
    pub keys: Option<Vec<String>>,
}

/// The result of a verification.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Verification {
    /// The number of intact records, from the first on.
    pub records: u64,
    /// The last intact record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<AuditRef>,
    /// The number of valid checkpoints.
    pub checkpoints: u64,
    /// The last record with a checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_checkpoint: Option<u64>,
    /// The number of records after the last checkpoint. Only [`TrustAnchor::head`] reveals that such records were
    /// removed.
    pub unsigned: u64,
    /// The number of records of an export that are represented by their hashes only.
    pub withheld: u64,
    /// The ids of the keys that have signed.
    pub keys: Vec<String>,
    /// The first record that does not match. `None`: the log is intact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub misfit: Option<Misfit>,
}

impl Verification {
    /// Whether the log is intact.
    pub fn is_intact(&self) -> bool {
        self.misfit.is_none()
    }

    /// Records the first mismatch; later ones are ignored.
    pub(crate) fn add_misfit(&mut self, seq: u64, kind: MisfitKind, detail: String) {
        self.misfit.get_or_insert(Misfit { seq, kind, detail });
    }
}

/// The first record that does not match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Misfit {
    /// The record.
    pub seq: u64,
    /// The kind of mismatch.
    pub kind: MisfitKind,
    /// The mismatch as a sentence.
    pub detail: String,
}

/// How a record does not match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MisfitKind {
    /// It is missing, and later records exist.
    Missing,
    /// Another record is in its place.
    Reordered,
    /// Its body or its hash was changed.
    Changed,
    /// It is consistent in itself but does not follow from the previous record.
    Link,
    /// The columns by which it is found differ from its body.
    Labels,
    /// A checkpoint was signed for a different record.
    Checkpoint,
    /// Its checkpoint is missing.
    NoCheckpoint,
    /// The signature of a checkpoint is invalid.
    Signature,
    /// The log ends before it, and a checkpoint or the trust anchor shows that it existed.
    Truncated,
    /// It differs from the record in the trust anchor.
    Head,
    /// The record, or a line of an export, cannot be read.
    Unreadable,
}
