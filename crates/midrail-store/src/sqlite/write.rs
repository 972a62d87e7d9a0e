//! Transactions that write, together with the commits that wait in the queue.

#[cfg(test)]
mod tests;

use midrail_core::AuditRef;
use rusqlite::{Connection, ErrorCode};

use crate::error::{Result, StoreError};
use crate::sql::job::Job;
use crate::sql::queue::Batch;
use crate::sqlite::transaction::{Transaction, run};
use crate::sqlite::{SqliteStore, open};

/// The maximum number of jobs that one transaction takes from the queue, so that the wait of the first is bounded.
const MAX_JOBS: usize = 128;

impl SqliteStore {
    /// Writes in one transaction, together with the waiting commits. Everything is durable on return.
    pub(super) fn write<T>(&self, work: impl Fn(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.check_writable()?;
        let connection = self.connection();
        let batch = self.queue.take(MAX_JOBS, |_| false);
        self.write_together(connection, work, batch)
    }

    /// Writes the waiting commits in one transaction.
    pub(super) fn write_waiting(&self) {
        let connection = self.connection();
        let batch = self.queue.take(MAX_JOBS, |_| false);
        // Each waiting commit has its own answer.
        let _ = match batch.jobs.as_slice() {
            [] => Ok(()),
            [only] => {
                let write = |transaction: &Transaction<'_>| self.write_job(transaction, &only.job);
                only.answer(self.transact(&connection, write));
                Ok(())
            }
            _ => self.write_together(connection, |_| Ok(()), batch),
        };
    }

    /// Writes several jobs in one transaction, together with the waiting commits. Each succeeds or fails on its own.
    pub(super) fn write_all(&self, jobs: &[Result<Job>]) -> Vec<Result<AuditRef>> {
        let outcome = self.write(|transaction| {
            let parts = jobs.iter().map(|job| match job {
                Ok(job) => self.write_part(transaction, |transaction| self.write_job(transaction, job)),
                Err(error) => Ok(Err(error.clone())),
            });
            parts.collect::<Result<Vec<_>>>()
        });
        outcome.unwrap_or_else(|error| vec![Err(error); jobs.len()])
    }

    /// Writes `work` and a batch in one transaction. An error because of which nothing was written is that of all.
    fn write_together<T>(
        &self,
        connection: parking_lot::MutexGuard<'_, Connection>,
        work: impl Fn(&Transaction<'_>) -> Result<T>,
        batch: Batch<'_>,
    ) -> Result<T> {
        if batch.jobs.is_empty() {
            return self.transact(&connection, work);
        }
        let written = self.transact(&connection, |transaction| {
            let own = self.write_part(transaction, &work)?;
            let write = |job| self.write_part(transaction, |transaction| self.write_job(transaction, job));
            let outcomes: Result<Vec<_>> = batch.jobs.iter().map(|waiting| write(&waiting.job)).collect();
            Ok((own, outcomes?))
        });
        drop(connection);
        match written {
            Ok((own, outcomes)) => {
                batch.jobs.iter().zip(outcomes).for_each(|(waiting, outcome)| waiting.answer(outcome));
                own
            }
            Err(error) => {
                batch.jobs.iter().for_each(|waiting| waiting.answer(Err(error.clone())));
                Err(error)
            }
        }
    }

    /// Runs `work` in a transaction. Parts that fail are rare, so savepoints are set only if one has failed.
    pub(super) fn transact<T>(
        &self,
        connection: &Connection,
        work: impl Fn(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut transaction = open::begin(connection).map_err(|error| self.failure(error))?;
        let mut outcome = work(&transaction);
        if transaction.is_spoilt() {
            drop(transaction);
            transaction = open::begin_with(connection, true).map_err(|error| self.failure(error))?;
            outcome = work(&transaction);
        }
        let outcome = outcome?;
        let written = transaction.commit().map_err(|error| self.failure(error))?;
        if let Some(head) = written {
            // Before the commit is acknowledged, so that no acknowledged record can be lost unnoticed.
            self.anchor.advance(self.key()?, &head)?;
        }
        Ok(outcome)
    }

    /// Writes one part of a transaction. A part that fails leaves no trace, and does not affect the others.
    fn write_part<T>(
        &self,
        transaction: &Transaction<'_>,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<Result<T>> {
        let run = |statement| run(transaction, statement).map_err(|error| self.failure(error));
        let changes = transaction.total_changes();
        if transaction.has_savepoints() {
            run("SAVEPOINT part")?;
        }
        let outcome = work(transaction);
        match &outcome {
            Ok(_) => {}
            // After some errors SQLite rolls back the whole transaction.
            Err(error) if transaction.is_autocommit() || concerns_all(error) => return outcome.map(Ok),
            Err(_) if transaction.has_savepoints() => run("ROLLBACK TO part")?,
            // A conflict is noticed before anything is written.
            Err(_) if transaction.total_changes() == changes => {}
            Err(_) => {
                transaction.spoil();
                return outcome.map(Ok);
            }
        }
        if transaction.has_savepoints() {
            run("RELEASE part")?;
        }
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
        | StoreError::Damaged { .. }
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
