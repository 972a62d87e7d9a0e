//! Commits that are made at the same time are written together: one thread leads and writes for all that wait. A single
//! thread writes at once.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use midrail_core::AuditRef;
use parking_lot::{Condvar, Mutex};

use crate::error::{Result, StoreError};
use crate::sql::job::Job;

/// The size of jobs after which a batch takes no more.
pub(crate) const MAX_BYTES: usize = 8 << 20;

/// How long the leader waits for threads that were just answered: a fraction of what a disk takes.
const GATHER: Duration = Duration::from_micros(200);

/// Commits that wait to be written.
pub(crate) struct Queue {
    state: Mutex<State>,
    /// A job was answered, or no thread leads any more.
    changed: Condvar,
    /// As many jobs wait as are expected.
    gathered: Condvar,
    /// The answer to a job whose writing thread failed.
    abandoned: StoreError,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Arc<Waiting>>,
    is_led: bool,
    /// The number of jobs when the last batch was written: those in it, and those that waited behind it.
    expected: usize,
}

/// A waiting commit, and its answer.
pub(crate) struct Waiting {
    pub(crate) job: Job,
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "SQLite has its own timeout"))]
    pub(crate) since: Instant,
    answer: Mutex<Option<Result<AuditRef>>>,
}

impl Waiting {
    /// Answers the job, unless it is answered.
    pub(crate) fn answer(&self, outcome: Result<AuditRef>) {
        self.answer.lock().get_or_insert(outcome);
    }
}

impl Queue {
    pub(crate) fn new(abandoned: StoreError) -> Self {
        let (changed, gathered) = (Condvar::new(), Condvar::new());
        Queue { state: Mutex::default(), changed, gathered, abandoned }
    }

    /// Writes a job, in this thread or in one that leads. A leader waits a moment for as many jobs as were written
    /// before, at most for `gather`; then `lead` takes a batch and answers it.
    pub(crate) fn commit(&self, job: Job, gather: usize, lead: impl Fn()) -> Result<AuditRef> {
        let own = Arc::new(Waiting { job, since: Instant::now(), answer: Mutex::new(None) });
        let mut state = self.state.lock();
        state.waiting.push_back(own.clone());
        if state.waiting.len() >= state.expected.min(gather) {
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
            let leading = Leading(self);
            // Otherwise two halves would take turns, each waiting for the disk of the other.
            let is_incomplete = |state: &mut State| state.waiting.len() < state.expected.min(gather);
            self.gathered.wait_while_for(&mut state, is_incomplete, GATHER);
            drop(state);
            lead();
            drop(leading);
            state = self.state.lock();
        }
    }

    /// Takes at most `most` waiting jobs. A job that `is_alone` is the only one of its batch.
    pub(crate) fn take(&self, most: usize, is_alone: fn(&Job) -> bool) -> Batch<'_> {
        let mut state = self.state.lock();
        let mut jobs: Vec<Arc<Waiting>> = Vec::new();
        let mut bytes = 0;
        while let Some(next) = state.waiting.front() {
            let is_alone = is_alone(&next.job);
            bytes += next.job.bytes();
            if !jobs.is_empty() && (jobs.len() >= most || is_alone || bytes > MAX_BYTES) {
                break;
            }
            jobs.extend(state.waiting.pop_front());
            if is_alone {
                break;
            }
        }
        Batch { queue: self, jobs }
    }

    /// Leads without a job, so that all jobs wait, and returns what ends it.
    #[cfg(test)]
    pub(crate) fn hold(&self) -> impl Drop + '_ {
        let was_led = std::mem::replace(&mut self.state.lock().is_led, true);
        assert!(!was_led, "another thread leads");
        Leading(self)
    }

    /// The number of waiting jobs.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.state.lock().waiting.len()
    }
}

/// Jobs that a thread writes. When it is dropped, also by a panic, a job without an answer has failed.
pub(crate) struct Batch<'q> {
    queue: &'q Queue,
    pub(crate) jobs: Vec<Arc<Waiting>>,
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.jobs.iter().for_each(|waiting| waiting.answer(Err(self.queue.abandoned.clone())));
        let mut state = self.queue.state.lock();
        state.expected = self.jobs.len() + state.waiting.len();
        drop(state);
        self.queue.changed.notify_all();
    }
}

/// Held by the leading thread. When it is dropped, also by a panic, the next thread leads.
struct Leading<'q>(&'q Queue);

impl Drop for Leading<'_> {
    fn drop(&mut self) {
        self.0.state.lock().is_led = false;
        self.0.changed.notify_all();
    }
}
