//! The anchor of a project: the last head that this instance has written, next to its key file. A database that was set
//! back, restored from an old backup or replaced does not contain it any more.
//!
//! An instance whose key is in the database has no anchor: there is no place that the owner of the database cannot change.

use std::path::{Path, PathBuf};

use midrail_core::AuditRef;
use parking_lot::Mutex;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::anchor::{self, Anchor, AnchorFile, with_suffix};
use crate::audit_log::AuditLog;
use crate::error::{Result, StoreDamage, StoreError};
use crate::postgres::PostgresStore;
use crate::postgres::dialect::DIALECT;
use crate::sql::{Connection, SqlStore, log};

/// The anchor of a project, and whether the database was compared with it.
pub(super) struct ProjectAnchor {
    file: AnchorFile,
    is_checked: Mutex<bool>,
}

impl ProjectAnchor {
    /// The path of the file.
    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    /// The anchor of a project next to a key file.
    pub(super) fn new(key_file: &Path, project: &str) -> Self {
        ProjectAnchor { file: AnchorFile::new(path(key_file, project)), is_checked: Mutex::new(false) }
    }
}

/// Names of projects contain `/`.
fn path(key_file: &Path, project: &str) -> PathBuf {
    const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');
    with_suffix(key_file, &format!(".{}.head", utf8_percent_encode(project, ENCODED)))
}

impl PostgresStore {
    /// Compares the database with the anchor, before the first commit of this process.
    pub(super) fn check_anchor(&self) -> Result<()> {
        let Some(anchor) = &self.project.anchor else { return Ok(()) };
        let mut is_checked = anchor.is_checked.lock();
        if *is_checked {
            return Ok(());
        }
        if let Some(damage) = self.compare_with_anchor()? {
            let path = PathBuf::from(&self.server.name);
            return Err(StoreError::Damaged { path, what: damage.what });
        }
        *is_checked = true;
        Ok(())
    }

    pub(super) fn compare_with_anchor(&self) -> Result<Option<StoreDamage>> {
        let Some(ProjectAnchor { file, .. }) = &self.project.anchor else { return Ok(None) };
        // Before the database: every head in it was committed.
        let anchor = file.read()?;
        if matches!(anchor, Anchor::Missing) {
            // The first time that this instance uses the project.
            return Ok(None);
        }
        let hash_of = |seq| self.select(|connection| log::hash_of(connection, &DIALECT, seq));
        anchor::find_damage(&anchor, file.path(), Some(self.key()?), self.head()?, hash_of)
    }

    /// Writes a head that was committed, before it is acknowledged.
    pub(super) fn advance_anchor(&self, head: &AuditRef) -> Result<()> {
        let Some(ProjectAnchor { file, .. }) = &self.project.anchor else { return Ok(()) };
        let key = self.key()?;
        match file.advance(key, head) {
            Err(StoreError::NotFound { .. }) => {
                file.create(key)?;
                file.advance(key, head)
            }
            outcome => outcome,
        }
    }

    /// Trusts the database from a record on.
    pub(super) fn reset_anchor(&self, head: &AuditRef) -> Result<()> {
        let key = self.key()?;
        let accept = |connection: &dyn Connection| log::accept_keys(connection, &DIALECT, key, head.seq - 1);
        self.transact(|connection| connection.execute_all(accept(connection)?))?;
        let Some(ProjectAnchor { file, is_checked }) = &self.project.anchor else { return Ok(()) };
        file.reset(key, Some(head))?;
        *is_checked.lock() = true;
        Ok(())
    }
}
