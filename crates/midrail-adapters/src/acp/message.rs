//! JSON-RPC as lines: what came in, read once and kept as it came, and what is said by the proxy itself.

use midrail::Decision;
use serde_json::{Map, Value, json};

use crate::wire::{self, MAX_EVENT_BYTES, WireError};

/// A request that was refused by a guardrail.
const REFUSED: i64 = -32_000;
const PARSE_ERROR: i64 = -32_700;
const INVALID_REQUEST: i64 = -32_600;

/// The most messages in one line.
const MAX_BATCH: usize = 1000;

/// What a line holds.
pub(super) enum Read {
    Blank,
    One(Message),
    Batch { line: String, messages: Vec<Message> },
}

/// One message.
pub(super) struct Message {
    /// As it came, without the line's end.
    pub(super) line: String,
    pub(super) fields: Map<String, Value>,
    /// Absent where it is an answer.
    pub(super) method: Option<String>,
    /// Absent where no answer is waited for.
    pub(super) id: Option<Value>,
}

/// Why a line is not passed on.
pub(super) struct Refused {
    pub(super) what: String,
    code: i64,
    /// Who asked hears of it; an answer has nobody who waits for one.
    id: Option<Value>,
}

impl Refused {
    /// What its sender is told.
    pub(super) fn answer(&self) -> Option<Value> {
        let id = self.id.as_ref()?;
        Some(json!({"jsonrpc": "2.0", "id": id, "error": {
            "code": self.code, "message": format!("Midrail did not pass this on: {}", self.what)}}))
    }
}

impl From<WireError> for Refused {
    fn from(error: WireError) -> Self {
        let what = error.to_string().replace("the event", "the message").replace("no event", "no message");
        Refused { what, code: PARSE_ERROR, id: Some(Value::Null) }
    }
}

impl Message {
    fn of(line: String, fields: Map<String, Value>) -> Result<Self, Refused> {
        let id = fields.get("id").cloned();
        let refuse = |what: &str| Refused {
            what: what.to_owned(),
            code: INVALID_REQUEST,
            id: id.clone().filter(|id| is_id(id) && fields.contains_key("method")),
        };
        if id.as_ref().is_some_and(|id| !is_id(id)) {
            return Err(refuse("its `id` is neither a text nor a number"));
        }
        let is_answer = fields.contains_key("result") || fields.contains_key("error");
        let method = match fields.get("method") {
            Some(Value::String(method)) if !is_answer => Some(method.clone()),
            Some(Value::String(_)) => return Err(refuse("it is a request and an answer at once")),
            Some(_) => return Err(refuse("its `method` is no text")),
            None if is_answer && id.is_some() => None,
            None => return Err(refuse("it is neither a request, nor a notification, nor an answer")),
        };
        Ok(Message { line, fields, method, id })
    }

    pub(super) fn params(&self) -> Option<&Map<String, Value>> {
        self.fields.get("params")?.as_object()
    }

    /// A text among the parameters.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.params()?.get(name)?.as_str()
    }

    /// The session that it belongs to.
    pub(super) fn session(&self) -> Option<String> {
        self.text("sessionId").map(str::to_owned)
    }

    pub(super) fn result(&self) -> Option<&Value> {
        self.fields.get("result")
    }

    /// What it is known by among the open requests.
    pub(super) fn key(&self) -> Option<String> {
        self.id.as_ref().map(key)
    }
}

/// Reads a line.
pub(super) fn read(bytes: &[u8]) -> Result<Read, Refused> {
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_EVENT_BYTES {
        return Err(WireError::TooLarge.into());
    }
    if bytes.trim_ascii().is_empty() {
        return Ok(Read::Blank);
    }
    let value = wire::value(bytes)?;
    // It was read as UTF-8, so that nothing is lost.
    let line = String::from_utf8_lossy(bytes.trim_ascii()).into_owned();
    match value {
        Value::Object(fields) => Message::of(line, fields).map(Read::One),
        Value::Array(items) => batch(line, items),
        _ => Err(invalid("it is no JSON object")),
    }
}

fn batch(line: String, items: Vec<Value>) -> Result<Read, Refused> {
    if items.is_empty() || items.len() > MAX_BATCH {
        return Err(invalid(&format!("a batch holds between 1 and {MAX_BATCH} messages")));
    }
    let mut messages = Vec::new();
    for item in items {
        let line = item.to_string();
        match item {
            Value::Object(fields) => messages.push(Message::of(line, fields)?),
            _ => return Err(invalid("a batch holds something that is no JSON object")),
        }
    }
    Ok(Read::Batch { line, messages })
}

fn invalid(what: &str) -> Refused {
    Refused { what: what.to_owned(), code: INVALID_REQUEST, id: Some(Value::Null) }
}

fn is_id(id: &Value) -> bool {
    matches!(id, Value::Null | Value::String(_) | Value::Number(_))
}

/// An id as a key. Some programs answer `1` to `1.0`.
pub(super) fn key(id: &Value) -> String {
    match id.as_f64() {
        Some(number) if number.fract() == 0.0 => format!("{number:.0}"),
        _ => id.to_string(),
    }
}

/// An answer to a request.
pub(super) fn answer(id: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// A refusal as the answer to a request.
pub(super) fn refusal(id: &Value, text: &str, decision: Option<&Decision>) -> Value {
    let data = decision.map(|decision| {
        json!({"midrail": {"effect": decision.effect, "by": decision.by, "reason": decision.reason}})
    });
    let mut error = json!({"code": REFUSED, "message": text});
    if let (Some(fields), Some(data)) = (error.as_object_mut(), data) {
        fields.insert("data".to_owned(), data);
    }
    json!({"jsonrpc": "2.0", "id": id, "error": error})
}

/// Something that the person reads in the place where the agent speaks.
pub(super) fn says(session: &str, text: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "update": {
        "sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": format!("\n\n{text}\n\n")}}}})
}
