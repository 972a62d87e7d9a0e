//! One event in, one decision out.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use midrail::{Decision, Event};
use midrail_doors::wire::{self, WireError};

use crate::access::{Caller, Right};
use crate::api::input::JsonBytes;
use crate::api::{Api, Lasts, Operation, Place};
use crate::app::App;
use crate::observe::otlp::{Parent, within};
use crate::problem::{Outcome, Problem};
use crate::project::short;
use crate::work::blocking;

/// The header that makes a request one that is decided once.
const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Bytes of an event that takes long to look through, beside others.
const LARGE: usize = 64 << 10;

/// The longest that such a key may be.
const MAX_KEY: usize = 200;

pub(super) fn routes(api: Api) -> Api {
    let decide = Operation::new("post", "/v1/decide", "decide", "decisions", "Decides one event, and records it before answering")
        .with::<Option<String>>(Place::Header, IDEMPOTENCY_KEY, "Whoever sends the same event with the same key again gets the same decision, and it is recorded once")
        .takes::<Event>()
        .gives::<Decision>("The decision. Whatever goes wrong in deciding is a block that says so")
        .fails(&[409, 504]);
    api.route(decide, Right::Decide, Lasts::Briefly, post(decide_one))
}

async fn decide_one(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    JsonBytes(bytes): JsonBytes,
) -> Outcome<Response> {
    let once = headers.get(IDEMPOTENCY_KEY).map(|key| key.to_str().unwrap_or_default().to_owned());
    if once.as_ref().is_some_and(|key| key.is_empty() || key.len() > MAX_KEY) {
        return Err(Problem::malformed(format!("`{IDEMPOTENCY_KEY}` has 1 to {MAX_KEY} visible characters")));
    }
    let parent = headers.get("traceparent").and_then(|header| Parent::parse(header.to_str().ok()?));
    let is_traced = parent.is_some() && app.exporter.is_some();
    // What is traced, decided once or large has a thread to itself.
    let decision = if once.is_some() || is_traced || bytes.len() > LARGE {
        blocking(move || {
            let event = event_of(&caller, &bytes)?;
            let engine = caller.project().engine();
            Ok(within(parent, || match once {
                Some(key) => engine.decide_once(event, &key),
                None => Ok(engine.decide(event)),
            })?)
        })
        .await?
    } else {
        let event = event_of(&caller, &bytes)?;
        caller.project().desk().decide(event).await?
    };
    let body = wire::encode(&decision);
    Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
}

/// The event of a body, if the caller speaks for its agent.
pub(crate) fn event_of(caller: &Caller, bytes: &[u8]) -> Outcome<Event> {
    let mut event: Event = wire::decode_strictly(bytes).map_err(problem)?;
    // INVARIANT: whoever sends events does not set the clock by which approvals end and calls are counted.
    event.time = None;
    speaks_for(caller, event.agent.as_ref().and_then(|agent| agent.id.as_deref()))?;
    Ok(event)
}

/// Whether the caller's key speaks for an agent.
pub(crate) fn speaks_for(caller: &Caller, agent: Option<&str>) -> Outcome<()> {
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
