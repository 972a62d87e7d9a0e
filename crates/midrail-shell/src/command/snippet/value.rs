//! The values of the expressions of a snippet, as far as its text shows them.

use crate::command::invocation::Arg;

/// Texts longer than this are not followed.
const LONGEST_TEXT: usize = 64 * 1024;

/// A text of which nothing is known: a variable that no line sets.
pub(super) fn unknown() -> Arg {
    Arg::unknown("${unknown}")
}

impl Arg {
    /// The whole text, where all of it is known.
    pub(super) fn all(&self) -> Option<&str> {
        self.is_known().then_some(&self.text)
    }

    /// Whether some of it is known.
    pub(super) fn has_known(&self) -> bool {
        self.pieces().any(|(text, is_known)| is_known && !text.is_empty())
    }

    /// Adds a text. What becomes too long is not known any more.
    pub(super) fn add(&mut self, other: &Arg) {
        for (text, is_known) in other.pieces().filter(|(text, _)| !text.is_empty()) {
            let known = self.text.len() - self.unknown.last().map_or(0, |range| range.end);
            if is_known && (known == 0 || known + text.len() <= LONGEST_TEXT) {
                self.text.push_str(text);
            } else if known > 0 || self.text.is_empty() {
                self.append(&unknown());
            }
        }
    }
}

/// The value of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// A text.
    Text(Arg),
    /// A small number.
    Number(u32),
    /// A list.
    List(Vec<Value>),
    /// One of these, whichever: what a loop goes through.
    Any(Vec<Value>),
    /// A module, a function or a variable that has no known value, by its full name.
    Name(String),
    /// A path object.
    Path(Arg),
    /// A function of a value.
    Method(Box<Value>, String),
    /// Something that came from another machine.
    Fetched,
    /// Something that was decoded, into what is not known.
    Decoded,
    /// Anything else.
    Unknown,
}

impl Value {
    /// A text that is known.
    pub(super) fn known(text: impl Into<String>) -> Self {
        Value::Text(Arg::known(text))
    }

    /// The value as a text.
    pub(super) fn text(&self) -> Arg {
        match self {
            Value::Text(text) | Value::Path(text) => text.clone(),
            Value::Number(number) => Arg::known(number.to_string()),
            Value::Any(values) => match values.as_slice() {
                [only] => only.text(),
                _ => unknown(),
            },
            _ => unknown(),
        }
    }

    /// The values of a list, or the value itself.
    pub(super) fn each(&self) -> &[Value] {
        match self {
            Value::List(values) | Value::Any(values) => values,
            other => std::slice::from_ref(other),
        }
    }

    /// Whether lists are nested more than `depth` times.
    pub(super) fn is_deeper_than(&self, depth: usize) -> bool {
        match self {
            Value::List(values) | Value::Any(values) => match depth.checked_sub(1) {
                Some(depth) => values.iter().any(|value| value.is_deeper_than(depth)),
                None => true,
            },
            _ => false,
        }
    }

    /// How much memory a copy takes, about.
    pub(super) fn size(&self) -> usize {
        match self {
            Value::Text(text) | Value::Path(text) => text.text.len(),
            Value::List(values) | Value::Any(values) => values.iter().map(|value| 1 + value.size()).sum(),
            Value::Name(name) => name.len(),
            Value::Method(on, name) => on.size() + name.len(),
            Value::Number(_) | Value::Fetched | Value::Decoded | Value::Unknown => 1,
        }
    }
}
