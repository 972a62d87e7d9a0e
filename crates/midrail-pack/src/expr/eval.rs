//! Evaluation with three results: true, false and unknown.

use std::borrow::Cow;

use crate::expr::ast::{Arithmetic, Comparison, Function, Quantifier, TextTest};
use crate::expr::code::{Code, Holds, MatchGlob, Pattern};
use crate::expr::value::{Scope, Value};
use crate::expr::vocabulary::Name;

/// The answer of a condition or check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Truth<'e> {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// It is undetermined, because these names are unknown or have a value of a wrong type.
    Unknown(Vec<&'e Name>),
}

impl Truth<'_> {
    /// True or false. `None`: unknown.
    pub fn known(&self) -> Option<bool> {
        match self {
            Truth::True => Some(true),
            Truth::False => Some(false),
            Truth::Unknown(_) => None,
        }
    }
}

pub(super) fn evaluate<'e>(
    code: &'e Code,
    names: &'e [Name],
    scope: &dyn Scope,
    matches: MatchGlob,
) -> Truth<'e> {
    let evaluator = Evaluator { names, scope, matches };
    match evaluator.truth(code) {
        Some(true) => Truth::True,
        Some(false) => Truth::False,
        None => {
            let mut indexes = Vec::new();
            evaluator.unknown_names(code, &mut indexes);
            indexes.sort_unstable();
            indexes.dedup();
            Truth::Unknown(indexes.into_iter().filter_map(|index| names.get(index)).collect())
        }
    }
}

pub(super) fn value<'s>(
    code: &'s Code,
    names: &'s [Name],
    scope: &'s dyn Scope,
    matches: MatchGlob,
) -> Value<'s> {
    Evaluator { names, scope, matches }.value(code)
}

struct Evaluator<'s> {
    names: &'s [Name],
    scope: &'s dyn Scope,
    matches: MatchGlob,
}

impl<'s> Evaluator<'s> {
    /// The recursion is limited by the depth limit of the parser.
    fn truth(&self, code: &'s Code) -> Option<bool> {
        match code {
            Code::Bool(value) => Some(*value),
            Code::All(parts) => all(parts.iter().map(|part| self.truth(part))),
            Code::Any(parts) => any(parts.iter().map(|part| self.truth(part))),
            Code::Not(part) => self.truth(part).map(|holds| !holds),
            Code::Compare(operator, left, right) => compare(*operator, &self.value(left), &self.value(right)),
            Code::OneOf { item, items, negated } => {
                let item = self.value(item);
                let found =
                    any(items.iter().map(|other| compare(Comparison::Equal, &item, &self.value(other))));
                found.map(|found| found != *negated)
            }
            Code::Holds { container, item, holds: kind, negated, .. } => {
                let (container, item) = (self.value(container), self.value(item));
                some(&item, |item| holds(&container, item, *kind)).map(|found| found != *negated)
            }
            Code::TextTest { test, left, right, negated } => {
                let (left, right) = (self.value(left), self.value(right));
                let found = some(&left, |left| some(&right, |right| text_test(*test, left, right)));
                found.map(|found| found != *negated)
            }
            Code::Match { quantifier, left, patterns, all } => {
                let left = self.value(left);
                let fits = |text: &Value<'_>| self.fits(text, patterns, *all);
                match quantifier {
                    Quantifier::Any => some(&left, fits),
                    Quantifier::None => some(&left, fits).map(|found| !found),
                    Quantifier::All => every(&left, fits),
                }
            }
            Code::Known(part, known) => Some(self.value(part).is_unknown() != *known),
            Code::Name(_) => match self.value(code) {
                Value::Bool(value) => Some(value),
                _ => None,
            },
            Code::Null
            | Code::Number(_)
            | Code::Text(_)
            | Code::Negate(_)
            | Code::Arithmetic(..)
            | Code::Call(..) => None,
        }
    }

    fn value(&self, code: &'s Code) -> Value<'s> {
        match code {
            Code::Null => Value::Null,
            Code::Number(value) => Value::Number(*value),
            Code::Text(text) => Value::Text(Cow::Borrowed(text)),
            Code::Name(index) => match self.names.get(*index).map(|name| self.scope.lookup(name).plain()) {
                Some(Value::Number(value)) if value.is_nan() => Value::Unknown,
                Some(value) => value,
                None => Value::Unknown,
            },
            Code::Negate(part) => self.number(part).map_or(Value::Unknown, |value| Value::Number(-value)),
            Code::Arithmetic(operator, left, right) => match (self.number(left), self.number(right)) {
                (Some(left), Some(right)) => {
                    let result = match operator {
                        Arithmetic::Add => left + right,
                        Arithmetic::Subtract => left - right,
                        Arithmetic::Multiply => left * right,
                        Arithmetic::Divide => left / right,
                    };
                    // An infinite limit stays infinite; a division by zero or an overflow is unknown.
                    let is_unlimited = left.is_infinite() || right.is_infinite();
                    if result.is_finite() || (is_unlimited && !result.is_nan()) {
                        Value::Number(result)
                    } else {
                        Value::Unknown
                    }
                }
                _ => Value::Unknown,
            },
            Code::Call(function, part) => call(*function, self.value(part)),
            Code::Bool(_)
            | Code::All(_)
            | Code::Any(_)
            | Code::Not(_)
            | Code::Compare(..)
            | Code::OneOf { .. }
            | Code::Holds { .. }
            | Code::TextTest { .. }
            | Code::Match { .. }
            | Code::Known(..) => self.truth(code).map_or(Value::Unknown, Value::Bool),
        }
    }

    fn number(&self, code: &'s Code) -> Option<f64> {
        match self.value(code) {
            Value::Number(value) => Some(value),
            _ => None,
        }
    }

    fn fits(&self, text: &Value<'_>, patterns: &'s [Pattern], every_pattern: bool) -> Option<bool> {
        let Value::Text(text) = text else { return None };
        let one = |pattern: &'s Pattern| match pattern {
            Pattern::Literal(literal) => Some((literal.glob)(text)),
            Pattern::Value(code) => some(&self.value(code), |pattern| match pattern {
                Value::Text(pattern) => Some((self.matches)(pattern, text)),
                _ => None,
            }),
        };
        if every_pattern { all(patterns.iter().map(one)) } else { any(patterns.iter().map(one)) }
    }

    /// The names because of which a part is unknown: those without a value, or if all have one, those with a wrong type.
    fn unknown_names(&self, code: &'s Code, indexes: &mut Vec<usize>) {
        if self.truth(code).is_some() {
            return;
        }
        match code {
            Code::All(parts) | Code::Any(parts) => {
                parts.iter().for_each(|part| self.unknown_names(part, indexes));
            }
            Code::Not(part) => self.unknown_names(part, indexes),
            _ => {
                let mut used = Vec::new();
                code.each_name(&mut |index| used.push(index));
                let is_unknown = |index: &usize| {
                    self.names.get(*index).is_some_and(|name| self.scope.lookup(name).is_unknown())
                };
                let before = indexes.len();
                indexes.extend(used.iter().copied().filter(is_unknown));
                if indexes.len() == before {
                    indexes.extend(used);
                }
            }
        }
    }
}

/// Kleene's OR.
fn any(parts: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut unknown = false;
    for part in parts {
        match part {
            Some(true) => return Some(true),
            Some(false) => {}
            None => unknown = true,
        }
    }
    if unknown { None } else { Some(false) }
}

/// Kleene's AND.
fn all(parts: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    any(parts.map(|part| part.map(|holds| !holds))).map(|fails| !fails)
}

/// Whether a test holds for a value, or for one in a list.
fn some(value: &Value<'_>, test: impl Fn(&Value<'_>) -> Option<bool>) -> Option<bool> {
    match value {
        Value::Unknown => None,
        Value::List(texts) => any(texts.iter().map(|text| test(&Value::text(text)))),
        Value::Json(serde_json::Value::Array(items)) => {
            any(items.iter().map(|item| test(&Value::Json(item).plain())))
        }
        _ => test(value),
    }
}

/// Whether a test holds for a value, or for each in a list.
fn every(value: &Value<'_>, test: impl Fn(&Value<'_>) -> Option<bool>) -> Option<bool> {
    if value.is_unknown() {
        return None;
    }
    some(value, |item| test(item).map(|holds| !holds)).map(|fails| !fails)
}

fn compare(operator: Comparison, left: &Value<'_>, right: &Value<'_>) -> Option<bool> {
    match operator {
        Comparison::Equal => equal(left, right),
        Comparison::NotEqual => equal(left, right).map(|equal| !equal),
        Comparison::Less | Comparison::LessOrEqual | Comparison::Greater | Comparison::GreaterOrEqual => {
            some(left, |left| {
                some(right, |right| match (left, right) {
                    (Value::Number(left), Value::Number(right)) => operator.holds(*left, *right),
                    _ => None,
                })
            })
        }
    }
}

/// Null equals only null; values of different types cannot be compared, so the result is unknown.
fn equal(left: &Value<'_>, right: &Value<'_>) -> Option<bool> {
    match (left, right) {
        (Value::Unknown, _) | (_, Value::Unknown) => None,
        (Value::Null, Value::Null) => Some(true),
        (Value::Null, _) | (_, Value::Null) => Some(false),
        _ => some(left, |left| some(right, |right| equal_one(left, right))),
    }
}

fn equal_one(left: &Value<'_>, right: &Value<'_>) -> Option<bool> {
    match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => Some(left == right),
        (Value::Number(left), Value::Number(right)) => Comparison::Equal.holds(*left, *right),
        (Value::Text(left), Value::Text(right)) => Some(left == right),
        (Value::Unknown, _) | (_, Value::Unknown) => None,
        (Value::Null, Value::Null) => Some(true),
        (Value::Null, _) | (_, Value::Null) => Some(false),
        _ => None,
    }
}

fn holds(container: &Value<'_>, item: &Value<'_>, kind: Holds) -> Option<bool> {
    let is_list = matches!(container, Value::List(_) | Value::Json(serde_json::Value::Array(_)));
    match kind {
        Holds::Part => some(container, |container| text_test(TextTest::Contains, container, item)),
        Holds::Either if !is_list => text_test(TextTest::Contains, container, item),
        Holds::Member | Holds::Either => some(container, |member| equal_one(member, item)),
    }
}

fn text_test(test: TextTest, left: &Value<'_>, right: &Value<'_>) -> Option<bool> {
    let (Value::Text(left), Value::Text(right)) = (left, right) else { return None };
    Some(match test {
        TextTest::Contains => left.contains(right.as_ref()),
        TextTest::StartsWith => left.starts_with(right.as_ref()),
        TextTest::EndsWith => left.ends_with(right.as_ref()),
    })
}

fn call(function: Function, value: Value<'_>) -> Value<'_> {
    match (function, value) {
        (Function::Len | Function::LenOfText, Value::Text(text)) => count(text.chars().count()),
        (Function::Len, Value::List(texts)) => count(texts.len()),
        (Function::Len, Value::Json(serde_json::Value::Array(items))) => count(items.len()),
        (Function::Len, Value::Json(serde_json::Value::Object(entries))) => count(entries.len()),
        (Function::Lower, Value::Text(text)) => Value::Text(lower(text)),
        (Function::Lower, Value::List(texts)) => Value::List(texts.into_iter().map(lower).collect()),
        (Function::Lower, Value::Json(serde_json::Value::Array(items))) => {
            let texts: Option<Vec<_>> =
                items.iter().map(|item| item.as_str().map(|text| lower(text.into()))).collect();
            texts.map_or(Value::Unknown, Value::List)
        }
        _ => Value::Unknown,
    }
}

/// Lengths beyond 32 bits exceed any limit in a pack.
fn count<'s>(length: usize) -> Value<'s> {
    Value::Number(u32::try_from(length).unwrap_or(u32::MAX).into())
}

fn lower(text: Cow<'_, str>) -> Cow<'_, str> {
    let is_lower = text.chars().all(|c| c.is_ascii() && !c.is_ascii_uppercase());
    if is_lower { text } else { Cow::Owned(text.to_lowercase()) }
}
