//! Decides one event, a batch of events, or a conversation.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::response::Response;
use axum::routing::post;
use midrail::{Decision, Engine, Event, session_id};
use midrail_adapters::wire::{self, WireError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::access::{Caller, Right};
use crate::api::input::{JsonBytes, parse};
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
        .post(
            "/v1/decide/batch",
            "decide_batch",
            "Decide up to 1,000 events, those of one session in order. If an event is invalid, none is decided",
        )
        .takes_body::<BatchSchema>("application/json")
        .answers(200, "The decisions, one for each event", Some(Content::json::<Decisions>()))
        .handler(Right::Decide, post(decide_all))
        .post(
            "/v1/decide/conversation",
            "decide_conversation",
            "Decide the messages of a conversation that arrives whole each time, each of them once",
        )
        .takes_body::<ConversationSchema>("application/json")
        .answers(
            200,
            "The decisions, up to the first that stops the conversation. What was replaced is replaced again",
            Some(Content::json::<Decisions>()),
        )
        .handler(Right::Decide, post(decide_conversation))
}

/// The headers of a request for one decision.
struct DecideHeaders {
    /// The key that makes the request idempotent.
    once: Option<String>,
    /// The trace that the request belongs to.
    parent: Option<Parent>,
}

impl FromRequestParts<App> for DecideHeaders {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Problem> {
        let header = |name| parts.headers.get(name);
        let once = header(IDEMPOTENCY_KEY).map(|key| key.to_str().unwrap_or_default().to_owned());
        if once.as_ref().is_some_and(|key| key.is_empty() || key.len() > MAX_KEY) {
            let what = format!("`{IDEMPOTENCY_KEY}` has 1 to {MAX_KEY} visible characters");
            return Err(Problem::malformed(what));
        }
        let parent = header("traceparent").and_then(|parent| Parent::parse(parent.to_str().ok()?));
        Ok(DecideHeaders { once, parent })
    }
}

async fn decide_one(
    State(app): State<App>,
    caller: Caller,
    DecideHeaders { once, parent }: DecideHeaders,
    JsonBytes(bytes): JsonBytes,
) -> HandlerResult<Response> {
    let is_traced = parent.is_some() && app.exporter.is_some();
    // Traced, idempotent and large events are decided on their own thread.
    let decision = if once.is_some() || is_traced || bytes.len() > LARGE {
        blocking(move || {
            let event = decode_event(&caller, &bytes)?;
            caller.check_session(&session_id(&event))?;
            let engine = caller.project.engine();
            Ok(with_parent(parent, || match once {
                Some(key) => engine.decide_idempotent(event, &key),
                None => Ok(engine.decide(event)),
            })?)
        })
        .await?
    } else {
        let event = decode_event(&caller, &bytes)?;
        caller.check_session_of(&event).await?;
        caller.project.queue.decide(event).await?
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

/// The most events of one request.
const MAX_EVENTS: usize = 1_000;

/// Groups of sessions of one request that are decided concurrently.
const AT_ONCE: usize = 8;

/// Events to decide.
#[derive(JsonSchema)]
#[schemars(rename = "Batch")]
#[allow(dead_code, reason = "it describes the body; each event is read from its own text")]
struct BatchSchema {
    /// The events, at most 1,000. Those of one session are decided in this order.
    #[schemars(length(max = 1000))]
    events: Vec<Event>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Batch<'b> {
    #[serde(borrow)]
    events: Vec<&'b RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Conversation<'b> {
    #[serde(borrow)]
    events: Vec<&'b RawValue>,
    #[serde(default)]
    new: usize,
}

/// The decisions of a batch.
#[derive(Serialize, JsonSchema)]
struct Decisions {
    /// The decisions, in the order of the events.
    decisions: Vec<Decision>,
}

/// A conversation.
#[derive(JsonSchema)]
#[schemars(rename = "Conversation")]
#[allow(dead_code, reason = "it describes the body; each event is read from its own text")]
struct ConversationSchema {
    /// All messages of the conversation as events, at most 1,000, with the oldest first.
    #[schemars(length(max = 1000))]
    events: Vec<Event>,
    /// How many of the last ones were not there before. They are decided even if the same words were decided before.
    #[schemars(default)]
    new: usize,
}

async fn decide_all(
    State(app): State<App>,
    caller: Caller,
    JsonBytes(bytes): JsonBytes,
) -> HandlerResult<Response> {
    let until = Instant::now() + app.config.limits.time;
    blocking(move || {
        let batch: Batch<'_> = parse(&bytes)?;
        let events = decode_events(&app, &caller, &batch.events)?;
        Ok(decisions(&decide_events(caller.project.engine(), events, until)?))
    })
    .await
}

async fn decide_conversation(
    State(app): State<App>,
    caller: Caller,
    JsonBytes(bytes): JsonBytes,
) -> HandlerResult<Response> {
    let until = Instant::now() + app.config.limits.time;
    blocking(move || {
        let conversation: Conversation<'_> = parse(&bytes)?;
        let events = decode_events(&app, &caller, &conversation.events)?;
        let mut made = Vec::with_capacity(events.len());
        for decision in caller.project.engine().decide_conversation(events, conversation.new) {
            made.push(decision);
            if is_late(until) {
                return Err(too_slow());
            }
        }
        Ok(decisions(&made))
    })
    .await
}

fn decisions(made: &[Decision]) -> Response {
    let texts: Vec<String> = made.iter().map(wire::encode).collect();
    with_type("application/json", format!("{{\"decisions\":[{}]}}", texts.join(",")))
}

/// Whether the caller has timed out.
fn is_late(until: Instant) -> bool {
    Instant::now() + Duration::from_millis(1) > until
}

fn too_slow() -> Problem {
    Problem::too_slow("not all events were decided in time")
        .help("a missing decision is not a permission; send fewer events at a time")
}

/// The events of a body, all of which the caller may send.
fn decode_events(app: &App, caller: &Caller, texts: &[&RawValue]) -> HandlerResult<Vec<Event>> {
    if texts.len() > MAX_EVENTS {
        return Err(Problem::invalid(format!("a batch holds at most {MAX_EVENTS} events")));
    }
    let mut events = Vec::with_capacity(texts.len());
    for (at, text) in texts.iter().enumerate() {
        events.push(decode_event(caller, text.get().as_bytes()).map_err(|problem| {
            let detail = format!("events[{at}]: {}", problem.detail);
            let is_forbidden = problem.status == 403;
            let problem_here =
                if is_forbidden { Problem::forbidden(detail) } else { Problem::invalid(detail) };
            Problem { help: problem.help, ..problem_here }
        })?);
    }
    let sessions: BTreeSet<String> = events.iter().map(session_id).collect();
    sessions.iter().try_for_each(|session| caller.check_session(session))?;
    // The request itself was counted as one.
    app.authenticator.count(&caller.identity, events.len().saturating_sub(1))?;
    Ok(events)
}

/// Decides events: those of one session in order, sessions concurrently.
fn decide_events(engine: &Engine, events: Vec<Event>, until: Instant) -> HandlerResult<Vec<Decision>> {
    let mut sessions: BTreeMap<Option<String>, Vec<(usize, Event)>> = BTreeMap::new();
    for (at, event) in events.into_iter().enumerate() {
        sessions.entry(event.session.clone()).or_default().push((at, event));
    }
    let mut groups: Vec<Vec<(usize, Event)>> = Vec::new();
    for (at, (_, events)) in sessions.into_iter().enumerate() {
        match groups.get_mut(at % AT_ONCE) {
            Some(group) => group.extend(events),
            None => groups.push(events),
        }
    }
    let work = |group: Vec<(usize, Event)>| -> Option<Vec<(usize, Decision)>> {
        let mut made = Vec::with_capacity(group.len());
        for (at, event) in group {
            if is_late(until) {
                return None;
            }
            made.push((at, engine.decide(event)));
        }
        Some(made)
    };
    let results: Vec<Option<Vec<(usize, Decision)>>> = thread::scope(|scope| {
        let threads: Vec<_> = groups.into_iter().map(|group| scope.spawn(|| work(group))).collect();
        threads.into_iter().map(|thread| thread.join().ok().flatten()).collect()
    });
    let Some(groups) = results.into_iter().collect::<Option<Vec<_>>>() else {
        return Err(too_slow());
    };
    let mut made: Vec<(usize, Decision)> = groups.into_iter().flatten().collect();
    made.sort_by_key(|(at, _)| *at);
    Ok(made.into_iter().map(|(_, decision)| decision).collect())
}
