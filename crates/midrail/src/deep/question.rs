//! Questions to external services, and their answers.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use serde_json::Value;

use crate::error::Available;

/// A question of a deep guardrail.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    /// The session. Answers are not shared between sessions.
    pub(crate) run: String,
    /// The revision of the policy.
    pub(crate) policy: Arc<str>,
    /// The event as JSON, with its secrets replaced.
    pub(crate) event: Value,
    /// The text of the event, with its secrets replaced.
    pub(crate) text: String,
    /// The session's folder.
    pub(crate) root: Option<PathBuf>,
}

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    /// The answer, in the format of its kind.
    pub(crate) value: Value,
    /// Whether it is the stored answer to the same question.
    pub(crate) cached: bool,
    /// What it cost, if that is known. A stored answer costs nothing.
    pub(crate) cost: Option<f64>,
    /// Whether a part of the text was too long and was left out.
    pub(crate) cut: bool,
}

pub(crate) type AnswerResult = Available<Answer>;
type Then = Box<dyn FnOnce(AnswerResult) + Send>;

/// The error of a cancelled question.
pub(super) const CANCELLED: &str = "the question was cancelled";

/// A question that was sent.
#[must_use]
pub(crate) struct Ticket(Arc<AnswerSlot>);

impl Ticket {
    pub(super) fn new(slot: Arc<AnswerSlot>) -> Self {
        Ticket(slot)
    }

    /// A question whose answer is known already.
    pub(super) fn answered(answer: Answer) -> Self {
        Ticket(Arc::new(AnswerSlot { state: Mutex::new(State::Done(Ok(answer))), changed: Condvar::new() }))
    }

    /// Waits for the answer, but no longer than this. An error is the question, whose answer did not come in time.
    pub(crate) fn wait(self, within: Duration) -> Result<AnswerResult, Ticket> {
        let until = Instant::now().checked_add(within);
        let mut state = self.0.state.lock();
        loop {
            match mem::replace(&mut *state, State::Open) {
                State::Done(answer) => {
                    *state = State::Gone;
                    return Ok(answer);
                }
                State::Cancelled => {
                    *state = State::Cancelled;
                    return Ok(Err(CANCELLED.into()));
                }
                other => *state = other,
            }
            let left = match until {
                Some(until) => until.saturating_duration_since(Instant::now()),
                None => Duration::from_secs(60),
            };
            if left.is_zero() {
                drop(state);
                return Err(self);
            }
            self.0.changed.wait_for(&mut state, left);
        }
    }

    /// Sets the handler of the answer. It runs once: on the thread that receives the answer, or here if the answer has
    /// arrived; never if the question was cancelled.
    pub(crate) fn then(self, done: impl FnOnce(AnswerResult) + Send + 'static) {
        let mut state = self.0.state.lock();
        match mem::replace(&mut *state, State::Gone) {
            State::Done(answer) => {
                drop(state);
                done(answer);
            }
            State::Open | State::Then(_) => *state = State::Then(Box::new(done)),
            State::Cancelled => *state = State::Cancelled,
            State::Gone => {}
        }
    }
}

/// The state that the sender and the worker share.
#[derive(Default)]
pub(super) struct AnswerSlot {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
enum State {
    #[default]
    Open,
    Then(Then),
    Done(AnswerResult),
    Cancelled,
    Gone,
}

impl AnswerSlot {
    /// Hands over the answer.
    pub(super) fn finish(&self, answer: AnswerResult) {
        let mut state = self.state.lock();
        match mem::replace(&mut *state, State::Gone) {
            State::Open => {
                *state = State::Done(answer);
                self.changed.notify_all();
            }
            State::Then(then) => {
                drop(state);
                // A panic of the handler must not end the worker.
                if catch_unwind(AssertUnwindSafe(|| then(answer))).is_err() {
                    log::error!("the handler of a late answer panicked");
                }
            }
            other => *state = other,
        }
    }

    /// Cancels the question, unless its answer has arrived.
    pub(super) fn cancel(&self) {
        let mut state = self.state.lock();
        let before = match mem::replace(&mut *state, State::Cancelled) {
            State::Done(answer) => mem::replace(&mut *state, State::Done(answer)),
            State::Gone => mem::replace(&mut *state, State::Gone),
            other => other,
        };
        self.changed.notify_all();
        drop(state);
        // The handler is dropped outside of the lock.
        drop(before);
    }
}
