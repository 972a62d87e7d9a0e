//! Many events in one request, decided in order.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use midrail::{Decision, Engine, Event};
use midrail_adapters::wire;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::access::{Caller, Right};
use crate::api::decide::decode_event;
use crate::api::input::{JsonBytes, parse};
use crate::api::openapi::{Lifetime, Operation};
use crate::api::router::Api;
use crate::app::App;
use crate::blocking::blocking;
use crate::problem::{HandlerResult, Problem};

/// Events of one request.
const MAX_EVENTS: usize = 1_000;

/// Sessions of one request that are worked on at a time.
const AT_ONCE: usize = 8;

/// Events to decide.
#[derive(JsonSchema)]
#[schemars(rename = "Batch")]
#[allow(dead_code, reason = "it tells what a body looks like; each event is read from its own text")]
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

/// What was decided.
#[derive(Serialize, JsonSchema)]
struct Decisions {
    /// The decisions, in the order of the events.
    decisions: Vec<Decision>,
}

pub(super) fn routes(api: Api) -> Api {
    let batch = Operation::new(
        "post",
        "/v1/decide/batch",
        "decide_batch",
        "decisions",
        "Decides up to 1,000 events, those of one session in order; an event that cannot be read is told before any is decided",
    )
    .takes::<BatchSchema>()
    .gives::<Decisions>("The decisions, one for each event")
    .fails(&[504]);
    api.route(batch, Right::Decide, Lifetime::Short, post(decide_all))
}

async fn decide_all(
    State(app): State<App>,
    caller: Caller,
    JsonBytes(bytes): JsonBytes,
) -> HandlerResult<Response> {
    let until = Instant::now() + app.config.limits.time;
    let body = blocking(move || {
        let events = decode_events(&caller, &bytes)?;
        // The request itself was counted as one.
        app.authenticator.count(caller.identity(), events.len().saturating_sub(1))?;
        let decisions = decide_events(caller.project().engine(), events, until)?;
        Ok(encoded(&decisions))
    })
    .await?;
    Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
}

/// The events of a body, each of which the caller may send.
fn decode_events(caller: &Caller, bytes: &[u8]) -> HandlerResult<Vec<Event>> {
    let batch: Batch<'_> = parse(bytes)?;
    if batch.events.len() > MAX_EVENTS {
        return Err(Problem::invalid(format!("a batch holds at most {MAX_EVENTS} events")));
    }
    let mut events = Vec::with_capacity(batch.events.len());
    for (at, text) in batch.events.iter().enumerate() {
        let event = decode_event(caller, text.get().as_bytes()).map_err(|problem| {
            let told = match problem.status {
                403 => Problem::forbidden(format!("events[{at}]: {}", problem.detail)),
                _ => Problem::invalid(format!("events[{at}]: {}", problem.detail)),
            };
            Problem { help: problem.help, ..told }
        })?;
        events.push(event);
    }
    Ok(events)
}

/// The decisions of events. Those of one session are made one after the other; sessions do not wait for each other.
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
            // The caller has timed out.
            if Instant::now() + Duration::from_millis(1) > until {
                return None;
            }
            made.push((at, engine.decide(event)));
        }
        Some(made)
    };
    let mut made: Vec<(usize, Decision)> = Vec::new();
    let mut is_whole = true;
    if groups.len() <= 1 {
        for group in groups {
            match work(group) {
                Some(decisions) => made.extend(decisions),
                None => is_whole = false,
            }
        }
    } else {
        thread::scope(|scope| {
            let threads: Vec<_> = groups.into_iter().map(|group| scope.spawn(|| work(group))).collect();
            for thread in threads {
                match thread.join() {
                    Ok(Some(decisions)) => made.extend(decisions),
                    _ => is_whole = false,
                }
            }
        });
    }
    if !is_whole {
        return Err(Problem::too_slow("not all events were decided in time")
            .help("a decision that did not come is no permission; send fewer events at a time"));
    }
    made.sort_by_key(|(at, _)| *at);
    Ok(made.into_iter().map(|(_, decision)| decision).collect())
}

fn encoded(decisions: &[Decision]) -> String {
    let texts: Vec<String> = decisions.iter().map(wire::encode).collect();
    format!("{{\"decisions\":[{}]}}", texts.join(","))
}
