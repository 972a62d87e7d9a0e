//! Figures of a project over HTTP.

use jiff::{SignedDuration, Timestamp};
use midrail::admin::Stats;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::access::{Caller, Right};
use crate::api::input::Query;
use crate::api::router::Api;
use crate::problem::HandlerResult;
use crate::timeline::Timeline;

pub(super) fn routes(api: Api) -> Api {
    api.group("stats")
        .get("/v1/stats", "stats", "Count decisions, verdicts and durations by guardrail, and open requests")
        .json(Right::ReadAll, stats)
        .get("/v1/stats/timeline", "timeline", "Count decisions over time by effect")
        .json(Right::ReadAll, timeline)
}

/// The period of the figures.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StatsQuery {
    /// Only decisions at or after this time
    since: Option<Timestamp>,
}

fn stats(caller: &Caller, Query(query): Query<StatsQuery>) -> HandlerResult<Stats> {
    let project = &caller.project;
    Ok(Stats::load(&**project.store(), query.since, project.engine().now())?)
}

/// The period of a timeline, and its parts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TimelineQuery {
    /// The start; by default an hour before the end
    since: Option<Timestamp>,
    /// The end; by default now
    until: Option<Timestamp>,
    /// Equal parts: 1 to 500, by default 60
    buckets: Option<usize>,
}

fn timeline(caller: &Caller, Query(query): Query<TimelineQuery>) -> HandlerResult<Timeline> {
    let until = query.until.unwrap_or_else(|| caller.project.engine().now());
    let hour = || until.checked_sub(SignedDuration::from_hours(1)).unwrap_or(Timestamp::MIN);
    let store = &**caller.project.store();
    Timeline::load(store, query.since.unwrap_or_else(hour), until, query.buckets.unwrap_or(60))
}
