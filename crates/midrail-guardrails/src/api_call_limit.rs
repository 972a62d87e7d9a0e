//! api-call-limit (budget-003): limits the external calls of a task.

use midrail_core::{Budget, Resource};

use crate::prelude::*;
use crate::shared::thresholds::{ResourceWords, Share, Thresholds};

pub(crate) const BUILTIN: Builtin =
    BUDGET.builtin::<ApiCallLimit>("budget-003", &[EventKind::BeforeTool]).supports(CALLS);

/// The settings of api-call-limit.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ApiCallLimit {
    /// The thresholds. Default: block at 100 percent.
    pub thresholds: Thresholds,
}

impl Guardrail for ApiCallLimit {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        if context.event.tool.is_none() {
            return Ok(Verdict::allow());
        }
        let Some(budget) = context.budget(Resource::Calls)? else { return Ok(Verdict::allow()) };
        if !context.contacts_other_host()? {
            return Ok(Verdict::allow());
        }
        // This call counts as one.
        let budget = Budget { estimated: budget.estimated.max(1.0), ..budget };
        let default = Thresholds { warn: None, escalate: None, block: Some(Share(1.0)) };
        let words = ResourceWords { what: "external call", unit: " external calls" };
        let verdict = self.thresholds.verdict(&budget, default, words);
        Ok(match verdict.effect {
            Effect::Allow => verdict,
            _ => verdict
                .advise("Continue with the data that you have already fetched, or request a larger budget."),
        })
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }
}
