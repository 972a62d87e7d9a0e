//! The tree of an expression, with the place of every part. The parser builds it, the checker resolves names and types.

use std::fmt;

use crate::diagnostic::Span;
use crate::expr::vocabulary::{Name, Type};

/// A part of an expression.
pub(super) struct Ast {
    pub(super) span: Span,
    pub(super) kind: AstKind,
    /// The height of the tree below this part, including it.
    pub(super) height: usize,
}

/// The same for equal parts.
impl fmt::Debug for Ast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

/// Equal if the meaning is the same, wherever it is written.
impl PartialEq for Ast {
    fn eq(&self, other: &Ast) -> bool {
        self.kind == other.kind
    }
}

#[derive(Debug, PartialEq)]
pub(super) enum AstKind {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    /// Only after `in`.
    List(Vec<Ast>),
    /// An index into the expression's names.
    Name(usize),
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
#[derive(Debug, PartialEq)]
pub(super) struct Patterns {
    pub(super) items: Vec<Ast>,
    /// Joined by AND: every pattern must match.
    pub(super) all: bool,
}

impl AstKind {
    /// The parts that it consists of.
    pub(super) fn parts(&self) -> Vec<&Ast> {
        match self {
            AstKind::Null | AstKind::Bool(_) | AstKind::Number(_) | AstKind::Text(_) | AstKind::Name(_) => {
                Vec::new()
            }
            AstKind::List(parts) | AstKind::All(parts) | AstKind::Any(parts) => parts.iter().collect(),
            AstKind::Not(part) | AstKind::Negate(part) | AstKind::Known(part, _) | AstKind::Call(_, part) => {
                vec![part]
            }
            AstKind::Arithmetic(_, left, right)
            | AstKind::Compare(_, left, right)
            | AstKind::In(left, right, _)
            | AstKind::TextTest(_, left, right, _) => vec![left, right],
            AstKind::Match(_, left, patterns) => {
                std::iter::once(left.as_ref()).chain(&patterns.items).collect()
            }
        }
    }
}

impl Ast {
    /// Calls `visit` with this part and every part of it.
    pub(super) fn each_part<'c>(&'c self, visit: &mut dyn FnMut(&'c AstKind)) {
        visit(&self.kind);
        self.kind.parts().into_iter().for_each(|part| part.each_part(visit));
    }

    /// The indexes of the names in this part.
    pub(super) fn names(&self) -> Vec<usize> {
        let mut names = Vec::new();
        self.each_part(&mut |part| {
            if let AstKind::Name(index) = part {
                names.push(*index);
            }
        });
        names
    }

    /// Its text, if it is one.
    pub(super) fn as_text(&self) -> Option<&str> {
        if let AstKind::Text(text) = &self.kind { Some(text) } else { None }
    }

    /// Whether its values are paths.
    pub(super) fn is_path(&self, names: &[Name]) -> bool {
        match &self.kind {
            AstKind::Name(index) => names.get(*index).is_some_and(Name::is_path),
            AstKind::Call(Function::Lower, part) => part.is_path(names),
            _ => false,
        }
    }

    /// The type of its value. A name that is not resolved has any type.
    pub(super) fn value_type(&self, names: &[Name]) -> Type {
        match &self.kind {
            AstKind::Null | AstKind::List(_) => Type::Any,
            AstKind::Text(_) => Type::Text,
            AstKind::Name(index) => names.get(*index).map_or(Type::Any, Name::kind),
            AstKind::Call(Function::Lower, part) => part.value_type(names),
            AstKind::Call(Function::Statements, _) => Type::List,
            AstKind::Number(_)
            | AstKind::Negate(_)
            | AstKind::Arithmetic(..)
            | AstKind::Call(Function::Len, _) => Type::Number,
            AstKind::Bool(_)
            | AstKind::All(_)
            | AstKind::Any(_)
            | AstKind::Not(_)
            | AstKind::Compare(..)
            | AstKind::In(..)
            | AstKind::TextTest(..)
            | AstKind::Match(..)
            | AstKind::Known(..) => Type::Bool,
        }
    }
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

/// Every comparison with its symbol, its opposite, and the comparison with exchanged sides.
const COMPARISONS: [(Comparison, &str, Comparison, Comparison); 6] = [
    (Comparison::Equal, "==", Comparison::NotEqual, Comparison::Equal),
    (Comparison::NotEqual, "!=", Comparison::Equal, Comparison::NotEqual),
    (Comparison::Less, "<", Comparison::GreaterOrEqual, Comparison::Greater),
    (Comparison::LessOrEqual, "<=", Comparison::Greater, Comparison::GreaterOrEqual),
    (Comparison::Greater, ">", Comparison::LessOrEqual, Comparison::Less),
    (Comparison::GreaterOrEqual, ">=", Comparison::Less, Comparison::LessOrEqual),
];

impl Comparison {
    pub(super) fn from_symbol(symbol: &str) -> Option<Comparison> {
        COMPARISONS.iter().find(|(_, known, ..)| *known == symbol).map(|(operator, ..)| *operator)
    }

    fn row(self) -> Option<&'static (Comparison, &'static str, Comparison, Comparison)> {
        COMPARISONS.iter().find(|(operator, ..)| *operator == self)
    }

    /// The comparison that holds exactly if this one does not.
    pub(super) fn opposite(self) -> Comparison {
        self.row().map_or(self, |(_, _, opposite, _)| *opposite)
    }

    /// The comparison with exchanged sides.
    pub(super) fn mirrored(self) -> Comparison {
        self.row().map_or(self, |(.., mirrored)| *mirrored)
    }

    /// Whether it holds between two numbers. `None`: they have no order.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
}

impl Arithmetic {
    const SYMBOLS: [(&str, Arithmetic); 4] = [
        ("+", Arithmetic::Add),
        ("-", Arithmetic::Subtract),
        ("*", Arithmetic::Multiply),
        ("/", Arithmetic::Divide),
    ];

    pub(super) fn from_symbol(symbol: &str) -> Option<Arithmetic> {
        Self::SYMBOLS.iter().find(|(known, _)| *known == symbol).map(|(_, operator)| *operator)
    }

    pub(super) fn power(self) -> u8 {
        if matches!(self, Arithmetic::Add | Arithmetic::Subtract) { power::SUM } else { power::PRODUCT }
    }
}

/// Binding powers, weakest first.
pub(super) mod power {
    pub(crate) const ANY: u8 = 1;
    pub(crate) const ALL: u8 = 2;
    pub(crate) const NOT: u8 = 3;
    pub(crate) const COMPARE: u8 = 4;
    pub(crate) const SUM: u8 = 5;
    pub(crate) const PRODUCT: u8 = 6;
    pub(crate) const SIGN: u8 = 7;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextTest {
    Contains,
    StartsWith,
    EndsWith,
}

/// How many of the texts on the left must match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quantifier {
    Any,
    All,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Len,
    Lower,
    /// The words that say what the SQL statements of a text do.
    Statements,
}
