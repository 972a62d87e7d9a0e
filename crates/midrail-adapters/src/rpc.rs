//! JSON-RPC messages, one per line: parses a line once and keeps it as it came.

use serde_json::{Map, Value, json};

use crate::wire::{self, MAX_EVENT_BYTES, WireError};

const PARSE_ERROR: i64 = -32_700;
const INVALID_REQUEST: i64 = -32_600;

/// The most messages in one line.
const MAX_BATCH: usize = 1000;

/// The content of a line.
pub(crate) enum Line {
    Blank,
    Message(Message),
    Batch { line: String, messages: Vec<Message> },
}

/// One message.
pub(crate) struct Message {
    /// As it came, without the line end.
    pub(crate) line: String,
    pub(crate) fields: Map<String, Value>,
    /// `None`: it is an answer.
    pub(crate) method: Option<String>,
    /// `None`: it is a notification.
    pub(crate) id: Option<Value>,
}

/// Why a line is not forwarded.
pub(crate) struct InvalidMessage {
    pub(crate) reason: String,
    code: i64,
    /// The request to answer. An invalid answer gets none.
    id: Option<Value>,
}

impl InvalidMessage {
    fn new(reason: impl Into<String>) -> Self {
        InvalidMessage { reason: reason.into(), code: INVALID_REQUEST, id: Some(Value::Null) }
    }

    /// The answer to its sender.
    pub(crate) fn answer(&self) -> Option<Value> {
        let id = self.id.as_ref()?;
        let message = format!("Midrail did not forward this: {}", self.reason);
        Some(json!({"jsonrpc": "2.0", "id": id, "error": {"code": self.code, "message": message}}))
    }
}

impl From<WireError> for InvalidMessage {
    fn from(error: WireError) -> Self {
        let reason = error.to_string().replace("the event", "the message").replace("no event", "no message");
        InvalidMessage { code: PARSE_ERROR, ..InvalidMessage::new(reason) }
    }
}

impl Message {
    fn new(line: String, fields: Map<String, Value>) -> Result<Self, InvalidMessage> {
        let id = fields.get("id").cloned();
        let invalid = |reason: &str| InvalidMessage {
            id: id.clone().filter(|id| is_id(id) && fields.contains_key("method")),
            ..InvalidMessage::new(reason)
        };
        if id.as_ref().is_some_and(|id| !is_id(id)) {
            return Err(invalid("`id` is neither a string nor a number"));
        }
        // Some programs ignore the case of names, and would read the other member.
        if let Some(other) = MEMBERS.iter().find_map(|name| imitation(&fields, name)) {
            return Err(invalid(&format!("`{other}` differs from the name of another member only in case")));
        }
        let is_answer = fields.contains_key("result") || fields.contains_key("error");
        let method = match fields.get("method") {
            Some(Value::String(method)) if !is_answer => Some(method.clone()),
            Some(Value::String(_)) => return Err(invalid("it is both a request and an answer")),
            Some(_) => return Err(invalid("`method` is not a string")),
            None if is_answer && id.is_some() => None,
            None => return Err(invalid("it is neither a request, nor a notification, nor an answer")),
        };
        Ok(Message { line, fields, method, id })
    }

    pub(crate) fn param(&self, name: &str) -> Option<&Value> {
        self.fields.get("params")?.get(name)
    }

    /// A parameter that is a string.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.param(name)?.as_str()
    }

    pub(crate) fn result(&self) -> Option<&Value> {
        self.fields.get("result")
    }

    pub(crate) fn result_field(&self, name: &str) -> Option<&Value> {
        self.result()?.get(name)
    }

    /// The key of its id.
    pub(crate) fn key(&self) -> Option<String> {
        self.id.as_ref().map(key)
    }

    /// The message with another value at a path, as a line.
    pub(crate) fn with(&self, path: &str, value: impl Into<Value>) -> Option<String> {
        let mut fields = Value::Object(self.fields.clone());
        *fields.pointer_mut(path)? = value.into();
        Some(fields.to_string())
    }
}

/// Parses a line.
pub(crate) fn read(bytes: &[u8]) -> Result<Line, InvalidMessage> {
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_EVENT_BYTES {
        return Err(WireError::TooLarge.into());
    }
    if bytes.trim_ascii().is_empty() {
        return Ok(Line::Blank);
    }
    // Programs in JavaScript cut texts within a character. The line is forwarded as it came.
    let value = wire::value(&wire::replace_lone_surrogates(bytes))?;
    // It is UTF-8, so nothing is lost. Some programs take a carriage return between tokens for a line end: each part would be a message.
    let line = String::from_utf8_lossy(bytes.trim_ascii()).replace('\r', " ");
    match value {
        Value::Object(fields) => Message::new(line, fields).map(Line::Message),
        Value::Array(items) if items.is_empty() || items.len() > MAX_BATCH => {
            Err(InvalidMessage::new(format!("a batch contains 1 to {MAX_BATCH} messages")))
        }
        Value::Array(items) => {
            let message = |item: Value| match item {
                Value::Object(fields) => Message::new(Value::Object(fields.clone()).to_string(), fields),
                _ => Err(InvalidMessage::new("a batch contains something that is not a JSON object")),
            };
            let messages = items.into_iter().map(message).collect::<Result<_, _>>()?;
            Ok(Line::Batch { line, messages })
        }
        _ => Err(InvalidMessage::new("it is not a JSON object")),
    }
}

/// The members of messages.
const MEMBERS: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

/// A member that programs take for another one if they ignore the case of names.
pub(crate) fn imitation<'f>(fields: &'f Map<String, Value>, name: &str) -> Option<&'f str> {
    // In upper case first: letters such as `ſ` have no lower case of their own.
    let folded = |key: &str| key.to_uppercase().to_lowercase();
    let is_imitation =
        |key: &&str| key.len() <= 2 * name.len() && *key != name && folded(key) == name.to_lowercase();
    fields.keys().map(String::as_str).find(is_imitation)
}

fn is_id(id: &Value) -> bool {
    matches!(id, Value::Null | Value::String(_) | Value::Number(_))
}

/// An id as a key. Some programs answer `1` with `1.0`.
pub(crate) fn key(id: &Value) -> String {
    match id.as_f64() {
        Some(number) if number.fract() == 0.0 => format!("{number:.0}"),
        _ => id.to_string(),
    }
}
