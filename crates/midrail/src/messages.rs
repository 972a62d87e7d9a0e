//! Messages of a conversation that arrives whole with every request, as behind a gateway or from a framework. Each is decided and
//! recorded once.
//!
//! A message that was allowed is not evaluated again. If guardrails changed its text or warned of it, these guardrails alone evaluate
//! it again, without a record, because it arrives unchanged: a secret that was replaced arrives in clear text again. The store keeps
//! no text, only which guardrails these were. A message that was stopped is evaluated without a record: while the policy stops it,
//! it counts no further strike.

use std::collections::BTreeMap;
use std::vec;

use midrail_core::{Decision, Effect, Event, EventKind, Policy, hex};
use sha2::{Digest, Sha256};

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
        self.try_decide_message(event, occurrence, false)
            .unwrap_or_else(|error| DecidedMessage { decision: self.block_on_error(&error), is_new: true })
    }

    /// Decides a message that is new whatever it says, such as an answer of the model. When it arrives again, as it was or as
    /// guardrails changed it, it is known. On any error the decision is a block.
    pub fn decide_new_message(&self, event: Event, occurrence: usize) -> Decision {
        self.try_decide_message(event, occurrence, true)
            .map_or_else(|error| self.block_on_error(&error), |decided| decided.decision)
    }

    /// Decides the messages of a conversation that arrives whole each time, up to the first that stops it. The last `new` messages
    /// were not there before: they are decided whatever they say. Of the others, only those are that are not known.
    ///
    /// If none of them has to be decided, the last one is nevertheless: the session may have been halted since.
    pub fn decide_conversation(&self, events: Vec<Event>, new: usize) -> ConversationDecisions<'_> {
        let known = events.len().saturating_sub(new);
        let events = numbered(events, |event| event).into_iter();
        ConversationDecisions { engine: self, events, known, has_new: false, is_stopped: false }
    }

    /// Decides a known message again, because its session may have been halted since. `None`: it may be passed on. Otherwise the
    /// block is recorded.
    pub fn recheck_message(&self, event: Event) -> Option<Decision> {
        let previewed = self.preview(event.clone());
        if previewed.as_ref().is_ok_and(|decision| !stops_conversation(&event, decision)) {
            return None;
        }
        let decision = self.decide(event);
        (!decision.effect.allows()).then_some(decision)
    }

    fn try_decide_message(
        &self,
        mut event: Event,
        occurrence: usize,
        is_new: bool,
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
            let (mark, judged) = MessageMark::load(&**self.store(), &event, occurrence, policy)?;
            let mark = if is_new { mark.of_new(&event) } else { mark };
            if let Some(judged) = judged.filter(|_| !is_new)
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
        if judged.changed_by.is_empty() && judged.warned_by.is_empty() {
            return Ok(Some(Decision { policy: policy.revision().clone(), ..Decision::default() }));
        }
        let ids = judged.changed_by.iter().chain(&judged.warned_by);
        let entries = ids.filter_map(|id| policy.get(id).cloned()).collect();
        let only =
            Policy::with_revision(entries, Vec::new(), policy.revision().clone()).with_mode(policy.mode());
        let decision = self.preview_under(&only, event.clone())?;
        let is_same = decision.content.is_some() || judged.changed_by.is_empty();
        Ok(Some(decision).filter(|decision| decision.effect.allows() && is_same))
    }
}

/// The decisions about the messages of a conversation, made one after the other. They end with the first that stops it.
pub struct ConversationDecisions<'e> {
    engine: &'e Engine,
    /// The messages that are left, each with the number of identical ones before it.
    events: vec::IntoIter<(Event, usize)>,
    /// How many of the messages that are left may be known.
    known: usize,
    has_new: bool,
    is_stopped: bool,
}

impl Iterator for ConversationDecisions<'_> {
    type Item = Decision;

    fn next(&mut self) -> Option<Decision> {
        let (event, occurrence) = self.events.next().filter(|_| !self.is_stopped)?;
        let mut decision = if self.known > 0 {
            self.known -= 1;
            let decided = self.engine.decide_message(event.clone(), occurrence);
            self.has_new |= decided.is_new;
            decided.decision
        } else {
            self.has_new = true;
            self.engine.decide_new_message(event.clone(), occurrence)
        };
        let is_last = self.events.as_slice().is_empty();
        if is_last && !self.has_new && !stops_conversation(&event, &decision) {
            decision = self.engine.recheck_message(event.clone()).unwrap_or(decision);
        }
        self.is_stopped = stops_conversation(&event, &decision);
        Some(decision)
    }
}

/// Whether a conversation cannot go on after a decision about one of its messages. A result that is withheld does not stop it.
pub fn stops_conversation(event: &Event, decision: &Decision) -> bool {
    let is_withheld =
        event.kind == EventKind::AfterTool && matches!(decision.effect, Effect::Retry | Effect::Block);
    !decision.effect.allows() && !is_withheld
}

/// Messages of a conversation, each with the number of identical ones before it.
pub fn numbered<M>(messages: Vec<M>, event: impl Fn(&M) -> &Event) -> Vec<(M, usize)> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let number = |message: M| {
        let text = serde_json::to_string(event(&message)).unwrap_or_default();
        let count = seen.entry(hex::encode(&Sha256::digest(text))).or_default();
        *count += 1;
        let before = *count - 1;
        (message, before)
    };
    messages.into_iter().map(number).collect()
}
