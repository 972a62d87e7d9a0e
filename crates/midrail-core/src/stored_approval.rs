//! The approval that a session stores for one guardrail and one exact action.

use jiff::Timestamp;
use serde_json::Value;

use crate::action_digest::current_action_digest;
use crate::decision::ApprovalKind;
use crate::inputs::Inputs;
use crate::session::key_part;

/// The slice with the approval of one guardrail for one action.
pub fn approval_key(guardrail: &str, action: &str) -> String {
    format!("approval/{}/{action}", key_part(guardrail))
}

/// Whether an approval of this action was requested for `guardrail` before and is not denied.
pub(crate) fn was_requested(inputs: &Inputs<'_>, guardrail: &str) -> bool {
    let slice = inputs.slice(&approval_key(guardrail, &current_action_digest(inputs)));
    matches!(slice, Ok(Some(slice)) if StoredApproval::decode(slice).state != "denied")
}

pub(crate) struct StoredApproval<'a> {
    pub(crate) id: &'a str,
    pub(crate) kind: ApprovalKind,
    pub(crate) state: &'a str,
    pub(crate) by: &'a str,
    pub(crate) role: &'a str,
    pub(crate) is_emergency: bool,
    /// Whether a person approved it before and revoked the approval.
    pub(crate) is_revoked: bool,
    /// Whether a person denied the same action before.
    pub(crate) was_denied: bool,
    pub(crate) expires: Option<Timestamp>,
    pub(crate) override_at: Option<Timestamp>,
}

impl<'a> StoredApproval<'a> {
    pub(crate) fn decode(slice: &'a Value) -> Self {
        let text = |name: &str| slice.get(name).and_then(Value::as_str).unwrap_or_default();
        StoredApproval {
            id: text("id"),
            kind: if text("kind") == "bypass" { ApprovalKind::Bypass } else { ApprovalKind::Escalation },
            state: text("state"),
            by: text("by"),
            role: text("role"),
            is_emergency: text("urgency") == "emergency",
            is_revoked: slice.get("taken_back").and_then(Value::as_bool) == Some(true),
            was_denied: slice.get("denied_before").is_some_and(|id| !id.is_null()),
            expires: text("expires").parse().ok(),
            override_at: text("override_at").parse().ok(),
        }
    }

    pub(crate) fn is_expired(&self, now: Option<Timestamp>) -> bool {
        matches!((now, self.expires), (Some(now), Some(expires)) if now >= expires)
    }

    pub(crate) fn noun(&self) -> &'static str {
        match self.kind {
            ApprovalKind::Escalation => "approval",
            ApprovalKind::Bypass => "bypass",
        }
    }
}
