//! Commits of several threads in one transaction, so that they wait for the disk once and not one after the other.
//!
//! One thread at a time leads: it writes its own job, and those of all who came while the connection was in use. Whoever
//! comes meanwhile waits in the queue, and one of them leads next. A thread that is alone always leads, and writes as if
//! there was no queue.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use midrail_core::AuditRef;
use rusqlite::{Connection, ErrorCode, ffi};

use crate::error::{Result, StoreError};
use crate::sqlite::commit::Job;
use crate::sqlite::transaction::{Transaction, say};
use crate::sqlite::{SqliteStore, open};

/// Jobs that one transaction takes from the queue at most, so that the first does not wait for ever more.
const MOST: usize = 128;

/// Bytes of jobs after which no more are taken.
const MOST_BYTES: usize = 4 << 20;

/// Commits that wait to be written.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// INVARIANT: jobs wait only while someone leads, and who leads wakes the next before it goes.
    is_led: bool,
    waiting: VecDeque<(Box<Job<'static>>, Arc<Seat>)>,
}

/// Where a thread waits.
#[derive(Default)]
struct Seat {
    told: Mutex<Option<Told>>,
    changed: Condvar,
}

/// What a waiting thread hears.
enum Told {
    /// Another has done its job.
    Done(Result<AuditRef>),
    /// It leads now, and does the job itself.
    Lead(Box<Job<'static>>),
}

/// How a thread comes to its outcome.
#[expect(clippy::large_enum_variant, reason = "a thread that is alone is spared an allocation")]
pub(super) enum Turn<'q, 'c> {
    Lead(Lead<'q>, Job<'c>),
    Done(Result<AuditRef>),
}

impl Queue {
    /// Leads if no one does, else waits until the job is done or it is this thread's turn to lead.
    pub(super) fn enter<'c>(&self, job: Job<'c>) -> Turn<'_, 'c> {
        if self.leads() {
            return Turn::Lead(Lead(self), job);
        }
        let job = Box::new(job.into_owned());
        let seat = Arc::new(Seat::default());
        {
            let mut state = self.state();
            if !state.is_led {
                state.is_led = true;
                return Turn::Lead(Lead(self), *job);
            }
            state.waiting.push_back((job, seat.clone()));
        }
        match seat.wait() {
            Told::Done(outcome) => Turn::Done(outcome),
            Told::Lead(job) => Turn::Lead(Lead(self), *job),
        }
    }

    /// Takes what waits, within bounds.
    fn take(&self) -> Vec<Follower> {
        let mut state = self.state();
        let (mut bytes, mut taken) = (0, Vec::new());
        while taken.len() < MOST && bytes < MOST_BYTES {
            let Some((job, seat)) = state.waiting.pop_front() else { break };
            bytes += job.bytes();
            taken.push(Follower { job: Some(job), seat: Some(seat), outcome: None });
        }
        taken
    }

    fn leads(&self) -> bool {
        !std::mem::replace(&mut self.state().is_led, true)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    fn wait(&self) -> Told {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match told.take() {
                Some(told) => return told,
                None => told = self.changed.wait(told).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    fn tell(&self, what: Told) {
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = Some(what);
        self.changed.notify_one();
    }
}

/// Held by the thread that leads. When it goes, also by a panic, the next in the queue leads.
pub(super) struct Lead<'q>(&'q Queue);

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        match state.waiting.pop_front() {
            Some((job, seat)) => {
                drop(state);
                seat.tell(Told::Lead(job));
            }
            None => state.is_led = false,
        }
    }
}

/// Someone whose job another thread does.
struct Follower {
    job: Option<Box<Job<'static>>>,
    seat: Option<Arc<Seat>>,
    /// What its job came to, if the transaction does not fail.
    outcome: Option<Result<AuditRef>>,
}

impl Follower {
    fn tell(mut self, outcome: Result<AuditRef>) {
        if let Some(seat) = self.seat.take() {
            seat.tell(Told::Done(outcome));
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        // Who did its job has panicked, and the transaction is rolled back.
        if let Some(seat) = self.seat.take() {
            seat.tell(Told::Done(Err(StoreError::Abandoned)));
        }
    }
}

impl SqliteStore {
    /// Does something in one transaction, together with the commits that wait. All of it is durable on return.
    pub(super) fn write_with<T>(
        &self,
        lead: Option<Lead<'_>>,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let connection = self.connection();
        let mut others = self.queue.take();
        if others.is_empty() {
            return self.alone(&connection, work);
        }
        let outcome = self.together(&connection, work, &mut others);
        drop(connection);
        // The next one begins to write while the others are told.
        drop(lead);
        match outcome {
            Ok(own) => {
                for mut follower in others {
                    let outcome = follower.outcome.take().unwrap_or(Err(StoreError::Abandoned));
                    follower.tell(outcome);
                }
                own
            }
            Err(error) => {
                for follower in others {
                    follower.tell(Err(again(&error)));
                }
                Err(error)
            }
        }
    }

    /// Does several jobs in one transaction, together with the commits that wait. Each succeeds or fails for itself.
    pub(super) fn write_all(&self, jobs: Vec<Result<Job<'_>>>) -> Vec<Result<AuditRef>> {
        let count = jobs.len();
        let outcome = self.write(|transaction| {
            let parts = jobs.into_iter().map(|job| match job {
                Ok(job) => self.part(transaction, |transaction| self.do_job(transaction, job)),
                Err(error) => Ok(Err(error)),
            });
            parts.collect::<Result<Vec<_>>>()
        });
        outcome.unwrap_or_else(|error| (0..count).map(|_| Err(again(&error))).collect())
    }

    fn alone<T>(
        &self,
        connection: &Connection,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let transaction = open::begin(connection).map_err(|error| self.failure(error))?;
        let outcome = work(&transaction)?;
        transaction.commit().map_err(|error| self.failure(error))?;
        Ok(outcome)
    }

    /// Answers how this thread's own work went, or the error because of which nothing at all was written.
    fn together<T>(
        &self,
        connection: &Connection,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
        others: &mut [Follower],
    ) -> Result<Result<T>> {
        let transaction = open::begin(connection).map_err(|error| self.failure(error))?;
        let own = self.part(&transaction, work)?;
        for follower in others {
            let Some(job) = follower.job.take() else { continue };
            follower.outcome = Some(self.part(&transaction, |transaction| self.do_job(transaction, *job))?);
        }
        transaction.commit().map_err(|error| self.failure(error))?;
        Ok(own)
    }

    /// One part of a transaction. What fails in it leaves no trace, and the others as they are.
    fn part<T>(
        &self,
        transaction: &Transaction<'_>,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<Result<T>> {
        let say = |statement| say(transaction, statement).map_err(|error| self.failure(error));
        say("SAVEPOINT part")?;
        let outcome = work(transaction);
        match &outcome {
            Ok(_) => {}
            // SQLite gives up the whole transaction by itself after some errors.
            Err(error) if transaction.is_autocommit() || concerns_all(error) => return outcome.map(Ok),
            Err(_) => say("ROLLBACK TO part")?,
        }
        say("RELEASE part")?;
        Ok(outcome)
    }
}

/// Whether an error is that of the store, and not of what one commit asked for.
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

/// The same error for one more who has to hear it.
fn again(error: &StoreError) -> StoreError {
    match error {
        StoreError::Busy { path } => StoreError::Busy { path: path.clone() },
        StoreError::Full { path } => StoreError::Full { path: path.clone() },
        StoreError::ReadOnly { path } => StoreError::ReadOnly { path: path.clone() },
        StoreError::NotFound { path } => StoreError::NotFound { path: path.clone() },
        StoreError::Corrupt { path, what } => StoreError::Corrupt { path: path.clone(), what: what.clone() },
        StoreError::Io { path, source } => {
            let source = std::io::Error::new(source.kind(), source.to_string());
            StoreError::Io { path: path.clone(), source }
        }
        StoreError::Sqlite { path, source } => {
            let cause = source.sqlite_error().copied().unwrap_or(ffi::Error::new(ffi::SQLITE_ERROR));
            let source = rusqlite::Error::SqliteFailure(cause, Some(source.to_string()));
            StoreError::Sqlite { path: path.clone(), source }
        }
        _ => StoreError::Abandoned,
    }
}
