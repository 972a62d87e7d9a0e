//! The questions of one engine: a bounded queue, a few threads started on demand, and sessions kept apart.

use std::collections::{BTreeMap, VecDeque};
use std::env;
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use midrail_guardrails::DeepSettings;
use midrail_store::Store;

use super::books::{Books, Ended, Item};
use super::cache::{Cache, Key};
use super::desk::Desk;
use super::ticket::{Slip, Ticket};
use super::wire::{Lookup, Stop};
use super::worker::{self, Plan};
use super::{Answer, Question};
use crate::clock::Clock;

/// The most threads that ask.
const MAX_WORKERS: usize = 8;

/// The most questions that wait or are under way, in all.
pub(super) const MAX_QUESTIONS: usize = 256;

/// The most of one session.
pub(super) const MAX_OF_RUN: usize = 32;

/// The most guardrails that are remembered.
const MAX_DESKS: usize = 1_024;

/// How long a thread waits for another question before it ends.
const IDLE: Duration = Duration::from_secs(5);

/// How long the end of the engine waits for threads that cannot be stopped at once: a name that is looked up, a
/// connection that is made. They end by themselves soon after.
const GRACE: Duration = Duration::from_secs(2);

/// Asks for guardrails, one for each engine. Dropping it takes all questions back.
pub(crate) struct Asking(Arc<Office>);

/// What the threads share.
pub(super) struct Office {
    state: Mutex<State>,
    /// There is a question, or the end has come.
    work: Condvar,
    /// A thread has ended.
    left: Condvar,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) lookup: Lookup,
    pub(super) books: Books,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Job>,
    running: BTreeMap<u64, Running>,
    desks: BTreeMap<String, Desk>,
    cache: Cache,
    handles: Vec<JoinHandle<()>>,
    workers: usize,
    idle: usize,
    count: u64,
    is_closed: bool,
}

/// A question that waits.
pub(super) struct Job {
    id: u64,
    pub(super) guardrail: String,
    pub(super) settings: Arc<DeepSettings>,
    pub(super) run: String,
    pub(super) plan: Plan,
    pub(super) deadline: Instant,
    policy: Arc<str>,
    estimate: f64,
    key: Option<Key>,
    slip: Arc<Slip>,
}

impl Job {
    fn item(&self) -> Item<'_> {
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

/// A question that is asked at this moment.
struct Running {
    run: String,
    stop: Arc<Stop>,
    slip: Arc<Slip>,
}

impl Asking {
    /// Questions of an engine with this store and clock, whose secrets are tagged under this key. `is_last`: nobody in this
    /// process will ask again.
    pub(crate) fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, key: &[u8], is_last: bool) -> Self {
        Asking::with(Books { store, key: key.to_vec(), is_last }, clock, |name| env::var(name).ok())
    }

    pub(super) fn with(books: Books, clock: Arc<dyn Clock>, lookup: Lookup) -> Self {
        Asking(Arc::new(Office {
            state: Mutex::default(),
            work: Condvar::new(),
            left: Condvar::new(),
            clock,
            lookup,
            books,
        }))
    }

    /// Asks. The answer to the same question of the same session is there at once, as long as it holds. An error says
    /// why the question is not even asked.
    pub(crate) fn ask(
        &self,
        guardrail: &str,
        settings: &Arc<DeepSettings>,
        question: Question,
    ) -> Result<Ticket, String> {
        let deadline = Instant::now() + Duration::from_millis(settings.timeout.0);
        let key = worker::key(settings, &question);
        let (run, policy) = (question.run.clone(), question.policy.clone());
        let plan = Plan::of(settings, question)?;
        let estimate = plan.estimate(settings);
        let now = self.0.clock.now();

        if let Some(answer) = self.0.lock().ready(key.as_ref(), &run, now)? {
            return Ok(Ticket::answered(answer));
        }
        let slip = Arc::new(Slip::default());
        let (guardrail, settings) = (guardrail.to_owned(), settings.clone());
        let mut job = Job {
            id: 0,
            guardrail,
            settings,
            run,
            plan,
            deadline,
            policy,
            estimate,
            key,
            slip: slip.clone(),
        };
        // The store is asked outside of the lock: others need not wait for it.
        if let Some(answer) = self.0.books.admit(&job.item(), now)? {
            return Ok(Ticket::answered(answer));
        }
        let mut state = self.0.lock();
        // Much may have come between.
        let refused = state.ready(None, &job.run, now).err();
        let refused = refused.or_else(|| {
            state.desk(&job.guardrail, &job.settings);
            state.count += 1;
            job.id = state.count;
            let is_enough = state.idle > state.waiting.len() || state.workers >= MAX_WORKERS;
            let can_be_asked = is_enough || self.0.hire(&mut state);
            // Nobody would ever ask it.
            (!can_be_asked)
                .then(|| "no thread could be started to ask; see how many this machine allows".to_owned())
        });
        if let Some(why) = refused {
            drop(state);
            self.0.take_back(&job);
            return Err(why);
        }
        state.waiting.push_back(job);
        drop(state);
        self.0.work.notify_one();
        Ok(Ticket::of(slip))
    }

    /// Takes all questions of a session back. Those that wait are not asked, and answers to the others are thrown away.
    pub(crate) fn cancel_run(&self, run: &str) {
        self.0.cancel(|other| other == run);
    }

    /// Whether nothing is under way, and nothing is left to be done with an answer.
    pub(crate) fn idle(&self) -> bool {
        let state = self.0.lock();
        state.waiting.is_empty() && state.running.is_empty()
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.cancel(|_| true);
        self.0.work.notify_all();
        let mut state = self.0.lock();
        let handles = mem::take(&mut state.handles);
        // What is done with an answer may let go of the engine: a thread does not wait for itself.
        let own = thread::current().id();
        let least = usize::from(handles.iter().any(|handle| handle.thread().id() == own));
        let until = Instant::now() + GRACE;
        while state.workers > least {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.0.left.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let all_left = state.workers <= least;
        drop(state);
        for handle in handles.into_iter().filter(|handle| handle.thread().id() != own) {
            if all_left || handle.is_finished() {
                // A panic was told when it happened.
                let _ = handle.join();
            }
        }
    }
}

impl Office {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts one more thread. `false`: there is none at all.
    fn hire(self: &Arc<Self>, state: &mut State) -> bool {
        state.handles.retain(|handle| !handle.is_finished());
        let office = self.clone();
        match thread::Builder::new().name("midrail-asks".to_owned()).spawn(move || worker::work(&office)) {
            Ok(handle) => {
                state.handles.push(handle);
                state.workers += 1;
            }
            Err(error) => log::error!("a thread that asks could not be started: {error}"),
        }
        state.workers > 0
    }

    fn cancel(&self, is_meant: impl Fn(&str) -> bool) {
        let mut slips = Vec::new();
        let mut stops = Vec::new();
        let mut unasked = Vec::new();
        {
            let mut state = self.lock();
            let (back, kept): (VecDeque<Job>, VecDeque<Job>) =
                mem::take(&mut state.waiting).into_iter().partition(|job| is_meant(&job.run));
            state.waiting = kept;
            for job in back {
                slips.push(job.slip.clone());
                unasked.push(job);
            }
            for running in state.running.values().filter(|running| is_meant(&running.run)) {
                slips.push(running.slip.clone());
                stops.push(running.stop.clone());
            }
        }
        unasked.iter().for_each(|job| self.take_back(job));
        // Outside of the lock: what a listener held is let go of here, and may ask or drop the engine.
        slips.iter().for_each(|slip| slip.cancel());
        stops.iter().for_each(|stop| stop.raise());
    }

    /// The next question for a thread, with the way to stop it. `None`: the thread may go.
    pub(super) fn next(&self, before: &Stop) -> Option<(Job, Arc<Stop>)> {
        let mut state = self.lock();
        loop {
            let job = if state.is_closed { None } else { state.pick() };
            if let Some(job) = job {
                let stop = Arc::new(before.next());
                let running = Running { run: job.run.clone(), stop: stop.clone(), slip: job.slip.clone() };
                state.running.insert(job.id, running);
                if let Some(desk) = state.desks.get_mut(&job.guardrail) {
                    desk.running += 1;
                }
                return Some((job, stop));
            }
            let mut is_over = state.is_closed;
            if !is_over {
                state.idle += 1;
                let waited = self.work.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
                (state, is_over) = (waited.0, waited.1.timed_out());
                state.idle -= 1;
                is_over &= state.waiting.is_empty();
            }
            if is_over {
                state.workers -= 1;
                self.left.notify_all();
                return None;
            }
        }
    }

    /// Forgets a question that was never asked.
    fn take_back(&self, job: &Job) {
        self.books.settle(&job.item(), 0.0, &Ended::Unknown, self.clock.now());
    }

    /// Takes in the end of a question, and hands the answer over.
    pub(super) fn end(&self, job: Job, stop: &Stop, ended: Result<Answer, Failure>, cost: f64) {
        let now = self.clock.now();
        let is_stopped = stop.is_raised();
        let (how, cost) = match &ended {
            // Whoever was asked may charge for it all the same.
            _ if is_stopped => (Ended::Unknown, cost.max(job.estimate)),
            Ok(answer) => (Ended::Well(answer), cost),
            Err(Failure::NotAsked(_)) => (Ended::Unknown, cost),
            Err(Failure::Failed(why)) => (Ended::Badly(why), cost),
        };
        // Before the answer leaves: the process may end with it.
        self.books.settle(&job.item(), cost, &how, now);
        {
            let mut state = self.lock();
            if let (Some(key), Ended::Well(answer)) = (job.key, &how) {
                state.cache.put(key, answer, job.settings.cache, now);
            }
            if let Some(desk) = state.desks.get_mut(&job.guardrail) {
                desk.running = desk.running.saturating_sub(1);
            }
        }
        let outcome = ended.map_err(|failure| match failure {
            Failure::NotAsked(why) | Failure::Failed(why) => why,
        });
        // There may be room now for another question of this guardrail.
        self.work.notify_one();
        job.slip.finish(outcome);
        // Only now is nothing left to be done with the answer.
        self.lock().running.remove(&job.id);
    }
}

/// Why there is no answer.
pub(super) enum Failure {
    /// It never came to asking.
    NotAsked(String),
    /// It was asked, and failed.
    Failed(String),
}

impl State {
    /// An answer that holds. An error says why nobody is asked.
    fn ready(
        &mut self,
        key: Option<&Key>,
        run: &str,
        now: jiff::Timestamp,
    ) -> Result<Option<Answer>, String> {
        if self.is_closed {
            return Err("the engine is ending".to_owned());
        }
        if let Some(answer) = key.and_then(|key| self.cache.get(key, now)) {
            return Ok(Some(answer));
        }
        let of_run = self.waiting.iter().filter(|job| job.run == run).count()
            + self.running.values().filter(|running| running.run == run).count();
        if of_run >= MAX_OF_RUN {
            return Err(format!(
                "this session has {MAX_OF_RUN} questions under way; it has to wait for answers"
            ));
        }
        if self.waiting.len() + self.running.len() >= MAX_QUESTIONS {
            return Err(format!("{MAX_QUESTIONS} questions are under way; ask again when some are answered"));
        }
        Ok(None)
    }

    fn desk(&mut self, guardrail: &str, settings: &Arc<DeepSettings>) {
        if !self.desks.contains_key(guardrail) && self.desks.len() >= MAX_DESKS {
            let waiting = &self.waiting;
            self.desks.retain(|name, desk| {
                !desk.is_forgettable() || waiting.iter().any(|job| job.guardrail == *name)
            });
        }
        let desk = self.desks.entry(guardrail.to_owned()).or_insert_with(|| Desk::new(settings.clone()));
        desk.set(settings);
    }

    /// The question to ask next: of the session with the fewest under way, the one that waits longest.
    fn pick(&mut self) -> Option<Job> {
        let busy = |run: &str| self.running.values().filter(|running| running.run == run).count();
        let has_room = |job: &Job| self.desks.get(&job.guardrail).is_none_or(Desk::has_room);
        let free = self.waiting.iter().enumerate().filter(|(_, job)| has_room(job));
        let index = free.min_by_key(|(index, job)| (busy(&job.run), *index)).map(|(index, _)| index)?;
        self.waiting.remove(index)
    }
}
