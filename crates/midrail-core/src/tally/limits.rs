//! Limits that strengthen a verdict: little budget left, repeated warnings, used-up attempts.

use serde_json::Value;

use super::{Review, Tally};
use crate::budget::Autonomy;
use crate::decision::{Mode, Retry};
use crate::effect::Effect;
use crate::event::EventKind;
use crate::inputs::Inputs;
use crate::spec::{Category, OnFault, Spec};
use crate::verdict::Notice;

impl Tally<'_> {
    /// A warning blocks the action if little is left of the budgets, except a warning about the budgets themselves.
    pub(super) fn apply_lockdown(&self, review: &mut Review<'_>) {
        if review.verdict.effect != Effect::Warn
            || review.spec.category == Category::Budget
            || !self.inputs.event.kind.can_wait()
        {
            return;
        }
        match self.inputs.autonomy() {
            Ok(Autonomy::Standard | Autonomy::Strict) => {}
            Ok(mode @ (Autonomy::Lockdown | Autonomy::Halt)) => {
                let reason = format!(
                    "{} (in {mode}, with less than a fifth of the budget left, a warning stops the action)",
                    review.verdict.reason
                );
                review.set(Effect::Block, reason);
            }
            Err(missing) => {
                review.apply_missing(&missing);
            }
        }
    }

    /// The warning that reaches the limit of its task becomes an escalation.
    pub(super) fn count_warning(&mut self, review: &mut Review<'_>) {
        let spec = review.spec;
        if review.verdict.effect != Effect::Warn || spec.warn_limit == 0 {
            return;
        }
        let key = spec.counter_key("warn", self.inputs.event.task_id());
        let Some(count) = self.next_count(review, &key) else { return };
        // If the remaining budgets are unknown, the lower limit applies.
        let limit = u64::from(spec.warn_limit);
        let limit = if self.inputs.is_tightened().unwrap_or(true) { (limit * 4).div_ceil(5) } else { limit };
        if count >= limit {
            let reason =
                format!("{} (warning {count} of this guardrail in this task)", review.verdict.reason);
            review.set(Effect::Escalate, reason);
        } else {
            self.pending.on_allow.set(key, count);
        }
    }

    /// A retry is counted; after the last attempt, `on_exhausted` applies.
    pub(super) fn count_attempt(&mut self, review: &mut Review<'_>) {
        let spec = review.spec;
        let key = attempts_key(spec, self.inputs);
        let Some(attempt) = self.next_count(review, &key) else { return };
        let (attempt, max_attempts) = (u32::try_from(attempt).unwrap_or(u32::MAX), spec.max_attempts);
        if attempt > max_attempts {
            self.exhaust(review);
        } else if spec.mode == Mode::Shadow {
            self.decision.changes.set(key, attempt);
        } else {
            self.pending.on_retry.set(key, attempt);
            let verdict = &review.verdict;
            let message = verdict.retry_message.as_ref().unwrap_or(&verdict.reason).clone();
            self.pending.retries.push(Retry { message, attempt, max_attempts });
        }
    }

    fn exhaust(&self, review: &mut Review<'_>) {
        let spec = review.spec;
        let is_stop = self.inputs.event.kind == EventKind::BeforeStop;
        let effect = match spec.on_exhausted.map(OnFault::effect) {
            None if is_stop => Effect::Warn,
            None => Effect::Escalate,
            Some(effect) => effect.max(Effect::Warn),
        };
        review
            .set(effect, format!("{} (its {} tries are used up)", review.verdict.reason, spec.max_attempts));
        if is_stop && effect == Effect::Warn {
            let message = format!("`{}` let an unfinished run end: {}", spec.id, review.verdict.reason);
            review.verdict.notices.push(Notice { to: "orchestrator".to_owned(), message });
        }
    }

    /// A success resets the attempts. An unchecked event is no success.
    pub(super) fn reset_attempts(&mut self, review: &Review<'_>) {
        let key = attempts_key(review.spec, self.inputs);
        if review.verdict.effect.allows()
            && !review.verdict.not_checked
            && matches!(self.inputs.slice(&key), Ok(Some(_)))
        {
            self.pending.on_allow.remove(key);
        }
    }

    fn next_count(&self, review: &mut Review<'_>, key: &str) -> Option<u64> {
        let slice = self.stored(review, key)?;
        Some(slice.and_then(Value::as_u64).unwrap_or(0).saturating_add(1))
    }
}

/// The slice that counts the attempts of a guardrail: separate for calls and their results, so that an allowed call does not
/// reset the attempts of its results, and separate for each sub-agent that wants to stop.
pub(crate) fn attempts_key(spec: &Spec, inputs: &Inputs<'_>) -> String {
    let event = inputs.event;
    let (kind, tool) = (event.kind.as_str(), event.tool_name().unwrap_or_default());
    if event.kind == EventKind::BeforeStop && event.is_sub_agent() {
        spec.counter_key("retry", &format!("{kind}/{tool}@{}", inputs.actor()))
    } else {
        spec.counter_key("retry", &format!("{kind}/{tool}"))
    }
}
