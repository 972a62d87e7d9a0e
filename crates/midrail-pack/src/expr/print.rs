//! The normal form of an expression as text.

use std::fmt::{self, Write};

use crate::expr::ast::power::{ALL, ANY, COMPARE, NOT, SIGN, SUM, VALUE};
use crate::expr::ast::{Ast, AstKind, Function, Patterns, Quantifier, TextTest};
use crate::expr::vocabulary::{Name, quoted};

pub(super) fn print(root: &Ast, names: &[Name], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    Printer { names }.part(root, ANY, f)
}

struct Printer<'e> {
    names: &'e [Name],
}

impl Printer<'_> {
    fn part(&self, ast: &Ast, least: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if power(&ast.kind) >= least {
            return self.bare(&ast.kind, f);
        }
        f.write_char('(')?;
        self.bare(&ast.kind, f)?;
        f.write_char(')')
    }

    fn bare(&self, kind: &AstKind, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match kind {
            AstKind::Null => f.write_str("null"),
            AstKind::Bool(value) => write!(f, "{value}"),
            AstKind::Number(value) => write!(f, "{value}"),
            AstKind::Text(text) => f.write_str(&quoted(text)),
            AstKind::Name(index) => match self.names.get(*index) {
                Some(name) => write!(f, "{name}"),
                None => f.write_str("null"),
            },
            AstKind::All(parts) => self.joined(parts, " AND ", ALL + 1, f),
            AstKind::Any(parts) => self.joined(parts, " OR ", ANY + 1, f),
            AstKind::Not(part) => {
                f.write_str("NOT ")?;
                self.part(part, NOT, f)
            }
            AstKind::Negate(part) => {
                f.write_char('-')?;
                self.part(part, SIGN, f)
            }
            AstKind::Arithmetic(operator, left, right) => {
                self.part(left, operator.power(), f)?;
                write!(f, " {} ", operator.symbol())?;
                self.part(right, operator.power() + 1, f)
            }
            AstKind::Compare(operator, left, right) => self.binary(left, &operator.to_string(), right, f),
            AstKind::List(items) => {
                f.write_char('[')?;
                self.joined(items, ", ", ANY, f)?;
                f.write_char(']')
            }
            AstKind::In(item, container, negated) => {
                self.binary(item, if *negated { "not in" } else { "in" }, container, f)
            }
            AstKind::TextTest(test, left, right, negated) => {
                let operator = match (test, negated) {
                    (TextTest::Contains, false) => "contains",
                    (TextTest::Contains, true) => "does not contain",
                    (TextTest::StartsWith, false) => "starts with",
                    (TextTest::StartsWith, true) => "does not start with",
                    (TextTest::EndsWith, false) => "ends with",
                    (TextTest::EndsWith, true) => "does not end with",
                };
                self.binary(left, operator, right, f)
            }
            AstKind::Match(quantifier, left, patterns) => {
                self.part(left, SUM, f)?;
                f.write_str(match quantifier {
                    Quantifier::Any => " matches ",
                    Quantifier::All => " all match ",
                    Quantifier::None => " does not match ",
                })?;
                self.patterns(patterns, f)
            }
            AstKind::Known(part, known) => {
                self.part(part, SUM, f)?;
                f.write_str(if *known { " is known" } else { " is unknown" })
            }
            AstKind::Call(function, part) => {
                f.write_str(match function {
                    Function::Len => "len(",
                    Function::Lower => "lower(",
                })?;
                self.part(part, ANY, f)?;
                f.write_char(')')
            }
        }
    }

    fn binary(&self, left: &Ast, operator: &str, right: &Ast, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.part(left, SUM, f)?;
        write!(f, " {operator} ")?;
        self.part(right, SUM, f)
    }

    fn joined(&self, parts: &[Ast], separator: &str, least: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, part) in parts.iter().enumerate() {
            if place > 0 {
                f.write_str(separator)?;
            }
            self.part(part, least, f)?;
        }
        Ok(())
    }

    fn patterns(&self, patterns: &Patterns, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if patterns.all || patterns.items.len() < 2 {
            return self.joined(&patterns.items, " AND ", SUM, f);
        }
        f.write_char('[')?;
        self.joined(&patterns.items, ", ", ANY, f)?;
        f.write_char(']')
    }
}

fn power(kind: &AstKind) -> u8 {
    match kind {
        AstKind::Any(_) => ANY,
        AstKind::All(_) => ALL,
        AstKind::Not(_) => NOT,
        AstKind::Compare(..)
        | AstKind::In(..)
        | AstKind::TextTest(..)
        | AstKind::Match(..)
        | AstKind::Known(..) => COMPARE,
        AstKind::Arithmetic(operator, ..) => operator.power(),
        AstKind::Negate(_) => SIGN,
        AstKind::Null
        | AstKind::Bool(_)
        | AstKind::Number(_)
        | AstKind::Text(_)
        | AstKind::List(_)
        | AstKind::Name(_)
        | AstKind::Call(..) => VALUE,
    }
}
