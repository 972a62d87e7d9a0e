//! What a project comes to, counted.

use axum::Json;
use axum::routing::get;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use crate::access::{Caller, Right};
use crate::api::input::Query;
use crate::api::openapi::{Lifetime, Operation, Place};
use crate::api::router::Api;
use crate::blocking::blocking;
use crate::problem::HandlerResult;
use crate::stats::{self, Stats, Timeline};

/// Since when.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Since {
    #[serde(default)]
    since: Option<Timestamp>,
}

/// Which time, in how many parts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    #[serde(default)]
    since: Option<Timestamp>,
    #[serde(default)]
    until: Option<Timestamp>,
    #[serde(default)]
    buckets: Option<usize>,
}

pub(super) fn routes(api: Api) -> Api {
    let of = |path, id, summary| Operation::new("get", path, id, "stats", summary).fails(&[504]);
    let all = of(
        "/v1/stats",
        "stats",
        "Counts decisions, verdicts and durations by guardrail, and what waits for somebody",
    )
    .with::<Option<Timestamp>>(Place::Query, "since", "Only decisions at or after this time")
    .gives::<Stats>("The figures");
    let timeline = of("/v1/stats/timeline", "timeline", "Counts decisions over time by effect")
        .with::<Option<Timestamp>>(Place::Query, "since", "From when on; usually an hour before the end")
        .with::<Option<Timestamp>>(Place::Query, "until", "Until when; usually now")
        .with::<Option<usize>>(Place::Query, "buckets", "Equal parts: 1 to 500, usually 60")
        .gives::<Timeline>("Decisions over time");
    api.route(all, Right::ReadAll, Lifetime::Short, get(stats)).route(
        timeline,
        Right::ReadAll,
        Lifetime::Short,
        get(over_time),
    )
}

async fn stats(caller: Caller, Query(since): Query<Since>) -> HandlerResult<Json<Stats>> {
    blocking(move || Ok(Json(stats::stats(caller.project(), since.since)?))).await
}

async fn over_time(caller: Caller, Query(parts): Query<Parts>) -> HandlerResult<Json<Timeline>> {
    blocking(move || {
        let until = parts.until.unwrap_or_else(|| caller.project().engine().now());
        let hour = || until.checked_sub(SignedDuration::from_hours(1)).unwrap_or(Timestamp::MIN);
        let since = parts.since.unwrap_or_else(hour);
        let store = &**caller.project().store();
        Ok(Json(stats::timeline(store, since, until, parts.buckets.unwrap_or(60))?))
    })
    .await
}
