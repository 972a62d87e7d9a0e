//! Administrative resources over HTTP: one handler lists every resource, and one makes every change.

mod changes;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use midrail::admin::{ApiKey, Approver, HaltedRun, KeyScope, Lock, QuarantinedAgent, Resource, TaskState};
use midrail::core::Pause;
use midrail::store::{Alert, StoredNotice};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::changes::{
    BreakLock, Change, LiftQuarantine, NewPerson, QuarantineAgent, ReleaseLock, SetTask, TakeLock, at_home,
};
use crate::access::{Caller, Right};
use crate::api::input::{Body, Named, Page, Query, page_size};
use crate::api::openapi::{Content, Lifetime, Operation, Place};
use crate::api::router::Api;
use crate::app::App;
use crate::blocking::blocking;
use crate::problem::{HandlerResult, Problem};
use crate::text::short;

/// The page of a list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PageQuery {
    after: Option<u64>,
    limit: Option<usize>,
}

/// Agents and runs that may not continue until a person lifts it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Quarantine")]
struct Quarantine {
    /// Agents in quarantine.
    items: Vec<QuarantinedAgent>,
    /// Runs that were halted, or that wait for a request that was denied.
    halted: Vec<HaltedRun>,
}

pub(super) fn routes(api: Api) -> Api {
    let alerts =
        Operation::new("get", "/v1/alerts", "list_alerts", "alerts", "Lists alerts, the latest first")
            .with::<Option<usize>>(Place::Query, "limit", "Alerts to return: 1 to 1000, by default 100")
            .gives::<Page<Alert>>("Alerts");
    let notices =
        Operation::new("get", "/v1/notices", "list_notices", "alerts", "Lists notices, the oldest first")
            .with::<Option<u64>>(Place::Query, "after", "Start after this notice")
            .with::<Option<usize>>(Place::Query, "limit", "Notices per page: 1 to 1000, by default 100")
            .gives::<Page<StoredNotice>>("Notices");
    let quarantine = Operation::new(
        "get",
        "/v1/quarantine",
        "list_quarantined",
        "standing",
        "Lists agents in quarantine and halted runs",
    )
    .gives::<Quarantine>("Agents and runs");
    let keys = Operation::new("get", "/v1/keys", "keys", "keys", "Lists all API keys, without their secrets")
        .gives::<Page<ApiKey>>("The keys");
    let revoke_key =
        Operation::new("post", "/v1/keys/{id}/revoke", "revoke_key", "keys", "Revokes an API key")
            .with::<String>(Place::Path, "id", "The id of the key, which is its first part")
            .gives::<ApiKey>("The revoked key")
            .fails(&[409]);
    let revoke_person =
        Operation::new("post", "/v1/people/{name}/revoke", "revoke_person", "people", "Revokes an approver")
            .with::<String>(Place::Path, "name", "The name of the approver")
            .answers(204, "The approver is revoked", None)
            .fails(&[409]);
    let api = api
        .route(alerts, Right::ReadAll, Lifetime::Short, get(list_alerts))
        .route(notices, Right::ReadAll, Lifetime::Short, get(list_notices))
        .route(quarantine, Right::Read, Lifetime::Short, get(list_quarantine))
        .route(keys, Right::Administer, Lifetime::Short, get(list_keys))
        .route(revoke_key, Right::Administer, Lifetime::Short, post(revoke_api_key))
        .route(revoke_person, Right::Administer, Lifetime::Short, post(revoke_approver));
    let api =
        listed::<Lock>(api, "/v1/locks", "list_locks", "standing", "Lists the locked files", Right::Read);
    let api = listed::<TaskState>(
        api,
        "/v1/tasks",
        "list_tasks",
        "standing",
        "Lists the tasks that have a status",
        Right::Read,
    );
    let api = listed::<Pause>(
        api,
        "/v1/pauses",
        "list_pauses",
        "standing",
        "Lists the pauses in force",
        Right::Read,
    );
    let api = listed::<Approver>(
        api,
        "/v1/people",
        "people",
        "people",
        "Lists the approvers of the project",
        Right::Administer,
    );
    let api =
        changed::<KeyScope>(api, "/v1/keys", "add_key", "keys", "Creates an API key", Right::Administer);
    let api = changed::<NewPerson>(
        api,
        "/v1/people",
        "add_person",
        "people",
        "Adds an approver to the project",
        Right::Administer,
    );
    let of = "standing";
    let api = changed::<TakeLock>(
        api,
        "/v1/locks/take",
        "take_lock",
        of,
        "Locks a file for an agent, or renews its lock",
        Right::Decide,
    );
    let api = changed::<ReleaseLock>(
        api,
        "/v1/locks/release",
        "release_lock",
        of,
        "Releases a file that the agent has locked",
        Right::Decide,
    );
    let api = changed::<BreakLock>(
        api,
        "/v1/locks/break",
        "break_lock",
        of,
        "Releases a file, whichever agent has locked it",
        Right::Answer,
    );
    let api = changed::<QuarantineAgent>(
        api,
        "/v1/quarantine",
        "quarantine",
        of,
        "Puts an agent in quarantine",
        Right::Answer,
    );
    let api = changed::<LiftQuarantine>(
        api,
        "/v1/quarantine/lift",
        "lift_quarantine",
        of,
        "Lifts the quarantine of an agent or the halt of a run",
        Right::Answer,
    );
    changed::<SetTask>(api, "/v1/tasks", "set_task", of, "Sets the status of a task", Right::Answer)
}

/// Adds the list of a resource.
fn listed<R: Resource + JsonSchema>(
    api: Api,
    path: &'static str,
    id: &'static str,
    tag: &'static str,
    summary: &'static str,
    right: Right,
) -> Api {
    let operation = Operation::new("get", path, id, tag, summary).gives::<Page<R>>(R::TITLE);
    api.route(operation, right, Lifetime::Short, get(list::<R>))
}

/// Adds a change of a resource.
fn changed<C: Change>(
    api: Api,
    path: &'static str,
    id: &'static str,
    tag: &'static str,
    summary: &'static str,
    right: Right,
) -> Api {
    let content = (C::STATUS != StatusCode::NO_CONTENT).then(Content::json::<C::Output>);
    let operation = Operation::new("post", path, id, tag, summary).takes::<C>();
    let operation = operation.answers(C::STATUS.as_u16(), C::RESULT, content).fails(&[409]);
    api.route(operation, right, Lifetime::Short, post(change::<C>))
}

async fn list<R: Resource>(caller: Caller) -> HandlerResult<Json<Page<R>>> {
    blocking(move || Ok(Json(Page { items: visible(&caller)?, next: None }))).await
}

/// The records of a resource that the caller may see.
fn visible<R: Resource>(caller: &Caller) -> HandlerResult<Vec<R>> {
    let mut items = R::list(caller.project().engine().admin())?;
    items.retain(|item| item.agent().is_none_or(|agent| caller.visibility().agent(Some(agent))));
    Ok(items)
}

async fn change<C: Change>(
    State(app): State<App>,
    caller: Caller,
    Body(change): Body<C>,
) -> HandlerResult<Response> {
    change.check()?;
    if let (Some(key), Some(agent)) = (caller.key(), change.agent())
        && !key.is_for_agent(Some(agent))
    {
        return Err(Problem::forbidden("this key may not act for this agent"));
    }
    blocking(move || {
        let output = change.run(&caller)?;
        app.authenticator.forget();
        let (by, project) = (caller.identity().name(), caller.project().name());
        log::info!(by:%, project, change = C::RESULT; "an administrative change was made");
        if C::STATUS == StatusCode::NO_CONTENT {
            return Ok(C::STATUS.into_response());
        }
        Ok((C::STATUS, Json(output)).into_response())
    })
    .await
}

async fn list_keys(caller: Caller) -> HandlerResult<Json<Page<ApiKey>>> {
    at_home(&caller)?;
    list(caller).await
}

async fn list_quarantine(caller: Caller) -> HandlerResult<Json<Quarantine>> {
    blocking(move || {
        // A run belongs to all agents that work in it.
        let halted = if caller.visibility().is_full() { visible(&caller)? } else { Vec::new() };
        Ok(Json(Quarantine { items: visible(&caller)?, halted }))
    })
    .await
}

async fn list_alerts(caller: Caller, Query(query): Query<LimitQuery>) -> HandlerResult<Json<Page<Alert>>> {
    let limit = page_size(query.limit)?;
    blocking(move || Ok(Json(Page { items: caller.project().store().alerts(limit)?, next: None }))).await
}

/// How many items to return.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitQuery {
    limit: Option<usize>,
}

async fn list_notices(
    caller: Caller,
    Query(query): Query<PageQuery>,
) -> HandlerResult<Json<Page<StoredNotice>>> {
    let limit = page_size(query.limit)?;
    blocking(move || {
        let items = caller.project().store().notices(query.after.unwrap_or(0), limit)?;
        let next = items.last().filter(|_| items.len() >= limit).map(|last| last.id.to_string());
        Ok(Json(Page { items, next }))
    })
    .await
}

async fn revoke_api_key(
    State(app): State<App>,
    caller: Caller,
    Named(id): Named<String>,
) -> HandlerResult<Json<ApiKey>> {
    at_home(&caller)?;
    blocking(move || {
        let admin = caller.project().engine().admin();
        if !admin.api_keys()?.iter().any(|key| key.id == id) {
            return Err(Problem::not_found(format!("there is no key `{}`", short(&id))));
        }
        let key = admin.revoke_api_key(&id, Some(caller.person()?))?;
        app.authenticator.forget();
        log::info!(by:% = caller.identity().name(), key:% = key.scope.name, id:% = key.id; "a key was revoked");
        Ok(Json(key))
    })
    .await
}

async fn revoke_approver(
    State(app): State<App>,
    caller: Caller,
    Named(name): Named<String>,
) -> HandlerResult<StatusCode> {
    blocking(move || {
        let project = caller.project();
        if project.store().approver(&name)?.is_none() {
            return Err(Problem::not_found(format!("there is no approver `{}`", short(&name))));
        }
        let revoked = project.engine().admin().revoke_approver(&name, Some(caller.person()?))?;
        app.authenticator.forget();
        let by = caller.identity().name();
        log::info!(by:%, person:% = name, project = project.name(), approvals = revoked; "an approver was revoked");
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}
