//! Asynchronous decisions: a few threads decide, and any async runtime can await the result.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};
use std::thread;

use midrail_core::{Decision, Effect, Event};
use parking_lot::Mutex;

use crate::engine::Engine;

/// A decision that is being made. Dropping it does not cancel the decision, which is recorded all the same.
pub struct DecisionFuture {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    decision: Option<Decision>,
    waker: Option<Waker>,
}

type Job = Box<dyn FnOnce() + Send>;

impl DecisionFuture {
    pub(crate) fn start(engine: Arc<Engine>, event: Event) -> Self {
        let shared = Arc::new(Mutex::new(Shared::default()));
        let answer = shared.clone();
        let job: Job = Box::new(move || {
            let decided = catch_unwind(AssertUnwindSafe(|| engine.decide(event)));
            let decision = decided.unwrap_or_else(|_| block_on_panic());
            let waker = {
                let mut shared = answer.lock();
                shared.decision = Some(decision);
                shared.waker.take()
            };
            if let Some(waker) = waker {
                waker.wake();
            }
        });
        if let Err(error) = workers().lock().send(job) {
            // No worker thread could be started, so the caller's thread decides.
            (error.0)();
        }
        DecisionFuture { shared }
    }
}

impl Future for DecisionFuture {
    type Output = Decision;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Decision> {
        let mut shared = self.shared.lock();
        match shared.decision.take() {
            Some(decision) => Poll::Ready(decision),
            None => {
                shared.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Engine {
    /// Decides one event without blocking the caller's thread.
    pub fn decide_async(self: &Arc<Self>, event: Event) -> DecisionFuture {
        DecisionFuture::start(self.clone(), event)
    }
}

/// The queue of the worker threads, which live as long as the process.
fn workers() -> &'static Mutex<Sender<Job>> {
    static WORKERS: OnceLock<Mutex<Sender<Job>>> = OnceLock::new();
    WORKERS.get_or_init(|| {
        let (sender, receiver) = channel::<Job>();
        let receiver = Arc::new(Mutex::new(receiver));
        let count = thread::available_parallelism().map_or(2, usize::from).clamp(2, 8);
        for number in 0..count {
            let receiver = receiver.clone();
            let work = move || {
                loop {
                    let job = receiver.lock().recv();
                    match job {
                        Ok(job) => job(),
                        Err(_) => return,
                    }
                }
            };
            if let Err(error) = thread::Builder::new().name(format!("midrail-{number}")).spawn(work) {
                log::error!("a worker thread could not be started: {error}");
            }
        }
        Mutex::new(sender)
    })
}

/// The decision when the engine panicked: a block.
fn block_on_panic() -> Decision {
    Decision {
        effect: Effect::Block,
        by: Some("midrail".into()),
        reason: "the engine failed while it decided, so this does not happen".to_owned(),
        ..Decision::default()
    }
}
