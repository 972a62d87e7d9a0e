//! Marks of messages that were decided: a message that arrives again is known by its mark, a slice of its session.

use std::sync::Arc;

use midrail_core::{Changes, Decision, Effect, Event, Policy, VerdictRecord};
use midrail_scan::secrets;
use midrail_store::Store;
use serde::{Deserialize, Serialize};

use crate::error::EngineResult;
use crate::session_slices::load_slice;

/// The prefix of the slices of marks.
const PREFIX: &str = "judged/";

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Judged {
    /// The revision of the policy that decided it. Another policy decides it again.
    policy: Arc<str>,
    /// The guardrails that changed its text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) changed_by: Vec<Arc<str>>,
    /// The guardrails that warned of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) warned_by: Vec<Arc<str>>,
    /// It was stopped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_stopped: bool,
}

/// The mark of one message, with its version in the store.
pub(crate) struct MessageMark {
    key: String,
    version: u64,
    occurrence: usize,
    /// The message, if it is new and may be kept as guardrails changed it. It arrives with the changed text then.
    kept: Option<Event>,
    store_key: [u8; 32],
}

impl MessageMark {
    /// Loads a mark, and what became of the message under this policy.
    pub(crate) fn load(
        store: &dyn Store,
        event: &Event,
        occurrence: usize,
        policy: &Policy,
    ) -> EngineResult<(Self, Option<Judged>)> {
        let store_key = store.fingerprint_key()?;
        let key = key(event, occurrence, &store_key)?;
        let slice = load_slice(store, event.session.as_deref().unwrap_or_default(), &key)?;
        let judged = slice.value.and_then(|value| serde_json::from_value::<Judged>(value).ok());
        let judged = judged.filter(|judged| judged.policy == *policy.revision());
        Ok((MessageMark { key, version: slice.version, occurrence, kept: None, store_key }, judged))
    }

    /// The same mark for a new message, which may arrive again as guardrails changed it.
    pub(crate) fn of_new(self, event: &Event) -> Self {
        MessageMark { kept: Some(event.clone()), ..self }
    }

    /// Adds the mark to the commit of a decision. Of several concurrent commits only one succeeds.
    pub(crate) fn write(
        &self,
        policy: &Policy,
        decision: &Decision,
        read: &mut Vec<(String, u64)>,
        changes: &mut Changes,
    ) {
        read.push((self.key.clone(), self.version));
        // A held message is decided again with the answer, and one that is decided during a pause after it.
        if decision.effect == Effect::Escalate || decision.paused.is_some() {
            return;
        }
        let judged = Judged {
            policy: policy.revision().clone(),
            changed_by: changed_by(policy, decision),
            warned_by: warned_by(decision),
            is_stopped: !decision.effect.allows(),
        };
        if let (Some(event), Some(content)) = (&self.kept, &decision.content) {
            let changed = Event { text: Some(content.clone()), ..event.clone() };
            let clean = Judged { changed_by: Vec::new(), ..judged.clone() };
            if let (Ok(key), Ok(clean)) =
                (key(&changed, self.occurrence, &self.store_key), serde_json::to_value(clean))
            {
                changes.set(key, clean);
            }
        }
        if let Ok(judged) = serde_json::to_value(judged) {
            changes.set(&*self.key, judged);
        }
    }
}

/// The key of a message. `occurrence` counts the identical messages of the conversation before it.
fn key(event: &Event, occurrence: usize, store_key: &[u8]) -> EngineResult<String> {
    // A keyed fingerprint, because the event may hold secrets.
    let text = serde_json::to_string(event)?;
    Ok(format!("{PREFIX}{}", secrets::fingerprint(&format!("{occurrence}\n{text}"), store_key)))
}

/// The guardrails that may have changed the text of a message.
fn changed_by(policy: &Policy, decision: &Decision) -> Vec<Arc<str>> {
    if decision.content.is_none() {
        return Vec::new();
    }
    let may_change = |verdict: &&VerdictRecord| {
        let rewrites = policy.get(&verdict.guardrail).is_some_and(|entry| entry.guardrail.can_rewrite());
        !verdict.shadow && (rewrites || verdict.effect.is_some_and(|effect| effect >= Effect::Redact))
    };
    decision.verdicts.iter().filter(may_change).map(|verdict| verdict.guardrail.clone()).collect()
}

/// The guardrails whose warning a message has.
fn warned_by(decision: &Decision) -> Vec<Arc<str>> {
    let warns = |verdict: &&VerdictRecord| !verdict.shadow && verdict.effect == Some(Effect::Warn);
    decision.verdicts.iter().filter(warns).map(|verdict| verdict.guardrail.clone()).collect()
}
