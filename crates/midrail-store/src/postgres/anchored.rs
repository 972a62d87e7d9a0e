//! Compares a project with its anchor, and writes each committed head to it.

use std::path::PathBuf;

use midrail_core::AuditRef;

use crate::anchor::{self, Anchor};
use crate::audit_log::AuditLog;
use crate::error::{Result, StoreDamage, StoreError};
use crate::postgres::PostgresStore;
use crate::postgres::dialect::DIALECT;
use crate::postgres::project_anchor::ProjectAnchor;
use crate::sql::{Connection, SqlStore, log};

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
                file.create(key, None)?;
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
