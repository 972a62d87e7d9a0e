//! The checked form of an expression, for evaluation, printing and folding.

use std::fmt;

use crate::expr::ast::{Arithmetic, Comparison, Function, Quantifier, TextTest};

/// A compiled glob: whether it matches a text.
pub type Glob = Box<dyn Fn(&str) -> bool + Send + Sync>;
/// Compiles the pattern of a literal, or returns what is wrong with it.
pub type CompileGlob = fn(&str) -> Result<Glob, &'static str>;
/// Matches a pattern of a value (first) against a text (second).
pub type MatchGlob = fn(&str, &str) -> bool;

/// How patterns are matched.
#[derive(Debug, Clone, Copy)]
pub struct Globs {
    /// For patterns in the expression.
    pub compile: CompileGlob,
    /// For patterns in values of names.
    pub matches: MatchGlob,
}

/// A part of an expression with checked names and types.
#[derive(Debug, PartialEq)]
pub(super) enum Code {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    /// An index into the expression's names.
    Name(usize),
    All(Vec<Code>),
    Any(Vec<Code>),
    Not(Box<Code>),
    Negate(Box<Code>),
    Arithmetic(Arithmetic, Box<Code>, Box<Code>),
    Compare(Comparison, Box<Code>, Box<Code>),
    /// Whether one of the items is equal.
    OneOf {
        item: Box<Code>,
        items: Vec<Code>,
        negated: bool,
    },
    /// Whether a text, list or value contains an item. `reversed`: written with `in`.
    Holds {
        container: Box<Code>,
        item: Box<Code>,
        holds: Holds,
        negated: bool,
        reversed: bool,
    },
    /// `StartsWith` and `EndsWith`; `Contains` is a `Holds`.
    TextTest {
        test: TextTest,
        left: Box<Code>,
        right: Box<Code>,
        negated: bool,
    },
    Match {
        quantifier: Quantifier,
        left: Box<Code>,
        patterns: Vec<Pattern>,
        all: bool,
    },
    Known(Box<Code>, bool),
    Call(Function, Box<Code>),
}

/// How a container contains an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// The item is a part of the text.
    Part,
    /// The item is a member of the list.
    Member,
    /// Depends on the value at run time.
    Either,
}

#[derive(Debug, PartialEq)]
pub(super) enum Pattern {
    Literal(Literal),
    /// A text or list of patterns.
    Value(Code),
}

/// A pattern that is compiled with the expression.
pub(super) struct Literal {
    pub(super) pattern: String,
    pub(super) glob: Glob,
}

impl fmt::Debug for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pattern.fmt(f)
    }
}

impl PartialEq for Literal {
    fn eq(&self, other: &Literal) -> bool {
        self.pattern == other.pattern
    }
}

impl Code {
    /// Calls `visit` with this part and every part of it.
    pub(super) fn each_part<'c>(&'c self, visit: &mut dyn FnMut(&'c Code)) {
        visit(self);
        match self {
            Code::Null | Code::Bool(_) | Code::Number(_) | Code::Text(_) | Code::Name(_) => {}
            Code::All(parts) | Code::Any(parts) => parts.iter().for_each(|part| part.each_part(visit)),
            Code::Not(part) | Code::Negate(part) | Code::Known(part, _) | Code::Call(_, part) => {
                part.each_part(visit);
            }
            Code::Arithmetic(_, left, right)
            | Code::Compare(_, left, right)
            | Code::TextTest { left, right, .. } => {
                left.each_part(visit);
                right.each_part(visit);
            }
            Code::OneOf { item, items, .. } => {
                item.each_part(visit);
                items.iter().for_each(|item| item.each_part(visit));
            }
            Code::Holds { container, item, .. } => {
                container.each_part(visit);
                item.each_part(visit);
            }
            Code::Match { left, patterns, .. } => {
                left.each_part(visit);
                for pattern in patterns {
                    if let Pattern::Value(code) = pattern {
                        code.each_part(visit);
                    }
                }
            }
        }
    }

    /// Calls `visit` with the index of every name in this part.
    pub(super) fn each_name(&self, visit: &mut dyn FnMut(usize)) {
        self.each_part(&mut |part| {
            if let Code::Name(index) = part {
                visit(*index);
            }
        });
    }

    /// Calls `visit` with the index of every name that is compared with a text for equality, and that text.
    pub(super) fn each_equality<'c>(&'c self, visit: &mut dyn FnMut(usize, &'c str)) {
        self.each_part(&mut |part| match part {
            Code::Compare(operator, left, right) if operator.is_equality() => {
                if let (Code::Name(index), Code::Text(text)) | (Code::Text(text), Code::Name(index)) =
                    (left.as_ref(), right.as_ref())
                {
                    visit(*index, text);
                }
            }
            Code::OneOf { item, items, .. } => {
                let Code::Name(index) = item.as_ref() else { return };
                for item in items {
                    if let Code::Text(text) = item {
                        visit(*index, text);
                    }
                }
            }
            _ => {}
        });
    }
}
