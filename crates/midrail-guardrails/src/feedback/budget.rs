//! The used shares of the budgets, and how many calls the rest lasts.

use midrail_core::{Resource, UsageSource};

use super::history::History;
use super::state::{Note, ProviderState};
use crate::prelude::*;
use crate::shared::thresholds::{Share, float, number};

/// Reports the used shares of the budgets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BudgetNote {
    /// The shares that trigger a note if there is no other trigger.
    pub at: Vec<Share>,
}

impl Default for BudgetNote {
    fn default() -> Self {
        BudgetNote { at: vec![Share(0.5), Share(0.75), Share(0.9)] }
    }
}

const RESOURCES: [(Resource, &str); 4] = [
    (Resource::Tokens, "Tokens"),
    (Resource::Time, "Seconds"),
    (Resource::Calls, "External calls"),
    (Resource::Cost, "Cost"),
];

impl BudgetNote {
    pub(super) fn note(
        &self,
        context: &Context<'_>,
        own: &ProviderState,
        history: &History,
        has_trigger: bool,
    ) -> Result<Option<Note>, Missing> {
        if !has_trigger && self.reached(context) <= own.steps {
            return Ok(None);
        }
        let calls = float(history.calls.saturating_add(1));
        let mut lines = Vec::new();
        let mut is_warning = false;
        for (resource, what) in RESOURCES {
            let Some(budget) = context.budget_after(resource)? else { continue };
            if budget.measure == UsageSource::Unmeasured {
                continue;
            }
            let share = 1.0 - budget.remaining();
            is_warning |= share >= 0.75;
            let mut line = format!(
                "{what}: {} of {} used ({:.0}%).",
                number(budget.used),
                number(budget.limit),
                share * 100.0
            );
            let rate = budget.used / calls;
            if rate > 0.0 && budget.used < budget.limit {
                let left = ((budget.limit - budget.used) / rate).floor();
                line.push_str(&format!(
                    " At {} per call, the rest is enough for about {} more calls.",
                    number(rate),
                    number(left)
                ));
            }
            lines.push(line);
        }
        if lines.is_empty() {
            return Ok(None);
        }
        let text = lines.join("\n");
        Ok(Some(if is_warning {
            Note::warning(format!("{text}\n\n-> Do the most important work first."))
        } else {
            Note::info(text)
        }))
    }

    /// How many of the shares the most used budget has reached.
    pub(super) fn reached(&self, context: &Context<'_>) -> u64 {
        let shares =
            RESOURCES.iter().filter_map(|(resource, _)| context.budget_after(*resource).ok().flatten());
        let most = shares.map(|budget| 1.0 - budget.remaining()).reduce(f64::max);
        let steps = self.at.iter().filter(|step| most.is_some_and(|most| most >= step.0)).count();
        u64::try_from(steps).unwrap_or(u64::MAX)
    }
}
