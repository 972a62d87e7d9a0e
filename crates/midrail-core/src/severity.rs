//! How bad a finding would be, and how sure its detector is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How bad it would be if what was found took place.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Easily mended.
    Low,
    /// A person should have a look first.
    #[default]
    Medium,
    /// Work is lost, or something that others rely on.
    High,
    /// A machine, a history or a customer's data is gone.
    Critical,
}

/// How sure a detector is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// It looks like it.
    Low,
    /// It is likely.
    Medium,
    /// The form leaves no doubt.
    #[default]
    High,
}

impl Severity {
    /// The word in outputs and settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Low => "low",
            Severity::Medium => "medium",
            Severity::High => "high",
            Severity::Critical => "critical",
        }
    }
}

impl Confidence {
    /// The word in outputs and settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}
