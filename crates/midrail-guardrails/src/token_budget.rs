//! token-budget (builtin-001): blocks actions once the token budget of the task is used up.

use midrail_core::Resource;

use crate::prelude::*;
use crate::shared::thresholds::{ResourceWords, Share, Thresholds};

pub(crate) const BUILTIN: Builtin =
    Builtin::new::<TokenBudget>("builtin-001", Category::Budget, 1, &[EventKind::BeforeTool])
        .min_risk(Risk::Low)
        .always_on()
        .aliases(&["builtin_token_budget"])
        .supports(EventKind::ALL);

/// The settings of token-budget.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TokenBudget {
    /// The thresholds. Default: 80, 95 and 100 percent.
    pub thresholds: Thresholds,
}

const DEFAULT: Thresholds =
    Thresholds { warn: Some(Share(0.8)), escalate: Some(Share(0.95)), block: Some(Share(1.0)) };
pub(crate) const TOKENS: ResourceWords = ResourceWords { what: "token", unit: " tokens" };

impl Guardrail for TokenBudget {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        Ok(self.thresholds.judge(context, Resource::Tokens, DEFAULT, TOKENS)?)
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;
    use midrail_core::{Event, Risk, Task, Usage};
    use serde_json::{Value, json};

    fn event(tokens: Option<u64>, estimated: u64, budget: Option<u64>) -> Event {
        Event {
            task: Some(Task { token_budget: budget, ..Task::default() }),
            usage: Some(Usage { tokens, estimated_tokens: Some(estimated), ..Usage::default() }),
            ..Event::before_tool("t", json!({}))
        }
    }

    fn effect_with(thresholds: Value, tokens: u64) -> Effect {
        let guardrail: TokenBudget = serde_json::from_value(json!({"thresholds": thresholds})).unwrap();
        Run::of(guardrail).decide(&event(Some(tokens), 0, Some(1000))).effect
    }

    #[test]
    fn thresholds_apply_to_used_plus_estimated() {
        for (tokens, estimated, expected) in [
            (400, 399, Effect::Allow),
            (400, 400, Effect::Warn),
            (400, 549, Effect::Warn),
            (400, 550, Effect::Escalate),
            (400, 600, Effect::Escalate),
            (400, 601, Effect::Block),
            (799, 0, Effect::Allow),
            (800, 0, Effect::Warn),
            (950, 0, Effect::Escalate),
            (999, 1, Effect::Escalate),
            (1000, 0, Effect::Block),
        ] {
            let decision =
                Run::of(TokenBudget::default()).decide(&event(Some(tokens), estimated, Some(1000)));
            assert_eq!(decision.effect, expected, "{tokens} + {estimated}");
        }
        assert_eq!(Run::of(TokenBudget::default()).decide(&event(Some(0), 0, Some(0))).effect, Effect::Block);
    }

    #[test]
    fn absent_budget_sets_no_limit() {
        let mut run = Run::of(TokenBudget::default());
        assert_eq!(run.decide(&event(Some(u64::MAX), 0, None)).effect, Effect::Allow);
    }

    #[test]
    fn thresholds_are_configurable_one_by_one() {
        assert_eq!(effect_with(json!({"warn": "30%"}), 300), Effect::Warn);
        assert_eq!(effect_with(json!({"warn": "30%"}), 299), Effect::Allow);
        assert_eq!(effect_with(json!({"escalate": 0.4}), 400), Effect::Escalate);
        assert_eq!(effect_with(json!({"block": 0.4}), 400), Effect::Block);
    }

    #[test]
    fn critical_risk_does_not_change_thresholds() {
        let mut critical = event(Some(100), 699, Some(1000));
        critical.task.as_mut().unwrap().risk = Some(Risk::Critical);
        assert_eq!(Run::of(TokenBudget::default()).decide(&critical).effect, Effect::Allow);
    }

    #[test]
    fn unmeasured_usage_is_marked() {
        let decision = Run::of(TokenBudget::default()).decide(&event(None, 900, Some(1000)));
        assert_eq!(decision.effect, Effect::Warn);
        assert_eq!(decision.metadata.get("unmeasured"), Some(&json!(true)));
        let decision = Run::of(TokenBudget::default()).decide(&event(Some(1), 900, Some(1000)));
        assert_eq!(decision.metadata.get("unmeasured"), None);
    }

    #[test]
    fn own_sum_counts_if_the_host_reports_nothing() {
        let mut run = Run::of(TokenBudget::default()).with_slice("spent/", json!({"tokens": 960.0}));
        let decision = run.decide(&event(None, 0, Some(1000)));
        assert_eq!(decision.effect, Effect::Escalate);
        assert_eq!(decision.metadata.get("measured_by"), Some(&json!("midrail")));
    }
}
