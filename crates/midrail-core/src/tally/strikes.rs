//! Consequences of verdicts beyond their effect: strikes, flags and alerts.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::decision::Decision;
use crate::effect::Effect;
use crate::inputs::Inputs;
use crate::rules::StrikeRule;
use crate::spec::Spec;
use crate::stored_approval::was_requested;
use crate::verdict::{Notice, Verdict};

/// The slice with the strikes of a session, by guardrail.
pub const STRIKES: &str = "strikes";

/// The slice with the reason why a session was flagged for review.
pub const FLAG: &str = "flagged";

/// The consequence that counts a strike.
pub const INCREMENT_STRIKE: &str = "increment_strike";
/// The consequence that flags the session.
pub const FLAG_TRAJECTORY: &str = "flag_trajectory";
/// The consequence that notifies the orchestrator.
pub const EMIT_ALERT: &str = "emit_alert";

/// The strikes that the verdicts of one event request.
#[derive(Default)]
pub(super) struct Strikes {
    requested: Vec<Strike>,
    /// Whether an approver was asked about this action before and did not deny it.
    is_action_known: bool,
}

struct Strike {
    guardrail: Arc<str>,
    /// Whether it was counted when an approver was first asked about the action.
    is_counted: bool,
}

impl Strike {
    fn counts_for(&self, rule: &StrikeRule) -> bool {
        rule.guardrail.as_deref().is_none_or(|guardrail| *guardrail == *self.guardrail)
    }
}

impl Strikes {
    /// Adds the consequences of a verdict. `was_requested`: an approver was asked about it before, about the run if `is_about_run`.
    pub(super) fn add(
        &mut self,
        id: &Arc<str>,
        verdict: &Verdict,
        was_requested: bool,
        is_about_run: bool,
        decision: &mut Decision,
    ) {
        self.is_action_known |= was_requested && !is_about_run;
        let requests = |consequence: &str| verdict.effects.iter().any(|effect| effect == consequence);
        if requests(INCREMENT_STRIKE) {
            self.requested.push(Strike { guardrail: id.clone(), is_counted: was_requested });
        }
        if requests(FLAG_TRAJECTORY) {
            decision.changes.set(FLAG, json!({"by": id, "reason": verdict.reason}));
        }
        if requests(EMIT_ALERT) {
            let message = format!("`{id}`: {}", verdict.reason);
            decision.notices.push(Notice { to: "orchestrator".to_owned(), message });
        }
    }

    /// Counts the strikes, and returns the strongest effect that the rules give to their number. A halted run counts none, a new
    /// run starts without any, and an action that waits for an approval or was approved counts once. `requested` is the effect
    /// without strikes.
    pub(super) fn count(
        mut self,
        rules: &[StrikeRule],
        inputs: &Inputs<'_>,
        requested: Effect,
        decision: &mut Decision,
    ) -> Option<(Spec, Verdict)> {
        let is_new_run = inputs.event.is_new_run();
        if self.requested.is_empty() && !is_new_run {
            return None;
        }
        let mut counts = match inputs.slice(STRIKES) {
            Ok(Some(_)) if is_new_run => {
                decision.changes.remove(STRIKES);
                Map::new()
            }
            Ok(before) => before.and_then(Value::as_object).cloned().unwrap_or_default(),
            Err(_) if self.requested.is_empty() => return None,
            Err(missing) => {
                let verdict = Verdict::block(format!("strikes could not be counted: {missing}"));
                return Some((Spec::new(STRIKES), verdict));
            }
        };
        let may_be_requested = |rule: &StrikeRule| {
            rule.effect == Effect::Escalate
                && number(rule, &counts) >= rule.count
                && self.requested.iter().any(|strike| strike.counts_for(rule))
        };
        let is_pending = rules.iter().any(may_be_requested) && was_requested(inputs, STRIKES);
        // A blocked action waits for no approval, and guardrails that requested one may have been skipped.
        let is_counted = is_pending || (self.is_action_known && requested < Effect::Block);
        for strike in &mut self.requested {
            strike.is_counted |= is_counted;
        }
        for strike in self.requested.iter().filter(|strike| !strike.is_counted) {
            let count = counts.get(&*strike.guardrail).and_then(Value::as_u64).unwrap_or(0);
            counts.insert(strike.guardrail.to_string(), count.saturating_add(1).into());
        }
        let verdict = self.verdict(rules, &counts, is_pending);
        if self.requested.iter().any(|strike| !strike.is_counted) {
            decision.changes.set(STRIKES, Value::Object(counts));
        }
        verdict
    }

    /// The effect of the number of strikes. A pending request stays, although nothing is counted again.
    fn verdict(
        &self,
        rules: &[StrikeRule],
        counts: &Map<String, Value>,
        is_pending: bool,
    ) -> Option<(Spec, Verdict)> {
        let reached = rules.iter().filter_map(|rule| {
            let count = number(rule, counts);
            let stays = is_pending && rule.effect == Effect::Escalate;
            let has_strike =
                self.requested.iter().any(|strike| strike.counts_for(rule) && (stays || !strike.is_counted));
            // Each strike from that number on has the same effect, and only a strike has one.
            if count < rule.count || !has_strike {
                return None;
            }
            let of = rule.guardrail.as_ref().map(|id| format!(" of `{id}`")).unwrap_or_default();
            let reason =
                format!("this is strike {count}{of} in this session, and {} are the limit", rule.count);
            let mut verdict = Verdict::new(rule.effect, reason);
            verdict.user_message.clone_from(&rule.user_message);
            let spec = Spec {
                approver: rule.approver.clone(),
                approval_timeout_s: rule.approval_timeout_s,
                ..Spec::new(STRIKES)
            };
            Some((spec, verdict))
        });
        // Of equal effects the first: the higher layer names the approver.
        reached.rev().max_by_key(|(_, verdict)| verdict.effect)
    }
}

/// The number of strikes that count for a rule.
fn number(rule: &StrikeRule, counts: &Map<String, Value>) -> u64 {
    match &rule.guardrail {
        Some(id) => counts.get(id).and_then(Value::as_u64).unwrap_or(0),
        None => counts.values().filter_map(Value::as_u64).fold(0, u64::saturating_add),
    }
}
