//! Sessions over HTTP: the runs of agents, with their records, their state, and their end.

use midrail::admin::{ApprovalView, Lock, open_approvals};
use midrail::store::{AuditFilter, SessionInfo};
use midrail::{Agent, Decision, Effect, Event, EventKind, Snapshot};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::{Caller, Right};
use crate::api::audit::page;
use crate::api::input::{Body, Named, Page, Query, page_size};
use crate::api::router::Api;
use crate::problem::{HandlerResult, Problem};
use crate::record_line::RecordLine;
use crate::text::short;

/// The latest records and open requests that are shown with a session.
const LATEST: usize = 20;

/// The slice that is set when a run is halted.
const HALTED: &str = "halted";

pub(super) fn routes(api: Api) -> Api {
    api.group("sessions")
        .get("/v1/sessions", "list_sessions", "List sessions, the most recently active first")
        .json(Right::Read, list)
        .get("/v1/sessions/{id}", "show_session", "Show a session: locks, open requests, latest records")
        .json(Right::Read, show)
        .get(
            "/v1/sessions/{id}/records",
            "session_records",
            "List the records of a session, with all verdicts",
        )
        .json(Right::Read, records)
        .post(
            "/v1/sessions/{id}/snapshot",
            "snapshot_session",
            "Take the whole state of a session as one value",
        )
        .json(Right::ReadAll, snapshot)
        .post(
            "/v1/sessions/{id}/restore",
            "restore_session",
            "Restore a snapshot of a session. Decisions of people and of the decision core are not undone",
        )
        .fails(&[409])
        .json(Right::Administer, restore)
        .post("/v1/sessions/{id}/end", "end_session", "End a session: decide `session_end`")
        .json(Right::Decide, end)
}

/// The page of the list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListQuery {
    /// Continue after this page: its `next`
    after: Option<u64>,
    /// Sessions per page: 1 to 1000, by default 100
    limit: Option<usize>,
}

fn list(caller: &Caller, Query(query): Query<ListQuery>) -> HandlerResult<Page<SessionInfo>> {
    let (limit, store) = (page_size(query.limit)?, caller.project.store());
    let (items, next) = caller.visibility().sessions(&**store, query.after, limit)?;
    Ok(Page { items, next: next.map(|next| next.to_string()) })
}

/// A session.
#[derive(Debug, Serialize, JsonSchema)]
struct Session {
    /// Its name, number of records and last activity.
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

fn show(caller: &Caller, Named(id): Named<String>) -> HandlerResult<Session> {
    let (engine, store) = (caller.project.engine(), caller.project.store());
    check_exists(caller, &id)?;
    let (visibility, info) = (caller.visibility(), store.session(&id)?.ok_or_else(|| unknown(&id))?);
    let mut locks = engine.admin().list::<midrail::admin::Lock>()?;
    locks.retain(|lock| lock.session == id && visibility.agent(Some(&lock.actor)));
    let halted = store.load(&id, &[HALTED])?.into_iter().next().and_then(|slice| slice.value);
    let now = engine.now();
    let waiting = open_approvals(&**store, Some(&id), now)?.into_iter().take(LATEST);
    let waiting = waiting.filter(|approval| visibility.approval(approval));
    let waiting = waiting.map(|approval| ApprovalView::new(approval, now)).collect();
    let latest =
        AuditFilter { session: Some(id), limit: Some(LATEST), newest_first: true, ..AuditFilter::default() };
    let latest = page(caller, &latest, RecordLine::with_verdicts)?.items;
    Ok(Session { info, halted, locks, waiting, latest })
}

/// The filters of a list of records.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct RecordQuery {
    /// Only records with this effect
    effect: Option<Effect>,
    /// Continue after this record
    after: Option<u64>,
    /// Records per page: 1 to 1000, by default 100
    limit: Option<usize>,
    /// List from the newest to the oldest
    newest_first: bool,
    /// Include the full records
    full: bool,
}

fn records(
    caller: &Caller,
    (Named(id), Query(query)): (Named<String>, Query<RecordQuery>),
) -> HandlerResult<Page<RecordLine>> {
    let limit = Some(page_size(query.limit)?);
    check_exists(caller, &id)?;
    let RecordQuery { effect, after: after_seq, newest_first, full, .. } = query;
    let filter =
        AuditFilter { session: Some(id), effect, after_seq, limit, newest_first, ..AuditFilter::default() };
    page(caller, &filter, if full { RecordLine::with_record } else { RecordLine::with_verdicts })
}

fn snapshot(caller: &Caller, Named(id): Named<String>) -> HandlerResult<Snapshot> {
    check_exists(caller, &id)?;
    Ok(caller.project.engine().session(id).snapshot()?)
}

fn restore(
    caller: &Caller,
    (Named(id), Body(snapshot)): (Named<String>, Body<Snapshot>),
) -> HandlerResult<Decision> {
    let by = caller.person()?.name();
    if snapshot.slices.keys().any(|key| key.starts_with("shared/")) {
        return Err(Problem::invalid("a snapshot cannot contain slices that all sessions share"));
    }
    check_exists(caller, &id)?;
    Ok(caller.project.engine().session(id).restore_by(&snapshot, Some(by))?)
}

/// The end of a session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SessionEnd")]
struct End {
    /// The agent that ends it.
    #[serde(default)]
    agent: Option<String>,
}

fn end(caller: &Caller, (Named(id), Body(end)): (Named<String>, Body<End>)) -> HandlerResult<Decision> {
    caller.check_agent(end.agent.as_deref())?;
    caller.check_session(&id)?;
    caller.project.store().session(&id)?.ok_or_else(|| unknown(&id))?;
    let mut event = Event::new(EventKind::SessionEnd).in_session(id);
    event.agent = end.agent.map(|id| Agent { id: Some(id), ..Agent::default() });
    Ok(caller.project.engine().decide(event))
}

/// Checks that a session has records, and that the caller may see it.
fn check_exists(caller: &Caller, id: &str) -> HandlerResult<()> {
    let store = &**caller.project.store();
    let any = AuditFilter { session: Some(id.to_owned()), limit: Some(1), ..AuditFilter::default() };
    let exists = !store.entries(&any)?.is_empty() && caller.visibility().session(store, id)?;
    if exists { Ok(()) } else { Err(unknown(id)) }
}

fn unknown(id: &str) -> Problem {
    Problem::not_found(format!("there is no session `{}`", short(id)))
}
