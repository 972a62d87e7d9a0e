//! The tree that the parser makes: what was written, with its place, before names and types are known.

use std::fmt;

use super::vocabulary::Segment;
use crate::diagnostic::Span;

/// A part of an expression.
#[derive(Debug)]
pub(super) struct Ast {
    pub(super) span: Span,
    pub(super) kind: AstKind,
    /// Levels of the tree below and with this part.
    pub(super) height: usize,
}

#[derive(Debug)]
pub(super) enum AstKind {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Ast>),
    Name(Vec<Segment>),
    All(Vec<Ast>),
    Any(Vec<Ast>),
    Not(Box<Ast>),
    Negate(Box<Ast>),
    Arithmetic(Arithmetic, Box<Ast>, Box<Ast>),
    Compare(Comparison, Box<Ast>, Box<Ast>),
    /// Item, container, whether `not in`.
    In(Box<Ast>, Box<Ast>, bool),
    /// Left, right, whether negated.
    TextTest(TextTest, Box<Ast>, Box<Ast>, bool),
    Match(Quantifier, Box<Ast>, Patterns),
    /// Whether `is known`.
    Known(Box<Ast>, bool),
    Call(Function, Box<Ast>),
}

/// The right side of a match.
#[derive(Debug)]
pub(super) struct Patterns {
    pub(super) items: Vec<Ast>,
    /// Joined by AND: every pattern has to match.
    pub(super) all: bool,
}

/// An operator that compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// Whether it holds between two numbers; nothing where they have no order.
    pub fn holds(self, left: f64, right: f64) -> Option<bool> {
        let order = left.partial_cmp(&right)?;
        Some(match self {
            Comparison::Equal => order.is_eq(),
            Comparison::NotEqual => order.is_ne(),
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
            Comparison::Greater => order.is_gt(),
            Comparison::GreaterOrEqual => order.is_ge(),
        })
    }

    pub(super) fn is_equality(self) -> bool {
        matches!(self, Comparison::Equal | Comparison::NotEqual)
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Comparison::Equal => "==",
            Comparison::NotEqual => "!=",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextTest {
    Contains,
    StartsWith,
    EndsWith,
}

/// How many of the texts on the left have to match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quantifier {
    Any,
    All,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Len,
    /// `len` of what is one text: several texts at run time have no one length.
    LenOfText,
    Lower,
}

impl AstKind {
    pub(super) fn height(&self) -> usize {
        let most = |parts: &[Ast]| parts.iter().map(|part| part.height).max().unwrap_or(0);
        1 + match self {
            AstKind::Null | AstKind::Bool(_) | AstKind::Number(_) | AstKind::Text(_) | AstKind::Name(_) => 0,
            AstKind::List(parts) | AstKind::All(parts) | AstKind::Any(parts) => most(parts),
            AstKind::Not(part) | AstKind::Negate(part) | AstKind::Known(part, _) | AstKind::Call(_, part) => {
                part.height
            }
            AstKind::Arithmetic(_, left, right)
            | AstKind::Compare(_, left, right)
            | AstKind::In(left, right, _)
            | AstKind::TextTest(_, left, right, _) => left.height.max(right.height),
            AstKind::Match(_, left, patterns) => left.height.max(most(&patterns.items)),
        }
    }
}
