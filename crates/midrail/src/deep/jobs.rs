//! The questions of one engine: a bounded queue that the worker threads share. Sessions do not delay each other.

use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::cache::{Cache, Key};
use super::ledger::{Item, Ledger};
use super::plan::Plan;
use super::question::Answer;
use super::ticket::AnswerSlot;
use super::wire::{Lookup, Stop};
use crate::clock::Clock;
use crate::error::Unavailable;

/// The most questions in the queue and being sent.
pub(super) const MAX_QUESTIONS: usize = 256;

/// The most questions of one session.
pub(super) const MAX_OF_RUN: usize = 32;

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
    /// How many questions each guardrail is sending.
    sending: BTreeMap<String, usize>,
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
    pub(super) item: Item,
    pub(super) plan: Plan,
    pub(super) deadline: Instant,
    pub(super) slot: Arc<AnswerSlot>,
}

/// A question that is being sent.
pub(super) struct Running {
    run: String,
    stop: Arc<Stop>,
    slot: Arc<AnswerSlot>,
}

impl QueueShared {
    pub(super) fn cancel(&self, is_meant: impl Fn(&str) -> bool) {
        let (unsent, running) = {
            let mut state = self.state.lock();
            let (unsent, kept): (VecDeque<Job>, VecDeque<Job>) =
                mem::take(&mut state.waiting).into_iter().partition(|job| is_meant(&job.item.run));
            state.waiting = kept;
            let running = state.running.values().filter(|running| is_meant(&running.run));
            (unsent, running.map(|running| (running.slot.clone(), running.stop.clone())).collect::<Vec<_>>())
        };
        unsent.iter().for_each(|job| self.release(job));
        // Outside of the lock: dropping a handler may send questions or drop the engine.
        unsent.iter().for_each(|job| job.slot.cancel());
        running.iter().for_each(|(slot, _)| slot.cancel());
        running.iter().for_each(|(_, stop)| stop.raise());
    }

    /// The next question for a worker, with its cancellation. `None`: the worker ends.
    pub(super) fn next(&self, before: &Stop) -> Option<(Job, Arc<Stop>)> {
        let mut state = self.state.lock();
        loop {
            let job = if state.is_closed { None } else { state.pick() };
            if let Some(job) = job {
                let stop = Arc::new(before.next());
                let running =
                    Running { run: job.item.run.clone(), stop: stop.clone(), slot: job.slot.clone() };
                state.running.insert(job.id, running);
                *state.sending.entry(job.item.guardrail.clone()).or_default() += 1;
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
        self.ledger.settle(&job.item, 0.0, None, self.clock.now());
    }

    /// Records how a question ended, and hands its answer over.
    pub(super) fn end(&self, job: Job, stop: &Stop, ended: Result<Answer, Failure>, cost: f64) {
        let now = self.clock.now();
        let (result, cost) = match &ended {
            // The service may charge for it all the same.
            _ if stop.is_raised() => (None, cost.max(job.item.estimate)),
            Err(Failure { was_asked: false, .. }) => (None, cost),
            ended => (Some(ended.as_ref().map_err(|failure| &failure.error)), cost),
        };
        // Before the answer is handed over, because the process may end with it.
        self.ledger.settle(&job.item, cost, result, now);
        {
            let mut state = self.state.lock();
            if let (Some(key), Some(Ok(answer))) = (job.item.key, result) {
                state.cache.put(key, answer, job.item.settings.cache, now);
            }
            if let Some(sending) = state.sending.get_mut(&job.item.guardrail) {
                *sending = sending.saturating_sub(1);
            }
            state.sending.retain(|_, sending| *sending > 0);
        }
        // There may be room now for another question of this guardrail.
        self.work.notify_one();
        job.slot.finish(ended.map_err(|failure| failure.error));
        // The question counts as running until its handler has returned.
        self.state.lock().running.remove(&job.id);
        self.changed.notify_all();
    }
}

/// Why there is no answer.
pub(super) struct Failure {
    pub(super) error: Unavailable,
    /// Whether the question was sent.
    pub(super) was_asked: bool,
}

impl State {
    /// A cached answer. An error: the question is not sent.
    pub(super) fn ready(
        &mut self,
        key: Option<&Key>,
        run: &str,
        now: jiff::Timestamp,
    ) -> Result<Option<Answer>, Unavailable> {
        if self.is_closed {
            return Err("the engine is ending".into());
        }
        if let Some(answer) = key.and_then(|key| self.cache.get(key, now)) {
            return Ok(Some(answer));
        }
        let of_run = self.waiting.iter().filter(|job| job.item.run == run).count()
            + self.running.values().filter(|running| running.run == run).count();
        if of_run >= MAX_OF_RUN {
            let why =
                format!("this session has {MAX_OF_RUN} unanswered questions; it has to wait for answers");
            return Err(why.into());
        }
        if self.waiting.len() + self.running.len() >= MAX_QUESTIONS {
            let why = format!("{MAX_QUESTIONS} questions are unanswered; try again when some are answered");
            return Err(why.into());
        }
        Ok(None)
    }

    /// The next question: of the session with the fewest running, the one that waits longest.
    fn pick(&mut self) -> Option<Job> {
        let busy = |run: &str| self.running.values().filter(|running| running.run == run).count();
        let has_room = |Job { item, .. }: &Job| {
            self.sending.get(&item.guardrail).is_none_or(|sending| *sending < item.settings.max_concurrent)
        };
        let free = self.waiting.iter().enumerate().filter(|(_, job)| has_room(job));
        let index = free.min_by_key(|(index, job)| (busy(&job.item.run), *index)).map(|(index, _)| index)?;
        self.waiting.remove(index)
    }
}
