//! Transactions that write, together with the commits that wait in the queue.

#[cfg(test)]
mod tests;

use midrail_core::AuditRef;
use rusqlite::{Connection, ErrorCode};

use crate::error::{Result, StoreError};
use crate::sql::job::Job;
use crate::sqlite::queue::{Follower, Lead};
use crate::sqlite::transaction::{Transaction, run};
use crate::sqlite::{SqliteStore, open};

impl SqliteStore {
    /// Writes in one transaction, together with the waiting commits. Everything is durable on return.
    pub(super) fn write_with<T>(
        &self,
        lead: Option<Lead<'_>>,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let connection = self.connection();
        let mut followers = self.queue.take();
        if followers.is_empty() {
            let transaction = open::begin(&connection).map_err(|error| self.failure(error))?;
            let outcome = work(&transaction)?;
            transaction.commit().map_err(|error| self.failure(error))?;
            return Ok(outcome);
        }
        let outcome = self.write_together(&connection, work, &mut followers);
        drop(connection);
        // The next leader begins to write while the followers receive their outcomes.
        drop(lead);
        for mut follower in followers {
            let own = match &outcome {
                Ok(_) => follower.outcome.take().unwrap_or(Err(StoreError::Abandoned)),
                Err(error) => Err(error.clone()),
            };
            follower.answer(own);
        }
        outcome?
    }

    /// Writes several jobs in one transaction, together with the waiting commits. Each succeeds or fails on its own.
    pub(super) fn write_all(&self, jobs: Vec<Result<Job>>) -> Vec<Result<AuditRef>> {
        let count = jobs.len();
        let outcome = self.write(|transaction| {
            let parts = jobs.into_iter().map(|job| match job {
                Ok(job) => self.write_part(transaction, |transaction| self.write_job(transaction, job)),
                Err(error) => Ok(Err(error)),
            });
            parts.collect::<Result<Vec<_>>>()
        });
        outcome.unwrap_or_else(|error| vec![Err(error); count])
    }

    /// Returns the outcome of this thread's own work, or the error because of which nothing at all was written.
    fn write_together<T>(
        &self,
        connection: &Connection,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
        followers: &mut [Follower],
    ) -> Result<Result<T>> {
        let transaction = open::begin(connection).map_err(|error| self.failure(error))?;
        let own = self.write_part(&transaction, work)?;
        for follower in followers {
            let Some(job) = follower.job.take() else { continue };
            let write = |transaction: &Transaction<'_>| self.write_job(transaction, *job);
            follower.outcome = Some(self.write_part(&transaction, write)?);
        }
        transaction.commit().map_err(|error| self.failure(error))?;
        Ok(own)
    }

    /// Writes one part of a transaction. A part that fails leaves no trace, and does not affect the others.
    fn write_part<T>(
        &self,
        transaction: &Transaction<'_>,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<Result<T>> {
        let run = |statement| run(transaction, statement).map_err(|error| self.failure(error));
        run("SAVEPOINT part")?;
        let outcome = work(transaction);
        match &outcome {
            Ok(_) => {}
            // After some errors SQLite rolls back the whole transaction.
            Err(error) if transaction.is_autocommit() || concerns_all(error) => return outcome.map(Ok),
            Err(_) => run("ROLLBACK TO part")?,
        }
        run("RELEASE part")?;
        Ok(outcome)
    }
}

/// Whether an error concerns the store, and not only one commit.
fn concerns_all(error: &StoreError) -> bool {
    match error {
        StoreError::Busy { .. }
        | StoreError::Full { .. }
        | StoreError::ReadOnly { .. }
        | StoreError::Corrupt { .. }
        | StoreError::NotFound { .. }
        | StoreError::Io { .. } => true,
        StoreError::Sqlite { source, .. } => matches!(
            source.sqlite_error_code(),
            Some(
                ErrorCode::SystemIoFailure
                    | ErrorCode::OutOfMemory
                    | ErrorCode::OperationInterrupted
                    | ErrorCode::CannotOpen
            )
        ),
        _ => false,
    }
}
