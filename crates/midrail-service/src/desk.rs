//! Where events of a project wait to be decided. What takes no time is decided at once; events that meet at the desk
//! are put on record together, where that costs hardly more than one; and what has to wait for a command, a script or
//! somebody outside gets a thread of its own, and holds up nobody else.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use midrail::store::Pace;
use midrail::{AtOnce, Decision, Engine, Event};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use crate::problem::Outcome;
use crate::work::{blocking, failed};

/// Events that are put on record together at most.
const MOST: usize = 64;

/// Threads that decide for a project at the same time: one reads and thinks while the other writes.
const CLERKS: usize = 2;

/// The desk of a project.
pub(crate) struct Desk {
    engine: Arc<Engine>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    /// INVARIANT: as long as somebody waits, there is one who works.
    clerks: usize,
}

type Waiting = (Event, oneshot::Sender<AtOnce>);

impl Desk {
    pub(crate) fn new(engine: Arc<Engine>) -> Arc<Self> {
        Arc::new(Desk { engine, state: Mutex::default() })
    }

    /// Decides an event, and records it before answering.
    pub(crate) async fn decide(self: &Arc<Self>, event: Event) -> Outcome<Decision> {
        let decided = match self.engine.store().pace() {
            Pace::AtOnce => catch_unwind(AssertUnwindSafe(|| self.engine.decide_at_once(vec![event]).pop()))
                .map_err(|_| failed())?,
            Pace::Together => self.wait(event).await,
            _ => Some(AtOnce::TakesTime(Box::new(event))),
        };
        match decided {
            Some(AtOnce::Decided(decision)) => Ok(*decision),
            Some(AtOnce::TakesTime(event)) => {
                let engine = self.engine.clone();
                blocking(move || Ok(engine.decide(*event))).await
            }
            None => Err(failed()),
        }
    }

    async fn wait(self: &Arc<Self>, event: Event) -> Option<AtOnce> {
        let (sender, receiver) = oneshot::channel();
        let is_short_of_clerks = {
            let mut state = self.state();
            state.waiting.push_back((event, sender));
            let is_short = state.clerks < CLERKS;
            state.clerks += usize::from(is_short);
            is_short
        };
        if is_short_of_clerks {
            let desk = self.clone();
            drop(spawn_blocking(move || desk.work()));
        }
        receiver.await.ok()
    }

    /// Decides until nobody waits.
    fn work(&self) {
        loop {
            let batch: Vec<Waiting> = {
                let mut state = self.state();
                let count = state.waiting.len().min(MOST);
                if count == 0 {
                    state.clerks -= 1;
                    return;
                }
                state.waiting.drain(..count).collect()
            };
            let (events, senders): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
            // After a panic those who wait hear that nobody will answer them.
            let decided = catch_unwind(AssertUnwindSafe(|| self.engine.decide_at_once(events)));
            for (sender, decided) in senders.into_iter().zip(decided.unwrap_or_default()) {
                // Who went away does not hear it. It is on record.
                let _ = sender.send(decided);
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
