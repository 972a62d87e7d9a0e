//! The entry points of the engine: one event, or several that are written together.

use std::collections::BTreeMap;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};
use std::thread;

use midrail_core::{AuditRef, Decision, Effect, Event, Policy, chunk_stream};
use midrail_store::{Result, StoreError};
use parking_lot::Mutex;
use serde_json::Value;

use crate::active_policy::ActivePolicy;
use crate::engine::Engine;
use crate::error::{EngineError, EngineResult, MAX_TRIES};
use crate::grants;
use crate::idempotency::IdempotencyKey;
use crate::joined_calls::{Joined, JoinedCall};
use crate::pipeline::{PendingDecision, Pipeline};

impl Engine {
    /// Decides one event and records the decision before it returns. On any error it returns a block with the error as
    /// reason.
    pub fn decide(&self, event: Event) -> Decision {
        self.try_decide(event).unwrap_or_else(|error| self.block_on_error(&error))
    }

    /// Decides one event, or returns why it could not be decided and recorded. The action must not happen then.
    pub fn try_decide(&self, event: Event) -> EngineResult<Decision> {
        if event.kind.is_internal() {
            return Err(EngineError::ReservedKind(event.kind));
        }
        self.decide_with(event, None, None)
    }

    /// Decides one event once under a key: sent again with the same key in the same session, it returns the first
    /// decision. The same key with another event is [`EngineError::KeyReused`]; any other error is returned as a block. A
    /// key is remembered until the end of the following day (UTC).
    pub fn decide_idempotent(&self, event: Event, key: &str) -> EngineResult<Decision> {
        if event.kind.is_internal() {
            return Err(EngineError::ReservedKind(event.kind));
        }
        let now = self.now();
        let key = IdempotencyKey::new(&event, key, &self.fingerprint_key, now)?;
        let decided =
            key.with_expired(&**self.store(), now).and_then(|key| self.decide_with(event, None, Some(&key)));
        match decided {
            Err(EngineError::KeyReused) => Err(EngineError::KeyReused),
            other => Ok(other.unwrap_or_else(|error| self.block_on_error(&error))),
        }
    }

    /// Decides an event. A snapshot replaces the session in the same transaction.
    pub(crate) fn decide_with(
        &self,
        mut event: Event,
        snapshot: Option<BTreeMap<String, Value>>,
        key: Option<&IdempotencyKey>,
    ) -> EngineResult<Decision> {
        let active = self.active_policy();
        self.save_policy(&active)?;
        grants::add_outcome(&**self.store(), &mut event)?;
        if snapshot.is_none() {
            let call = match JoinedCall::find(self, &mut event)? {
                None => None,
                Some(Joined::Open(call)) => Some(call),
                Some(Joined::Decided { decision, unchecked, call }) => {
                    if self.allows(&active.policy, unchecked, &event)? {
                        return Ok(*decision);
                    }
                    Some(call)
                }
            };
            if let Some(call) = call {
                return Pipeline::new(self, &active.policy, event, None)?.leaving(call).run(key);
            }
        }
        if snapshot.is_some() || chunk_stream(&event).is_none() {
            return Pipeline::new(self, &active.policy, event, snapshot)?.run(key);
        }
        // Many processes may send chunks of one stream. Each chunk is joined to what the last one left.
        for _ in 0..MAX_TRIES {
            match Pipeline::new(self, &active.policy, event.clone(), None)?.run(key) {
                Err(EngineError::Contended) => continue,
                decided => return decided,
            }
        }
        Err(EngineError::Contended)
    }

    /// Whether one guardrail allows an event. Nothing is recorded.
    fn allows(&self, policy: &Policy, guardrail: Option<&str>, event: &Event) -> EngineResult<bool> {
        let Some(entry) = guardrail.and_then(|id| policy.get(id)) else { return Ok(true) };
        let only = Policy::new(vec![entry.clone()], Vec::new(), &[]).with_mode(policy.mode());
        let decision = Pipeline::new(self, &only, event.clone(), None)?.preview()?;
        Ok(decision.effect < Effect::Retry)
    }

    /// The decision when the engine fails: a block.
    pub(crate) fn block_on_error(&self, error: &EngineError) -> Decision {
        log::error!(error:%; "no decision");
        Decision {
            effect: Effect::Block,
            by: Some("midrail".into()),
            reason: format!("the decision could not be made and recorded, so this does not happen: {error}"),
            advice: match error {
                EngineError::Store(error) => error.help().map(str::to_owned),
                _ => None,
            },
            policy: self.policy().revision().clone(),
            ..Decision::default()
        }
    }
}

/// The answer to one event of a batch.
#[derive(Debug)]
pub enum BatchedDecision {
    /// The event is decided and recorded.
    Decided(Box<Decision>),
    /// The decision would block, and nothing was recorded. [`Engine::decide`] decides the event.
    WouldBlock(Box<Event>),
}

impl BatchedDecision {
    fn decided(decision: Decision) -> Self {
        BatchedDecision::Decided(Box::new(decision))
    }
}

impl Engine {
    /// Decides several events with one commit, and answers in their order. Each decision is what [`Engine::decide`]
    /// returns; events that would block are returned undecided.
    ///
    /// ```
    /// use midrail::{BatchedDecision, Engine, Event, Load};
    /// use serde_json::json;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let loaded = Load { packs: vec!["midrail:default".into()], ..Load::default() }.load()?;
    /// let engine = Engine::builder(loaded.policy, &loaded.source).build()?;
    /// let call = |session: &str| Event::before_tool("Bash", json!({"command": "ls"})).in_session(session);
    /// for answer in engine.decide_batch(vec![call("a"), call("b")]) {
    ///     let decision = match answer {
    ///         BatchedDecision::Decided(decision) => *decision,
    ///         BatchedDecision::WouldBlock(event) => engine.decide(*event),
    ///     };
    ///     assert!(decision.effect.allows());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn decide_batch(&self, events: Vec<Event>) -> Vec<BatchedDecision> {
        let active = self.active_policy();
        if let Err(error) = self.save_policy(&active) {
            let error = EngineError::from(error);
            return events.iter().map(|_| BatchedDecision::decided(self.block_on_error(&error))).collect();
        }
        let prepared: Vec<_> = events.into_iter().map(|event| self.prepare(&active, event)).collect();
        let commits: Vec<_> = prepared.iter().flatten().map(|(_, pending)| &pending.commit).collect();
        let mut written = self.store().commit_all(&commits).into_iter();
        let mut finish = |(pipeline, pending)| {
            self.finish(pipeline, pending, written.next().unwrap_or(Err(StoreError::Abandoned)))
        };
        prepared.into_iter().map(|event| event.map_or_else(|answer| answer, &mut finish)).collect()
    }

    /// An event before its commit, or its answer where there is nothing to commit.
    fn prepare<'e>(
        &'e self,
        active: &'e ActivePolicy,
        event: Event,
    ) -> Result<(Pipeline<'e>, PendingDecision), BatchedDecision> {
        let failed = |error: EngineError| BatchedDecision::decided(self.block_on_error(&error));
        if event.kind.is_internal() {
            return Err(failed(EngineError::ReservedKind(event.kind)));
        }
        // A chunk may have to be joined to its stream several times, and a call to the decision of another adapter.
        if chunk_stream(&event).is_some() || JoinedCall::is_joinable(&event) {
            return Err(BatchedDecision::WouldBlock(Box::new(event)));
        }
        let pipeline = Pipeline::new(self, &active.policy, event, None).map_err(failed)?.nonblocking();
        match pipeline.prepare(None, &mut None) {
            Ok(pending) => Ok((pipeline, pending)),
            Err(error) if matches!(error, EngineError::WouldBlock) || error.is_contention() => {
                Err(BatchedDecision::WouldBlock(Box::new(pipeline.into_event())))
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// The answer to an event after its commit.
    fn finish(
        &self,
        pipeline: Pipeline<'_>,
        pending: PendingDecision,
        written: Result<AuditRef>,
    ) -> BatchedDecision {
        match written {
            Ok(place) => BatchedDecision::decided(pipeline.conclude(pending, place)),
            // Another event changed the session first, so this one has to be decided again.
            Err(StoreError::Conflict { .. }) => BatchedDecision::WouldBlock(Box::new(pipeline.into_event())),
            Err(error) => BatchedDecision::decided(self.block_on_error(&error.into())),
        }
    }
}

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
