//! The questions of one engine: a bounded queue that the worker threads share. Sessions do not delay each other.

use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use midrail_guardrails::DeepSettings;
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::cache::{Cache, Key};
use super::concurrency::Concurrency;
use super::ledger::{Ended, Item, Ledger};
use super::plan::Plan;
use super::question::{Answer, DeepError};
use super::ticket::AnswerSlot;
use super::wire::{Lookup, Stop};
use crate::clock::Clock;

/// The most questions in the queue and being sent.
pub(super) const MAX_QUESTIONS: usize = 256;

/// The most questions of one session.
pub(super) const MAX_OF_RUN: usize = 32;

/// The most guardrails that are remembered.
const MAX_GUARDRAILS: usize = 1_024;

/// How long a worker waits for another question before it ends.
const IDLE: Duration = Duration::from_secs(5);

/// The state that the queue and its workers share.
pub(super) struct QueueShared {
    pub(super) state: Mutex<State>,
    /// There is a question, or the queue is closed.
    pub(super) work: Condvar,
    /// A question or a worker has ended.
    pub(super) changed: Condvar,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) lookup: Lookup,
    pub(super) ledger: Ledger,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) waiting: VecDeque<Job>,
    pub(super) running: BTreeMap<u64, Running>,
    concurrency: BTreeMap<String, Concurrency>,
    pub(super) cache: Cache,
    pub(super) handles: Vec<JoinHandle<()>>,
    pub(super) workers: usize,
    pub(super) idle: usize,
    pub(super) count: u64,
    pub(super) is_closed: bool,
}

/// A question in the queue.
pub(super) struct Job {
    pub(super) id: u64,
    pub(super) guardrail: String,
    pub(super) settings: Arc<DeepSettings>,
    pub(super) run: String,
    pub(super) plan: Plan,
    pub(super) deadline: Instant,
    pub(super) policy: Arc<str>,
    pub(super) estimate: f64,
    pub(super) key: Option<Key>,
    pub(super) slot: Arc<AnswerSlot>,
}

impl Job {
    pub(super) fn item(&self) -> Item<'_> {
        Item {
            guardrail: &self.guardrail,
            settings: &self.settings,
            run: &self.run,
            policy: &self.policy,
            estimate: self.estimate,
            key: self.key,
        }
    }
}

/// A question that is being sent.
pub(super) struct Running {
    run: String,
    stop: Arc<Stop>,
    slot: Arc<AnswerSlot>,
}

impl QueueShared {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    pub(super) fn cancel(&self, is_meant: impl Fn(&str) -> bool) {
        let mut slots = Vec::new();
        let mut stops = Vec::new();
        let mut unasked = Vec::new();
        {
            let mut state = self.lock();
            let (back, kept): (VecDeque<Job>, VecDeque<Job>) =
                mem::take(&mut state.waiting).into_iter().partition(|job| is_meant(&job.run));
            state.waiting = kept;
            for job in back {
                slots.push(job.slot.clone());
                unasked.push(job);
            }
            for running in state.running.values().filter(|running| is_meant(&running.run)) {
                slots.push(running.slot.clone());
                stops.push(running.stop.clone());
            }
        }
        unasked.iter().for_each(|job| self.release(job));
        // Outside of the lock: dropping a handler may send questions or drop the engine.
        slots.iter().for_each(|slot| slot.cancel());
        stops.iter().for_each(|stop| stop.raise());
    }

    /// The next question for a worker, with its cancellation. `None`: the worker ends.
    pub(super) fn next(&self, before: &Stop) -> Option<(Job, Arc<Stop>)> {
        let mut state = self.lock();
        loop {
            let job = if state.is_closed { None } else { state.pick() };
            if let Some(job) = job {
                let stop = Arc::new(before.next());
                let running = Running { run: job.run.clone(), stop: stop.clone(), slot: job.slot.clone() };
                state.running.insert(job.id, running);
                if let Some(concurrency) = state.concurrency.get_mut(&job.guardrail) {
                    concurrency.running += 1;
                }
                return Some((job, stop));
            }
            let mut is_over = state.is_closed;
            if !is_over {
                state.idle += 1;
                is_over = self.work.wait_for(&mut state, IDLE).timed_out();
                state.idle -= 1;
                is_over &= state.waiting.is_empty();
            }
            if is_over {
                state.workers -= 1;
                self.changed.notify_all();
                return None;
            }
        }
    }

    /// Releases the budget of a question that was never sent.
    pub(super) fn release(&self, job: &Job) {
        self.ledger.settle(&job.item(), 0.0, &Ended::Unknown, self.clock.now());
    }

    /// Records how a question ended, and hands its answer over.
    pub(super) fn end(&self, job: Job, stop: &Stop, ended: Result<Answer, Failure>, cost: f64) {
        let now = self.clock.now();
        let is_stopped = stop.is_raised();
        let failed;
        let (how, cost) = match &ended {
            // The service may charge for it all the same.
            _ if is_stopped => (Ended::Unknown, cost.max(job.estimate)),
            Ok(answer) => (Ended::Well(answer), cost),
            Err(Failure::NotAsked(_)) => (Ended::Unknown, cost),
            Err(Failure::Failed(error)) => {
                failed = error.to_string();
                (Ended::Badly(&failed), cost)
            }
        };
        // Before the answer is handed over, because the process may end with it.
        self.ledger.settle(&job.item(), cost, &how, now);
        {
            let mut state = self.lock();
            if let (Some(key), Ended::Well(answer)) = (job.key, &how) {
                state.cache.put(key, answer, job.settings.cache, now);
            }
            if let Some(concurrency) = state.concurrency.get_mut(&job.guardrail) {
                concurrency.running = concurrency.running.saturating_sub(1);
            }
        }
        let outcome = ended.map_err(|failure| match failure {
            Failure::NotAsked(error) | Failure::Failed(error) => error,
        });
        // There may be room now for another question of this guardrail.
        self.work.notify_one();
        job.slot.finish(outcome);
        // The question counts as running until its handler has returned.
        self.lock().running.remove(&job.id);
        self.changed.notify_all();
    }
}

/// Why there is no answer.
pub(super) enum Failure {
    /// It was never sent.
    NotAsked(DeepError),
    /// It was sent and failed.
    Failed(DeepError),
}

impl State {
    /// A cached answer. An error: the question is not sent.
    pub(super) fn ready(
        &mut self,
        key: Option<&Key>,
        run: &str,
        now: jiff::Timestamp,
    ) -> Result<Option<Answer>, DeepError> {
        if self.is_closed {
            return Err(DeepError::new("the engine is ending"));
        }
        if let Some(answer) = key.and_then(|key| self.cache.get(key, now)) {
            return Ok(Some(answer));
        }
        let of_run = self.waiting.iter().filter(|job| job.run == run).count()
            + self.running.values().filter(|running| running.run == run).count();
        if of_run >= MAX_OF_RUN {
            return Err(DeepError::new(format!(
                "this session has {MAX_OF_RUN} unanswered questions; it has to wait for answers"
            )));
        }
        if self.waiting.len() + self.running.len() >= MAX_QUESTIONS {
            return Err(DeepError::new(format!(
                "{MAX_QUESTIONS} questions are unanswered; try again when some are answered"
            )));
        }
        Ok(None)
    }

    pub(super) fn track(&mut self, guardrail: &str, settings: &Arc<DeepSettings>) {
        if !self.concurrency.contains_key(guardrail) && self.concurrency.len() >= MAX_GUARDRAILS {
            let waiting = &self.waiting;
            self.concurrency.retain(|name, concurrency| {
                !concurrency.is_forgettable() || waiting.iter().any(|job| job.guardrail == *name)
            });
        }
        let concurrency = self
            .concurrency
            .entry(guardrail.to_owned())
            .or_insert_with(|| Concurrency::new(settings.clone()));
        concurrency.set(settings);
    }

    /// The next question: of the session with the fewest running, the one that waits longest.
    fn pick(&mut self) -> Option<Job> {
        let busy = |run: &str| self.running.values().filter(|running| running.run == run).count();
        let has_room = |job: &Job| self.concurrency.get(&job.guardrail).is_none_or(Concurrency::has_room);
        let free = self.waiting.iter().enumerate().filter(|(_, job)| has_room(job));
        let index = free.min_by_key(|(index, job)| (busy(&job.run), *index)).map(|(index, _)| index)?;
        self.waiting.remove(index)
    }
}
