//! What every detector of texts answers: a place in the text, what is there, how bad, and how sure.

use std::borrow::Cow;

use crate::severity::{Confidence, Severity};
use serde::Serialize;

/// Something found in a text: bytes `start..end`, which always lie on character boundaries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hit {
    /// The rule that found it: `aws-access-key`.
    pub kind: &'static str,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// How bad it is.
    pub severity: Severity,
    /// How sure the detector is.
    pub confidence: Confidence,
    /// What it is, in words for people. Never holds the thing itself.
    pub explanation: Cow<'static, str>,
}

impl Hit {
    /// A hit of medium severity that leaves no doubt.
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
