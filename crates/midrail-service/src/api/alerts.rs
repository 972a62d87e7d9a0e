//! Alerts that were raised, and what others were told.

use axum::Json;
use axum::routing::get;
use midrail::store::{Alert, StoredNotice};
use serde::Deserialize;

use crate::access::{Caller, Right};
use crate::api::input::{Page, Query, page_size};
use crate::api::{Api, Lasts, Operation, Place};
use crate::problem::Outcome;
use crate::work::blocking;

/// Which of them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Latest {
    #[serde(default)]
    limit: Option<usize>,
}

/// Which of them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    #[serde(default)]
    after: Option<u64>,
    #[serde(default)]
    limit: Option<usize>,
}

pub(super) fn routes(api: Api) -> Api {
    let of = |path, id, summary| Operation::new("get", path, id, "alerts", summary).fails(&[504]);
    let alerts = of("/v1/alerts", "list_alerts", "Lists alerts, the latest first")
        .with::<Option<usize>>(Place::Query, "limit", "How many: 1 to 1000, usually 100")
        .gives::<Page<Alert>>("Alerts");
    let notices = of(
        "/v1/notices",
        "list_notices",
        "Lists what others were told, in the order in which it was written",
    )
    .with::<Option<u64>>(Place::Query, "after", "Go on after this notice")
    .with::<Option<usize>>(Place::Query, "limit", "Notices of a page: 1 to 1000, usually 100")
    .gives::<Page<StoredNotice>>("Notices");
    api.route(alerts, Right::ReadAll, Lasts::Briefly, get(list_alerts)).route(
        notices,
        Right::ReadAll,
        Lasts::Briefly,
        get(list_notices),
    )
}

async fn list_alerts(caller: Caller, Query(latest): Query<Latest>) -> Outcome<Json<Page<Alert>>> {
    let limit = page_size(latest.limit)?;
    blocking(move || Ok(Json(Page { items: caller.project().store().alerts(limit)?, next: None }))).await
}

async fn list_notices(caller: Caller, Query(listed): Query<Listed>) -> Outcome<Json<Page<StoredNotice>>> {
    let limit = page_size(listed.limit)?;
    blocking(move || {
        let items = caller.project().store().notices(listed.after.unwrap_or(0), limit)?;
        let next = items.last().filter(|_| items.len() >= limit).map(|last| last.id.to_string());
        Ok(Json(Page { items, next }))
    })
    .await
}
