//! The contract of agentgateway's webhook for models: one call with the messages before the model, one with the choices after it.
//!
//! It has no field for a session: the configuration sets the headers `midrail-session` and `midrail-agent`.

use std::time::Duration;

use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::chat;
use super::exchange::{
    AGENT, Contract, Exchange, Item, Outcome, SESSION, digest, named, session_name, session_of_messages,
};

/// The status that the client of the gateway receives for a block.
const BLOCKED: u16 = 403;

const NAME: &str = "agentgateway";

const LIMIT: Duration = Duration::from_secs(9);

/// The call before the model.
pub(super) struct Request;

/// The call after the model.
pub(super) struct Response;

impl Contract for Request {
    const NAME: &'static str = NAME;
    const LIMIT: Duration = LIMIT;

    fn read(body: &Value, headers: &HeaderMap) -> Result<(Self, Exchange), String> {
        let list = body.pointer("/body/messages").ok_or("`body.messages` is missing")?;
        let items = chat::messages("/body/messages", list)?;
        let session = session_of_messages(NAME, &items, None);
        Ok((Request, exchange(headers, session, items)))
    }

    fn answer(&self, body: &Value, outcome: &Outcome) -> Value {
        answer(body, outcome)
    }

    fn refusal(reason: &str) -> Value {
        refusal(reason)
    }
}

impl Contract for Response {
    const NAME: &'static str = NAME;
    const LIMIT: Duration = LIMIT;

    fn read(body: &Value, headers: &HeaderMap) -> Result<(Self, Exchange), String> {
        let list = body.pointer("/body/choices").ok_or("`body.choices` is missing")?;
        let items = chat::choices("/body/choices", list)?;
        // Nothing connects an answer with its request, and answers of different callers must not share a session.
        let text = digest(&[&list.to_string()]);
        let session = session_name(NAME, &format!("answer-{}", text.get(..16).unwrap_or_default()), None);
        Ok((Response, exchange(headers, Some(session), items)))
    }

    fn answer(&self, body: &Value, outcome: &Outcome) -> Value {
        answer(body, outcome)
    }

    fn refusal(reason: &str) -> Value {
        refusal(reason)
    }
}

fn exchange(headers: &HeaderMap, session: Option<String>, items: Vec<Item>) -> Exchange {
    let named_session = named(headers, SESSION).map(|name| session_name(NAME, name, None));
    Exchange {
        session: named_session.or(session),
        agent: named(headers, AGENT).map(str::to_owned),
        call: None,
        is_growing: false,
        items: items.into_iter().map(|item| item.behind(NAME)).collect(),
    }
}

/// Its actions have no tag: a pass has no body, a mask has an object, a rejection a text.
fn answer(body: &Value, outcome: &Outcome) -> Value {
    let action = match outcome {
        Outcome::Blocked(reason) => return refusal(reason),
        Outcome::Passed(changed) if changed.is_nothing() => json!({"reason": "allowed by Midrail"}),
        Outcome::Passed(changed) => {
            json!({"body": changed.apply(body).get("body"), "reason": "Midrail replaced parts of the text"})
        }
    };
    json!({"action": action})
}

fn refusal(reason: &str) -> Value {
    json!({"action": {"body": reason, "status_code": BLOCKED, "reason": "blocked by Midrail"}})
}
