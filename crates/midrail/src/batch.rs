//! Decides many events together: each on its own, with one commit for all. An event that would block is returned, so
//! that it does not delay the others.

use midrail_core::{AuditRef, Decision, Event, chunk_stream};
use midrail_store::StoreError;

use crate::active_policy::ActivePolicy;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::pipeline::{PendingDecision, Pipeline, Prepared};

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
        let prepared: Vec<PreparedEvent<'_>> =
            events.into_iter().map(|event| self.prepare(&active, event)).collect();
        let commits: Vec<_> = prepared.iter().filter_map(|event| Some(&event.pending()?.commit)).collect();
        let mut written = self.store().commit_all(&commits).into_iter();
        let mut finish = |event| match event {
            PreparedEvent::Pending(pipeline, pending) => {
                self.finish(*pipeline, *pending, written.next().unwrap_or(Err(StoreError::Abandoned)))
            }
            PreparedEvent::Finished(answer) => answer,
        };
        prepared.into_iter().map(&mut finish).collect()
    }

    fn prepare<'e>(&'e self, active: &'e ActivePolicy, event: Event) -> PreparedEvent<'e> {
        let failed = |error: EngineError| {
            PreparedEvent::Finished(BatchedDecision::decided(self.block_on_error(&error)))
        };
        let would_block =
            |event: Event| PreparedEvent::Finished(BatchedDecision::WouldBlock(Box::new(event)));
        if event.kind.is_internal() {
            return failed(EngineError::ReservedKind(event.kind));
        }
        // A chunk may have to be joined to its stream several times.
        if chunk_stream(&event).is_some() {
            return would_block(event);
        }
        let pipeline = match Pipeline::new(self, &active.policy, event, None) {
            Ok(pipeline) => pipeline.nonblocking(),
            Err(error) => return failed(error),
        };
        match pipeline.prepare(None, &mut None) {
            Ok(Prepared::Pending(pending)) => PreparedEvent::Pending(Box::new(pipeline), pending),
            Ok(Prepared::Decided(decision)) => PreparedEvent::Finished(BatchedDecision::Decided(decision)),
            Err(EngineError::WouldBlock) => would_block(pipeline.into_event()),
            Err(error) => failed(error),
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

/// An event before the commit.
enum PreparedEvent<'e> {
    Pending(Box<Pipeline<'e>>, Box<PendingDecision>),
    Finished(BatchedDecision),
}

impl PreparedEvent<'_> {
    fn pending(&self) -> Option<&PendingDecision> {
        match self {
            PreparedEvent::Pending(_, pending) => Some(pending),
            PreparedEvent::Finished(_) => None,
        }
    }
}
