//! The entry points of the engine that decide one event.

use std::collections::BTreeMap;

use midrail_core::{Decision, Effect, Event, chunk_stream};
use serde_json::Value;

use crate::engine::Engine;
use crate::error::{EngineError, MAX_TRIES};
use crate::idempotency::IdempotencyKey;
use crate::pipeline::Pipeline;

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
