//! Messages of a conversation that arrives whole with every request, as behind a gateway. Each is decided and recorded once.
//!
//! A message that was allowed is not evaluated again. If guardrails changed its text, these guardrails alone evaluate it again,
//! without a record, because it arrives unchanged: a secret that was replaced arrives in clear text again. The store keeps no
//! text, only which guardrails these were. A message that was stopped is evaluated without a record: while the policy stops it,
//! it counts no further strike.

use midrail_core::{Decision, Effect, Event, Policy};

use crate::engine::Engine;
use crate::error::{EngineError, EngineResult, MAX_TRIES};
use crate::message_marks::{Judged, MessageMark};
use crate::pipeline::Pipeline;
use crate::session_slices::session_id;

/// The decision about a message.
#[derive(Debug, Clone, PartialEq)]
pub struct DecidedMessage {
    /// The decision.
    pub decision: Decision,
    /// Whether it was made and recorded now. A message that is known was decided before.
    pub is_new: bool,
}

impl Engine {
    /// Previews the decision about an event. Nothing is recorded, so nothing may happen because of it.
    pub fn preview(&self, event: Event) -> EngineResult<Decision> {
        let active = self.active_policy();
        self.preview_under(&active.policy, event)
    }

    fn preview_under(&self, policy: &Policy, event: Event) -> EngineResult<Decision> {
        if event.kind.is_internal() {
            return Err(EngineError::ReservedKind(event.kind));
        }
        Pipeline::new(self, policy, event, None)?.preview()
    }

    /// Decides a message of a conversation, once. The same message that arrives again gets the same answer without a record.
    /// `occurrence` counts the identical messages of the conversation before it. On any error the decision is a block.
    pub fn decide_message(&self, event: Event, occurrence: usize) -> DecidedMessage {
        self.try_decide_message(event, Some(occurrence))
            .unwrap_or_else(|error| DecidedMessage { decision: self.block_on_error(&error), is_new: true })
    }

    /// Decides an answer of the model, which is new whatever it says. When it arrives again as a message of its conversation, as
    /// it was or as guardrails changed it, it is known. On any error the decision is a block.
    pub fn decide_answer(&self, event: Event) -> Decision {
        self.try_decide_message(event, None)
            .map_or_else(|error| self.block_on_error(&error), |decided| decided.decision)
    }

    /// Decides a message. Without an occurrence it is an answer.
    fn try_decide_message(
        &self,
        mut event: Event,
        occurrence: Option<usize>,
    ) -> EngineResult<DecidedMessage> {
        if event.kind.is_internal() {
            return Err(EngineError::ReservedKind(event.kind));
        }
        let active = self.active_policy();
        let policy = &*active.policy;
        self.save_policy(&active)?;
        // The name is a key of the store, so secrets in it are replaced.
        event.session = Some(self.masked_text(&session_id(&event)));
        for _ in 0..MAX_TRIES {
            let (mark, judged) =
                MessageMark::load(&**self.store(), &event, occurrence.unwrap_or_default(), policy)?;
            let mark = if occurrence.is_none() { mark.of_answer(&event) } else { mark };
            if let Some(judged) = judged.filter(|_| occurrence.is_some())
                && let Some(decision) = self.decision_again(policy, &event, &judged)?
            {
                return Ok(DecidedMessage { decision, is_new: false });
            }
            match Pipeline::new(self, policy, event.clone(), None)?.marking(mark).run(None) {
                Err(EngineError::Contended) => continue,
                decided => return Ok(DecidedMessage { decision: decided?, is_new: true }),
            }
        }
        Err(EngineError::Contended)
    }

    /// The decision about a known message. `None`: it has to be decided again.
    fn decision_again(
        &self,
        policy: &Policy,
        event: &Event,
        judged: &Judged,
    ) -> EngineResult<Option<Decision>> {
        if judged.is_stopped {
            let decision = self.preview_under(policy, event.clone())?;
            // An approver may be asked now, or the message may be allowed.
            let is_stopped = decision.effect > Effect::Escalate || decision.effect == Effect::Retry;
            return Ok(Some(decision).filter(|_| is_stopped));
        }
        if judged.changed_by.is_empty() {
            return Ok(Some(Decision { policy: policy.revision().clone(), ..Decision::default() }));
        }
        let entries = judged.changed_by.iter().filter_map(|id| policy.get(id).cloned()).collect();
        let only =
            Policy::with_revision(entries, Vec::new(), policy.revision().clone()).with_mode(policy.mode());
        let decision = self.preview_under(&only, event.clone())?;
        let is_changed = decision.effect.allows() && decision.content.is_some();
        Ok(Some(decision).filter(|_| is_changed))
    }
}
