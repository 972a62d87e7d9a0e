//! What holds across the sessions of a project: locks, quarantined agents, tasks, pauses.

use std::path::Path;
use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use axum::routing::{get, post};
use midrail::{Halted, Lock, Pause, Quarantined, TaskState, TaskStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{Caller, Right};
use crate::api::input::{Body, Page, within};
use crate::api::{Api, Lasts, Operation};
use crate::problem::{Outcome, Problem};
use crate::work::blocking;

/// The longest name or reason, in bytes.
const MOST: usize = 4_096;

/// The longest that a lock lasts, in seconds.
const LONGEST_S: u64 = 86_400;

/// A lock to take.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LockTake")]
struct Take {
    /// The file, absolute.
    path: String,
    /// The agent that takes it.
    agent: String,
    /// In which session.
    session: String,
    /// How many seconds it lasts: 1 to 86400.
    #[serde(default = "usual")]
    lasts_s: u64,
}

fn usual() -> u64 {
    600
}

/// A lock to release.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LockRelease")]
struct Release {
    /// The file, absolute.
    path: String,
    /// The agent that holds it.
    agent: String,
}

/// A lock to break.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LockBreak")]
struct Break {
    /// The file, absolute.
    path: String,
}

/// An agent, and why.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AgentAndReason")]
struct Named {
    /// The agent, or `session:ID` where it has no name.
    actor: String,
    /// Why.
    reason: String,
}

/// Who may go on, and why.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "QuarantineLift")]
struct Lift {
    /// The agent, or `session:ID` where it has no name.
    #[serde(default)]
    actor: Option<String>,
    /// The session whose run was halted, in place of an agent.
    #[serde(default)]
    run: Option<String>,
    /// Why.
    reason: String,
}

/// Who does nothing more until a person says so.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Quarantine")]
struct Resting {
    /// Agents that are kept from further work.
    items: Vec<Quarantined>,
    /// Runs that were halted, or that a denied question holds.
    halted: Vec<Halted>,
}

/// How far a task has come.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TaskSet")]
struct Set {
    /// The task.
    task: String,
    /// How far it has come.
    status: TaskStatus,
}

pub(super) fn routes(api: Api) -> Api {
    let of = |method, path, id, summary| Operation::new(method, path, id, "standing", summary);
    let locks = of("get", "/v1/locks", "list_locks", "Lists the files that are locked now")
        .gives::<Page<Lock>>("Locks")
        .fails(&[504]);
    let take = of("post", "/v1/locks/take", "take_lock", "Locks a file for an agent, or renews its lock")
        .takes::<Take>()
        .gives::<Lock>("The lock")
        .fails(&[409, 504]);
    let release = of("post", "/v1/locks/release", "release_lock", "Releases a file that an agent has locked")
        .takes::<Release>()
        .answers(204, "The file is free", None)
        .fails(&[409, 504]);
    let break_it =
        of("post", "/v1/locks/break", "break_lock", "Frees a file, whoever has locked it: a person says so")
            .takes::<Break>()
            .answers(204, "The file is free", None)
            .fails(&[409, 504]);
    let quarantined = of(
        "get",
        "/v1/quarantine",
        "list_quarantined",
        "Lists the agents that are kept from further work, and the runs that were halted",
    )
    .gives::<Resting>("Agents and runs")
    .fails(&[504]);
    let quarantine = of("post", "/v1/quarantine", "quarantine", "Keeps an agent from further work")
        .takes::<Named>()
        .answers(204, "The agent is stopped from now on", None)
        .fails(&[409, 504]);
    let lift = of(
        "post",
        "/v1/quarantine/lift",
        "lift_quarantine",
        "Lets an agent work again, or a halted run go on",
    )
    .takes::<Lift>()
    .answers(204, "The agent may work again, or the run goes on", None)
    .fails(&[409, 504]);
    let tasks = of("get", "/v1/tasks", "list_tasks", "Lists the tasks whose status somebody set")
        .gives::<Page<TaskState>>("Tasks")
        .fails(&[504]);
    let set = of("post", "/v1/tasks", "set_task", "Sets how far a task has come")
        .takes::<Set>()
        .answers(204, "It is set", None)
        .fails(&[409, 504]);
    let pauses =
        of("get", "/v1/pauses", "list_pauses", "Lists where guardrails speak without consequence now")
            .gives::<Page<Pause>>("Pauses")
            .fails(&[504]);
    api.route(locks, Right::Read, Lasts::Briefly, get(list_locks))
        .route(take, Right::Decide, Lasts::Briefly, post(take_lock))
        .route(release, Right::Decide, Lasts::Briefly, post(release_lock))
        .route(break_it, Right::Answer, Lasts::Briefly, post(break_lock))
        .route(quarantined, Right::Read, Lasts::Briefly, get(list_quarantined))
        .route(quarantine, Right::Answer, Lasts::Briefly, post(keep_from_work))
        .route(lift, Right::Answer, Lasts::Briefly, post(let_work))
        .route(tasks, Right::Read, Lasts::Briefly, get(list_tasks))
        .route(set, Right::Answer, Lasts::Briefly, post(set_task))
        .route(pauses, Right::Read, Lasts::Briefly, get(list_pauses))
}

/// What there is of these at a time goes onto one page.
fn all<T>(items: Vec<T>) -> Json<Page<T>> {
    Json(Page { items, next: None })
}

async fn list_locks(caller: Caller) -> Outcome<Json<Page<Lock>>> {
    blocking(move || {
        let mut locks = caller.project().engine().locks()?;
        locks.retain(|lock| caller.sight().agent(Some(&lock.actor)));
        Ok(all(locks))
    })
    .await
}

async fn take_lock(caller: Caller, Body(take): Body<Take>) -> Outcome<Json<Lock>> {
    absolute(&take.path)?;
    within("agent", &take.agent, MOST)?;
    within("session", &take.session, MOST)?;
    if !(1..=LONGEST_S).contains(&take.lasts_s) {
        return Err(Problem::invalid(format!("`lasts_s` is 1 to {LONGEST_S}")));
    }
    speaks_for(&caller, &take.agent)?;
    blocking(move || {
        let lasts = Duration::from_secs(take.lasts_s);
        let engine = caller.project().engine();
        Ok(Json(engine.take_lock(Path::new(&take.path), &take.agent, &take.session, lasts)?))
    })
    .await
}

async fn release_lock(caller: Caller, Body(release): Body<Release>) -> Outcome<StatusCode> {
    absolute(&release.path)?;
    speaks_for(&caller, &release.agent)?;
    blocking(move || {
        let engine = caller.project().engine();
        let place = Path::new(&release.path);
        // A link to a locked file is not looked for here: the lock is released by the name that it was given.
        let locks = engine.locks()?;
        let held = locks.iter().find(|lock| Path::new(&lock.path) == place);
        match held {
            Some(lock) if lock.actor == release.agent => {
                engine.release_lock(place, &release.agent)?;
                Ok(StatusCode::NO_CONTENT)
            }
            _ => Err(Problem::refused(format!("`{}` has not locked this file", release.agent))),
        }
    })
    .await
}

async fn break_lock(caller: Caller, Body(lock): Body<Break>) -> Outcome<StatusCode> {
    absolute(&lock.path)?;
    let by = caller.person()?.name().to_owned();
    blocking(move || {
        caller.project().engine().release_lock(Path::new(&lock.path), &by)?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

async fn list_quarantined(caller: Caller) -> Outcome<Json<Resting>> {
    blocking(move || {
        let engine = caller.project().engine();
        let mut items = engine.quarantined()?;
        items.retain(|agent| caller.sight().agent(Some(&agent.actor)));
        // A run belongs to all agents that work in it.
        let halted = if caller.sight().is_whole() { engine.halted()? } else { Vec::new() };
        Ok(Json(Resting { items, halted }))
    })
    .await
}

async fn keep_from_work(caller: Caller, Body(named): Body<Named>) -> Outcome<StatusCode> {
    let by = caller.person()?.name().to_owned();
    checked(&named)?;
    blocking(move || {
        caller.project().engine().quarantine(&named.actor, &by, &named.reason)?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

async fn let_work(caller: Caller, Body(lift): Body<Lift>) -> Outcome<StatusCode> {
    let person = caller.person()?.clone();
    let Lift { actor, run, reason } = lift;
    within("reason", &reason, MOST)?;
    for (name, value) in [("actor", &actor), ("run", &run)] {
        value.as_ref().map_or(Ok(()), |value| within(name, value, MOST))?;
    }
    blocking(move || {
        let engine = caller.project().engine();
        match (actor, run) {
            (Some(actor), None) => engine.lift_quarantine(&actor, &person, &reason)?,
            (None, Some(run)) => engine.lift_halt(&run, &person, &reason)?,
            _ => return Err(Problem::invalid("name an `actor` or a `run`")),
        }
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

async fn list_tasks(caller: Caller) -> Outcome<Json<Page<TaskState>>> {
    blocking(move || Ok(all(caller.project().engine().tasks()?))).await
}

async fn set_task(caller: Caller, Body(set): Body<Set>) -> Outcome<StatusCode> {
    let by = caller.person()?.name().to_owned();
    within("task", &set.task, MOST)?;
    blocking(move || {
        caller.project().engine().set_task(&set.task, set.status, &by)?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

async fn list_pauses(caller: Caller) -> Outcome<Json<Page<Pause>>> {
    blocking(move || Ok(all(caller.project().engine().pauses()?))).await
}

fn checked(named: &Named) -> Outcome<()> {
    within("actor", &named.actor, MOST)?;
    within("reason", &named.reason, MOST)
}

/// A file of this project, and not one beside wherever this process runs.
fn absolute(path: &str) -> Outcome<()> {
    within("path", path, MOST)?;
    match Path::new(path).is_absolute() && !path.contains('\0') {
        true => Ok(()),
        false => Err(Problem::invalid("`path` has to be absolute")),
    }
}

fn speaks_for(caller: &Caller, agent: &str) -> Outcome<()> {
    match caller.key() {
        Some(key) if !key.is_for_agent(Some(agent)) => {
            Err(Problem::forbidden("this key does not speak for this agent"))
        }
        _ => Ok(()),
    }
}
