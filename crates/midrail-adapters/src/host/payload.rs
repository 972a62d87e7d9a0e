//! The payload that a host sends to a hook. Fields of an unexpected type count as absent.

use midrail::unique_keys::UniqueKeys;
use midrail::{Agent, Event};
use serde_json::{Map, Value};

/// Why a payload cannot be decoded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// A tool call without the name of a tool.
    #[error("it names no tool")]
    NoTool,
    /// A required field is absent.
    #[error("it has no `{0}`")]
    MissingField(&'static str),
}

/// A part of a payload, or why it cannot be decoded.
pub type Decoded<T = ()> = Result<T, DecodeError>;

/// The payload that a host sends to a hook.
#[derive(Debug, Clone, Default)]
pub struct Payload(pub Map<String, Value>);

impl Payload {
    /// A field that is not null.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    /// A copy of a field; null if it is absent.
    pub fn value(&self, key: &str) -> Value {
        self.get(key).cloned().unwrap_or_default()
    }

    /// A field that is a string and not empty.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str().filter(|text| !text.is_empty())
    }

    /// The same, as a copy.
    pub fn owned(&self, key: &str) -> Option<String> {
        self.text(key).map(str::to_owned)
    }

    /// A string below a field, as a copy.
    pub fn pointer(&self, key: &str, path: &str) -> Option<String> {
        self.get(key)?.pointer(path)?.as_str().map(str::to_owned)
    }

    /// A field that is an object. A string that contains a JSON object is parsed.
    pub fn object(&self, key: &str) -> Map<String, Value> {
        match self.get(key) {
            Some(Value::Object(map)) => map.clone(),
            Some(Value::String(text)) => match serde_json::from_str(text) {
                Ok(Value::Object(map)) if serde_json::from_str::<UniqueKeys>(text).is_ok() => map,
                // Of a key that occurs twice, the host may use the other value: the arguments cannot be read.
                Ok(Value::Object(_)) => Map::from_iter([("value".to_owned(), Value::from(text.as_str()))]),
                // Detection analyses `input`, whether it is a command line or a patch.
                _ => Map::from_iter([("input".to_owned(), Value::from(text.as_str()))]),
            },
            Some(other) => Map::from_iter([("value".to_owned(), other.clone())]),
            None => Map::new(),
        }
    }
}

/// Sets the agent of an event. A sub-agent belongs to the session of its parent, so that a halted or exhausted session
/// also binds its sub-agents.
pub(crate) fn set_agent(event: &mut Event, id: Option<String>, role: Option<String>, parent: Option<String>) {
    if id.is_none() && role.is_none() {
        return;
    }
    if parent.is_some() {
        event.session.clone_from(&parent);
    }
    event.parent = parent.or_else(|| id.as_ref().and(event.session.clone()));
    event.agent = Some(Agent { id, role, ..Agent::default() });
}
