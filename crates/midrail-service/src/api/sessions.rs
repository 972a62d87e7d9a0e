//! Sessions: the runs of agents, with their records, their state, and their end.

use axum::Json;
use axum::routing::{get, post};
use midrail::admin::Lock;
use midrail::store::{ApprovalFilter, AuditFilter, MAX_PAGE, SessionInfo};
use midrail::{Agent, ApprovalState, Decision, Effect, Event, EventKind, Snapshot};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::{Caller, Right};
use crate::api::approvals::ApprovalView;
use crate::api::input::{Body, Named, Page, Query, page_size};
use crate::api::openapi::{Lifetime, Operation, Place};
use crate::api::router::Api;
use crate::blocking::blocking;
use crate::problem::{HandlerResult, Problem};
use crate::record_line::RecordLine;
use crate::text::short;

/// The latest records that are shown with a session.
const LATEST: usize = 20;

/// The slice that says that a run was ended.
const HALTED: &str = "halted";

/// Which sessions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ListQuery {
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
    /// The guardrail that halted the run, and its reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    halted: Option<Value>,
    /// The files that it has locked.
    locks: Vec<Lock>,
    /// Its requests that wait for an answer.
    waiting: Vec<ApprovalView>,
    /// Its latest records, the newest first.
    latest: Vec<RecordLine>,
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
            .gives::<Page<RecordLine>>(
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
            .gives::<Decision>(
                "What guardrails said of it. Decisions of people and of Midrail itself are not undone",
            )
            .fails(&[409, 504]);
    let end = one("post", "/v1/sessions/{id}/end", "end_session", "Ends a session: decides `session_end`")
        .takes::<End>()
        .gives::<Decision>("The decision")
        .fails(&[409, 504]);
    api.route(list, Right::Read, Lifetime::Short, get(sessions))
        .route(show, Right::Read, Lifetime::Short, get(session))
        .route(records, Right::Read, Lifetime::Short, get(session_records))
        .route(snapshot, Right::ReadAll, Lifetime::Short, post(take_snapshot))
        .route(restore, Right::Administer, Lifetime::Short, post(put_back))
        .route(end, Right::Decide, Lifetime::Short, post(end_it))
}

async fn sessions(caller: Caller, Query(query): Query<ListQuery>) -> HandlerResult<Json<Page<SessionInfo>>> {
    let limit = page_size(query.limit)?;
    blocking(move || {
        let (items, next) = caller.visibility().sessions(&**caller.project().store(), query.after, limit)?;
        Ok(Json(Page { items, next: next.map(|next| next.to_string()) }))
    })
    .await
}

async fn session(caller: Caller, Named(id): Named<String>) -> HandlerResult<Json<Session>> {
    blocking(move || {
        let (engine, store) = (caller.project().engine(), caller.project().store());
        known(&caller, &id)?;
        let (visibility, info) = (caller.visibility(), store.session(&id)?.ok_or_else(|| unknown(&id))?);
        let mut locks = engine.admin().locks()?;
        locks.retain(|lock| lock.session == id && visibility.agent(Some(&lock.actor)));
        let halted = store.load(&id, &[HALTED])?.into_iter().next().and_then(|slice| slice.value);
        let pending = ApprovalFilter {
            state: Some(ApprovalState::Pending),
            session: Some(id.clone()),
            limit: Some(LATEST),
            ..ApprovalFilter::default()
        };
        let now = engine.now();
        let mut waiting = store.approvals(&pending)?;
        waiting.retain(|approval| approval.authority_at(now).is_some() && visibility.approval(approval));
        let waiting = waiting.into_iter().map(|approval| ApprovalView::new(approval, now)).collect();
        let latest = AuditFilter {
            session: Some(id),
            limit: Some(LATEST),
            newest_first: true,
            ..AuditFilter::default()
        };
        let latest = super::audit::page(&caller, &latest, RecordLine::with_verdicts)?.items;
        Ok(Json(Session { info, halted, locks, waiting, latest }))
    })
    .await
}

async fn session_records(
    caller: Caller,
    Named(id): Named<String>,
    Query(wanted): Query<Records>,
) -> HandlerResult<Json<Page<RecordLine>>> {
    let limit = page_size(wanted.limit)?;
    blocking(move || {
        known(&caller, &id)?;
        let filter = AuditFilter {
            session: Some(id),
            effect: wanted.effect,
            after_seq: wanted.after,
            limit: Some(limit.min(MAX_PAGE)),
            newest_first: wanted.newest_first,
            ..AuditFilter::default()
        };
        let line = if wanted.full { RecordLine::with_record } else { RecordLine::with_verdicts };
        Ok(Json(super::audit::page(&caller, &filter, line)?))
    })
    .await
}

async fn take_snapshot(caller: Caller, Named(id): Named<String>) -> HandlerResult<Json<Snapshot>> {
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
) -> HandlerResult<Json<Decision>> {
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

async fn end_it(
    caller: Caller,
    Named(id): Named<String>,
    Body(end): Body<End>,
) -> HandlerResult<Json<Decision>> {
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
fn known(caller: &Caller, id: &str) -> HandlerResult<()> {
    let store = &**caller.project().store();
    let any = AuditFilter { session: Some(id.to_owned()), limit: Some(1), ..AuditFilter::default() };
    match !store.entries(&any)?.is_empty() && caller.visibility().session(store, id)? {
        true => Ok(()),
        false => Err(unknown(id)),
    }
}

fn unknown(id: &str) -> Problem {
    Problem::not_found(format!("there is no session `{}`", short(id)))
}
