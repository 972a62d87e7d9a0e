//! What holds a run until an approver answers, because an answer arrived too late to hold the action itself.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
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
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct About {
    /// The digest that the approval is bound to.
    pub(super) action: String,
    /// The earlier event, in short.
    #[serde(rename = "about", skip_serializing_if = "Option::is_none")]
    pub(super) event: Option<Value>,
}

/// One row of the slice.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Hold {
    pub(super) guardrail: Arc<str>,
    pub(super) reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) advice: Option<String>,
    #[serde(flatten)]
    pub(super) about: About,
    #[serde(skip)]
    pub(super) state: HoldState,
}

/// What becomes of a hold with this event.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum HoldState {
    #[default]
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
            Effect::Allow | Effect::Warn | Effect::Redact | Effect::Contain | Effect::Retry => {
                HoldState::Lifted
            }
            Effect::Escalate => HoldState::Requested,
            Effect::Block | Effect::Halt => HoldState::Kept,
        }
    }
}
