//! cost-ceiling (budget-004): escalates an action that costs more than the rest of the task's budget.

use std::collections::BTreeMap;

use midrail_core::Resource;

use crate::prelude::*;
use crate::shared::settings::{Money, Pattern};
use crate::shared::thresholds::{ResourceWords, Share, Thresholds, number};

pub(crate) const BUILTIN: Builtin =
    BUDGET.builtin::<CostCeiling>("budget-004", &[EventKind::BeforeTool]).supports(EventKind::ALL);

/// The settings of cost-ceiling.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CostCeiling {
    /// The thresholds. Default: escalate at 100 percent.
    pub thresholds: Thresholds,
    /// The cost of a call if the host gives no estimate, by names or glob patterns of tools. The highest match
    /// counts.
    pub estimates: BTreeMap<Pattern, Money>,
}

impl CostCeiling {
    fn estimate(&self, tool: Option<&str>) -> f64 {
        let fitting =
            self.estimates.iter().filter(|(pattern, _)| tool.is_some_and(|tool| pattern.matches_name(tool)));
        fitting.map(|(_, cost)| cost.0).fold(0.0, f64::max)
    }
}

impl Guardrail for CostCeiling {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let Some(mut budget) = context.budget(Resource::Cost)? else { return Ok(Verdict::allow()) };
        let has_estimate = context.event.usage.as_ref().is_some_and(|usage| usage.estimated_cost.is_some());
        if !has_estimate {
            budget.estimated = self.estimate(context.event.tool_name());
        }
        let default = Thresholds { warn: None, escalate: Some(Share(1.0)), block: None };
        let words = ResourceWords { what: "cost", unit: "" };
        let verdict = self.thresholds.verdict(&budget, default, words);
        if verdict.effect == Effect::Allow || budget.estimated <= 0.0 {
            return Ok(verdict);
        }
        let left = (budget.limit - budget.used).max(0.0);
        let reason = format!(
            "This action is expected to cost {}, but only {} of {} is left.",
            number(budget.estimated),
            number(left),
            number(budget.limit)
        );
        Ok(Verdict { reason, ..verdict }.advise("Choose a cheaper approach, or request a larger budget."))
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }
}
