//! The normal form of an expression as text.

use std::fmt::{self, Write};

use crate::expr::ast::power::{ALL, ANY, COMPARE, NOT, SIGN, SUM, VALUE};
use crate::expr::ast::{Function, Quantifier, TextTest};
use crate::expr::code::{Code, Pattern};
use crate::expr::vocabulary::{Name, quoted};

pub(super) fn print(code: &Code, names: &[Name], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    Printer { names }.part(code, ANY, f)
}

struct Printer<'e> {
    names: &'e [Name],
}

impl Printer<'_> {
    fn part(&self, code: &Code, least: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if power(code) >= least {
            return self.bare(code, f);
        }
        f.write_char('(')?;
        self.bare(code, f)?;
        f.write_char(')')
    }

    fn bare(&self, code: &Code, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match code {
            Code::Null => f.write_str("null"),
            Code::Bool(value) => write!(f, "{value}"),
            Code::Number(value) => write!(f, "{value}"),
            Code::Text(text) => f.write_str(&quoted(text)),
            Code::Name(index) => match self.names.get(*index) {
                Some(name) => write!(f, "{name}"),
                None => f.write_str("null"),
            },
            Code::All(parts) => self.joined(parts, " AND ", ALL + 1, f),
            Code::Any(parts) => self.joined(parts, " OR ", ANY + 1, f),
            Code::Not(part) => {
                f.write_str("NOT ")?;
                self.part(part, NOT, f)
            }
            Code::Negate(part) => {
                f.write_char('-')?;
                self.part(part, SIGN, f)
            }
            Code::Arithmetic(operator, left, right) => {
                self.part(left, operator.power(), f)?;
                write!(f, " {} ", operator.symbol())?;
                self.part(right, operator.power() + 1, f)
            }
            Code::Compare(operator, left, right) => self.binary(left, &operator.to_string(), right, f),
            Code::OneOf { item, items, negated } => {
                self.part(item, SUM, f)?;
                f.write_str(if *negated { " not in [" } else { " in [" })?;
                self.joined(items, ", ", ANY, f)?;
                f.write_char(']')
            }
            Code::Holds { container, item, negated, reversed: true, .. } => {
                self.binary(item, if *negated { "not in" } else { "in" }, container, f)
            }
            Code::Holds { container, item, negated, reversed: false, .. } => {
                self.binary(container, if *negated { "does not contain" } else { "contains" }, item, f)
            }
            Code::TextTest { test, left, right, negated } => {
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
            Code::Match { quantifier, left, patterns, all } => {
                self.part(left, SUM, f)?;
                f.write_str(match quantifier {
                    Quantifier::Any => " matches ",
                    Quantifier::All => " all match ",
                    Quantifier::None => " does not match ",
                })?;
                self.patterns(patterns, *all, f)
            }
            Code::Known(part, known) => {
                self.part(part, SUM, f)?;
                f.write_str(if *known { " is known" } else { " is unknown" })
            }
            Code::Call(function, part) => {
                f.write_str(match function {
                    Function::Len | Function::LenOfText => "len(",
                    Function::Lower => "lower(",
                })?;
                self.part(part, ANY, f)?;
                f.write_char(')')
            }
        }
    }

    fn binary(&self, left: &Code, operator: &str, right: &Code, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.part(left, SUM, f)?;
        write!(f, " {operator} ")?;
        self.part(right, SUM, f)
    }

    fn joined(&self, parts: &[Code], separator: &str, least: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, part) in parts.iter().enumerate() {
            if place > 0 {
                f.write_str(separator)?;
            }
            self.part(part, least, f)?;
        }
        Ok(())
    }

    fn patterns(&self, patterns: &[Pattern], all: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = patterns.len() > 1 && !all;
        if listed {
            f.write_char('[')?;
        }
        for (place, pattern) in patterns.iter().enumerate() {
            if place > 0 {
                f.write_str(if all { " AND " } else { ", " })?;
            }
            match pattern {
                Pattern::Literal(literal) => f.write_str(&quoted(&literal.pattern))?,
                Pattern::Value(code) => self.part(code, if listed { ANY } else { SUM }, f)?,
            }
        }
        if listed { f.write_char(']') } else { Ok(()) }
    }
}

fn power(code: &Code) -> u8 {
    match code {
        Code::Any(_) => ANY,
        Code::All(_) => ALL,
        Code::Not(_) => NOT,
        Code::Compare(..)
        | Code::OneOf { .. }
        | Code::Holds { .. }
        | Code::TextTest { .. }
        | Code::Match { .. }
        | Code::Known(..) => COMPARE,
        Code::Arithmetic(operator, ..) => operator.power(),
        Code::Negate(_) => SIGN,
        Code::Null | Code::Bool(_) | Code::Number(_) | Code::Text(_) | Code::Name(_) | Code::Call(..) => {
            VALUE
        }
    }
}
