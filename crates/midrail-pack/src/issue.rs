//! A problem of a pack, before its place in the text is known.

use crate::diagnostic::{Diagnostic, Span};

/// A problem at a place of a pack: a JSON pointer, and a span within the text there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Issue {
    pub(crate) at: String,
    pub(crate) span: Option<Span>,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

impl Issue {
    pub(crate) fn new(at: impl Into<String>, message: impl Into<String>) -> Self {
        Issue { at: at.into(), span: None, message: message.into(), help: None }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// A problem of the expression at a place.
    pub(crate) fn in_expression(at: &str, problem: Diagnostic) -> Self {
        let Diagnostic { span, message, help, .. } = problem;
        Issue { at: at.to_owned(), span: Some(span), message, help }
    }
}

/// A key as a segment of a JSON pointer.
pub(crate) fn pointer_key(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
