//! token-budget-check (budget-001): escalates once the token budget of the task is used up.

use midrail_core::Resource;

use crate::prelude::*;
use crate::shared::thresholds::{Share, Thresholds};
use crate::token_budget::TOKENS;

pub(crate) const BUILTIN: Builtin =
    BUDGET.builtin::<TokenBudgetCheck>("budget-001", &[EventKind::BeforeTool]).supports(EventKind::ALL);

/// The settings of token-budget-check.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TokenBudgetCheck {
    /// The thresholds. Default: warn at 90 percent, escalate at 100 percent.
    pub thresholds: Thresholds,
}

impl Guardrail for TokenBudgetCheck {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let default = Thresholds { warn: Some(Share(0.9)), escalate: Some(Share(1.0)), block: None };
        Ok(self.thresholds.judge(context, Resource::Tokens, default, TOKENS)?)
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }
}
