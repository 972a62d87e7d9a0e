//! Messages of the Agent Client Protocol: refusals, and updates of a session.

use midrail::Decision;
use serde_json::{Map, Value, json};

pub(super) use crate::rpc::{InvalidMessage, Line, Message, key, read};

/// The code of a refusal by a guardrail.
const REFUSED: i64 = -32_000;

impl Message {
    /// The id of its session.
    pub(super) fn session(&self) -> Option<String> {
        self.text("sessionId").map(str::to_owned)
    }
}

/// A refusal as the answer to a request.
pub(super) fn refusal(id: &Value, text: &str, decision: Option<&Decision>) -> Value {
    let mut error =
        Map::from_iter([("code".to_owned(), json!(REFUSED)), ("message".to_owned(), json!(text))]);
    error.extend(decision.map(|it| {
        let decision = json!({"effect": it.effect, "by": it.by, "reason": it.reason});
        ("data".to_owned(), json!({"midrail": decision}))
    }));
    json!({"jsonrpc": "2.0", "id": id, "error": error})
}

/// An update of a session, as the agent sends it.
pub(super) fn update(session: &str, update: Value) -> Value {
    let params = json!({"sessionId": session, "update": update});
    json!({"jsonrpc": "2.0", "method": "session/update", "params": params})
}

/// A text that the user sees where the agent's messages are.
pub(super) fn shown_text(session: &str, text: &str) -> Value {
    let content = json!({"type": "text", "text": format!("\n\n{text}\n\n")});
    update(session, json!({"sessionUpdate": "agent_message_chunk", "content": content}))
}
