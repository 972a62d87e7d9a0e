//! What happens, as it happens: server-sent events.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::get;
use midrail::Effect;
use serde::Deserialize;

use crate::access::{Caller, Right};
use crate::api::input::Query;
use crate::api::openapi::{Content, Lifetime, Operation, Place};
use crate::api::router::Api;
use crate::app::App;
use crate::live::{self, LiveFilter, Reader};
use crate::problem::{HandlerResult, Problem};

/// The header with which a reader comes again.
const LAST: &str = "last-event-id";

/// The filter of a live stream.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StreamQuery {
    #[serde(default)]
    effect: Option<Effect>,
    #[serde(default)]
    at_least: Option<Effect>,
    #[serde(default)]
    session: Option<String>,
    #[serde(default)]
    guardrail: Option<String>,
    #[serde(default)]
    tool: Option<String>,
    #[serde(default)]
    after: Option<u64>,
}

pub(super) fn routes(api: Api) -> Api {
    let live = Operation::new(
        "get",
        "/v1/live",
        "live",
        "live",
        "Streams decisions, requests to people, changes and alerts as they happen, whoever commits them",
    )
    .with::<Option<Effect>>(Place::Query, "effect", "Decisions with this effect")
    .with::<Option<Effect>>(Place::Query, "at_least", "Decisions with this effect, or a higher one")
    .with::<Option<String>>(Place::Query, "session", "What belongs to this session")
    .with::<Option<String>>(Place::Query, "guardrail", "What this guardrail said more than allow about")
    .with::<Option<String>>(Place::Query, "tool", "What is about this tool")
    .with::<Option<u64>>(Place::Query, "after", "Begin after this record, and not with what happens from now on")
    .with::<Option<String>>(Place::Header, LAST, "The same, as browsers send it when they come again")
    .answers(
        200,
        "Events `decision`, `approval`, `change` and `alert`, with the number of the record as id; `passed` tells how far \
         the stream has come where nothing fitted; `ended`, `dropped` and `failed` are the last",
        Some(Content::text("text/event-stream")),
    );
    api.route(live, Right::Read, Lifetime::Long, get(listen))
}

async fn listen(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Query(query): Query<StreamQuery>,
) -> HandlerResult<Response> {
    let last = match headers.get(LAST) {
        Some(text) => {
            let number = text.to_str().ok().and_then(|text| text.trim().parse::<u64>().ok());
            Some(number.ok_or_else(|| Problem::malformed(format!("`{LAST}` is the number of a record")))?)
        }
        None => None,
    };
    let filter = LiveFilter {
        effect: query.effect,
        at_least: query.at_least,
        session: query.session,
        guardrail: query.guardrail,
        tool: query.tool,
        key: caller.key().cloned(),
    };
    let show = Arc::new(|event: &live::LiveEvent| serde_json::to_string(event).ok());
    live::stream(Reader { app, caller, headers }, filter, last.or(query.after), show).await
}
