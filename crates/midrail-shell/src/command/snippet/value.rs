//! The values of the expressions of a snippet, as far as its text shows them.

use crate::command::invocation::quoted;

/// Texts longer than this are not followed.
const LONGEST_TEXT: usize = 64 * 1024;

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// Plain text.
    Known(String),
    /// Something that is not known.
    Unknown,
}

/// A text, parts of which may be unknown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Text(pub(super) Vec<Piece>);

impl Text {
    /// A text that is known.
    pub(super) fn known(text: impl Into<String>) -> Self {
        Text(vec![Piece::Known(text.into())])
    }

    /// A text of which nothing is known.
    pub(super) fn unknown() -> Self {
        Text(vec![Piece::Unknown])
    }

    /// The whole text, where all of it is known.
    pub(super) fn all(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [Piece::Known(text)] => Some(text),
            _ => None,
        }
    }

    /// Whether some of it is known.
    pub(super) fn has_known(&self) -> bool {
        self.0.iter().any(|piece| matches!(piece, Piece::Known(text) if !text.is_empty()))
    }

    /// How many bytes of it are known.
    pub(super) fn len(&self) -> usize {
        self.0.iter().map(|piece| if let Piece::Known(text) = piece { text.len() } else { 1 }).sum()
    }

    /// Appends a text.
    pub(super) fn append(&mut self, other: Text) {
        for piece in other.0 {
            match (self.0.last_mut(), piece) {
                (Some(Piece::Known(before)), Piece::Known(text))
                    if before.len() + text.len() <= LONGEST_TEXT =>
                {
                    before.push_str(&text);
                }
                (Some(Piece::Known(_)), Piece::Known(_)) => self.0.push(Piece::Unknown),
                (Some(Piece::Unknown), Piece::Unknown) => {}
                (_, piece) => self.0.push(piece),
            }
        }
    }

    /// The text as a piece of a command line: unknown parts are written as a variable that no line sets.
    pub(super) fn to_line(&self) -> String {
        self.0.iter().map(|piece| if let Piece::Known(text) = piece { text } else { UNKNOWN }).collect()
    }

    /// The text as one word of a command line.
    pub(super) fn to_word(&self) -> String {
        match self.all() {
            Some(text) => quoted(text),
            None => {
                let mut word = String::from("\"");
                for piece in &self.0 {
                    match piece {
                        Piece::Known(text) => {
                            for letter in text.chars() {
                                if matches!(letter, '"' | '\\' | '$' | '`') {
                                    word.push('\\');
                                }
                                word.push(letter);
                            }
                        }
                        Piece::Unknown => word.push_str(UNKNOWN),
                    }
                }
                word.push('"');
                word
            }
        }
    }
}

/// How an unknown part is spelt in command lines and paths.
const UNKNOWN: &str = "${unknown}";

/// The value of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// A text.
    Text(Text),
    /// A small number.
    Number(u32),
    /// A list.
    List(Vec<Value>),
    /// A module, a function or a variable that has no known value, by its full name.
    Name(String),
    /// A path object.
    Path(Text),
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
    /// The value as a text.
    pub(super) fn text(&self) -> Text {
        match self {
            Value::Text(text) | Value::Path(text) => text.clone(),
            Value::Number(number) => Text::known(number.to_string()),
            Value::List(_)
            | Value::Name(_)
            | Value::Method(..)
            | Value::Fetched
            | Value::Decoded
            | Value::Unknown => Text::unknown(),
        }
    }

    /// The values of a list, or the value itself.
    pub(super) fn each(&self) -> &[Value] {
        match self {
            Value::List(values) => values,
            other => std::slice::from_ref(other),
        }
    }

    /// Whether lists are nested more than `depth` times.
    pub(super) fn is_deeper_than(&self, depth: usize) -> bool {
        match self {
            Value::List(values) => match depth.checked_sub(1) {
                Some(depth) => values.iter().any(|value| value.is_deeper_than(depth)),
                None => true,
            },
            _ => false,
        }
    }

    /// How much memory a copy takes, about.
    pub(super) fn size(&self) -> usize {
        match self {
            Value::Text(text) | Value::Path(text) => text.len(),
            Value::List(values) => values.iter().map(|value| 1 + value.size()).sum(),
            Value::Name(name) => name.len(),
            Value::Method(on, name) => on.size() + name.len(),
            Value::Number(_) | Value::Fetched | Value::Decoded | Value::Unknown => 1,
        }
    }
}
