//! A finding of a text detector before it becomes a fact: a place in the text, its kind, severity and confidence.

use std::borrow::Cow;

use crate::severity::{Confidence, Severity};
use serde::Serialize;

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
