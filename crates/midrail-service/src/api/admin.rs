//! Administrative resources over HTTP. One handler lists every resource that `midrail::admin` describes; a change has
//! its body, its checks, and the operation of `midrail::admin` that it runs.

use std::path::Path;
use std::time::Duration;

use midrail::admin::{
    ApiKey, Approver, HaltedRun, KeyScope, Lock, QuarantinedAgent, Resource, TaskState, TaskStatus,
};
use midrail::core::Pause;
use midrail::store::{Alert, StoredNotice};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{Caller, Right, SignedIn};
use crate::api::input::{Body, Named, Page, Query, check_length, page_size};
use crate::api::router::Api;
use crate::problem::{HandlerResult, Problem};
use crate::project::HOME;
use crate::text::short;

/// The longest name or reason, in bytes.
const MAX_TEXT: usize = 4_096;

/// The longest lock, in seconds.
const MAX_LOCK_S: u64 = 86_400;

/// The most roles of one person.
const MAX_ROLES: usize = 32;

pub(super) fn routes(api: Api) -> Api {
    api.group("alerts")
        .get("/v1/alerts", "list_alerts", "List alerts, the latest first")
        .json(Right::ReadAll, alerts)
        .get("/v1/notices", "list_notices", "List notices, the oldest first")
        .json(Right::ReadAll, notices)
        .group("standing")
        .get("/v1/locks", "list_locks", "List locked files")
        .json(Right::Read, list::<Lock>)
        .get("/v1/tasks", "list_tasks", "List the tasks that have a status")
        .json(Right::ReadAll, list::<TaskState>)
        .get("/v1/pauses", "list_pauses", "List the pauses in force")
        .json(Right::Read, list::<Pause>)
        .get("/v1/quarantine", "list_quarantined", "List agents in quarantine and halted runs")
        .json(Right::Read, quarantined)
        .group("keys")
        .get("/v1/keys", "keys", "List all API keys, without their secrets")
        .json(Right::Administer, keys)
        .group("people")
        .get("/v1/people", "people", "List the approvers of the project")
        .json(Right::Administer, list::<Approver>)
        .group("standing")
        .post("/v1/locks/take", "take_lock", "Lock a file for an agent, or renew its lock")
        .act(Right::Decide, take_lock)
        .post("/v1/locks/release", "release_lock", "Release a file that the agent has locked")
        .no_content()
        .act(Right::Decide, release_lock)
        .post("/v1/locks/break", "break_lock", "Release a file, whichever agent has locked it")
        .no_content()
        .act(Right::Answer, break_lock)
        .post("/v1/quarantine", "quarantine", "Put an agent in quarantine")
        .no_content()
        .act(Right::Answer, quarantine)
        .post(
            "/v1/quarantine/lift",
            "lift_quarantine",
            "Lift the quarantine of an agent or the halt of a run",
        )
        .no_content()
        .act(Right::Answer, lift)
        .post("/v1/tasks", "set_task", "Set the status of a task")
        .no_content()
        .act(Right::Answer, set_task)
        .group("keys")
        .post("/v1/keys", "add_key", "Create an API key. The key is returned only once")
        .created()
        .act(Right::Administer, add_key)
        .post("/v1/keys/{id}/revoke", "revoke_key", "Revoke an API key")
        .act(Right::Administer, revoke_key)
        .group("people")
        .post("/v1/people", "add_person", "Add an approver. Their key is returned only once")
        .created()
        .act(Right::Administer, add_approver)
        .post("/v1/people/{name}/revoke", "revoke_person", "Revoke an approver")
        .no_content()
        .act(Right::Administer, revoke_approver)
}

/// Lists the records of a resource that the caller may see.
fn list<R: Resource + JsonSchema>(caller: &Caller, (): ()) -> HandlerResult<Page<R>> {
    Ok(Page { items: visible(caller)?, next: None })
}

fn visible<R: Resource>(caller: &Caller) -> HandlerResult<Vec<R>> {
    let mut items = R::list(caller.project.engine().admin())?;
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

fn quarantined(caller: &Caller, (): ()) -> HandlerResult<Quarantine> {
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
    Ok(Page { items: caller.project.store().alerts(page_size(query.limit)?)?, next: None })
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
    let items = caller.project.store().notices(query.after.unwrap_or(0), limit)?;
    let next = items.last().filter(|_| items.len() >= limit).map(|last| last.id.to_string());
    Ok(Page { items, next })
}

/// Checks a path: it has to be absolute, because the service has no working directory of the caller.
fn check_path(path: &str) -> HandlerResult<()> {
    check_length("path", path, MAX_TEXT)?;
    if !Path::new(path).is_absolute() || path.contains('\0') {
        return Err(Problem::invalid("`path` has to be absolute"));
    }
    Ok(())
}

/// Checks that the caller is an administrator of the home project. Keys are valid for all projects, so administrators
/// of other projects may not manage them.
pub(crate) fn check_home(caller: &Caller) -> HandlerResult<()> {
    if caller.signed_in().is_some_and(SignedIn::is_home_admin) && caller.project.name() == HOME {
        return Ok(());
    }
    Err(Problem::forbidden("only administrators of the home project may manage keys, in that project")
        .help(format!("send `midrail-project: {HOME}`")))
}

/// A lock to take.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LockTake")]
struct TakeLock {
    /// The absolute path of the file.
    path: String,
    /// The agent that takes the lock.
    agent: String,
    /// The session in which it takes the lock.
    session: String,
    /// How long the lock lasts, in seconds: 1 to 86400.
    #[serde(default = "default_lock_s")]
    lasts_s: u64,
}

fn default_lock_s() -> u64 {
    600
}

fn take_lock(caller: &Caller, Body(lock): Body<TakeLock>) -> HandlerResult<Lock> {
    check_path(&lock.path)?;
    check_length("agent", &lock.agent, MAX_TEXT)?;
    check_length("session", &lock.session, MAX_TEXT)?;
    if !(1..=MAX_LOCK_S).contains(&lock.lasts_s) {
        return Err(Problem::invalid(format!("`lasts_s` is 1 to {MAX_LOCK_S}")));
    }
    caller.check_agent(Some(&lock.agent))?;
    caller.check_session(&lock.session)?;
    let (path, duration) = (Path::new(&lock.path), Duration::from_secs(lock.lasts_s));
    Ok(caller.project.engine().admin().take_lock(path, &lock.agent, &lock.session, duration)?)
}

/// A lock to release.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LockRelease")]
struct ReleaseLock {
    /// The absolute path of the file.
    path: String,
    /// The agent that holds the lock.
    agent: String,
}

fn release_lock(caller: &Caller, Body(lock): Body<ReleaseLock>) -> HandlerResult<()> {
    check_path(&lock.path)?;
    caller.check_agent(Some(&lock.agent))?;
    let (admin, path) = (caller.project.engine().admin(), Path::new(&lock.path));
    // The lock is found by the path it was taken with; links are not followed here.
    let is_held = |held: &Lock| Path::new(&held.path) == path && held.actor == lock.agent;
    if !admin.list::<midrail::admin::Lock>()?.iter().any(is_held) {
        return Err(Problem::refused(format!("`{}` has not locked this file", lock.agent)));
    }
    Ok(admin.release_lock(path, &lock.agent)?)
}

/// A lock to break.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LockBreak")]
struct BreakLock {
    /// The absolute path of the file.
    path: String,
}

fn break_lock(caller: &Caller, Body(lock): Body<BreakLock>) -> HandlerResult<()> {
    check_path(&lock.path)?;
    let by = caller.person()?.name();
    Ok(caller.project.engine().admin().release_lock(Path::new(&lock.path), by)?)
}

/// An agent to put in quarantine.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AgentAndReason")]
struct QuarantineAgent {
    /// The id of the agent, or `session:ID` if it has none.
    actor: String,
    /// Why it is put in quarantine.
    reason: String,
}

fn quarantine(caller: &Caller, Body(agent): Body<QuarantineAgent>) -> HandlerResult<()> {
    check_length("actor", &agent.actor, MAX_TEXT)?;
    check_length("reason", &agent.reason, MAX_TEXT)?;
    let by = caller.person()?.name();
    Ok(caller.project.engine().admin().quarantine(&agent.actor, by, &agent.reason)?)
}

/// A quarantine or a halt to lift.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "QuarantineLift")]
struct LiftQuarantine {
    /// The id of the agent, or `session:ID` if it has none.
    #[serde(default)]
    actor: Option<String>,
    /// The session of the halted run, in place of an agent.
    #[serde(default)]
    run: Option<String>,
    /// Why it is lifted.
    reason: String,
}

fn lift(caller: &Caller, Body(lift): Body<LiftQuarantine>) -> HandlerResult<()> {
    check_length("reason", &lift.reason, MAX_TEXT)?;
    let (admin, person) = (caller.project.engine().admin(), caller.person()?);
    match (&lift.actor, &lift.run) {
        (Some(actor), None) => {
            check_length("actor", actor, MAX_TEXT)?;
            Ok(admin.lift_quarantine(actor, person, &lift.reason)?)
        }
        (None, Some(run)) => {
            check_length("run", run, MAX_TEXT)?;
            Ok(admin.lift_halt(run, person, &lift.reason)?)
        }
        _ => Err(Problem::invalid("give either `actor` or `run`")),
    }
}

/// The status of a task.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TaskSet")]
struct SetTask {
    /// The id of the task.
    task: String,
    /// Its new status.
    status: TaskStatus,
}

fn set_task(caller: &Caller, Body(set): Body<SetTask>) -> HandlerResult<()> {
    check_length("task", &set.task, MAX_TEXT)?;
    let by = caller.person()?.name();
    Ok(caller.project.engine().admin().set_task(&set.task, set.status, by)?)
}

/// A key that was created.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "MadeKey")]
struct CreatedKey {
    /// The key itself. It is returned only once.
    key: String,
    /// The stored key, without its secret.
    about: ApiKey,
}

fn add_key(caller: &Caller, Body(scope): Body<KeyScope>) -> HandlerResult<CreatedKey> {
    check_home(caller)?;
    let admin = caller.project.engine().admin();
    let key = admin.add_api_key(&scope, Some(caller.person()?))?;
    let about = admin.api_key(&key)?.ok_or_else(|| Problem::internal("the key was not stored"))?;
    Ok(CreatedKey { key, about })
}

fn revoke_key(caller: &Caller, Named(id): Named<String>) -> HandlerResult<ApiKey> {
    check_home(caller)?;
    let admin = caller.project.engine().admin();
    if !admin.list::<midrail::admin::ApiKey>()?.iter().any(|key| key.id == id) {
        return Err(Problem::not_found(format!("there is no key `{}`", short(&id))));
    }
    Ok(admin.revoke_api_key(&id, Some(caller.person()?))?)
}

/// An approver to add.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewPerson {
    /// The name.
    #[schemars(length(min = 1, max = 100))]
    name: String,
    /// The roles: `admin`, `viewer`, or roles of the packs.
    #[schemars(length(min = 1, max = 32))]
    roles: Vec<String>,
}

/// An approver who was added.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AddedPerson")]
struct NewApprover {
    /// The name.
    name: String,
    /// The roles.
    roles: Vec<String>,
    /// The key to log in with. It is returned only once.
    key: String,
}

fn add_approver(caller: &Caller, Body(person): Body<NewPerson>) -> HandlerResult<NewApprover> {
    let NewPerson { name, roles } = person;
    check_length("name", &name, 100)?;
    let is_odd = |text: &String| text.trim() != text || text.is_empty() || text.chars().any(char::is_control);
    let is_bad_role = |role: &String| is_odd(role) || role.len() > 100;
    if is_odd(&name) || roles.iter().any(is_bad_role) || roles.len() > MAX_ROLES {
        return Err(Problem::invalid("names and roles have at most 100 bytes and no surrounding spaces"));
    }
    let key = caller.project.engine().admin().add_approver(&name, &roles, Some(caller.person()?))?;
    Ok(NewApprover { name, roles, key })
}

fn revoke_approver(caller: &Caller, Named(name): Named<String>) -> HandlerResult<()> {
    let project = &caller.project;
    if project.store().approver(&name)?.is_none() {
        return Err(Problem::not_found(format!("there is no approver `{}`", short(&name))));
    }
    let revoked = project.engine().admin().revoke_approver(&name, Some(caller.person()?))?;
    log::info!(person:% = name, project = project.name(), approvals = revoked; "an approver was revoked");
    Ok(())
}
