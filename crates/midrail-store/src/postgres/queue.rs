//! Commits of one project that are made at the same time are written together: one thread leads and writes for all that
//! wait. A single thread writes at once.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use midrail_core::AuditRef;
use parking_lot::{Condvar, Mutex};

use crate::error::{Result, StoreError};
use crate::sql::job::Job;

/// The size of jobs after which a batch takes no more.
const MAX_BYTES: usize = 8 << 20;

/// How long the leader waits for threads that were just answered: a fraction of what a disk takes.
const GATHER: Duration = Duration::from_micros(200);

#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// A job was answered, or no thread leads any more.
    changed: Condvar,
    /// As many jobs wait as are expected.
    gathered: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Arc<Waiting>>,
    is_led: bool,
    /// The number of jobs when the last batch was written: those in it, and those that waited behind it.
    expected: usize,
}

/// A waiting commit, and its answer.
pub(super) struct Waiting {
    pub(super) job: Job,
    pub(super) since: Instant,
    answer: Mutex<Option<Result<AuditRef>>>,
}

impl Waiting {
    /// Answers the job, unless it is answered.
    pub(super) fn answer(&self, outcome: Result<AuditRef>) {
        self.answer.lock().get_or_insert(outcome);
    }
}

impl Queue {
    /// Writes a job, in this thread or in one that leads. `lead` answers all jobs that it receives.
    pub(super) fn commit(&self, job: Job, most: usize, lead: impl Fn(&[Arc<Waiting>])) -> Result<AuditRef> {
        let own = Arc::new(Waiting { job, since: Instant::now(), answer: Mutex::new(None) });
        let mut state = self.state.lock();
        state.waiting.push_back(own.clone());
        if state.waiting.len() >= state.expected.min(most) {
            self.gathered.notify_one();
        }
        loop {
            if let Some(answer) = own.answer.lock().take() {
                return answer;
            }
            if state.is_led {
                // The timeout is for a missed wake-up only.
                self.changed.wait_for(&mut state, Duration::from_secs(1));
                continue;
            }
            state.is_led = true;
            // Otherwise two halves would take turns, each waiting for the disk of the other.
            let is_incomplete = |state: &mut State| state.waiting.len() < state.expected.min(most);
            self.gathered.wait_while_for(&mut state, is_incomplete, GATHER);
            let batch = state.next_batch(most);
            drop(state);
            let leading = Leading { queue: self, batch };
            lead(&leading.batch);
            drop(leading);
            state = self.state.lock();
        }
    }
}

impl State {
    fn next_batch(&mut self, most: usize) -> Vec<Arc<Waiting>> {
        let mut batch: Vec<Arc<Waiting>> = Vec::new();
        let mut bytes = 0;
        while let Some(next) = self.waiting.front() {
            // Rare jobs have a transaction of their own, so that the others need not know their effects.
            let is_alone = next.job.replaces_all || !next.job.approvers.is_empty();
            bytes += next.job.bytes();
            if !batch.is_empty() && (batch.len() >= most || is_alone || bytes > MAX_BYTES) {
                break;
            }
            batch.extend(self.waiting.pop_front());
            if is_alone {
                break;
            }
        }
        batch
    }
}

/// Makes the next thread lead, also after a panic. A job without an answer has failed by then.
struct Leading<'a> {
    queue: &'a Queue,
    batch: Vec<Arc<Waiting>>,
}

impl Drop for Leading<'_> {
    fn drop(&mut self) {
        for waiting in &self.batch {
            waiting.answer(Err(StoreError::Uncertain { server: "PostgreSQL".to_owned() }));
        }
        let mut state = self.queue.state.lock();
        state.expected = self.batch.len() + state.waiting.len();
        state.is_led = false;
        drop(state);
        self.queue.changed.notify_all();
    }
}
