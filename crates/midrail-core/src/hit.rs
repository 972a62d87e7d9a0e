//! A finding of a text detector before it becomes a fact: a place in the text, its kind, severity and confidence.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A finding in a text: bytes `start..end`, always on character boundaries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hit {
    /// The rule that found it: `aws-access-key`.
    pub kind: &'static str,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// The severity.
    pub severity: Severity,
    /// The confidence of the detector.
    pub confidence: Confidence,
    /// What it is, in words for people. Never contains the found text.
    pub explanation: Cow<'static, str>,
}

impl Hit {
    /// A hit of medium severity and high confidence.
    pub fn new(
        kind: &'static str,
        start: usize,
        end: usize,
        explanation: impl Into<Cow<'static, str>>,
    ) -> Self {
        Hit {
            kind,
            start,
            end,
            severity: Severity::Medium,
            confidence: Confidence::High,
            explanation: explanation.into(),
        }
    }
}

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
