//! Small forms in packs: one value or several, times and durations, texts and numbers.

use midrail_core::Deadline;
pub use midrail_guardrails::OneOrMany;
use midrail_guardrails::Seconds;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// A time such as `2026-11-15T18:00:00Z`, a number of seconds, or a duration such as `90m`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Value")]
#[schemars(extend("anyOf" = [{"type": "number", "minimum": 0}, {"type": "string"}]))]
pub struct TimeOrDuration(#[schemars(with = "Value")] pub Deadline);

impl TryFrom<Value> for TimeOrDuration {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        if let Some(Ok(time)) = value.as_str().map(str::parse) {
            return Ok(TimeOrDuration(Deadline::At(time)));
        }
        match Seconds::try_from(value) {
            Ok(Seconds(seconds)) => Ok(TimeOrDuration(Deadline::After(seconds))),
            Err(_) => Err(
                "this is not a time or a duration; write a time such as `2026-11-15T18:00:00Z`, or a duration such as `90m` or `2h`",
            ),
        }
    }
}

impl std::str::FromStr for TimeOrDuration {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        TimeOrDuration::try_from(Value::from(text))
    }
}

/// A text, also if it is written as a number: `version: 1.0`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Value")]
#[schemars(extend("type" = ["string", "number"]))]
pub struct TextOrNumber(pub String);

impl TryFrom<Value> for TextOrNumber {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        match value {
            Value::String(text) => Ok(TextOrNumber(text)),
            // `1.0` keeps its point.
            Value::Number(number) => Ok(TextOrNumber(number.to_string())),
            _ => Err("invalid type: another value, expected a text or a number"),
        }
    }
}

/// An amount of money: a number of 0 or more.
pub(crate) fn amount<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    match Option::<f64>::deserialize(deserializer)? {
        Some(amount) if !amount.is_finite() || amount < 0.0 => Err(D::Error::custom(format!(
            "`{amount}` is not a finite number of 0 or more; write a number such as 2.50"
        ))),
        amount => Ok(amount),
    }
}
