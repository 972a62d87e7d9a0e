//! Conditions that hold for every row: `1 = 1`, `x = x`, `NOT FALSE`, `a IS NULL OR a IS NOT NULL`.

use super::lex::{SqlKind, SqlToken};
use super::tokens::Tokens;
use crate::words::sql::OPERATORS;

/// Brackets nested deeper than this are not analysed.
const DEEPEST: usize = 24;

/// Whether a condition holds for every row, as far as its text shows.
pub(super) fn is_always_true(text: &str, condition: &[SqlToken]) -> bool {
    let mut parser = Parser { source: Tokens { text, tokens: condition }, at: 0 };
    parser.or(0).truth == Some(true)
}

/// A part of a condition.
#[derive(Debug, Clone, Copy, Default)]
struct ConditionPart {
    truth: Option<bool>,
    test: Option<Test>,
}

/// What is tested, and how: the tokens of both sides, and the operator between them. `x` alone, `x IS NULL` and their
/// opposites have no other side.
#[derive(Debug, Clone, Copy)]
struct Test {
    subject: (usize, usize),
    operator: &'static str,
    other: (usize, usize),
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq)]
enum Side {
    Number(f64),
    Text(String),
    Truth(bool),
    Null,
    /// A column or an expression: the tokens that spell it.
    Other(usize, usize),
}

struct Parser<'a> {
    source: Tokens<'a>,
    at: usize,
}

impl Parser<'_> {
    fn kind(&self) -> Option<SqlKind> {
        self.source.kind(self.at)
    }

    fn is_word(&self, words: &[&str]) -> bool {
        self.source.is_any(self.at, words)
    }

    fn take(&mut self, words: &[&str]) -> bool {
        let is_there = self.is_word(words);
        self.at += usize::from(is_there);
        is_there
    }

    fn marks(&self, marks: &[u8]) -> bool {
        marks.iter().enumerate().all(|(ahead, mark)| self.source.is_mark(self.at + ahead, *mark))
    }

    /// Takes a connective in either spelling.
    fn connects(&mut self, marks: &[u8], word: &str) -> bool {
        let is_marked = self.marks(marks);
        self.at += if is_marked { marks.len() } else { 0 };
        is_marked || self.take(&[word])
    }

    fn or(&mut self, depth: usize) -> ConditionPart {
        let first = self.and(depth);
        let mut parts = vec![first];
        while self.connects(b"||", "or") {
            let part = self.and(depth);
            // A long list of alternatives is no trick; a true one among them is still seen.
            if parts.len() < 16 || part.truth == Some(true) {
                parts.push(part);
            }
        }
        if parts.len() == 1 {
            return first;
        }
        let is_true = parts.iter().any(|part| part.truth == Some(true)) || self.covers_all(&parts);
        let is_false = parts.iter().all(|part| part.truth == Some(false));
        ConditionPart { truth: if is_true { Some(true) } else { is_false.then_some(false) }, test: None }
    }

    /// Whether two of the alternatives are opposites.
    fn covers_all(&self, parts: &[ConditionPart]) -> bool {
        let tests: Vec<Test> = parts.iter().filter_map(|part| part.test).collect();
        let is_opposite = |one: &Test, two: &Test| {
            (opposite(one.operator) == two.operator
                || matches!((one.operator, two.operator), ("<=", ">=") | (">=", "<=")))
                && self.is_same(one.subject, two.subject)
                && self.is_same(one.other, two.other)
        };
        tests.iter().enumerate().any(|(at, one)| tests.iter().skip(at + 1).any(|two| is_opposite(one, two)))
    }

    fn is_same(&self, one: (usize, usize), other: (usize, usize)) -> bool {
        one.1 - one.0 == other.1 - other.0
            && (one.0..one.1).zip(other.0..other.1).all(|(one, other)| {
                self.source.spelling(one).eq_ignore_ascii_case(self.source.spelling(other))
            })
    }

    fn and(&mut self, depth: usize) -> ConditionPart {
        let first = self.not(depth);
        let (mut truth, mut is_single) = (first.truth, true);
        while self.connects(b"&&", "and") {
            is_single = false;
            truth = match (truth, self.not(depth).truth) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            };
        }
        if is_single { first } else { ConditionPart { truth, test: None } }
    }

    fn not(&mut self, depth: usize) -> ConditionPart {
        let mut is_negated = false;
        while !self.marks(b"!=") && self.connects(b"!", "not") {
            is_negated = !is_negated;
        }
        let part = self.predicate(depth);
        if !is_negated {
            return part;
        }
        let test = part.test.map(|test| Test { operator: opposite(test.operator), ..test });
        ConditionPart { truth: part.truth.map(|truth| !truth), test }
    }

    fn predicate(&mut self, depth: usize) -> ConditionPart {
        let start = self.at;
        let left = self.side(depth);
        let end = self.at;
        let alone = |operator| Some(Test { subject: (start, end), operator, other: (0, 0) });
        let Some(operator) = self.operator() else {
            return ConditionPart { truth: truth_value(&left), test: alone("holds") };
        };
        match operator {
            "is" => {
                let is_negated = self.take(&["not"]);
                if self.take(&["null"]) {
                    let truth = match left {
                        Side::Null => Some(true),
                        Side::Other(..) => None,
                        Side::Number(_) | Side::Text(_) | Side::Truth(_) => Some(false),
                    };
                    let test = alone(if is_negated { "is not null" } else { "is null" });
                    return ConditionPart { truth: truth.map(|truth| truth != is_negated), test };
                }
                let right = self.side(depth);
                let truth = match (truth_value(&left), &right) {
                    (Some(left), Side::Truth(right)) => Some((left == *right) != is_negated),
                    _ => None,
                };
                ConditionPart { truth, test: None }
            }
            "between" => {
                let low = self.side(depth);
                let _ = self.take(&["and"]);
                let high = self.side(depth);
                let truth = match (compare(">=", &left, &low), compare("<=", &left, &high)) {
                    (Some(low), Some(high)) => Some(low && high),
                    _ => None,
                };
                ConditionPart { truth, test: None }
            }
            "in" => ConditionPart { truth: self.list_holds(&left, depth), test: None },
            "like" => {
                let right = self.side(depth);
                let takes_all = matches!(&right, Side::Text(pattern) if !pattern.is_empty() && pattern.bytes().all(|byte| byte == b'%'));
                let is_equal =
                    matches!((&left, &right), (Side::Text(left), Side::Text(right)) if left == right);
                ConditionPart { truth: (takes_all || is_equal).then_some(true), test: None }
            }
            operator => {
                let right_start = self.at;
                let right = self.side(depth);
                let other = (right_start, self.at);
                let truth = match (&left, &right) {
                    (Side::Other(start, end), Side::Other(other_start, other_end))
                        if end > start && self.is_same((*start, *end), (*other_start, *other_end)) =>
                    {
                        // A function that changes with every call is treated like a column.
                        match operator {
                            "=" | "<=" | ">=" => Some(true),
                            _ => Some(false),
                        }
                    }
                    _ => compare(operator, &left, &right),
                };
                ConditionPart { truth, test: Some(Test { subject: (start, end), operator, other }) }
            }
        }
    }

    /// `x IN (1, 2)`
    fn list_holds(&mut self, left: &Side, depth: usize) -> Option<bool> {
        if self.kind() != Some(SqlKind::Mark(b'(')) {
            return None;
        }
        self.at += 1;
        let mut holds = false;
        loop {
            let before = self.at;
            let right = self.side(depth + 1);
            holds |= compare("=", left, &right) == Some(true);
            match self.kind() {
                Some(SqlKind::Mark(b',')) => self.at += 1,
                Some(SqlKind::Mark(b')')) => {
                    self.at += 1;
                    return holds.then_some(true);
                }
                None => return None,
                Some(_) if self.at > before => {}
                Some(_) => self.at += 1,
            }
        }
    }

    fn operator(&mut self) -> Option<&'static str> {
        for (marks, operator) in [
            (&b"<=>"[..], "="),
            (b"<>", "<>"),
            (b"!=", "<>"),
            (b"<=", "<="),
            (b">=", ">="),
            (b"==", "="),
            (b"=", "="),
            (b"<", "<"),
            (b">", ">"),
        ] {
            if self.marks(marks) {
                self.at += marks.len();
                return Some(operator);
            }
        }
        for (words, operator) in [
            (&["is"][..], "is"),
            (&["like", "ilike", "rlike"], "like"),
            (&["between"], "between"),
            (&["in"], "in"),
        ] {
            if self.take(words) {
                return Some(operator);
            }
        }
        None
    }

    /// One side of a comparison: everything up to an operator, a bracket or AND and OR.
    fn side(&mut self, depth: usize) -> Side {
        let start = self.at;
        let mut value = self.single(depth);
        loop {
            // `1::bool` is 1.
            let is_cast = self.marks(b"::") && self.source.kind(self.at + 2) == Some(SqlKind::Word);
            if is_cast && !matches!(value, Side::Other(..)) {
                self.at += 3;
                continue;
            }
            // Sums of numbers are worked out; anything else is an expression.
            let operator = match self.kind() {
                Some(SqlKind::Mark(b'|')) if self.marks(b"||") => break,
                Some(SqlKind::Mark(b'&')) if self.marks(b"&&") => break,
                Some(SqlKind::Mark(
                    mark @ (b'+' | b'-' | b'*' | b'/' | b'%' | b'.' | b':' | b'&' | b'|' | b'^' | b'~'),
                )) => mark,
                Some(SqlKind::Mark(b'(' | b'[')) => {
                    self.skip_brackets();
                    value = Side::Other(start, self.at);
                    continue;
                }
                Some(kind) if kind.is_value() || kind == SqlKind::Word && !self.is_word(OPERATORS) => {
                    self.at += 1;
                    value = Side::Other(start, self.at);
                    continue;
                }
                _ => break,
            };
            self.at += 1;
            let right = self.single(depth);
            value = match (&value, operator, &right) {
                (Side::Number(left), b'+', Side::Number(right)) => Side::Number(left + right),
                (Side::Number(left), b'-', Side::Number(right)) => Side::Number(left - right),
                (Side::Number(left), b'*', Side::Number(right)) => Side::Number(left * right),
                _ => Side::Other(start, self.at),
            };
        }
        match value {
            Side::Other(..) => Side::Other(start, self.at),
            value => value,
        }
    }

    fn single(&mut self, depth: usize) -> Side {
        let start = self.at;
        let Some(kind) = self.kind() else { return Side::Other(start, start) };
        match kind {
            SqlKind::Number => {
                let spelling = self.source.spelling(start);
                let hex = spelling.strip_prefix("0x").and_then(|digits| u32::from_str_radix(digits, 16).ok());
                let parsed = hex.map(f64::from).or_else(|| spelling.parse().ok());
                self.at += 1;
                parsed.map_or(Side::Other(start, self.at), Side::Number)
            }
            SqlKind::Text => {
                self.at += 1;
                Side::Text(self.source.content(start).to_owned())
            }
            SqlKind::Mark(b'-' | b'+') => {
                self.at += 1;
                match self.kind() {
                    Some(SqlKind::Number) => {
                        let sign = if kind == SqlKind::Mark(b'-') { -1.0 } else { 1.0 };
                        let parsed = self.source.spelling(self.at).parse::<f64>();
                        self.at += 1;
                        parsed.map_or(Side::Other(start, self.at), |number| Side::Number(sign * number))
                    }
                    _ => Side::Other(start, self.at),
                }
            }
            SqlKind::Mark(b'(') => {
                if depth >= DEEPEST {
                    self.skip_brackets();
                    return Side::Other(start, self.at);
                }
                self.at += 1;
                // `(SELECT 1)` is 1.
                let _ = self.take(&["select"]);
                let inner = self.or(depth + 1);
                let is_closed = self.kind() == Some(SqlKind::Mark(b')'));
                if !is_closed {
                    self.at = start;
                    self.skip_brackets();
                    return Side::Other(start, self.at);
                }
                let only = self.source.kind(start + 1).filter(|_| self.at == start + 2);
                let content = self.source.content(start + 1);
                self.at += 1;
                match (only, content.parse::<f64>()) {
                    (Some(SqlKind::Number), Ok(number)) => Side::Number(number),
                    (Some(SqlKind::Number | SqlKind::Text), _) => Side::Text(content.to_owned()),
                    _ => inner.truth.map_or(Side::Other(start, self.at), Side::Truth),
                }
            }
            SqlKind::Word if self.take(&["true"]) => Side::Truth(true),
            SqlKind::Word if self.take(&["false"]) => Side::Truth(false),
            SqlKind::Word if self.take(&["null"]) => Side::Null,
            SqlKind::Word if self.take(&["exists"]) => {
                let inside = self.at;
                self.skip_brackets();
                let reads_table =
                    (inside..self.at).any(|place| self.source.spelling(place).eq_ignore_ascii_case("from"));
                if reads_table || self.at == inside { Side::Other(start, self.at) } else { Side::Truth(true) }
            }
            // `COALESCE(1, 0)` is 1.
            SqlKind::Word
                if depth < DEEPEST
                    && self.is_word(&["coalesce", "ifnull", "nvl", "abs"])
                    && self.source.is_mark(start + 1, b'(') =>
            {
                self.at = start + 2;
                let value = self.single(depth + 1);
                let is_whole = matches!(self.kind(), Some(SqlKind::Mark(b',' | b')')));
                self.at = start + 1;
                self.skip_brackets();
                match value {
                    value @ (Side::Number(_) | Side::Text(_) | Side::Truth(_)) if is_whole => value,
                    _ => Side::Other(start, self.at),
                }
            }
            SqlKind::Mark(b')' | b',') => Side::Other(start, start),
            SqlKind::Word if self.is_word(&["and", "or", "is", "in", "like", "between", "not"]) => {
                Side::Other(start, start)
            }
            _ => {
                self.at += 1;
                Side::Other(start, self.at)
            }
        }
    }

    fn skip_brackets(&mut self) {
        let mut depth = 0usize;
        while let Some(kind) = self.kind() {
            match kind {
                SqlKind::Mark(b'(' | b'[') => depth += 1,
                SqlKind::Mark(b')' | b']') => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        self.at += 1;
                        return;
                    }
                }
                _ if depth == 0 => return,
                _ => {}
            }
            self.at += 1;
        }
    }
}

/// The operator that holds where another does not.
fn opposite(operator: &'static str) -> &'static str {
    match operator {
        "=" => "<>",
        "<>" => "=",
        "<" => ">=",
        ">=" => "<",
        ">" => "<=",
        "<=" => ">",
        "is null" => "is not null",
        "is not null" => "is null",
        "holds" => "does not hold",
        "does not hold" => "holds",
        other => other,
    }
}

fn truth_value(side: &Side) -> Option<bool> {
    match side {
        Side::Number(number) => Some(*number != 0.0),
        Side::Truth(truth) => Some(*truth),
        Side::Text(text) => match text.trim().to_ascii_lowercase().as_str() {
            "t" | "true" | "y" | "yes" | "on" => Some(true),
            text => text.parse::<f64>().ok().map(|number| number != 0.0),
        },
        Side::Null => Some(false),
        Side::Other(..) => None,
    }
}

fn compare(operator: &str, left: &Side, right: &Side) -> Option<bool> {
    let ordering = match (left, right) {
        (Side::Number(left), Side::Number(right)) => left.partial_cmp(right)?,
        (Side::Text(left), Side::Text(right)) => left.cmp(right),
        (Side::Truth(left), Side::Truth(right)) => left.cmp(right),
        (Side::Number(number), Side::Text(text)) => number.partial_cmp(&text.trim().parse().ok()?)?,
        (Side::Text(text), Side::Number(number)) => text.trim().parse::<f64>().ok()?.partial_cmp(number)?,
        (Side::Truth(truth), Side::Number(number)) => f64::from(u8::from(*truth)).partial_cmp(number)?,
        (Side::Number(number), Side::Truth(truth)) => number.partial_cmp(&f64::from(u8::from(*truth)))?,
        (Side::Null, _) | (_, Side::Null) => return Some(false),
        _ => return None,
    };
    Some(match operator {
        "=" => ordering.is_eq(),
        "<>" => ordering.is_ne(),
        "<" => ordering.is_lt(),
        "<=" => ordering.is_le(),
        ">" => ordering.is_gt(),
        ">=" => ordering.is_ge(),
        _ => return None,
    })
}
