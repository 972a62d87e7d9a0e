//! Retention: what a store offers to keep the audit log small, and to erase personal data.

use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;

use crate::audit_log::AuditLog;
use crate::error::{Result, StoreError};

/// A file to which records were moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Archive {
    /// The first record in it.
    pub first: u64,
    /// The last record in it.
    pub through: u64,
    /// The number of records.
    pub records: u64,
    /// The SHA-256 of the file.
    pub sha256: String,
}

/// Moves records out of a log, and erases their content. The chain can still be verified.
pub trait Retention: AuditLog {
    /// Moves the records up to one, which must not be the last, to a new file: a compressed export that verifies alone.
    /// They are removed from the store after the file was written, verified and signed.
    fn archive(&self, _through: u64, _time: Timestamp, _path: &Path) -> Result<Archive> {
        Err(StoreError::Refused { what: "this store cannot be archived".to_owned() })
    }

    /// Erases the content of all records of a session up to one, and returns their number. What remains is the place in
    /// the chain, time, session, kind, tool, effect, guardrails, the hash of the content, and a signature that the content
    /// was erased on purpose. Files that were archived before are not changed.
    fn erase_session(&self, _session: &str, _through: u64) -> Result<u64> {
        Err(StoreError::Refused { what: "the records of this store cannot be erased".to_owned() })
    }
}
