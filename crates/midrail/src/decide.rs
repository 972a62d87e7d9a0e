//! The entry points of the engine: one event, or several that are written together.

use std::collections::BTreeMap;

use midrail_core::{AuditRef, Decision, Effect, Event, chunk_stream};
use midrail_store::StoreError;
use serde_json::Value;

use crate::active_policy::ActivePolicy;
use crate::engine::Engine;
use crate::error::{EngineError, MAX_TRIES};
use crate::idempotency::IdempotencyKey;
use crate::pipeline::{PendingDecision, Pipeline};

impl Engine {
    /// Decides one event and records the decision before it returns. On any error it returns a block with the error as
    /// reason.
    pub fn decide(&self, event: Event) -> Decision {
        self.try_decide(event).unwrap_or_else(|error| self.block_on_error(&error))
    }

    /// Decides one event, or returns why it could not be decided and recorded. The action must not happen then.
    pub fn try_decide(&self, event: Event) -> Result<Decision, EngineError> {
        if event.kind.is_internal() {
            return Err(EngineError::ReservedKind(event.kind));
        }
        self.decide_with(event, None, None)
    }

    /// Decides one event once under a key: sent again with the same key in the same session, it returns the first
    /// decision. The same key with another event is [`EngineError::KeyReused`]; any other error is returned as a block. A
    /// key is remembered until the end of the following day (UTC).
    pub fn decide_idempotent(&self, event: Event, key: &str) -> Result<Decision, EngineError> {
        if event.kind.is_internal() {
            return Err(EngineError::ReservedKind(event.kind));
        }
        let now = self.now();
        let key = IdempotencyKey::new(&event, key, self.fingerprint_key(), now)?;
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
        event: Event,
        snapshot: Option<BTreeMap<String, Value>>,
        key: Option<&IdempotencyKey>,
    ) -> Result<Decision, EngineError> {
        let active = self.active_policy();
        self.save_policy(&active)?;
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
        // A chunk may have to be joined to its stream several times.
        if chunk_stream(&event).is_some() {
            return Err(BatchedDecision::WouldBlock(Box::new(event)));
        }
        let pipeline = Pipeline::new(self, &active.policy, event, None).map_err(failed)?.nonblocking();
        match pipeline.prepare(None, &mut None) {
            Ok(pending) => Ok((pipeline, pending)),
            Err(EngineError::WouldBlock) => Err(BatchedDecision::WouldBlock(Box::new(pipeline.into_event()))),
            Err(error) => Err(failed(error)),
        }
    }

    /// The answer to an event after its commit.
    fn finish(
        &self,
        pipeline: Pipeline<'_>,
        pending: PendingDecision,
        written: Result<AuditRef, StoreError>,
    ) -> BatchedDecision {
        match written {
            Ok(place) => BatchedDecision::decided(pipeline.conclude(pending, place)),
            // Another event changed the session first, so this one has to be decided again.
            Err(StoreError::Conflict { .. }) => BatchedDecision::WouldBlock(Box::new(pipeline.into_event())),
            Err(error) => BatchedDecision::decided(self.block_on_error(&error.into())),
        }
    }
}
