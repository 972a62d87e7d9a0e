//! Thresholds that the budget guardrails share.

use midrail_core::{Budget, Context, Effect, Missing, Resource, UsageSource, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::settings::SettingsProblem;
use super::text::plain_text;

/// Shares of a budget, used plus estimated, at which a guardrail acts. An absent threshold has the default of the
/// guardrail.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Thresholds {
    /// Warn the agent.
    pub warn: Option<Share>,
    /// Require approval.
    pub escalate: Option<Share>,
    /// Block.
    pub block: Option<Share>,
}

/// A share of a budget, greater than 0 and at most 1. `0.8` and `"80%"` are the same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Value")]
#[schemars(extend("anyOf" = [
    {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    {"type": "string", "pattern": "^\\s*[0-9]+(\\.[0-9]+)?\\s*%\\s*$"}
]))]
pub struct Share(pub f64);

impl TryFrom<Value> for Share {
    type Error = SettingsProblem;

    fn try_from(value: Value) -> Result<Self, SettingsProblem> {
        let percent = |text: &str| text.trim().strip_suffix('%')?.trim().parse::<f64>().ok();
        let share = match &value {
            Value::String(text) => percent(text).map(|percent| percent / 100.0),
            value => value.as_f64(),
        };
        match share {
            Some(share) if share > 0.0 && share <= 1.0 => Ok(Share(share)),
            Some(share) => Err(SettingsProblem::new(format!(
                "a share must be greater than 0 and at most 1 or \"100%\", and `{share}` is not"
            ))),
            None => {
                let message = format!("`{}` is not a share such as 0.8 or \"80%\"", plain_text(&value));
                Err(SettingsProblem::new(message))
            }
        }
    }
}

/// The words for a resource in messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResourceWords {
    /// The adjective: `token`, as in "the token budget".
    pub(crate) what: &'static str,
    /// The unit after a number: ` tokens`.
    pub(crate) unit: &'static str,
}

impl Thresholds {
    /// The verdict on the use of a resource.
    pub(crate) fn judge(
        &self,
        context: &Context<'_>,
        of: Resource,
        default: Thresholds,
        words: ResourceWords,
    ) -> Result<Verdict, Missing> {
        match context.budget(of)? {
            Some(budget) => Ok(self.verdict(&budget, default, words)),
            None => Ok(Verdict::allow()),
        }
    }

    /// The verdict on one budget.
    pub(crate) fn verdict(&self, budget: &Budget, default: Thresholds, words: ResourceWords) -> Verdict {
        let total = budget.used + budget.estimated;
        // A budget of zero is always used up.
        let share = if budget.limit > 0.0 { total / budget.limit } else { f64::INFINITY };
        let is_beyond = |step: Share| share > step.0 || (share >= step.0 && budget.estimated <= 0.0);
        // Rounding errors must not lift 80% above 80%.
        let reaches = |step: Option<Share>| step.is_some_and(|step| share + ROUNDING >= step.0);
        let effect = if self.block.or(default.block).is_some_and(is_beyond) {
            Effect::Block
        } else if reaches(self.escalate.or(default.escalate)) {
            Effect::Escalate
        } else if reaches(self.warn.or(default.warn)) {
            Effect::Warn
        } else {
            return Verdict::allow();
        };
        let ResourceWords { what, unit } = words;
        let of = format!("{} of {}{unit}", number(total), number(budget.limit));
        // A huge percentage is meaningless.
        let used = match share * 100.0 {
            percent if percent < 1_000.0 => format!("{percent:.0}% used: {of}"),
            _ => format!("used up: {of}"),
        };
        let (reason, advice) = if !budget.is_deadline {
            let advice = "Finish the most important work now, or request a larger budget.";
            (format!("The {what} budget is {used}."), advice)
        } else if budget.used >= budget.limit {
            (format!("The deadline has passed: {of}."), "Stop and report what is done and what is left.")
        } else {
            let advice = "Finish the most important work now, or request a later deadline.";
            (format!("The time until the deadline is {used}."), advice)
        };
        let verdict = Verdict::new(effect, reason)
            .advise(advice)
            .with("used", budget.used)
            .with("estimated", budget.estimated)
            .with("budget", budget.limit);
        match budget.measure {
            UsageSource::Host => verdict,
            UsageSource::Midrail => verdict.with("measured_by", "midrail"),
            UsageSource::Unmeasured => verdict.with("unmeasured", true),
        }
    }
}

/// The rounding error of a product of shares.
const ROUNDING: f64 = 1e-9;

/// A number with at most two decimals and no trailing zeros.
pub(crate) fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A count as a float. Beyond 2^53 it is rounded, which does not matter for a budget.
pub(crate) fn float(count: u64) -> f64 {
    Value::from(count).as_f64().unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn share(value: Value) -> Result<f64, String> {
        serde_json::from_value::<Share>(value).map(|share| share.0).map_err(|error| error.to_string())
    }

    #[test]
    fn share_is_a_number_or_a_percentage() {
        assert_eq!(share(json!(0.8)), Ok(0.8));
        assert_eq!(share(json!("80%")), Ok(0.8));
        assert_eq!(share(json!(" 62.5 %")), Ok(0.625));
        assert_eq!(share(json!(1)), Ok(1.0));
    }

    #[test]
    fn invalid_shares_are_rejected() {
        for wrong in [
            json!(0),
            json!(80),
            json!(-1),
            json!(1.01),
            json!("80"),
            json!("0%"),
            json!("101%"),
            json!("x%"),
            json!("NaN%"),
        ] {
            assert!(share(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_have_no_trailing_zeros() {
        assert_eq!([number(5.0), number(0.5), number(1.25)], ["5", "0.5", "1.25"]);
    }
}
