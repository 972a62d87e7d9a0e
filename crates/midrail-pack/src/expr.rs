//! Expressions: the conditions, checks, keys and alerts of packs.
//!
//! A text is parsed and typed once, with a [`Vocabulary`] of names, and then evaluated in any number of [`Scope`]s
//! without further errors: an unknown value makes the answer [`Truth::Unknown`]. The scope defines the values of names.

mod alert;
mod ast;
mod check;
mod code;
mod eval;
mod fold;
mod lex;
mod parse;
mod print;
mod problem;
mod value;
mod vocabulary;

use std::fmt;
use std::sync::Arc;

pub use alert::AlertCondition;
pub use ast::Comparison;
pub use code::{CompileGlob, Glob, Globs, MatchGlob};
pub use eval::Truth;
pub use problem::{Expected, ExprProblem, MAX_DEPTH, MAX_LENGTH};
pub use value::{Scope, Texts, Value, walk};
pub use vocabulary::{Name, Segment, Term, Type, Vocabulary};

use crate::expr::code::Code;

/// A parsed and typed expression. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Expression(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    source: String,
    root: Code,
    names: Vec<Name>,
    alert: Option<AlertCondition>,
    matches: MatchGlob,
}

impl Expression {
    /// Parses and types a text, or lists its problems: the first syntax error, or every unknown name and wrong type.
    pub fn parse(
        source: &str,
        vocabulary: &Vocabulary,
        expected: Expected,
        globs: Globs,
    ) -> Result<Expression, Vec<ExprProblem>> {
        let (ast, window) = parse_with_window(source).map_err(|problem| vec![problem])?;
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
    /// Allocates for [`Truth::Unknown`], for lists, and for `lower` of a text that is not lower case.
    pub fn evaluate<'e>(&'e self, scope: &dyn Scope) -> Truth<'e> {
        eval::evaluate(&self.0.root, &self.0.names, scope, self.0.matches)
    }

    /// The value of the expression: the text of a key; true, false or unknown for a condition.
    pub fn value<'s>(&'s self, scope: &'s dyn Scope) -> Value<'s> {
        eval::value(&self.0.root, &self.0.names, scope, self.0.matches)
    }

    /// Every name that the expression uses, once, in order of appearance.
    pub fn names(&self) -> &[Name] {
        &self.0.names
    }

    /// The texts that a name is compared with for equality, also by `in [...]`, in order of appearance.
    pub fn equalities(&self, term: &str) -> Vec<&str> {
        let mut texts = Vec::new();
        self.0.root.each_equality(&mut |index, text| {
            if self.0.names.get(index).is_some_and(|name| name.term() == term) {
                texts.push(text);
            }
        });
        texts
    }

    /// The answer, if it does not depend on the values of the names.
    ///
    /// `Some(false)`: no known values make the expression true. `Some(true)`: none make it false. `None`: undetermined.
    /// Contradictions are found among the parts of one AND or OR only, and for names with one text, number or boolean.
    pub fn always(&self) -> Option<bool> {
        fold::always(&self.0.root, &self.0.names, self.0.matches)
    }

    /// The text as the user wrote it.
    pub fn source(&self) -> &str {
        &self.0.source
    }

    /// The condition of an alert, if the expression was parsed as one.
    pub fn alert(&self) -> Option<&AlertCondition> {
        self.0.alert.as_ref()
    }
}

/// Equal if the meaning is the same, regardless of the spelling of operators and spaces.
impl PartialEq for Expression {
    fn eq(&self, other: &Expression) -> bool {
        let (left, right) = (&self.0, &other.0);
        left.root == right.root && left.names == right.names && left.alert == right.alert
    }
}

/// Prints a normal form that parses to an equal expression.
impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print::print(&self.0.root, &self.0.names, f)?;
        match &self.0.alert {
            Some(alert) => alert.print_window(f),
            None => Ok(()),
        }
    }
}

/// The tree of a text and the window of an alert after it, or the first syntax error.
fn parse_with_window(source: &str) -> Result<(ast::Ast, alert::Window), ExprProblem> {
    let mut parser = parse::Parser::new(source)?;
    let ast = parser.whole()?;
    let window = alert::window(&mut parser)?;
    parser.finish()?;
    Ok((ast, window))
}

#[cfg(test)]
mod tests;
