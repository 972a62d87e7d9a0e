//! One question under way, as whoever asked it sees it.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Answer;

type Outcome = Result<Answer, String>;
type Then = Box<dyn FnOnce(Outcome) + Send>;

/// What is told where a question was taken back.
pub(super) const CANCELLED: &str = "the question was taken back";

/// A question that was asked.
#[must_use]
pub(crate) struct Ticket(Arc<Slip>);

/// A question whose answer did not come in time.
#[must_use]
pub(crate) struct Pending(Arc<Slip>);

/// How the waiting ended.
pub(crate) enum Waited {
    /// With an answer, or with why there is none.
    Answered(Result<Answer, String>),
    /// The time was up first.
    Late(Pending),
}

impl Ticket {
    pub(super) fn of(slip: Arc<Slip>) -> Self {
        Ticket(slip)
    }

    /// A question whose answer is known already.
    pub(super) fn answered(answer: Answer) -> Self {
        Ticket(Arc::new(Slip { state: Mutex::new(State::Done(Ok(answer))), changed: Condvar::new() }))
    }

    /// Waits for the answer, but no longer than this.
    pub(crate) fn wait(self, within: Duration) -> Waited {
        let until = Instant::now().checked_add(within);
        let mut state = self.0.lock();
        loop {
            match mem::replace(&mut *state, State::Open) {
                State::Done(outcome) => {
                    *state = State::Gone;
                    return Waited::Answered(outcome);
                }
                State::Cancelled => {
                    *state = State::Cancelled;
                    return Waited::Answered(Err(CANCELLED.to_owned()));
                }
                other => *state = other,
            }
            let left = match until {
                Some(until) => until.saturating_duration_since(Instant::now()),
                None => Duration::from_secs(60),
            };
            if left.is_zero() {
                drop(state);
                return Waited::Late(Pending(self.0));
            }
            state = self.0.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Pending {
    /// Says what to do with the answer. It is done once, on the thread that gets the answer, or right here where the
    /// answer has come meanwhile; never where the question was taken back.
    pub(crate) fn then(self, done: impl FnOnce(Result<Answer, String>) + Send + 'static) {
        let mut state = self.0.lock();
        match mem::replace(&mut *state, State::Gone) {
            State::Done(outcome) => {
                drop(state);
                done(outcome);
            }
            State::Open | State::Then(_) => *state = State::Then(Box::new(done)),
            State::Cancelled => *state = State::Cancelled,
            State::Gone => {}
        }
    }
}

/// What the asker and the worker share.
#[derive(Default)]
pub(super) struct Slip {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
enum State {
    #[default]
    Open,
    Then(Then),
    Done(Outcome),
    Cancelled,
    Gone,
}

impl Slip {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands over the answer.
    pub(super) fn finish(&self, outcome: Outcome) {
        let mut state = self.lock();
        match mem::replace(&mut *state, State::Gone) {
            State::Open => {
                *state = State::Done(outcome);
                self.changed.notify_all();
            }
            State::Then(then) => {
                drop(state);
                // A broken listener must not take the worker with it.
                if catch_unwind(AssertUnwindSafe(|| then(outcome))).is_err() {
                    log::error!("what was to be done with a late answer broke");
                }
            }
            other => *state = other,
        }
    }

    /// Takes the question back, unless its answer is there.
    pub(super) fn cancel(&self) {
        let mut state = self.lock();
        let before = match mem::replace(&mut *state, State::Cancelled) {
            State::Done(outcome) => mem::replace(&mut *state, State::Done(outcome)),
            State::Gone => mem::replace(&mut *state, State::Gone),
            other => other,
        };
        self.changed.notify_all();
        drop(state);
        // What a listener holds is let go of outside of the lock.
        drop(before);
    }
}
