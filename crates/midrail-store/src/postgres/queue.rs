//! Commits of one project that come at the same time are written together: one thread leads and writes for all that
//! wait, the others follow. Alone, a thread writes at once.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use midrail_core::AuditRef;

use crate::error::{Result, StoreError};
use crate::postgres::jobs::Job;

/// What is sent at once, in bytes.
const MOST_BYTES: usize = 8 << 20;

/// How long those who were just answered are waited for. It is a fraction of what a disk takes.
const GATHER: Duration = Duration::from_micros(200);

#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// Something was answered, or nobody leads any more.
    news: Condvar,
    /// As many wait as are waited for.
    gathered: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Arc<Waiting>>,
    is_led: bool,
    /// How many had come when the last batch was written: those in it, and those who waited behind it.
    lately: usize,
}

/// A commit that waits, and its answer.
pub(super) struct Waiting {
    pub(super) job: Job,
    pub(super) since: Instant,
    answer: Mutex<Option<Result<AuditRef>>>,
}

impl Waiting {
    pub(super) fn answer(&self, outcome: Result<AuditRef>) {
        self.slot().get_or_insert(outcome);
    }

    fn slot(&self) -> MutexGuard<'_, Option<Result<AuditRef>>> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    /// Has a job written, by this thread or by one that leads. `lead` answers all that it is given.
    pub(super) fn commit(&self, job: Job, most: usize, lead: impl Fn(&[Arc<Waiting>])) -> Result<AuditRef> {
        let mine = Arc::new(Waiting { job, since: Instant::now(), answer: Mutex::new(None) });
        let mut state = self.state();
        state.waiting.push_back(mine.clone());
        if state.waiting.len() >= state.lately.min(most) {
            self.gathered.notify_one();
        }
        loop {
            if let Some(answer) = mine.slot().take() {
                return answer;
            }
            if state.is_led {
                // The time-out is for nothing but a wake-up that was missed.
                let wait = self.news.wait_timeout(state, Duration::from_secs(1));
                state = wait.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            state.is_led = true;
            // Otherwise two halves would take turns for ever, each waiting for the other's disk.
            let is_few = |state: &mut State| state.waiting.len() < state.lately.min(most);
            state = self
                .gathered
                .wait_timeout_while(state, GATHER, is_few)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
            let batch = state.next_batch(most);
            drop(state);
            let leading = Leading { queue: self, batch };
            lead(&leading.batch);
            drop(leading);
            state = self.state();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn next_batch(&mut self, most: usize) -> Vec<Arc<Waiting>> {
        let mut batch: Vec<Arc<Waiting>> = Vec::new();
        let mut bytes = 0;
        while let Some(next) = self.waiting.front() {
            let is_alone = next.job.is_alone();
            bytes += next.job.size();
            if !batch.is_empty() && (batch.len() >= most || is_alone || bytes > MOST_BYTES) {
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

/// Lets the next one lead, also after a panic; whoever was not answered by then is told that it failed.
struct Leading<'a> {
    queue: &'a Queue,
    batch: Vec<Arc<Waiting>>,
}

impl Drop for Leading<'_> {
    fn drop(&mut self) {
        for waiting in &self.batch {
            waiting.answer(Err(StoreError::Uncertain { server: "PostgreSQL".to_owned() }));
        }
        let mut state = self.queue.state();
        state.lately = self.batch.len() + state.waiting.len();
        state.is_led = false;
        drop(state);
        self.queue.news.notify_all();
    }
}
