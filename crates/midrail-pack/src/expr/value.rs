//! What names stand for at run time.

use std::borrow::Cow;

use super::vocabulary::Name;

/// Gives names their values.
pub trait Scope {
    /// The value of a name; [`Value::Unknown`] where there is none.
    ///
    /// For a name of a `.*` term, [`Name::walk`] finds the value in JSON.
    fn lookup<'s>(&'s self, name: &Name) -> Value<'s>;
}

/// A value, borrowed where it can be.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// Not known.
    Unknown,
    /// Known to be nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A number; infinity stands for no limit, and what is no number counts as unknown.
    Number(f64),
    /// A text.
    Text(Cow<'a, str>),
    /// A list of texts.
    List(Texts<'a>),
    /// Whatever JSON holds.
    Json(&'a serde_json::Value),
}

/// A list of texts, borrowed where it can be.
#[derive(Debug, Clone)]
pub enum Texts<'a> {
    /// Strings of the scope.
    Strings(&'a [String]),
    /// Slices of the scope.
    Slices(&'a [&'a str]),
    /// Slices that were gathered for the lookup.
    Gathered(Vec<&'a str>),
    /// Texts of which some had to be made.
    Mixed(Vec<Cow<'a, str>>),
}

impl<'a> Value<'a> {
    /// A text borrowed from the scope.
    pub fn text(text: &'a str) -> Value<'a> {
        Value::Text(Cow::Borrowed(text))
    }

    /// A list of texts borrowed from the scope.
    pub fn list(texts: &'a [String]) -> Value<'a> {
        Value::List(Texts::Strings(texts))
    }

    /// The value, where there is one, or unknown.
    pub fn or_unknown(value: Option<impl Into<Value<'a>>>) -> Value<'a> {
        value.map_or(Value::Unknown, Into::into)
    }

    /// JSON that is a scalar becomes the same scalar of ours; lists and objects stay.
    pub(super) fn plain(self) -> Value<'a> {
        use serde_json::Value as Json;
        match self {
            Value::Json(Json::Null) => Value::Null,
            Value::Json(Json::Bool(value)) => Value::Bool(*value),
            Value::Json(Json::Number(value)) => value.as_f64().map_or(Value::Unknown, Value::Number),
            Value::Json(Json::String(value)) => Value::Text(Cow::Borrowed(value)),
            other => other,
        }
    }

    /// The text, where the value is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            Value::Json(json) => json.as_str(),
            _ => None,
        }
    }

    /// Whether nothing is known.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Value::Unknown)
    }
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl From<f64> for Value<'_> {
    fn from(value: f64) -> Self {
        Value::Number(value)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Value::text(value)
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(value: &'a String) -> Self {
        Value::text(value)
    }
}

impl From<String> for Value<'_> {
    fn from(value: String) -> Self {
        Value::Text(Cow::Owned(value))
    }
}

impl<'a> From<&'a [String]> for Value<'a> {
    fn from(value: &'a [String]) -> Self {
        Value::list(value)
    }
}

impl<'a> From<&'a Vec<String>> for Value<'a> {
    fn from(value: &'a Vec<String>) -> Self {
        Value::list(value)
    }
}

impl<'a> From<Vec<&'a str>> for Value<'a> {
    fn from(value: Vec<&'a str>) -> Self {
        Value::List(Texts::Gathered(value))
    }
}

impl<'a> From<&'a [&'a str]> for Value<'a> {
    fn from(value: &'a [&'a str]) -> Self {
        Value::List(Texts::Slices(value))
    }
}

impl<'a> From<&'a serde_json::Value> for Value<'a> {
    fn from(value: &'a serde_json::Value) -> Self {
        Value::Json(value)
    }
}

impl Texts<'_> {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Texts::Strings(texts) => texts.len(),
            Texts::Slices(texts) => texts.len(),
            Texts::Gathered(texts) => texts.len(),
            Texts::Mixed(texts) => texts.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The text at a place.
    pub fn get(&self, index: usize) -> Option<&str> {
        match self {
            Texts::Strings(texts) => texts.get(index).map(String::as_str),
            Texts::Slices(texts) => texts.get(index).copied(),
            Texts::Gathered(texts) => texts.get(index).copied(),
            Texts::Mixed(texts) => texts.get(index).map(AsRef::as_ref),
        }
    }

    /// The texts in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

impl PartialEq for Texts<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}
