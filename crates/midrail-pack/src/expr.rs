//! Expressions: the conditions, checks, keys and alerts of packs, from text to an answer.
//!
//! A text is parsed and typed once, against a [`Vocabulary`] of names, and then evaluated against
//! any number of [`Scope`]s without a further error: what is not known at that time makes the
//! answer [`Truth::Unknown`]. What the names mean is the scope's business.

mod alert;
mod ast;
mod check;
mod code;
mod eval;
mod fold;
mod lex;
mod parse;
mod print;
mod value;
mod vocabulary;

use std::fmt;
use std::sync::Arc;

pub use alert::Alert;
pub use ast::Comparison;
pub use code::{CompileGlob, Glob, Globs, MatchGlob};
pub use eval::Truth;
pub use value::{Scope, Texts, Value};
pub use vocabulary::{Name, Segment, Term, Type, Vocabulary};

use crate::diagnostic::{Diagnostic, Span};
use crate::yaml::Node;
use code::Code;

/// The longest text of an expression, in bytes.
pub const MAX_LENGTH: usize = 16 * 1024;
/// How deep an expression may be nested.
pub const MAX_DEPTH: usize = 64;

/// What an expression is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// A condition or a check.
    Bool,
    /// A key that has to be a text.
    Text,
    /// A key of any type.
    Any,
    /// A comparison of a metric with a number, with an optional window and group.
    Alert {
        /// The words that may follow `per`.
        groups: &'static [&'static str],
    },
}

/// Something wrong with an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExprProblem {
    /// Where, in bytes of the expression.
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

    /// The problem in the file whose text is `source`, where `node` holds the expression.
    pub fn locate(self, node: &Node, source: &str) -> Diagnostic {
        let start = node.source_offset(source, self.span.start);
        let end = node.source_offset(source, self.span.end).max(start);
        let problem = Diagnostic::new(self.message, start..end);
        match self.help {
            Some(help) => problem.with_help(help),
            None => problem,
        }
    }
}

/// A parsed and typed expression. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Expression(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    source: String,
    root: Code,
    names: Vec<Name>,
    alert: Option<Alert>,
    matches: MatchGlob,
}

impl Expression {
    /// Parses and types a text, or lists what is wrong with it: the first syntax error, or every
    /// unknown name and wrong type.
    pub fn parse(
        source: &str,
        vocabulary: &Vocabulary,
        expected: Expected,
        globs: Globs,
    ) -> Result<Expression, Vec<ExprProblem>> {
        let (ast, window) = parse::parse(source).map_err(|problem| vec![problem])?;
        let mut checker = check::Checker::new(source, vocabulary, globs);
        let root = checker.root(&ast, expected);
        let alert = alert::check(&ast, &window, expected, &mut checker);
        let (names, problems) = checker.finish();
        if !problems.is_empty() {
            return Err(problems);
        }
        let source = source.to_owned();
        Ok(Expression(Arc::new(Inner { source, root, names, alert, matches: globs.matches })))
    }

    /// Whether the expression holds.
    ///
    /// Allocates where the answer is [`Truth::Unknown`], and in `lower` of a text that is not lower case.
    pub fn evaluate<'e>(&'e self, scope: &dyn Scope) -> Truth<'e> {
        eval::evaluate(&self.0.root, &self.0.names, scope, self.0.matches)
    }

    /// What the expression yields: of a key its text, of a condition true, false or unknown.
    pub fn value<'s>(&'s self, scope: &'s dyn Scope) -> Value<'s> {
        eval::value(&self.0.root, &self.0.names, scope, self.0.matches)
    }

    /// Every name that the expression uses, once, in order of appearance.
    pub fn names(&self) -> &[Name] {
        &self.0.names
    }

    /// The texts that the name of a term is compared with for equality, also by `in [...]`, in order of appearance.
    pub fn equalities(&self, term: &str) -> Vec<&str> {
        let mut texts = Vec::new();
        self.0.root.each_equality(&mut |index, text| {
            if self.0.names.get(index).is_some_and(|name| name.term() == term) {
                texts.push(text);
            }
        });
        texts
    }

    /// The answer, where it does not depend on what the names stand for.
    ///
    /// `Some(false)` says that no known values make the expression true, `Some(true)` that none make
    /// it false. `None` says nothing: contradictions are found among the parts of one AND or OR
    /// only, and on names that stand for one text, number or truth value.
    pub fn always(&self) -> Option<bool> {
        fold::always(&self.0.root, &self.0.names, self.0.matches)
    }

    /// The text as the user wrote it.
    pub fn source(&self) -> &str {
        &self.0.source
    }

    /// The parts of an alert, where the expression was parsed as one.
    pub fn alert(&self) -> Option<&Alert> {
        self.0.alert.as_ref()
    }
}

/// Equal where the same meaning was written, whatever the spelling of operators and blanks.
impl PartialEq for Expression {
    fn eq(&self, other: &Expression) -> bool {
        let (left, right) = (&self.0, &other.0);
        left.root == right.root && left.names == right.names && left.alert == right.alert
    }
}

/// Prints a normal form, which parses to an equal expression.
impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print::print(&self.0.root, &self.0.names, f)?;
        match &self.0.alert {
            Some(alert) => alert.print_window(f),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
