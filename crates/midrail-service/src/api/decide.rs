//! One event in, one decision out.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::post;
use midrail::{Decision, Event};
use midrail_adapters::wire::{self, WireError};

use crate::access::{Caller, Right};
use crate::api::input::JsonBytes;
use crate::api::openapi::Content;
use crate::api::router::Api;
use crate::app::App;
use crate::blocking::blocking;
use crate::observe::otlp::{Parent, with_parent};
use crate::problem::{HandlerResult, Problem};
use crate::stream_body::with_type;

/// The header that makes a request idempotent.
const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Events larger than this are decided on their own thread.
const LARGE: usize = 64 << 10;

/// The longest idempotency key.
const MAX_KEY: usize = 200;

pub(super) fn routes(api: Api) -> Api {
    api.group("decisions")
        .post("/v1/decide", "decide", "Decide one event, and record it before answering")
        .header(
            IDEMPOTENCY_KEY,
            "The same event with the same key gets the same decision, and is recorded once",
        )
        .takes_body::<Event>("application/json")
        .answers(
            200,
            "The decision. An internal error is a block with a reason",
            Some(Content::json::<Decision>()),
        )
        .handler(Right::Decide, post(decide_one))
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
    // Traced, idempotent and large events are decided on their own thread.
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
        caller.project().queue.decide(event).await?
    };
    Ok(with_type("application/json", wire::encode(&decision)))
}

/// Decodes an event, and checks that the caller may act for its agent.
pub(crate) fn decode_event(caller: &Caller, bytes: &[u8]) -> HandlerResult<Event> {
    let mut event: Event = wire::decode_strict(bytes).map_err(problem)?;
    // INVARIANT: callers do not set the time that approvals and counters depend on.
    event.time = None;
    caller.check_agent(event.agent.as_ref().and_then(|agent| agent.id.as_deref()))?;
    Ok(event)
}

/// The problem of an invalid event.
pub(crate) fn problem(error: WireError) -> Problem {
    let problem = match &error {
        WireError::Empty | WireError::NotUtf8 { .. } | WireError::NotJson { .. } => {
            Problem::malformed(error.to_string())
        }
        WireError::TooLarge => Problem::too_large(error.to_string()),
        _ => Problem::invalid(error.to_string()),
    };
    Problem { help: error.help(), ..problem }
}
