//! Live events over HTTP: decisions, requests and alerts as server-sent events.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::get;

use crate::access::{Caller, Right};
use crate::api::input::{Query, Read};
use crate::api::openapi::Content;
use crate::api::router::Api;
use crate::app::App;
use crate::live::{self, LiveFilter, Reader};
use crate::problem::{HandlerResult, Problem};

/// The header with which a reader reconnects.
const LAST: &str = "last-event-id";

pub(super) fn routes(api: Api) -> Api {
    api.group("live")
        .get("/v1/live", "live", "Stream decisions, requests to people, changes and alerts of all processes as they happen")
        .long()
        .takes::<Query<LiveFilter>>()
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
    Read(Query(mut filter)): Read<Query<LiveFilter>>,
) -> HandlerResult<Response> {
    if let Some(text) = headers.get(LAST) {
        let number = text.to_str().ok().and_then(|text| text.trim().parse().ok());
        let wrong = || Problem::malformed(format!("`{LAST}` is the number of a record"));
        filter.after = Some(number.ok_or_else(wrong)?);
    }
    let show = Arc::new(|event: &live::LiveEvent| serde_json::to_string(event).ok());
    live::stream(Reader { app, caller, headers }, filter, show).await
}
