//! Administrative resources over HTTP: one handler lists every resource that `midrail::admin` describes.

mod actions;

use midrail::admin::{ApiKey, Approver, HaltedRun, Lock, QuarantinedAgent, Resource, TaskState};
use midrail::core::Pause;
use midrail::store::{Alert, StoredNotice};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::actions::check_home;
use crate::access::{Caller, Right};
use crate::api::input::{Page, Query, page_size};
use crate::api::router::Api;
use crate::problem::HandlerResult;

pub(super) fn routes(api: Api) -> Api {
    let api = api
        .group("alerts")
        .get("/v1/alerts", "list_alerts", "List alerts, the latest first")
        .json(Right::ReadAll, alerts)
        .get("/v1/notices", "list_notices", "List notices, the oldest first")
        .json(Right::ReadAll, notices)
        .group("standing")
        .get("/v1/locks", "list_locks", "List locked files")
        .json(Right::Read, list::<Lock>)
        .get("/v1/tasks", "list_tasks", "List the tasks that have a status")
        .json(Right::Read, list::<TaskState>)
        .get("/v1/pauses", "list_pauses", "List the pauses in force")
        .json(Right::Read, list::<Pause>)
        .get("/v1/quarantine", "list_quarantined", "List agents in quarantine and halted runs")
        .json(Right::Read, quarantine)
        .group("keys")
        .get("/v1/keys", "keys", "List all API keys, without their secrets")
        .json(Right::Administer, keys)
        .group("people")
        .get("/v1/people", "people", "List the approvers of the project")
        .json(Right::Administer, list::<Approver>);
    actions::routes(api)
}

/// Lists the records of a resource that the caller may see.
fn list<R: Resource + JsonSchema>(caller: &Caller, (): ()) -> HandlerResult<Page<R>> {
    Ok(Page { items: visible(caller)?, next: None })
}

fn visible<R: Resource>(caller: &Caller) -> HandlerResult<Vec<R>> {
    let mut items = R::list(caller.project().engine().admin())?;
    items.retain(|item| item.agent().is_none_or(|agent| caller.visibility().agent(Some(agent))));
    Ok(items)
}

fn keys(caller: &Caller, (): ()) -> HandlerResult<Page<ApiKey>> {
    check_home(caller)?;
    list(caller, ())
}

/// Agents and runs that may not continue until a person lifts it.
#[derive(Debug, Serialize, JsonSchema)]
struct Quarantine {
    /// Agents in quarantine.
    items: Vec<QuarantinedAgent>,
    /// Runs that were halted, or that wait for a request that was denied.
    halted: Vec<HaltedRun>,
}

fn quarantine(caller: &Caller, (): ()) -> HandlerResult<Quarantine> {
    // A run belongs to all agents that work in it.
    let halted = if caller.visibility().is_full() { visible(caller)? } else { Vec::new() };
    Ok(Quarantine { items: visible(caller)?, halted })
}

/// The number of items of a list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LimitQuery {
    /// Alerts to return: 1 to 1000, by default 100
    limit: Option<usize>,
}

fn alerts(caller: &Caller, Query(query): Query<LimitQuery>) -> HandlerResult<Page<Alert>> {
    Ok(Page { items: caller.project().store().alerts(page_size(query.limit)?)?, next: None })
}

/// The page of a list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PageQuery {
    /// Start after this notice
    after: Option<u64>,
    /// Notices per page: 1 to 1000, by default 100
    limit: Option<usize>,
}

fn notices(caller: &Caller, Query(query): Query<PageQuery>) -> HandlerResult<Page<StoredNotice>> {
    let limit = page_size(query.limit)?;
    let items = caller.project().store().notices(query.after.unwrap_or(0), limit)?;
    let next = items.last().filter(|_| items.len() >= limit).map(|last| last.id.to_string());
    Ok(Page { items, next })
}
