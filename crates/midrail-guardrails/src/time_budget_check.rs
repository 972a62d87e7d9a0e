//! budget-002: a person is asked when the time of a task is over.

use midrail_core::{Context, Effect, Fault, Guardrail, Resource, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::budget::{Steps, Thresholds};
use crate::time_budget::TIME;

/// The settings of budget-002.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TimeBudgetCheck {
    /// When something happens: a warning at 80 and a person at 100 percent where nothing is said.
    pub thresholds: Thresholds,
}

impl Guardrail for TimeBudgetCheck {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let steps = Steps { warn: Some(0.8), escalate: Some(1.0), block: None };
        Ok(self.thresholds.judge(context, Resource::Time, steps, TIME)?)
    }

    fn ceiling(&self) -> Effect {
        Effect::Block
    }
}
