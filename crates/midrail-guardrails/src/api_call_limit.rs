//! budget-003: a task makes only so many calls to the outside.

use midrail_core::{Budget, Context, Effect, Fault, Guardrail, Resource, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::budget::{Steps, Thresholds, Words};

/// The settings of budget-003.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ApiCallLimit {
    /// When something happens: a block at 100 percent where nothing is said.
    pub thresholds: Thresholds,
}

impl Guardrail for ApiCallLimit {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        if context.event.tool.is_none() {
            return Ok(Verdict::allow());
        }
        let Some(budget) = context.budget(Resource::Calls)? else { return Ok(Verdict::allow()) };
        if !context.reaches_outside()? {
            return Ok(Verdict::allow());
        }
        // This call is one more.
        let budget = Budget { estimated: budget.estimated.max(1.0), ..budget };
        let steps = Steps { warn: None, escalate: None, block: Some(1.0) };
        let words = Words { what: "call", unit: " calls to the outside" };
        let verdict = self.thresholds.verdict(&budget, context.tightening()?, steps, words);
        Ok(match verdict.effect {
            Effect::Allow => verdict,
            _ => verdict.advise("Work with what you have already fetched, or ask for a larger budget."),
        })
    }

    fn ceiling(&self) -> Effect {
        Effect::Block
    }
}
