//! builtin-001: the tokens of a task are not overspent.

use midrail_core::{Context, Effect, Fault, Guardrail, Verdict};

use crate::budget::Thresholds;

/// The token budget of the event's task and of its definitions; the tightest counts.
#[derive(Debug, Clone, Copy)]
pub struct TokenBudget {
    /// When something happens.
    pub thresholds: Thresholds,
}

impl Default for TokenBudget {
    fn default() -> Self {
        TokenBudget { thresholds: Thresholds { warn: 0.8, escalate: 0.95, block: 1.0 } }
    }
}

impl Guardrail for TokenBudget {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let Some(budget) = context.tasks().filter_map(|task| task.token_budget).min() else {
            return Ok(Verdict::allow());
        };
        let usage = context.event.usage.as_ref();
        let used = usage.and_then(|usage| usage.tokens);
        let estimated = usage.and_then(|usage| usage.estimated_tokens).unwrap_or(0);
        let verdict = self.thresholds.verdict(
            "token",
            " tokens",
            float(used.unwrap_or(0)),
            float(estimated),
            float(budget),
        );
        Ok(if used.is_none() { verdict.with("unmeasured", true) } else { verdict })
    }

    fn ceiling(&self) -> Effect {
        Effect::Block
    }
}

/// Token counts are far below the 2^53 that a float holds exactly; beyond it the share is still right.
fn float(count: u64) -> f64 {
    let (high, low) = (count >> 32, count & 0xffff_ffff);
    f64::from(u32::try_from(high).unwrap_or(u32::MAX)) * 4_294_967_296.0
        + f64::from(u32::try_from(low).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Run;
    use midrail_core::{Event, Task, Usage};
    use serde_json::json;

    fn effect(tokens: u64, estimated: u64, budget: Option<u64>) -> Effect {
        let event = Event {
            task: Some(Task { token_budget: budget, ..Task::default() }),
            usage: Some(Usage {
                tokens: Some(tokens),
                estimated_tokens: Some(estimated),
                ..Usage::default()
            }),
            ..Event::before_tool("t", json!({}))
        };
        Run::of(TokenBudget::default()).decide(&event).effect
    }

    #[test]
    fn the_steps_are_on_used_plus_estimated() {
        assert_eq!(effect(700, 99, Some(1000)), Effect::Allow);
        assert_eq!(effect(700, 100, Some(1000)), Effect::Warn);
        assert_eq!(effect(900, 50, Some(1000)), Effect::Escalate);
        assert_eq!(effect(900, 100, Some(1000)), Effect::Escalate);
        assert_eq!(effect(900, 101, Some(1000)), Effect::Block);
        assert_eq!(effect(1000, 0, Some(1000)), Effect::Block);
        assert_eq!(effect(0, 0, Some(0)), Effect::Block);
    }

    #[test]
    fn no_budget_is_no_limit() {
        assert_eq!(effect(u64::MAX, 0, None), Effect::Allow);
    }
}
