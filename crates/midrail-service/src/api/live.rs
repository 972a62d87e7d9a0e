//! Live events over HTTP: decisions, requests and alerts as server-sent events.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::get;
use midrail::Effect;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::access::{Caller, Right};
use crate::api::input::{Query, Read};
use crate::api::openapi::Content;
use crate::api::router::Api;
use crate::app::App;
use crate::live::{self, LiveFilter, Reader};
use crate::problem::{HandlerResult, Problem};

/// The header with which a reader reconnects.
const LAST: &str = "last-event-id";

/// The filter of a live stream.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StreamQuery {
    /// Only decisions with this effect
    effect: Option<Effect>,
    /// Only decisions with this effect or a higher one
    at_least: Option<Effect>,
    /// Only events of this session
    session: Option<String>,
    /// Only decisions in which this guardrail returned more than allow, and its requests
    guardrail: Option<String>,
    /// Only events of this tool
    tool: Option<String>,
    /// Start after this record, not with new events
    after: Option<u64>,
}

pub(super) fn routes(api: Api) -> Api {
    api.group("live")
        .get("/v1/live", "live", "Stream decisions, requests to people, changes and alerts of all processes as they happen")
        .long()
        .takes::<Query<StreamQuery>>()
        .header(LAST, "Start after this record, as browsers send it when they reconnect")
        .answers(
            200,
            "Events `decision`, `approval`, `change` and `alert`, with the number of the record as id; `passed` has the \
             position if no event matched; `ended`, `dropped` and `failed` are the last",
            Some(Content::text("text/event-stream")),
        )
        .handler(Right::Read, get(listen))
}

async fn listen(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Read(Query(query)): Read<Query<StreamQuery>>,
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
