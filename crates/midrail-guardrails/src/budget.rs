//! What the budgets have in common: the share that is used, and the steps that it leads to.

use midrail_core::{Effect, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Shares of a budget, from 0 to 1, at which something happens. Used plus estimated is what counts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Thresholds {
    /// The agent is told.
    pub warn: f64,
    /// A person is asked.
    pub escalate: f64,
    /// Nothing more happens.
    pub block: f64,
}

impl Thresholds {
    /// A verdict on `used` plus `estimated` of `budget`.
    pub(crate) fn verdict(&self, what: &str, unit: &str, used: f64, estimated: f64, budget: f64) -> Verdict {
        let total = used + estimated;
        // A budget of nothing is used up by anything, and by nothing.
        let share = if budget > 0.0 { total / budget } else { f64::INFINITY };
        let effect = if share > self.block || (share >= self.block && estimated <= 0.0) {
            Effect::Block
        } else if share >= self.escalate {
            Effect::Escalate
        } else if share >= self.warn {
            Effect::Warn
        } else {
            return Verdict::allow();
        };
        let percent = (share * 100.0).min(9_999.0);
        Verdict::new(
            effect,
            format!(
                "The {what} budget is {percent:.0}% used: {} of {}{unit}.",
                number(total),
                number(budget)
            ),
        )
        .advise("Finish what is most important now, or ask for a larger budget.")
        .with("used", used)
        .with("estimated", estimated)
        .with("budget", budget)
    }
}

/// A number without a tail of zeros.
fn number(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}
