//! Limits of a run on the command line.

use midrail::Limits;
use midrail::pack::{Seconds, When};

/// Limits of the run. The tightest of these and of those in packs and events holds.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct LimitArgs {
    /// When the run has to be finished: a time, or a duration from the first event of its session such as `2h`
    #[arg(long, value_name = "TIME")]
    deadline: Option<When>,
    /// Tokens that the task may use
    #[arg(long, value_name = "NUMBER")]
    token_budget: Option<u64>,
    /// How long the task may take, such as `90m`
    #[arg(long, value_name = "DURATION")]
    time_budget: Option<Seconds>,
    /// Calls to the outside that the task may make
    #[arg(long, value_name = "NUMBER")]
    api_call_budget: Option<u64>,
    /// Money that the task may cost
    #[arg(long, value_name = "AMOUNT", value_parser = amount)]
    cost_budget: Option<f64>,
}

impl LimitArgs {
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            deadline: self.deadline.map(|When(deadline)| deadline),
            token_budget: self.token_budget,
            time_budget_s: self.time_budget.map(|Seconds(seconds)| seconds),
            api_call_budget: self.api_call_budget,
            cost_budget: self.cost_budget,
        }
    }
}

fn amount(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(amount) if amount.is_finite() && amount >= 0.0 => Ok(amount),
        _ => Err("an amount is a number such as 2.50".to_owned()),
    }
}
