//! budget-001: a person is asked when the tokens of a task are used up.

use midrail_core::{Context, Effect, Fault, Guardrail, Resource, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::budget::{Steps, Thresholds};
use crate::token_budget::TOKENS;

/// The settings of budget-001.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TokenBudgetCheck {
    /// When something happens: a warning at 90 and a person at 100 percent where nothing is said.
    pub thresholds: Thresholds,
}

impl Guardrail for TokenBudgetCheck {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let steps = Steps { warn: Some(0.9), escalate: Some(1.0), block: None };
        Ok(self.thresholds.judge(context, Resource::Tokens, steps, TOKENS)?)
    }

    fn ceiling(&self) -> Effect {
        Effect::Block
    }
}
