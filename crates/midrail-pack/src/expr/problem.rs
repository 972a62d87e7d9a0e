//! What an expression is for, its limits, and what can be wrong with it.

use crate::diagnostic::{Diagnostic, Span};
use crate::yaml::Node;

/// The maximum length of an expression, in bytes.
pub const MAX_LENGTH: usize = 16 * 1024;
/// The maximum nesting of an expression.
pub const MAX_DEPTH: usize = 64;

/// What an expression is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// A condition or a check.
    Bool,
    /// A key that must be a text.
    Text,
    /// A key of any type.
    Any,
    /// A comparison of a metric with a number, with an optional window and group.
    Alert {
        /// The words that may follow `per`.
        groups: &'static [&'static str],
    },
}

/// A problem of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExprProblem {
    /// Its place, in bytes of the expression.
    pub span: Span,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl ExprProblem {
    pub(crate) fn new(message: impl Into<String>, span: Span) -> ExprProblem {
        ExprProblem { span, message: message.into(), help: None }
    }

    #[must_use]
    pub(crate) fn with_help(mut self, help: impl Into<String>) -> ExprProblem {
        self.help = Some(help.into());
        self
    }

    /// The problem in the file with the text `source`, whose `node` contains the expression.
    pub fn locate(self, node: &Node, source: &str) -> Diagnostic {
        let start = node.source_offset(source, self.span.start);
        let end = node.source_offset(source, self.span.end).max(start);
        Diagnostic { help: self.help, ..Diagnostic::new(self.message, start..end) }
    }
}
