//! One event in, one decision out.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use midrail::{Decision, Event};
use midrail_adapters::wire::{self, WireError};

use crate::access::{Caller, Right};
use crate::api::input::JsonBytes;
use crate::api::openapi::{Lifetime, Operation, Place};
use crate::api::router::Api;
use crate::app::App;
use crate::blocking::blocking;
use crate::observe::otlp::{Parent, with_parent};
use crate::problem::{HandlerResult, Problem};
use crate::text::short;

/// The header that makes a request one that is decided once.
const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Events larger than this are decided on their own thread.
const LARGE: usize = 64 << 10;

/// The longest that such a key may be.
const MAX_KEY: usize = 200;

pub(super) fn routes(api: Api) -> Api {
    let decide = Operation::new("post", "/v1/decide", "decide", "decisions", "Decides one event, and records it before answering")
        .with::<Option<String>>(Place::Header, IDEMPOTENCY_KEY, "Whoever sends the same event with the same key again gets the same decision, and it is recorded once")
        .takes::<Event>()
        .gives::<Decision>("The decision. Whatever goes wrong in deciding is a block that says so")
        .fails(&[409, 504]);
    api.route(decide, Right::Decide, Lifetime::Short, post(decide_one))
}

async fn decide_one(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    JsonBytes(bytes): JsonBytes,
) -> HandlerResult<Response> {
    let once = headers.get(IDEMPOTENCY_KEY).map(|key| key.to_str().unwrap_or_default().to_owned());
    if once.as_ref().is_some_and(|key| key.is_empty() || key.len() > MAX_KEY) {
        return Err(Problem::malformed(format!("`{IDEMPOTENCY_KEY}` has 1 to {MAX_KEY} visible characters")));
    }
    let parent = headers.get("traceparent").and_then(|header| Parent::parse(header.to_str().ok()?));
    let is_traced = parent.is_some() && app.exporter.is_some();
    // What is traced, decided once or large has a thread to itself.
    let decision = if once.is_some() || is_traced || bytes.len() > LARGE {
        blocking(move || {
            let event = decode_event(&caller, &bytes)?;
            let engine = caller.project().engine();
            Ok(with_parent(parent, || match once {
                Some(key) => engine.decide_idempotent(event, &key),
                None => Ok(engine.decide(event)),
            })?)
        })
        .await?
    } else {
        let event = decode_event(&caller, &bytes)?;
        caller.project().queue().decide(event).await?
    };
    let body = wire::encode(&decision);
    Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
}

/// Decodes an event, and checks that the caller may act for its agent.
pub(crate) fn decode_event(caller: &Caller, bytes: &[u8]) -> HandlerResult<Event> {
    let mut event: Event = wire::decode_strict(bytes).map_err(problem)?;
    // INVARIANT: callers do not set the time that approvals and counters depend on.
    event.time = None;
    check_agent(caller, event.agent.as_ref().and_then(|agent| agent.id.as_deref()))?;
    Ok(event)
}

/// Checks that the caller's key may act for an agent.
pub(crate) fn check_agent(caller: &Caller, agent: Option<&str>) -> HandlerResult<()> {
    match caller.key() {
        Some(key) if !key.is_for_agent(agent) => {
            let named = agent.map_or_else(
                || "an agent without a name".to_owned(),
                |agent| format!("the agent `{}`", short(agent)),
            );
            Err(Problem::forbidden(format!("this key does not speak for {named}")))
        }
        _ => Ok(()),
    }
}

/// What is wrong with bytes that are no event.
pub(crate) fn problem(error: WireError) -> Problem {
    let told = match &error {
        WireError::Empty | WireError::NotUtf8 { .. } | WireError::NotJson { .. } => {
            Problem::malformed(error.to_string())
        }
        WireError::TooLarge => Problem::too_large(error.to_string()),
        _ => Problem::invalid(error.to_string()),
    };
    match error.help() {
        Some(help) => told.help(help),
        None => told,
    }
}
