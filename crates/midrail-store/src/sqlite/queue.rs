//! The queue of commits that several threads make at the same time, so that they wait for the disk once.
//!
//! One thread at a time leads: it writes its own job, and those that arrived while the connection was in use. Threads that
//! arrive meanwhile wait in the queue, and one of them leads next. A single thread always leads, and writes as if there
//! was no queue.

use std::collections::VecDeque;
use std::sync::Arc;

use midrail_core::AuditRef;
use parking_lot::{Condvar, Mutex};

use crate::error::{Result, StoreError};
use crate::sql::job::Job;

/// The maximum number of jobs that one transaction takes from the queue, so that the wait of the first is bounded.
pub(super) const MAX_JOBS: usize = 128;

/// The size of jobs after which a transaction takes no more.
pub(super) const MAX_BYTES: usize = 4 << 20;

/// Commits that wait to be written.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// INVARIANT: jobs wait only while a thread leads, and the leader wakes the next before it returns.
    is_led: bool,
    waiting: VecDeque<(Box<Job>, Arc<Waiter>)>,
}

/// A waiting thread.
#[derive(Default)]
struct Waiter {
    message: Mutex<Option<Message>>,
    changed: Condvar,
}

/// The message to a waiting thread.
enum Message {
    /// Another thread has written its job.
    Done(Result<AuditRef>),
    /// It leads now, and writes the job itself.
    Lead(Box<Job>),
}

/// The role of a thread that enters the queue.
pub(super) enum Turn<'q> {
    Lead(Lead<'q>, Box<Job>),
    Done(Result<AuditRef>),
}

impl Queue {
    /// Leads if no thread does; otherwise waits until the job is written or it is this thread's turn to lead.
    pub(super) fn enter(&self, job: Job) -> Turn<'_> {
        let job = Box::new(job);
        let waiter = Arc::new(Waiter::default());
        {
            let mut state = self.state.lock();
            if !state.is_led {
                state.is_led = true;
                return Turn::Lead(Lead(self), job);
            }
            state.waiting.push_back((job, waiter.clone()));
        }
        match waiter.wait() {
            Message::Done(outcome) => Turn::Done(outcome),
            Message::Lead(job) => Turn::Lead(Lead(self), job),
        }
    }

    /// Takes waiting jobs, within the limits.
    pub(super) fn take(&self) -> Vec<Follower> {
        let mut state = self.state.lock();
        let (mut bytes, mut taken) = (0, Vec::new());
        while taken.len() < MAX_JOBS && bytes < MAX_BYTES {
            let Some((job, waiter)) = state.waiting.pop_front() else { break };
            bytes += job.bytes();
            taken.push(Follower { job: Some(job), waiter: Some(waiter), outcome: None });
        }
        taken
    }

    /// The number of waiting jobs.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.state.lock().waiting.len()
    }
}

impl Waiter {
    fn wait(&self) -> Message {
        let mut message = self.message.lock();
        loop {
            match message.take() {
                Some(message) => return message,
                None => self.changed.wait(&mut message),
            }
        }
    }

    fn send(&self, message: Message) {
        *self.message.lock() = Some(message);
        self.changed.notify_one();
    }
}

/// Held by the leading thread. When it is dropped, also by a panic, the next in the queue leads.
pub(super) struct Lead<'q>(&'q Queue);

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        match state.waiting.pop_front() {
            Some((job, waiter)) => {
                drop(state);
                waiter.send(Message::Lead(job));
            }
            None => state.is_led = false,
        }
    }
}

/// A thread whose job another thread writes.
pub(super) struct Follower {
    pub(super) job: Option<Box<Job>>,
    waiter: Option<Arc<Waiter>>,
    /// The outcome of its job, if the transaction succeeds.
    pub(super) outcome: Option<Result<AuditRef>>,
}

impl Follower {
    pub(super) fn answer(mut self, outcome: Result<AuditRef>) {
        if let Some(waiter) = self.waiter.take() {
            waiter.send(Message::Done(outcome));
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        // The leading thread has panicked, and the transaction is rolled back.
        if let Some(waiter) = self.waiter.take() {
            waiter.send(Message::Done(Err(StoreError::Abandoned)));
        }
    }
}
