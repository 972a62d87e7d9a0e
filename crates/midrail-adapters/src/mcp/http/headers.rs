//! The headers of messages over HTTP: those that a client sends with a message, and whether they agree with it.

use serde_json::{Value, json};

pub use super::header_text::PARAM;
use super::header_text::{decode, encode};
use super::params::has_value;
use crate::mcp::events::VERSION;
use crate::rpc::{self, Message};

/// The header with the version of the protocol.
pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// The header with the session of the eras with `initialize`.
pub const SESSION_ID: &str = "mcp-session-id";
/// The header with the method of a message.
pub const METHOD: &str = "mcp-method";
/// The header with the name of the tool, prompt or resource.
pub const NAME: &str = "mcp-name";
/// The header with the last event that a client has received.
pub const LAST_EVENT_ID: &str = "last-event-id";

/// The code of headers that do not agree with the message.
const MISMATCH: i64 = -32_020;

/// The first version of the era without `initialize`.
const MODERN: &str = "2026-07-28";

/// Whether a version belongs to the era without `initialize`.
pub fn is_modern(version: &str) -> bool {
    version >= MODERN && version.starts_with("20") && version.len() == MODERN.len()
}

/// The version that a message names itself, as every request of the era without `initialize` does.
pub(super) fn version_of(message: &Message) -> Option<&str> {
    message.param("_meta")?.get(VERSION)?.as_str()
}

/// The parameter that the header [`NAME`] repeats.
fn named(message: &Message) -> Option<&str> {
    match message.method.as_deref()? {
        "tools/call" | "prompts/get" => message.text("name"),
        "resources/read" => message.text("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => message.text("taskId"),
        _ => None,
    }
}

/// The headers that a request of the era without `initialize` has.
pub(super) fn of_message(message: &Message) -> Vec<(String, String)> {
    let Some(version) = version_of(message) else { return Vec::new() };
    let mut headers = vec![(PROTOCOL_VERSION.to_owned(), encode(version))];
    headers.extend(message.method.as_deref().map(|method| (METHOD.to_owned(), encode(method))));
    headers.extend(named(message).map(|name| (NAME.to_owned(), encode(name))));
    headers
}

/// A message that came over HTTP, as the service reads it before it is decided.
pub struct PostedMessage {
    message: Message,
}

/// The kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    /// A request that starts a session.
    Initialize,
    /// Another request.
    Request,
    /// A notification or an answer, which gets no answer.
    OneWay,
}

impl PostedMessage {
    /// Reads a body. `Err`: the error to answer.
    pub fn read(body: &[u8]) -> Result<Self, String> {
        match rpc::read(body) {
            Ok(rpc::Line::Message(message)) => Ok(PostedMessage { message }),
            Ok(rpc::Line::Blank) => Err(error(&Value::Null, -32_700, "there is no message")),
            Ok(rpc::Line::Batch { .. }) => {
                Err(error(&Value::Null, -32_600, "batches are not supported over HTTP; send one message"))
            }
            Err(invalid) => {
                let answer = invalid.answer().map(|answer| answer.to_string());
                Err(answer.unwrap_or_else(|| error(&Value::Null, -32_600, &invalid.reason)))
            }
        }
    }

    /// The message on one line.
    pub fn line(&self) -> String {
        on_one_line(self.message.line.as_bytes())
    }

    /// Its kind.
    pub fn kind(&self) -> MessageKind {
        match (self.message.method.as_deref(), &self.message.id) {
            (Some("initialize"), Some(_)) => MessageKind::Initialize,
            (Some(_), Some(_)) => MessageKind::Request,
            _ => MessageKind::OneWay,
        }
    }

    /// Whether it names a version of the era without `initialize`, itself or in its header.
    pub fn is_modern(&self, version: Option<&str>) -> bool {
        version_of(&self.message).is_some() || version.is_some_and(is_modern)
    }

    /// The error to answer, if headers do not agree with a message of the era without `initialize`. `header` returns the
    /// value of a header, and `params` are those with arguments: names without [`PARAM`], and values.
    pub fn mismatch<'h>(
        &self,
        header: impl Fn(&str) -> Option<&'h str>,
        params: &[(String, String)],
    ) -> Option<String> {
        let wrong = |what: &str| Some(error(&self.id(), MISMATCH, what));
        // A request without a version is answered by the server.
        let version = version_of(&self.message);
        if let (Some(in_body), in_header) = (version, header(PROTOCOL_VERSION))
            && in_header != Some(in_body)
        {
            return wrong("the header MCP-Protocol-Version does not agree with the message");
        }
        let method = self.message.method.as_deref();
        if header(METHOD) != method
            && (method.is_some() && self.message.id.is_some() || header(METHOD).is_some())
        {
            return wrong("the header Mcp-Method does not agree with the message");
        }
        let name = header(NAME).map(decode);
        match (&name, named(&self.message)) {
            (Some(None), _) => return wrong("the header Mcp-Name is not valid"),
            (Some(Some(name)), Some(named)) if name != named => {
                return wrong("the header Mcp-Name does not agree with the message");
            }
            (None, Some(_)) => return wrong("the header Mcp-Name is missing"),
            _ => {}
        }
        let args = self.message.param("arguments").cloned().unwrap_or_default();
        for (name, value) in params {
            let is_argument = decode(value).is_some_and(|value| has_value(&args, &value));
            if !is_argument {
                return wrong(&format!("no argument agrees with the header Mcp-Param-{name}"));
            }
        }
        None
    }

    /// The arguments of the call.
    pub fn arguments(&self) -> Value {
        self.message.param("arguments").cloned().unwrap_or_default()
    }

    /// The id of the request.
    pub fn id(&self) -> Value {
        self.message.id.clone().unwrap_or_default()
    }
}

/// An answer of Midrail to a request that is not forwarded, or whose server does not answer.
pub fn error(id: &Value, code: i64, what: &str) -> String {
    let message = format!("Midrail did not forward this: {what}");
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}).to_string()
}

/// Whether a line is an answer.
pub fn is_answer(line: &str) -> bool {
    matches!(rpc::read(line.as_bytes()), Ok(rpc::Line::Message(message)) if message.method.is_none())
}

/// An error that names no request, as servers answer with an HTTP status, with the id of the request that it is about.
pub fn with_id(body: &[u8], id: &Value) -> Vec<u8> {
    let Ok(Value::Object(mut fields)) = crate::wire::value(body) else { return body.to_vec() };
    if !fields.contains_key("error") || fields.get("id").is_some_and(|id| !id.is_null()) {
        return body.to_vec();
    }
    fields.insert("id".to_owned(), id.clone());
    Value::Object(fields).to_string().into_bytes()
}

/// A message on one line. Line ends are between its tokens, where a space is the same.
pub fn on_one_line(body: &[u8]) -> String {
    String::from_utf8_lossy(body.trim_ascii()).replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn posted(method: &str, params: Value) -> PostedMessage {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        PostedMessage::read(body.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn headers_agree_with_the_message() {
        let meta = json!({VERSION: "2026-07-28"});
        let call = posted("tools/call", json!({"name": "é", "arguments": {"a": {"b": 42}}, "_meta": meta}));
        let good = [(PROTOCOL_VERSION, "2026-07-28"), (METHOD, "tools/call"), (NAME, "=?base64?w6k=?=")];
        let mismatch = |headers: &[(&'static str, &'static str)], param: &str| {
            let params = [("B".to_owned(), param.to_owned())];
            call.mismatch(|name| headers.iter().find(|(it, _)| *it == name).map(|(_, value)| *value), &params)
        };
        assert_eq!(mismatch(&good, "42"), None);
        assert!(mismatch(&good, "43").unwrap().contains("-32020"));
        for at in 0..good.len() {
            let mut other = good;
            other[at].1 = "other";
            assert!(mismatch(&other, "42").is_some(), "{other:?}");
            let missing: Vec<_> = good.iter().copied().filter(|it| it.0 != good[at].0).collect();
            assert!(mismatch(&missing, "42").is_some(), "{missing:?}");
        }
    }

    #[test]
    fn bodies_that_are_not_one_message_are_answered() {
        for body in [
            "",
            "{",
            "[]",
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            "{}",
            r#"{"id":1,"id":2,"method":"x"}"#,
        ] {
            let Err(answer) = PostedMessage::read(body.as_bytes()) else { panic!("{body}") };
            assert!(answer.contains("\"error\""), "{body}: {answer}");
        }
    }
}
