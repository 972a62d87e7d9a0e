//! Escalations of budget guardrails that no person answers.

use jiff::Timestamp;
use serde_json::Value;

use super::{Review, Tally};
use crate::action_digest::current_action_digest;
use crate::decision::Mode;
use crate::effect::Effect;
use crate::rules::Unattended;
use crate::session::Changes;
use crate::spec::Spec;
use crate::stored_approval::{StoredApproval, approval_key};

impl Tally<'_> {
    /// A run without a person may use its budget: the escalation becomes a warning, and the limit itself still blocks.
    pub(super) fn apply_unattended(&mut self, review: &mut Review<'_>) {
        let spec = review.spec;
        let is_about_budget = spec.limits_budget && review.error.is_none() && review.about.is_none();
        if review.verdict.effect != Effect::Escalate || !is_about_budget || spec.mode == Mode::Shadow {
            return;
        }
        let is_unattended = match self.policy.authorities().unattended {
            Unattended::Block => false,
            Unattended::Continue => true,
            Unattended::Wait => self.has_waited(review),
        };
        if is_unattended && review.error.is_none() {
            let reason = format!(
                "{} (no person answers, so the run continues until the limit)",
                review.verdict.reason
            );
            review.set(Effect::Warn, reason);
        }
    }

    /// Whether an earlier request of this guardrail timed out. What a person denied stays denied.
    fn has_waited(&self, review: &mut Review<'_>) -> bool {
        let action = approval_key(&review.spec.id, &current_action_digest(self.inputs));
        let wait = self.wait_key(review.spec);
        // Both are read, so that they are fetched at once.
        let _ = (self.inputs.slice(&action), self.inputs.slice(&wait));
        let Some(approval) = self.stored(review, &action) else { return false };
        let Some(since) = self.stored(review, &wait) else { return false };
        let is_denied = approval.map(StoredApproval::decode).is_some_and(|it| it.state == "denied");
        let expires = since.and_then(Value::as_str).and_then(|time| time.parse::<Timestamp>().ok());
        let is_over = matches!((self.inputs.event.time, expires), (Some(now), Some(at)) if now >= at);
        is_over && !is_denied
    }

    /// The time at which the first request of a budget guardrail times out, as a change of the session.
    pub(super) fn start_of_wait(&self, spec: &Spec, expires: Option<Timestamp>) -> Changes {
        let mut changes = Changes::default();
        let waits = spec.limits_budget && self.policy.authorities().unattended == Unattended::Wait;
        let Some(expires) = expires.filter(|_| waits) else { return changes };
        let key = self.wait_key(spec);
        if matches!(self.inputs.slice(&key), Ok(None)) {
            changes.set(key, expires.to_string());
        }
        changes
    }

    /// A person answered, so the next request waits again.
    pub(super) fn end_of_wait(&self, spec: &Spec) -> Changes {
        let mut changes = Changes::default();
        let key = self.wait_key(spec);
        if spec.limits_budget && matches!(self.inputs.slice(&key), Ok(Some(_))) {
            changes.remove(key);
        }
        changes
    }

    fn wait_key(&self, spec: &Spec) -> String {
        spec.counter_key("unattended", self.inputs.event.task_id())
    }
}
