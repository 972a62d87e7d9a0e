//! Questions to external services, and their answers.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

/// A question of a deep guardrail.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    /// The session. Answers are not shared between sessions.
    pub(crate) run: String,
    /// The revision of the policy.
    pub(crate) policy: Arc<str>,
    /// The event as JSON, with its secrets replaced.
    pub(crate) event: Value,
    /// The text of the event, with its secrets replaced.
    pub(crate) text: String,
    /// The session's folder.
    pub(crate) root: Option<PathBuf>,
}

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    /// The answer, in the format of its kind.
    pub(crate) value: Value,
    /// Whether it is the stored answer to the same question.
    pub(crate) cached: bool,
    /// What it cost, if that is known. A stored answer costs nothing.
    pub(crate) cost: Option<f64>,
    /// Whether a part of the text was too long and was left out.
    pub(crate) cut: bool,
}
