//! The questions of one engine: a bounded queue that the worker threads share. Sessions do not delay each other.
//! A worker sends questions and masks secrets in their answers.

use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use midrail_guardrails::{DeepBackend, WINDOW_COUNT_MEMBER, WINDOWS_MEMBER};
use midrail_scan::secrets;
use parking_lot::{Condvar, Mutex};
use serde_json::{Value, json};

use super::cache::{Cache, Key};
use super::judge::Extent;
use super::ledger::{Item, Ledger};
use super::plan::{Form, Plan};
use super::question::{Answer, AnswerSlot};
use super::wire::{Call, Lookup, RequestHeaders, Stop};
use super::{client, command, judge, moderation};
use crate::clock::Clock;
use crate::error::{Available, Unavailable};

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
    pub(super) running: BTreeMap<u64, RunningJob>,
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
pub(super) struct RunningJob {
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
                    RunningJob { run: job.item.run.clone(), stop: stop.clone(), slot: job.slot.clone() };
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
    ) -> Available<Option<Answer>> {
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

/// Sends questions until there are none left.
pub(super) fn work(shared: &QueueShared) {
    let mut before = Stop::default();
    while let Some((job, stop)) = shared.next(&before) {
        let mut cost = 0.0;
        let asked = catch_unwind(AssertUnwindSafe(|| answer(shared, &job, &stop, &mut cost)));
        let ended =
            asked.unwrap_or_else(|_| Err(Failure { error: "the worker panicked".into(), was_asked: true }));
        shared.end(job, &stop, ended, cost);
        before = stop.next();
    }
}

/// The share of its time that a question has to have left when its turn comes: a quarter.
const LEAST: u32 = 4;

fn answer(shared: &QueueShared, job: &Job, stop: &Stop, cost: &mut f64) -> Result<Answer, Failure> {
    let settings = &*job.item.settings;
    let limit = Duration::from_millis(settings.timeout.0);
    let left = job.deadline.saturating_duration_since(Instant::now());
    // With little time left it would fail, and count as a failure of the service.
    if left < limit / LEAST {
        let waited = limit.saturating_sub(left).as_millis();
        let why = format!("the question waited {waited}ms for its turn; raise `timeout` or `max_concurrent`");
        return Err(Failure { error: why.into(), was_asked: false });
    }
    let call =
        Call { settings, deadline: job.deadline, stop, lookup: shared.lookup, key: &shared.ledger.key };
    let mut values = Vec::new();
    let all = job.plan.forms.len();
    for (index, form) in job.plan.forms.iter().enumerate() {
        let extent = match all {
            1 if job.plan.is_cut => Extent::Cut,
            1 => Extent::Whole,
            _ => Extent::Window(index + 1, all),
        };
        let value = ask(&call, form, extent, cost).map_err(|error| Failure { error, was_asked: true })?;
        // The first objection settles it, unless a `check` has to see all answers.
        let is_settled = settings.uses_default_check && !settings.kind.passes(&value);
        values.push(value);
        if is_settled {
            break;
        }
    }
    let asked = values.len();
    let mut value = match <[Value; 1]>::try_from(values) {
        Ok([value]) if all == 1 => value,
        Ok([value]) => json!({ WINDOWS_MEMBER: [value], WINDOW_COUNT_MEMBER: all }),
        Err(values) if asked < all => json!({ WINDOWS_MEMBER: values, WINDOW_COUNT_MEMBER: all }),
        Err(values) => json!({ WINDOWS_MEMBER: values }),
    };
    // Answers are kept in records, and no secret is.
    let findings = secrets::scan_json(&value, &shared.ledger.key);
    secrets::mask(&mut value, &findings);
    let has_price = matches!(&settings.kind, DeepBackend::Judge(judge) if judge.cost.is_some());
    Ok(Answer { value, cached: false, cost: has_price.then_some(*cost), cut: job.plan.is_cut })
}

/// Asks about one window.
fn ask(call: &Call<'_>, form: &Form, extent: Extent, cost: &mut f64) -> Available<Value> {
    let kind = &call.settings.kind;
    let mut value = match (kind, form) {
        (DeepBackend::Http(http), Form::Http(body)) => {
            let headers = RequestHeaders::resolve(&http.headers, call.lookup)?;
            call.tries(http.retries, &headers, || client::send(call, &http.url, http.method, &headers, body))
        }
        (DeepBackend::Judge(question), Form::Judge(parts)) => judge::ask(call, question, parts, extent, cost),
        (DeepBackend::Moderation(question), Form::Moderation { text, answers }) => {
            moderation::ask(call, question, text, answers.as_deref())
        }
        (DeepBackend::Command(line), Form::Command { event, root }) => {
            command::ask(call, line, root.as_deref(), event)
        }
        _ => Err(Unavailable::new("the question is in the form of another kind")),
    }?;
    // Only Midrail joins the answers of several windows.
    if value.get(WINDOWS_MEMBER).is_some() {
        return Err(Unavailable::new(format!(
            "it answered with a member `{WINDOWS_MEMBER}`, which is Midrail's own"
        )));
    }
    // Where the form is ours, a check can go by whether all of the text was seen.
    if let (DeepBackend::Judge(_) | DeepBackend::Moderation(_), Some(members)) = (kind, value.as_object_mut())
    {
        members.insert("cut".to_owned(), json!(extent == Extent::Cut));
    }
    Ok(value)
}
