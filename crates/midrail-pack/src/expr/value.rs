//! The values of names at run time.

use std::borrow::Cow;

use midrail_core::path_pattern;

use crate::expr::vocabulary::{Name, Segment};

/// The values of names.
pub trait Scope {
    /// The value of a name; [`Value::Unknown`] if there is none. For a name of a `.*` term, [`walk`] finds the value in
    /// JSON.
    fn lookup<'s>(&'s self, name: &Name) -> Value<'s>;

    /// Whether a path matches a pattern by any of its names. `None`: it is unknown.
    fn path_fits(&self, pattern: &str, path: &str) -> Option<bool> {
        path_pattern::fits(pattern, path)
    }

    /// The absolute names of a path that is relative to the root.
    fn absolute_names(&self, path: &str) -> Vec<String> {
        let _ = path;
        Vec::new()
    }
}

/// A value, borrowed where possible.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// Unknown.
    Unknown,
    /// Known to be null.
    Null,
    /// True or false.
    Bool(bool),
    /// A number; infinity means no limit, and NaN is treated as unknown.
    Number(f64),
    /// A text.
    Text(Cow<'a, str>),
    /// A list of texts.
    List(Texts<'a>),
    /// A list of texts that may have further items, which are not known.
    Partial(Texts<'a>),
    /// A number that is at least this, as the length of such a list.
    AtLeast(f64),
    /// A JSON value.
    Json(&'a serde_json::Value),
}

/// A list of texts, borrowed where possible.
pub type Texts<'a> = Vec<Cow<'a, str>>;

impl<'a> Value<'a> {
    /// A text borrowed from the scope.
    pub fn text(text: &'a str) -> Value<'a> {
        Value::Text(Cow::Borrowed(text))
    }

    /// A list of texts borrowed from the scope.
    pub fn list(texts: &'a [String]) -> Value<'a> {
        Value::List(texts.iter().map(|text| Cow::Borrowed(text.as_str())).collect())
    }

    /// Converts a JSON scalar; lists and objects stay as they are.
    pub(crate) fn plain(self) -> Value<'a> {
        use serde_json::Value as Json;
        match self {
            Value::Json(Json::Null) => Value::Null,
            Value::Json(Json::Bool(value)) => Value::Bool(*value),
            Value::Json(Json::Number(value)) => value.as_f64().map_or(Value::Unknown, Value::Number),
            Value::Json(Json::String(value)) => Value::Text(Cow::Borrowed(value)),
            other => other,
        }
    }

    /// The first path with wildcards or variables, which stands for files that are not known.
    pub(crate) fn open_path(&self) -> Option<&str> {
        let texts = match self {
            Value::Text(text) => std::slice::from_ref(text),
            Value::List(texts) | Value::Partial(texts) => texts.as_slice(),
            _ => &[],
        };
        texts.iter().map(AsRef::as_ref).find(|text: &&str| text.contains(['*', '?', '[', '$', '`']))
    }

    /// The type in a message: "a text". `None`: the value is unknown, or a part of it.
    pub(crate) fn noun(&self) -> Option<&'static str> {
        match self {
            Value::Unknown | Value::Partial(_) | Value::AtLeast(_) => None,
            Value::Null => Some("null"),
            Value::Bool(_) | Value::Json(serde_json::Value::Bool(_)) => Some("true or false"),
            Value::Number(_) | Value::Json(serde_json::Value::Number(_)) => Some("a number"),
            Value::Text(_) | Value::Json(serde_json::Value::String(_)) => Some("a text"),
            Value::List(_) | Value::Json(serde_json::Value::Array(_)) => Some("a list"),
            Value::Json(serde_json::Value::Object(_)) => Some("a map"),
            Value::Json(serde_json::Value::Null) => Some("null"),
        }
    }

    /// A list of texts, of which there may be more.
    pub(crate) fn partial_if(self, is_partial: bool) -> Value<'a> {
        match self {
            Value::List(texts) if is_partial => Value::Partial(texts),
            other => other,
        }
    }

    /// Whether the value is unknown, or a part of it.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Value::Unknown | Value::Partial(_) | Value::AtLeast(_))
    }
}

impl<'a> From<Vec<&'a str>> for Value<'a> {
    fn from(value: Vec<&'a str>) -> Self {
        Value::List(value.into_iter().map(Cow::Borrowed).collect())
    }
}

/// Follows a path below a JSON value. A missing key is unknown.
pub fn walk<'s>(path: &[Segment], root: &'s serde_json::Value) -> Value<'s> {
    let step = |value: &'s serde_json::Value, segment: &Segment| match segment {
        Segment::Key(key) => value.get(key),
        Segment::Index(index) => value.get(index),
    };
    path.iter().try_fold(root, step).map_or(Value::Unknown, Value::Json)
}
