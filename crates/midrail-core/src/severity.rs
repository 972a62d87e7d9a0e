//! The severity of a finding, and the confidence of its detector.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The severity of a finding.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Damage is easy to repair.
    Low,
    /// A person should review it first.
    #[default]
    Medium,
    /// Work, or something that others depend on, is lost.
    High,
    /// A machine, a history or a customer's data is lost.
    Critical,
}

/// The confidence of a detector.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// It is possible.
    Low,
    /// It is likely.
    Medium,
    /// The form is unambiguous.
    #[default]
    High,
}

impl Severity {
    /// The name in outputs and settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Low => "low",
            Severity::Medium => "medium",
            Severity::High => "high",
            Severity::Critical => "critical",
        }
    }
}
