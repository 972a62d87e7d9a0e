//! What holds a run until an approver answers, because an answer arrived too late to hold the action itself.

use std::sync::Arc;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::effect::Effect;
use crate::hex;

/// The slice with answers that arrived too late for their event.
pub const LATE_ANSWERS: &str = "late";

/// The slice with what holds the run until an approver answers.
pub const HOLDS: &str = "late/held";

/// The member of a late answer that describes its event, for people.
pub const ABOUT_EVENT: &str = "about";

/// The digest that an approval of a late answer is bound to. The same answer once more is the same question.
pub fn late_answer_digest(session: &str, answer: &Value) -> String {
    let mut answer = answer.clone();
    if let Some(members) = answer.as_object_mut() {
        members.remove(ABOUT_EVENT);
    }
    hex::encode(&Sha256::digest(json!({"late": answer, "session": session}).to_string().as_bytes()))
}

/// The number of holds of one run.
pub(super) const MAX_HOLDS: usize = 64;

/// What an approver is asked about, if that is not the current event.
#[derive(Clone)]
pub(super) struct About {
    /// The digest that the approval is bound to.
    pub(super) action: String,
    /// The earlier event, in short.
    pub(super) event: Option<Value>,
}

pub(super) struct Hold {
    pub(super) guardrail: Arc<str>,
    pub(super) reason: String,
    pub(super) advice: Option<String>,
    pub(super) about: About,
    pub(super) state: HoldState,
}

/// What becomes of a hold with this event.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum HoldState {
    Kept,
    /// An approver lifted it: it ends with the next allowed event.
    Lifted,
    /// An approver is asked with this event.
    Requested,
}

impl HoldState {
    /// The state after an approval was looked up, by the effect that it left.
    pub(super) fn after(effect: Effect) -> Self {
        match effect {
            Effect::Allow | Effect::Warn | Effect::Redact | Effect::Retry => HoldState::Lifted,
            Effect::Escalate => HoldState::Requested,
            Effect::Block | Effect::Halt => HoldState::Kept,
        }
    }
}

impl Hold {
    pub(super) fn decode(row: &Value) -> Self {
        let text = |name: &str| row.get(name).and_then(Value::as_str).map(str::to_owned);
        let about =
            About { action: text("action").unwrap_or_default(), event: row.get(ABOUT_EVENT).cloned() };
        Hold {
            guardrail: text("guardrail").unwrap_or_default().into(),
            reason: text("reason").unwrap_or_default(),
            advice: text("advice"),
            about,
            state: HoldState::Kept,
        }
    }

    pub(super) fn encode(&self) -> Value {
        let mut row =
            json!({"guardrail": self.guardrail, "action": self.about.action, "reason": self.reason});
        if let Some(members) = row.as_object_mut() {
            let advice = self.advice.clone().map(|advice| ("advice".to_owned(), advice.into()));
            members.extend(advice);
            members.extend(self.about.event.clone().map(|event| (ABOUT_EVENT.to_owned(), event)));
        }
        row
    }
}
