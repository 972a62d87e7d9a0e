//! The queue of questions of one engine, and its worker threads, which start on demand.

use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, mem, thread};

use midrail_guardrails::DeepSettings;
use midrail_store::Store;
use parking_lot::{Condvar, Mutex};

use super::jobs::{Job, QueueShared, State, work};
use super::ledger::{Item, Ledger};
use super::plan::{self, Plan};
use super::question::{AnswerSlot, Question, Ticket};
use super::wire::Lookup;
use crate::clock::Clock;
use crate::error::{Available, Unavailable};

/// The most worker threads.
const MAX_WORKERS: usize = 8;

/// How long dropping the queue waits for threads that cannot be cancelled at once, for example in a name lookup.
const GRACE: Duration = Duration::from_secs(2);

/// Sends the questions of an engine. Dropping it cancels all questions.
pub(crate) struct DeepQueue(Arc<QueueShared>);

impl DeepQueue {
    /// The queue of an engine. `is_last`: this process sends no further question, so answers are stored for the next one.
    pub(crate) fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, key: &[u8], is_last: bool) -> Self {
        DeepQueue::with(Ledger { store, key: key.to_vec(), is_last }, clock, |name| env::var(name).ok())
    }

    pub(super) fn with(ledger: Ledger, clock: Arc<dyn Clock>, lookup: Lookup) -> Self {
        DeepQueue(Arc::new(QueueShared {
            state: Mutex::default(),
            work: Condvar::new(),
            changed: Condvar::new(),
            clock,
            lookup,
            ledger,
        }))
    }

    /// Sends a question, unless its answer is cached. An error: the question is not sent.
    pub(crate) fn ask(
        &self,
        guardrail: &str,
        settings: &Arc<DeepSettings>,
        question: Question,
    ) -> Available<Ticket> {
        let deadline = Instant::now() + Duration::from_millis(settings.timeout.0);
        let key = plan::key(settings, &question);
        let plan = Plan::new(settings, &question)?;
        let estimate = plan.estimate(settings);
        let Question { run, policy, .. } = question;
        let now = self.0.clock.now();

        if let Some(answer) = self.0.state.lock().ready(key.as_ref(), &run, now)? {
            return Ok(Ticket::answered(answer));
        }
        let slot = Arc::new(AnswerSlot::default());
        let (guardrail, settings) = (guardrail.to_owned(), settings.clone());
        let item = Item { guardrail, settings, run, policy, estimate, key };
        let mut job = Job { id: 0, item, plan, deadline, slot: slot.clone() };
        // The store is read outside of the lock.
        if let Some(answer) = self.0.ledger.admit(&job.item, now)? {
            return Ok(Ticket::answered(answer));
        }
        let mut state = self.0.state.lock();
        // The queue may have changed meanwhile.
        let refused = state.ready(None, &job.item.run, now).err();
        let refused = refused.or_else(|| {
            state.count += 1;
            job.id = state.count;
            let is_enough = state.idle > state.waiting.len() || state.workers >= MAX_WORKERS;
            let can_be_asked = is_enough || start_worker(&self.0, &mut state);
            (!can_be_asked).then(|| {
                Unavailable::new("no worker thread could be started; check the thread limit of this machine")
            })
        });
        if let Some(why) = refused {
            drop(state);
            self.0.release(&job);
            return Err(why);
        }
        state.waiting.push_back(job);
        drop(state);
        self.0.work.notify_one();
        Ok(Ticket::new(slot))
    }

    /// Cancels all questions of a session.
    pub(crate) fn cancel_run(&self, run: &str) {
        self.0.cancel(|other| other == run);
    }

    /// Waits until no question is waiting or running and all handlers of late answers have returned. `false`: the deadline
    /// passed first.
    pub(crate) fn wait_until_idle(&self, deadline: Instant) -> bool {
        let mut state = self.0.state.lock();
        while !state.waiting.is_empty() || !state.running.is_empty() {
            if self.0.changed.wait_until(&mut state, deadline).timed_out() {
                return state.waiting.is_empty() && state.running.is_empty();
            }
        }
        true
    }
}

#[cfg(test)]
impl DeepQueue {
    /// Uses up the time of all waiting questions.
    pub(super) fn expire_waiting(&self) {
        let mut state = self.0.state.lock();
        state.waiting.iter_mut().for_each(|job| job.deadline = Instant::now());
    }
}

impl Drop for DeepQueue {
    fn drop(&mut self) {
        self.0.state.lock().is_closed = true;
        self.0.cancel(|_| true);
        self.0.work.notify_all();
        let mut state = self.0.state.lock();
        let handles = mem::take(&mut state.handles);
        // A handler may drop the engine: a worker does not wait for itself.
        let own = thread::current().id();
        let least = usize::from(handles.iter().any(|handle| handle.thread().id() == own));
        let until = Instant::now() + GRACE;
        while state.workers > least {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            self.0.changed.wait_for(&mut state, left);
        }
        let all_left = state.workers <= least;
        drop(state);
        for handle in handles.into_iter().filter(|handle| handle.thread().id() != own) {
            if all_left || handle.is_finished() {
                // A panic was already reported.
                let _ = handle.join();
            }
        }
    }
}

/// Starts one more worker. `false`: there is none at all.
fn start_worker(shared: &Arc<QueueShared>, state: &mut State) -> bool {
    state.handles.retain(|handle| !handle.is_finished());
    let own = shared.clone();
    match thread::Builder::new().name("midrail-deep".to_owned()).spawn(move || work(&own)) {
        Ok(handle) => {
            state.handles.push(handle);
            state.workers += 1;
        }
        Err(error) => log::error!("a worker thread could not be started: {error}"),
    }
    state.workers > 0
}
