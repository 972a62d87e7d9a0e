//! Limits of a run on the command line.

use midrail::Limits;
use midrail::pack::{Seconds, TimeOrDuration};

use crate::error::InvalidValue;

/// Limits of the run. The tightest of these and of those in packs and events holds.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct LimitArgs {
    /// The deadline of the run: a time, or a duration from the first event of the session such as `2h`
    #[arg(long, value_name = "TIME")]
    deadline: Option<TimeOrDuration>,
    /// The token budget of the task
    #[arg(long, value_name = "NUMBER")]
    token_budget: Option<u64>,
    /// The time budget of the task, such as `90m`
    #[arg(long, value_name = "DURATION")]
    time_budget: Option<Seconds>,
    /// The budget of external API calls of the task
    #[arg(long, value_name = "NUMBER")]
    api_call_budget: Option<u64>,
    /// The cost budget of the task
    #[arg(long, value_name = "AMOUNT", value_parser = amount)]
    cost_budget: Option<f64>,
}

impl LimitArgs {
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            deadline: self.deadline.map(|TimeOrDuration(deadline)| deadline),
            token_budget: self.token_budget,
            time_budget_s: self.time_budget.map(|Seconds(seconds)| seconds),
            api_call_budget: self.api_call_budget,
            cost_budget: self.cost_budget,
        }
    }
}

fn amount(text: &str) -> Result<f64, InvalidValue> {
    match text.parse::<f64>() {
        Ok(amount) if amount.is_finite() && amount >= 0.0 => Ok(amount),
        _ => Err(InvalidValue("an amount is a number such as 2.50".to_owned())),
    }
}
