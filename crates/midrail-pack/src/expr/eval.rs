//! Evaluation with three results: true, false and unknown.

use std::borrow::Cow;

use midrail_core::glob;
use midrail_guardrails::statement_words;

use crate::expr::ast::{Arithmetic, Ast, AstKind, Comparison, Function, Patterns, Quantifier, TextTest};
use crate::expr::value::{Scope, Value};
use crate::expr::vocabulary::{Name, Type};

pub(super) fn evaluate<'e>(
    root: &'e Ast,
    names: &'e [Name],
    scope: &dyn Scope,
) -> Result<bool, Vec<&'e Name>> {
    let evaluator = Evaluator { names, scope };
    evaluator.truth(root).ok_or_else(|| {
        let mut indexes = Vec::new();
        evaluator.unknown_names(root, &mut indexes);
        indexes.sort_unstable();
        indexes.dedup();
        indexes.into_iter().filter_map(|index| names.get(index)).collect()
    })
}

pub(super) fn value<'s>(root: &'s Ast, names: &'s [Name], scope: &'s dyn Scope) -> Value<'s> {
    Evaluator { names, scope }.value(root)
}

struct Evaluator<'s> {
    names: &'s [Name],
    scope: &'s dyn Scope,
}

impl<'s> Evaluator<'s> {
    /// The recursion is limited by the depth limit of the parser.
    fn truth(&self, ast: &'s Ast) -> Option<bool> {
        match &ast.kind {
            AstKind::Bool(value) => Some(*value),
            AstKind::All(parts) => all(parts.iter().map(|part| self.truth(part))),
            AstKind::Any(parts) => any(parts.iter().map(|part| self.truth(part))),
            AstKind::Not(part) => self.truth(part).map(|holds| !holds),
            AstKind::Compare(operator, left, right) => {
                let is_path = left.is_path(self.names) || right.is_path(self.names);
                let (left, right) = (self.value(left), self.value(right));
                match operator {
                    Comparison::Equal if is_path => self.equal_paths(&left, &right),
                    Comparison::NotEqual if is_path => self.equal_paths(&left, &right).map(|equal| !equal),
                    _ => compare(*operator, &left, &right),
                }
            }
            AstKind::In(item, container, negated)
            | AstKind::TextTest(TextTest::Contains, container, item, negated) => {
                self.holds(container, item).map(|found| found != *negated)
            }
            AstKind::TextTest(test, left, right, negated) => {
                let is_path = left.is_path(self.names);
                let (left, right) = (self.value(left), self.value(right));
                let holds = |left: &Value<'_>, right: &Value<'_>| {
                    if is_path { self.path_test(*test, left, right) } else { text_test(*test, left, right) }
                };
                let found = some(&left, |left| some(&right, |right| holds(left, right)));
                found.map(|found| found != *negated)
            }
            AstKind::Match(quantifier, left, patterns) => {
                let is_path = left.is_path(self.names);
                let left = self.value(left);
                let fits = |text: &Value<'_>| self.fits(text, patterns, is_path);
                match quantifier {
                    Quantifier::Any => some(&left, fits),
                    Quantifier::None => some(&left, fits).map(|found| !found),
                    Quantifier::All => every(&left, fits),
                }
            }
            AstKind::Known(part, known) => Some(self.value(part).is_unknown() != *known),
            AstKind::Name(_) => match self.value(ast) {
                Value::Bool(value) => Some(value),
                _ => None,
            },
            AstKind::Null
            | AstKind::Number(_)
            | AstKind::Text(_)
            | AstKind::List(_)
            | AstKind::Negate(_)
            | AstKind::Arithmetic(..)
            | AstKind::Call(..) => None,
        }
    }

    fn value(&self, ast: &'s Ast) -> Value<'s> {
        match &ast.kind {
            AstKind::Null => Value::Null,
            AstKind::Number(value) => Value::Number(*value),
            AstKind::Text(text) => Value::Text(Cow::Borrowed(text)),
            AstKind::Name(index) => {
                match self.names.get(*index).map(|name| self.scope.lookup(name).plain()) {
                    Some(Value::Number(value)) if value.is_nan() => Value::Unknown,
                    Some(value) => value,
                    None => Value::Unknown,
                }
            }
            AstKind::Negate(part) => self.number(part).map_or(Value::Unknown, |value| Value::Number(-value)),
            AstKind::Arithmetic(operator, left, right) => match (self.number(left), self.number(right)) {
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
            AstKind::Call(Function::Lower, part) => lowered(self.value(part)),
            AstKind::Call(Function::Statements, part) => statements(&self.value(part)),
            AstKind::Call(Function::Len, part) => {
                // Several values of one text have no single length.
                length(&self.value(part), part.value_type(self.names).is_text())
            }
            _ => self.truth(ast).map_or(Value::Unknown, Value::Bool),
        }
    }

    fn number(&self, ast: &'s Ast) -> Option<f64> {
        match self.value(ast) {
            Value::Number(value) => Some(value),
            _ => None,
        }
    }

    /// Whether a container contains an item: one of several, a part of a text, a member of a list, or a text that matches
    /// one of several patterns.
    fn holds(&self, container: &'s Ast, item: &'s Ast) -> Option<bool> {
        let matches = item.is_path(self.names);
        let is_path = matches || container.is_path(self.names);
        let item = self.value(item);
        if let AstKind::List(items) = &container.kind {
            return any(items.iter().map(|other| match is_path {
                true => self.equal_paths(&item, &self.value(other)),
                false => compare(Comparison::Equal, &item, &self.value(other)),
            }));
        }
        let kind = container.value_type(self.names);
        let container = self.value(container);
        let is_list = matches!(
            container,
            Value::List(_) | Value::Partial(_) | Value::Json(serde_json::Value::Array(_))
        );
        some(&item, |item| match kind {
            Type::Patterns => self.matches_one(item, &container, matches),
            Type::Path => some(&container, |container| self.path_test(TextTest::Contains, container, item)),
            Type::Text => some(&container, |container| text_test(TextTest::Contains, container, item)),
            Type::Bool | Type::Number | Type::Any if !is_list => {
                text_test(TextTest::Contains, &container, item)
            }
            Type::List | Type::Paths | Type::Bool | Type::Number | Type::Any => {
                some(&container, |member| match is_path {
                    true => self.equal_path(member, item),
                    false => equal_one(member, item),
                })
            }
        })
    }

    /// Whether a path, or one of several, is the same as a text by any of its names. Wildcards in a path may match the text.
    fn equal_paths(&self, left: &Value<'_>, right: &Value<'_>) -> Option<bool> {
        match (left, right) {
            (Value::Unknown, _) | (_, Value::Unknown) => None,
            (Value::Null, _) | (_, Value::Null) => equal(left, right),
            _ => some(left, |left| some(right, |right| self.equal_path(left, right))),
        }
    }

    fn equal_path(&self, left: &Value<'_>, right: &Value<'_>) -> Option<bool> {
        let (Value::Text(one), Value::Text(other)) = (left, right) else { return equal_one(left, right) };
        if one == other {
            return Some(true);
        }
        any([(one, other), (other, one)].into_iter().map(|(path, text)| {
            if glob::is_pattern(text) || text.contains(['$', '`', '\\']) {
                return Some(false);
            }
            self.scope.path_fits(text, path)
        }))
    }

    /// A text test on a path, by any of its names. Where the path has wildcards or variables, the result may be unknown.
    fn path_test(&self, test: TextTest, left: &Value<'_>, right: &Value<'_>) -> Option<bool> {
        let (Value::Text(path), Value::Text(text)) = (left, right) else { return None };
        if text_test(test, left, right) == Some(true) {
            return Some(true);
        }
        // Every path is absolute, so `starts with '/'` asks whether it is outside the root.
        if text.starts_with('/') && text.len() > 1 && test == TextTest::StartsWith {
            let names = self.scope.absolute_names(path);
            if names.iter().any(|name| name.starts_with(text.as_ref())) {
                return Some(true);
            }
        }
        let is_variable = |part: &str| part.contains(['$', '`']);
        let is_open = |c: char| matches!(c, '*' | '?' | '[' | ']' | '$' | '`');
        if !path.contains(is_open) {
            return Some(false);
        }
        let start = path.split(is_open).next().filter(|_| !is_variable(path)).unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or_default();
        let end = if is_variable(name) { "" } else { name.rsplit(is_open).next().unwrap_or_default() };
        let may_hold = match test {
            TextTest::Contains => true,
            TextTest::StartsWith => text.starts_with(start),
            TextTest::EndsWith => text.ends_with(end) && name.len() > end.len() || is_variable(path),
        };
        if may_hold { None } else { Some(false) }
    }

    /// Whether a text matches a pattern, or one of several. In patterns on paths, `*` stops at `/`; in patterns on other texts, it
    /// matches everything.
    fn matches_one(&self, text: &Value<'_>, patterns: &Value<'_>, is_path: bool) -> Option<bool> {
        let Value::Text(text) = text else { return None };
        some(patterns, |pattern| match pattern {
            Value::Text(pattern) if is_path => self.scope.path_fits(pattern, text),
            Value::Text(pattern) => Some(glob::name_matches(pattern, text)),
            _ => None,
        })
    }

    fn fits(&self, text: &Value<'_>, patterns: &'s Patterns, is_path: bool) -> Option<bool> {
        let fits = patterns.items.iter().map(|pattern| self.matches_one(text, &self.value(pattern), is_path));
        if patterns.all { all(fits) } else { any(fits) }
    }

    /// The names because of which a part is unknown: those without a value, or if all have one, those with a wrong type.
    fn unknown_names(&self, ast: &'s Ast, indexes: &mut Vec<usize>) {
        if self.truth(ast).is_some() {
            return;
        }
        match &ast.kind {
            AstKind::All(parts) | AstKind::Any(parts) => {
                parts.iter().for_each(|part| self.unknown_names(part, indexes));
            }
            AstKind::Not(part) => self.unknown_names(part, indexes),
            _ => {
                let used = ast.names();
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
        // The test may hold for an item that is not known.
        Value::Partial(texts) => any(texts.iter().map(|text| test(&Value::text(text))).chain([None])),
        Value::Json(serde_json::Value::Array(items)) => {
            any(items.iter().map(|item| test(&Value::Json(item).plain())))
        }
        _ => test(value),
    }
}

/// Whether a test holds for a value, or for each in a list.
fn every(value: &Value<'_>, test: impl Fn(&Value<'_>) -> Option<bool>) -> Option<bool> {
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
                    (Value::AtLeast(least), Value::Number(right)) => compare_least(operator, *least, *right),
                    (Value::Number(left), Value::AtLeast(least)) => {
                        compare_least(operator.mirrored(), *least, *left)
                    }
                    _ => None,
                })
            })
        }
    }
}

/// Compares a number that is at least `least`, where that decides.
fn compare_least(operator: Comparison, least: f64, right: f64) -> Option<bool> {
    match operator {
        Comparison::Greater => (least > right).then_some(true),
        Comparison::GreaterOrEqual => (least >= right).then_some(true),
        Comparison::Less => (least >= right).then_some(false),
        Comparison::LessOrEqual | Comparison::Equal => (least > right).then_some(false),
        Comparison::NotEqual => (least > right).then_some(true),
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
        (Value::AtLeast(least), Value::Number(number)) | (Value::Number(number), Value::AtLeast(least)) => {
            compare_least(Comparison::Equal, *least, *number)
        }
        (Value::Text(left), Value::Text(right)) => Some(left == right),
        (Value::Unknown, _) | (_, Value::Unknown) => None,
        (Value::Null, Value::Null) => Some(true),
        (Value::Null, _) | (_, Value::Null) => Some(false),
        _ => None,
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

/// The length of a text, a list or an object.
fn length<'s>(value: &Value<'_>, is_text: bool) -> Value<'s> {
    match value {
        Value::Text(text) => count(text.chars().count()),
        Value::List(texts) if !is_text => count(texts.len()),
        Value::Partial(texts) if !is_text => match count(texts.len()) {
            Value::Number(least) => Value::AtLeast(least),
            other => other,
        },
        Value::Json(serde_json::Value::Array(items)) if !is_text => count(items.len()),
        Value::Json(serde_json::Value::Object(entries)) if !is_text => count(entries.len()),
        _ => Value::Unknown,
    }
}

fn lowered(value: Value<'_>) -> Value<'_> {
    match value {
        Value::Text(text) => Value::Text(lower(text)),
        Value::List(texts) => Value::List(texts.into_iter().map(lower).collect()),
        Value::Partial(texts) => Value::Partial(texts.into_iter().map(lower).collect()),
        Value::Json(serde_json::Value::Array(items)) => {
            let texts: Option<Vec<_>> =
                items.iter().map(|item| item.as_str().map(|text| lower(text.into()))).collect();
            texts.map_or(Value::Unknown, Value::List)
        }
        _ => Value::Unknown,
    }
}

/// The words that say what the SQL statements of a text do.
fn statements<'s>(value: &Value<'_>) -> Value<'s> {
    let Value::Text(text) = value else { return Value::Unknown };
    match statement_words(text) {
        Some(words) => Value::List(words.into_iter().map(Cow::Owned).collect()),
        None => Value::Unknown,
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
