//! Sessions: the runs of agents, with their records, their state, and their end.

use axum::Json;
use axum::routing::{get, post};
use midrail::store::{ApprovalFilter, Filter, MAX_PAGE, SessionInfo};
use midrail::{Agent, ApprovalState, Decision, Effect, Event, EventKind, Lock, Snapshot};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::{Caller, Right};
use crate::api::approvals::Shown;
use crate::api::input::{Body, Named, Page, Query, page_size};
use crate::api::{Api, Lasts, Operation, Place};
use crate::lines::Line;
use crate::problem::{Outcome, Problem};
use crate::project::short;
use crate::work::blocking;

/// The latest records that are shown with a session.
const LATEST: usize = 20;

/// The slice that says that a run was ended.
const HALTED: &str = "halted";

/// Which sessions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    #[serde(default)]
    after: Option<u64>,
    #[serde(default)]
    limit: Option<usize>,
}

/// A session.
#[derive(Debug, Serialize, JsonSchema)]
struct Session {
    /// In short.
    #[serde(flatten)]
    info: SessionInfo,
    /// Who ended the run and why, where a guardrail did.
    #[serde(skip_serializing_if = "Option::is_none")]
    halted: Option<Value>,
    /// The files that it has locked.
    locks: Vec<Lock>,
    /// Its requests that wait for an answer.
    waiting: Vec<Shown>,
    /// Its latest records, the newest first.
    latest: Vec<Line>,
}

/// Which records of a session.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Records {
    #[serde(default)]
    effect: Option<Effect>,
    #[serde(default)]
    after: Option<u64>,
    #[serde(default)]
    limit: Option<usize>,
    #[serde(default)]
    newest_first: bool,
    #[serde(default)]
    full: bool,
}

/// How a session ends.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SessionEnd")]
struct End {
    /// The agent that ends it.
    #[serde(default)]
    agent: Option<String>,
}

const ID: &str =
    "The name of the session, with every character that is not a letter or a digit percent-encoded";

pub(super) fn routes(api: Api) -> Api {
    let of =
        |method, path, id, summary| Operation::new(method, path, id, "sessions", summary).fails(&[400, 504]);
    let one = |method, path, id, summary| of(method, path, id, summary).with::<String>(Place::Path, "id", ID);
    let list = of("get", "/v1/sessions", "list_sessions", "Lists sessions, the latest active first")
        .with::<Option<u64>>(Place::Query, "after", "Go on after this page: its `next`")
        .with::<Option<usize>>(Place::Query, "limit", "Sessions of a page: 1 to 1000, usually 100")
        .gives::<Page<SessionInfo>>("Sessions");
    let show = one(
        "get",
        "/v1/sessions/{id}",
        "show_session",
        "Shows a session: how it stands, its locks, what waits, its latest records guardrail by guardrail",
    )
    .gives::<Session>("The session");
    let records =
        one("get", "/v1/sessions/{id}/records", "session_records", "Lists the records of a session")
            .with::<Option<Effect>>(Place::Query, "effect", "Those with this effect")
            .with::<Option<u64>>(Place::Query, "after", "Go on after this record")
            .with::<Option<usize>>(Place::Query, "limit", "Records of a page: 1 to 1000, usually 100")
            .with::<bool>(Place::Query, "newest_first", "From the newest to the oldest")
            .with::<bool>(Place::Query, "full", "With the whole records")
            .gives::<Page<Line>>(
                "Records, with what every guardrail said. After the last page `next` is absent",
            );
    let snapshot = one(
        "post",
        "/v1/sessions/{id}/snapshot",
        "snapshot_session",
        "Takes the whole state of a session as one value",
    )
    .gives::<Snapshot>("The state");
    let restore =
        one("post", "/v1/sessions/{id}/restore", "restore_session", "Puts a snapshot of a session back")
            .takes::<Snapshot>()
            .gives::<Decision>("What guardrails said of it. What people and the law decided is not undone")
            .fails(&[409, 504]);
    let end = one("post", "/v1/sessions/{id}/end", "end_session", "Ends a session: decides `session_end`")
        .takes::<End>()
        .gives::<Decision>("The decision")
        .fails(&[409, 504]);
    api.route(list, Right::Read, Lasts::Briefly, get(sessions))
        .route(show, Right::Read, Lasts::Briefly, get(session))
        .route(records, Right::Read, Lasts::Briefly, get(session_records))
        .route(snapshot, Right::ReadAll, Lasts::Briefly, post(take_snapshot))
        .route(restore, Right::Administer, Lasts::Briefly, post(put_back))
        .route(end, Right::Decide, Lasts::Briefly, post(end_it))
}

async fn sessions(caller: Caller, Query(listed): Query<Listed>) -> Outcome<Json<Page<SessionInfo>>> {
    let limit = page_size(listed.limit)?;
    blocking(move || {
        let (items, next) = caller.sight().sessions(&**caller.project().store(), listed.after, limit)?;
        Ok(Json(Page { items, next: next.map(|next| next.to_string()) }))
    })
    .await
}

async fn session(caller: Caller, Named(id): Named<String>) -> Outcome<Json<Session>> {
    blocking(move || {
        let (engine, store) = (caller.project().engine(), caller.project().store());
        known(&caller, &id)?;
        let (sight, info) = (caller.sight(), store.session(&id)?.ok_or_else(|| unknown(&id))?);
        let mut locks = engine.locks()?;
        locks.retain(|lock| lock.session == id && sight.agent(Some(&lock.actor)));
        let halted = store.load(&id, &[HALTED])?.into_iter().next().and_then(|slice| slice.value);
        let pending = ApprovalFilter {
            state: Some(ApprovalState::Pending),
            session: Some(id.clone()),
            limit: Some(LATEST),
            ..ApprovalFilter::default()
        };
        let now = engine.now();
        let mut waiting = store.approvals(&pending)?;
        waiting.retain(|approval| approval.authority_at(now).is_some() && sight.approval(approval));
        let waiting = waiting.into_iter().map(|approval| Shown::at(approval, now)).collect();
        let latest =
            Filter { session: Some(id), limit: Some(LATEST), newest_first: true, ..Filter::default() };
        let latest = super::audit::page(&caller, &latest, Line::heard)?.items;
        Ok(Json(Session { info, halted, locks, waiting, latest }))
    })
    .await
}

async fn session_records(
    caller: Caller,
    Named(id): Named<String>,
    Query(wanted): Query<Records>,
) -> Outcome<Json<Page<Line>>> {
    let limit = page_size(wanted.limit)?;
    blocking(move || {
        known(&caller, &id)?;
        let filter = Filter {
            session: Some(id),
            effect: wanted.effect,
            after_seq: wanted.after,
            limit: Some(limit.min(MAX_PAGE)),
            newest_first: wanted.newest_first,
            ..Filter::default()
        };
        let line = if wanted.full { Line::full } else { Line::heard };
        Ok(Json(super::audit::page(&caller, &filter, line)?))
    })
    .await
}

async fn take_snapshot(caller: Caller, Named(id): Named<String>) -> Outcome<Json<Snapshot>> {
    blocking(move || {
        known(&caller, &id)?;
        Ok(Json(caller.project().engine().session(id).snapshot()?))
    })
    .await
}

async fn put_back(
    caller: Caller,
    Named(id): Named<String>,
    Body(snapshot): Body<Snapshot>,
) -> Outcome<Json<Decision>> {
    let by = caller.person()?.name().to_owned();
    if snapshot.slices.keys().any(|key| key.starts_with("shared/")) {
        return Err(Problem::invalid("a snapshot holds no slice that belongs to all sessions"));
    }
    blocking(move || {
        known(&caller, &id)?;
        Ok(Json(caller.project().engine().session(id).restore_for(&snapshot, &by)?))
    })
    .await
}

async fn end_it(caller: Caller, Named(id): Named<String>, Body(end): Body<End>) -> Outcome<Json<Decision>> {
    if let Some(key) = caller.key()
        && !key.is_for_agent(end.agent.as_deref())
    {
        return Err(Problem::forbidden("this key does not speak for the agent that ends the session"));
    }
    blocking(move || {
        let store = caller.project().store();
        store.session(&id)?.ok_or_else(|| unknown(&id))?;
        let mut event = Event::new(EventKind::SessionEnd).in_session(id);
        event.agent = end.agent.map(|id| Agent { id: Some(id), ..Agent::default() });
        Ok(Json(caller.project().engine().decide(event)))
    })
    .await
}

/// A session that has records, and that the caller sees.
fn known(caller: &Caller, id: &str) -> Outcome<()> {
    let store = &**caller.project().store();
    let any = Filter { session: Some(id.to_owned()), limit: Some(1), ..Filter::default() };
    match !store.entries(&any)?.is_empty() && caller.sight().session(store, id)? {
        true => Ok(()),
        false => Err(unknown(id)),
    }
}

fn unknown(id: &str) -> Problem {
    Problem::not_found(format!("there is no session `{}`", short(id)))
}
