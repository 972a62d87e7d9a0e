//! What gateways have in common: the events of a request or an answer, and the outcome of their decisions.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::http::HeaderMap;
use midrail::core::{Host, HostLimit, hex};
use midrail::{Event, EventKind};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The header with the session of a conversation, for gateways whose contract has no field for it.
pub(super) const SESSION: &str = "midrail-session";

/// The header with the agent.
pub(super) const AGENT: &str = "midrail-agent";

/// The longest name of a session. A longer one is replaced by its digest.
const MAX_NAME: usize = 200;

/// The contract of a gateway: bytes to events, and the outcome to bytes. It decides nothing.
pub(super) trait Contract: Sized + Send + 'static {
    /// The name of the gateway, in records and in sessions.
    const NAME: &'static str;
    /// How long an answer may take. The gateway itself waits longer.
    const LIMIT: Duration;

    /// Reads a body. `Err`: why it is not understood, so that nothing of it may happen.
    fn read(body: &Value, headers: &HeaderMap) -> Result<(Self, Exchange), String>;

    /// The answer to the gateway.
    fn answer(&self, body: &Value, outcome: &Outcome) -> Value;

    /// The answer that blocks.
    fn refusal(reason: &str) -> Value;
}

/// The events of one request to a model, or of its answer.
pub(super) struct Exchange {
    /// The session. `None`: the gateway names none, and no message identifies the conversation.
    pub(super) session: Option<String>,
    /// The agent.
    pub(super) agent: Option<String>,
    /// The call of the model, by the gateway's id. An answer belongs to the session of its request.
    pub(super) call: Option<String>,
    /// Whether the texts of the answer may be the beginning of a stream that is sent again as it grows.
    pub(super) is_growing: bool,
    /// What is decided, in order.
    pub(super) items: Vec<Item>,
}

/// One event, and where its text is.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// The event, without a session and an agent.
    pub(super) event: Event,
    /// The JSON pointer to the text in the body. `None`: the gateway cannot replace it.
    pub(super) place: Option<String>,
    /// Whether it is an answer of the model, which is new whatever it says.
    pub(super) is_answer: bool,
}

impl Item {
    /// A message of a conversation.
    pub(super) fn message(event: Event, place: Option<String>) -> Self {
        Item { event, place, is_answer: false }
    }

    /// An answer of the model.
    pub(super) fn answer(self) -> Self {
        Item { is_answer: true, ..self }
    }

    /// The same, with the gateway that it comes from and what that gateway can do with the decision.
    pub(super) fn behind(mut self, gateway: &str) -> Self {
        let limits = if self.place.is_some() {
            vec![HostLimit::Notes]
        } else {
            vec![HostLimit::Notes, HostLimit::Redact]
        };
        self.event.host = Some(Host { name: gateway.to_owned(), limits, ..Host::default() });
        self
    }
}

/// An event with a text.
pub(super) fn text_event(kind: EventKind, text: &str) -> Event {
    Event { text: Some(text.to_owned()), ..Event::new(kind) }
}

/// The outcome of all decisions about an exchange.
#[derive(Debug, PartialEq)]
pub(super) enum Outcome {
    /// It may happen with these changes.
    Passed(Changed),
    /// It may not happen, for this reason.
    Blocked(String),
}

/// What guardrails changed, by the JSON pointers of texts.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Changed {
    /// Texts that replace those of the body.
    pub(super) texts: BTreeMap<String, String>,
    /// The characters at the end of texts that may change when more text follows.
    pub(super) held: BTreeMap<String, usize>,
    /// The names of the tools that may be offered, if some may not.
    pub(super) tools: Option<Vec<String>>,
}

impl Changed {
    /// Whether everything is as it was.
    pub(super) fn is_nothing(&self) -> bool {
        self.texts.is_empty() && self.tools.is_none()
    }

    /// The body with the changed texts.
    pub(super) fn apply(&self, body: &Value) -> Value {
        let mut body = body.clone();
        for (place, text) in &self.texts {
            // INVARIANT: places were made from this body.
            if let Some(value) = body.pointer_mut(place) {
                *value = Value::String(text.clone());
            }
        }
        body
    }
}

/// The name of a session: of a gateway, and of what identifies the conversation there.
pub(super) fn session_name(gateway: &str, name: &str, owner: Option<&str>) -> String {
    let name = if name.len() > MAX_NAME { digest(&[name]) } else { name.to_owned() };
    // The caller of a gateway chooses the name: two owners never share a session.
    let owner = owner.map(|owner| format!("-{}", digest(&[owner]).get(..8).unwrap_or_default()));
    format!("{gateway}-{name}{}", owner.unwrap_or_default())
}

/// The session of a conversation that has no name: of its first instructions and its first prompt.
pub(super) fn session_of_messages(gateway: &str, items: &[Item], owner: Option<&str>) -> Option<String> {
    let text = |item: &&Item| item.event.kind == EventKind::BeforeModel;
    let first: Vec<&str> =
        items.iter().filter(text).filter_map(|item| item.event.text.as_deref()).take(2).collect();
    if first.is_empty() {
        return None;
    }
    Some(session_name(gateway, digest(&first).get(..16).unwrap_or_default(), owner))
}

/// The session or the agent that a header names.
pub(super) fn named<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok().map(str::trim).filter(|value| !value.is_empty())
}

/// The digest of several texts.
pub(super) fn digest(texts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for text in texts {
        digest.update(text.len().to_le_bytes());
        digest.update(text);
    }
    hex::encode(&digest.finalize())
}
