//! The queue of events of a project. Events that need no waiting are decided immediately, and concurrent ones are
//! committed together if the store supports it. An event that waits for a command, a script or an external service
//! gets its own thread.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::Mutex;

use midrail::store::CommitCost;
use midrail::{BatchedDecision, Decision, Engine, Event};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use crate::blocking::{blocking, failed};
use crate::problem::HandlerResult;

/// The most events that are committed together.
const MOST: usize = 64;

/// Threads that decide for a project concurrently: one evaluates while the other writes.
const WORKERS: usize = 2;

/// The decision queue of a project.
pub(crate) struct DecisionQueue {
    engine: Arc<Engine>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    /// INVARIANT: while an event waits, at least one worker runs.
    workers: usize,
}

type Waiting = (Event, oneshot::Sender<BatchedDecision>);

impl DecisionQueue {
    pub(crate) fn new(engine: Arc<Engine>) -> Arc<Self> {
        Arc::new(DecisionQueue { engine, state: Mutex::default() })
    }

    /// Decides an event, and records it before answering.
    pub(crate) async fn decide(self: &Arc<Self>, event: Event) -> HandlerResult<Decision> {
        let decided = match self.engine.store().commit_cost() {
            CommitCost::Immediate => {
                catch_unwind(AssertUnwindSafe(|| self.engine.decide_batch(vec![event]).pop()))
                    .map_err(|_| failed())?
            }
            CommitCost::Batched => self.wait(event).await,
            _ => Some(BatchedDecision::WouldBlock(Box::new(event))),
        };
        match decided {
            Some(BatchedDecision::Decided(decision)) => Ok(*decision),
            Some(BatchedDecision::WouldBlock(event)) => {
                let engine = self.engine.clone();
                blocking(move || Ok(engine.decide(*event))).await
            }
            None => Err(failed()),
        }
    }

    async fn wait(self: &Arc<Self>, event: Event) -> Option<BatchedDecision> {
        let (sender, receiver) = oneshot::channel();
        let needs_worker = {
            let mut state = self.state.lock();
            state.waiting.push_back((event, sender));
            let needs_worker = state.workers < WORKERS;
            state.workers += usize::from(needs_worker);
            needs_worker
        };
        if needs_worker {
            let queue = self.clone();
            drop(spawn_blocking(move || queue.work()));
        }
        receiver.await.ok()
    }

    /// Decides events until the queue is empty.
    fn work(&self) {
        loop {
            let batch: Vec<Waiting> = {
                let mut state = self.state.lock();
                let count = state.waiting.len().min(MOST);
                if count == 0 {
                    state.workers -= 1;
                    return;
                }
                state.waiting.drain(..count).collect()
            };
            let (events, senders): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
            // After a panic the senders are dropped, which fails the waiting requests.
            let decided = catch_unwind(AssertUnwindSafe(|| self.engine.decide_batch(events)));
            for (sender, decided) in senders.into_iter().zip(decided.unwrap_or_default()) {
                // The caller may have disconnected. The decision is recorded.
                let _ = sender.send(decided);
            }
        }
    }
}
