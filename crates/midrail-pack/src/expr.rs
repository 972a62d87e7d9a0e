//! Expressions: the conditions, checks, keys and alerts of packs.
//!
//! A text is parsed and typed once, with a [`Vocabulary`] of names, and then evaluated in any number of [`Scope`]s
//! without further errors: an unknown value makes the answer undetermined. The scope defines the values of names.

mod alert;
mod ast;
mod check;
mod eval;
mod fold;
mod lex;
mod parse;
mod value;
mod vocabulary;
mod words;

use std::sync::Arc;

pub use alert::AlertCondition;
pub use ast::Comparison;
pub use check::Expected;
pub(crate) use check::WEEKDAYS;
pub use lex::MAX_LENGTH;
pub use parse::MAX_DEPTH;
pub use value::{Scope, Texts, Value, walk};
pub use vocabulary::{Name, Segment, Term, Type, Vocabulary};

use crate::diagnostic::Diagnostic;
use crate::expr::ast::{Ast, AstKind, Function, TextTest};

/// A parsed and typed expression. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Expression(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    source: String,
    root: Ast,
    names: Vec<Name>,
    alert: Option<AlertCondition>,
}

impl Expression {
    /// Parses and types a text, or lists its problems: the first syntax error, or every unknown name and wrong type.
    pub fn parse(
        source: &str,
        vocabulary: &Vocabulary,
        expected: Expected,
    ) -> Result<Expression, Vec<Diagnostic>> {
        let (root, paths, window) = parse_with_window(source).map_err(|problem| vec![problem])?;
        let mut checker = check::Checker::new(source, vocabulary, paths);
        checker.root(&root, expected);
        let alert = alert::check(&root, &window, expected, &mut checker);
        let names = checker.finish()?;
        Ok(Expression(Arc::new(Inner { source: source.to_owned(), root, names, alert })))
    }

    /// Whether the expression holds. `Err`: it is undetermined, because these names are unknown or have a value of a wrong type.
    ///
    /// Allocates for unknown names, for lists, and for `lower` of a text that is not lower case.
    pub fn evaluate<'e>(&'e self, scope: &dyn Scope) -> Result<bool, Vec<&'e Name>> {
        eval::evaluate(&self.0.root, &self.0.names, scope)
    }

    /// The value of the expression: the text of a key; true, false or unknown for a condition.
    pub fn value<'s>(&'s self, scope: &'s dyn Scope) -> Value<'s> {
        eval::value(&self.0.root, &self.0.names, scope)
    }

    /// Every name that the expression uses, once, in order of appearance.
    pub fn names(&self) -> &[Name] {
        &self.0.names
    }

    /// The type that a part needs in the place of a name: "a number". `None`: several types fit.
    pub(crate) fn wanted(&self, name: &Name) -> Option<&'static str> {
        let names = &self.0.names;
        let is_name = |part: &Ast| match part.kind {
            AstKind::Name(index) => names.get(index).is_some_and(|other| std::ptr::eq(other, name)),
            _ => false,
        };
        let mut wanted = if is_name(&self.0.root) { Some("true or false") } else { None };
        self.0.root.each_part(&mut |part| {
            let found = match part {
                AstKind::Compare(operator, left, right) if !operator.is_equality() => {
                    (is_name(left) || is_name(right)).then_some("a number")
                }
                AstKind::Arithmetic(_, left, right) => {
                    (is_name(left) || is_name(right)).then_some("a number")
                }
                AstKind::Negate(inner) => is_name(inner).then_some("a number"),
                AstKind::All(parts) | AstKind::Any(parts) => {
                    parts.iter().any(is_name).then_some("true or false")
                }
                AstKind::Not(inner) => is_name(inner).then_some("true or false"),
                AstKind::Match(_, left, _) => is_name(left).then_some("a text"),
                AstKind::TextTest(test, left, _, _) if *test != TextTest::Contains => {
                    is_name(left).then_some("a text")
                }
                _ => None,
            };
            wanted = wanted.or(found);
        });
        wanted
    }

    /// The texts that a name is compared with for equality, also by `in [...]`, in order of appearance.
    pub fn equalities(&self, term: &str) -> Vec<&str> {
        let is_name = |part: &Ast| match part.kind {
            AstKind::Name(index) => self.0.names.get(index).is_some_and(|name| name.term() == term),
            _ => false,
        };
        let mut parts = Vec::new();
        self.0.root.each_part(&mut |part| match part {
            AstKind::Compare(operator, left, right) if operator.is_equality() && is_name(left) => {
                parts.push(right.as_ref());
            }
            AstKind::Compare(operator, left, right) if operator.is_equality() && is_name(right) => {
                parts.push(left.as_ref());
            }
            AstKind::In(item, list, _) if is_name(item) && matches!(list.kind, AstKind::List(_)) => {
                parts.extend(list.kind.parts());
            }
            _ => {}
        });
        parts.into_iter().filter_map(Ast::as_text).collect()
    }

    /// The texts that a name is matched with or tested to contain, in order of appearance. `is_pattern`: it is a pattern.
    pub(crate) fn matched_texts(&self) -> Vec<MatchedText<'_>> {
        let names = &self.0.names;
        let mut found = Vec::new();
        self.0.root.each_part(&mut |part| {
            let (left, texts, is_pattern): (_, Vec<&Ast>, _) = match part {
                AstKind::Match(_, left, patterns) => (left, patterns.items.iter().collect(), true),
                AstKind::TextTest(TextTest::Contains, list, item, _) if list.value_type(names).is_list() => {
                    (list, vec![item], false)
                }
                _ => return,
            };
            found.extend(self.texts_of(left, texts, is_pattern));
        });
        found
    }

    /// The texts that each name is compared with as a whole, or whose beginning, end or content it is compared with.
    pub(crate) fn compared_texts(&self) -> Vec<MatchedText<'_>> {
        let mut found = Vec::new();
        self.0.root.each_part(&mut |part| match part {
            AstKind::Compare(_, left, right) => {
                found.extend(self.texts_of(left, vec![&**right], false));
                found.extend(self.texts_of(right, vec![&**left], false));
            }
            AstKind::In(item, container, _) => {
                if let AstKind::List(items) = &container.kind {
                    found.extend(self.texts_of(item, items.iter().collect(), false));
                }
            }
            AstKind::TextTest(_, left, right, _) => found.extend(self.texts_of(left, vec![&**right], false)),
            _ => {}
        });
        found
    }

    fn texts_of<'e>(&'e self, left: &Ast, texts: Vec<&'e Ast>, is_pattern: bool) -> Vec<MatchedText<'e>> {
        let (index, is_lower) = match &left.kind {
            AstKind::Name(index) => (*index, false),
            AstKind::Call(Function::Lower, inner) => match inner.kind {
                AstKind::Name(index) => (index, true),
                _ => return Vec::new(),
            },
            _ => return Vec::new(),
        };
        let Some(name) = self.0.names.get(index) else { return Vec::new() };
        let texts = texts.into_iter().filter_map(Ast::as_text);
        texts.map(|text| MatchedText { name, is_lower, text, is_pattern }).collect()
    }

    /// The answer, if it does not depend on the values of the names.
    ///
    /// `Some(false)`: no known values make the expression true. `Some(true)`: none make it false. `None`: undetermined.
    /// Contradictions are found among the parts of one AND or OR only, and for names with one text, number or boolean.
    pub fn always(&self) -> Option<bool> {
        fold::always(&self.0.root, &self.0.names)
    }

    /// The text as the user wrote it.
    pub fn source(&self) -> &str {
        &self.0.source
    }

    /// A text that is the same for expressions with the same meaning.
    pub(crate) fn meaning(&self) -> String {
        format!("{:?} {:?}", self.0.root, self.0.names)
    }

    /// The condition of an alert, if the expression was parsed as one.
    pub fn alert(&self) -> Option<&AlertCondition> {
        self.0.alert.as_ref()
    }
}

/// A text that a name is matched with.
pub(crate) struct MatchedText<'e> {
    pub(crate) name: &'e Name,
    /// Its value is converted to lower case first.
    pub(crate) is_lower: bool,
    pub(crate) text: &'e str,
    pub(crate) is_pattern: bool,
}

/// Equal if the meaning is the same, regardless of the spelling of operators and spaces.
impl PartialEq for Expression {
    fn eq(&self, other: &Expression) -> bool {
        let (left, right) = (&self.0, &other.0);
        left.root == right.root && left.names == right.names && left.alert == right.alert
    }
}

/// The tree of a text, the paths of its names, and the window of an alert after it, or the first syntax error.
fn parse_with_window(source: &str) -> Result<(Ast, Vec<Vec<Segment>>, alert::Window), Diagnostic> {
    let mut parser = parse::Parser::new(source)?;
    let root = parser.whole()?;
    let window = alert::window(&mut parser)?;
    Ok((root, parser.finish()?, window))
}

#[cfg(test)]
mod tests;
