//! time-budget-check (budget-002): escalates once the time budget of the task is used up.

use midrail_core::Resource;

use crate::prelude::*;
use crate::shared::thresholds::{Share, Thresholds};
use crate::time_budget::TIME;

pub(crate) const BUILTIN: Builtin =
    BUDGET.builtin::<TimeBudgetCheck>("budget-002", &[EventKind::BeforeTool]).supports(EventKind::ALL);

/// The settings of time-budget-check.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TimeBudgetCheck {
    /// The thresholds. Default: warn at 80 percent, escalate at 100 percent.
    pub thresholds: Thresholds,
}

impl Guardrail for TimeBudgetCheck {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let default = Thresholds { warn: Some(Share(0.8)), escalate: Some(Share(1.0)), block: None };
        Ok(self.thresholds.judge(context, Resource::Time, default, TIME)?)
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }
}
