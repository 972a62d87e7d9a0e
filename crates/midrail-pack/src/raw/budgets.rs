//! Budgets of every run under a pack.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scalar::{Seconds, amount};

/// What a run may use up. What is absent sets no limit.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Budgets {
    /// Tokens that may be spent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Time that may be taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Seconds>,
    /// Calls to the outside that may be made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_calls: Option<u64>,
    /// Money that may be spent.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "amount")]
    #[schemars(range(min = 0))]
    pub cost: Option<f64>,
}
