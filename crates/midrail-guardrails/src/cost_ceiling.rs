//! budget-004: an action costs less than what is left of the task's money.

use std::collections::BTreeMap;

use midrail_core::{Context, Effect, Fault, Guardrail, Resource, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::budget::{Steps, Thresholds, Words, number};
use crate::settings::Pattern;

/// The settings of budget-004.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CostCeiling {
    /// When something happens: a person is asked at 100 percent where nothing is said.
    pub thresholds: Thresholds,
    /// What a call costs, by names or glob patterns of tools, where the host gives no estimate. The dearest that fits
    /// counts.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub estimates: BTreeMap<Pattern, Cost>,
}

/// An amount of money: not less than nothing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "f64")]
pub struct Cost(pub f64);

impl TryFrom<f64> for Cost {
    type Error = String;

    fn try_from(cost: f64) -> Result<Self, String> {
        match cost >= 0.0 && cost.is_finite() {
            true => Ok(Cost(cost)),
            false => Err(format!("a cost is not less than 0, and `{cost}` is")),
        }
    }
}

impl CostCeiling {
    fn estimate(&self, tool: Option<&str>) -> f64 {
        let fitting =
            self.estimates.iter().filter(|(pattern, _)| tool.is_some_and(|tool| pattern.fits_name(tool)));
        fitting.map(|(_, cost)| cost.0).fold(0.0, f64::max)
    }
}

impl Guardrail for CostCeiling {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let Some(mut budget) = context.budget(Resource::Cost)? else { return Ok(Verdict::allow()) };
        let is_told = context.event.usage.as_ref().is_some_and(|usage| usage.estimated_cost.is_some());
        if !is_told {
            budget.estimated = self.estimate(context.event.tool_name());
        }
        let steps = Steps { warn: None, escalate: Some(1.0), block: None };
        let words = Words { what: "cost", unit: "" };
        let verdict = self.thresholds.verdict(&budget, context.tightening()?, steps, words);
        if verdict.effect == Effect::Allow || budget.estimated <= 0.0 {
            return Ok(verdict);
        }
        let left = (budget.limit - budget.used).max(0.0);
        let reason = format!(
            "This action is expected to cost {}, and {} of {} are left.",
            number(budget.estimated),
            number(left),
            number(budget.limit)
        );
        Ok(Verdict { reason, ..verdict }.advise("Choose a cheaper way, or ask for a larger budget."))
    }

    fn ceiling(&self) -> Effect {
        Effect::Block
    }
}
