//! Requests to people: what waits, what a person has to know to answer, the answer, and waiting for it.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use jiff::Timestamp;
use midrail::admin::Person;
use midrail::approvals::{BypassRequest, record_for_approval};
use midrail::core::{ApprovalKind, Authorities};
use midrail::store::{Approval, ApprovalState};
use midrail::store::{ApprovalFilter, AuditFilter, MAX_PAGE, Urgency};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep, sleep_until};

use crate::access::{Caller, Identity, Right};
use crate::api::input::{Body, Named, Page, Query, check_length, page_size};
use crate::api::openapi::{Content, Lifetime, Operation, Place};
use crate::api::router::Api;
use crate::app::App;
use crate::blocking::blocking;
use crate::problem::{HandlerResult, Problem};
use crate::project::Project;
use crate::record_line::RecordLine;
use crate::text::short;

/// The longest that a request waits for an answer, in seconds.
const MAX_WAIT_S: u64 = 120;

/// What time alone changes is looked for as often as this.
const POLL: Duration = Duration::from_secs(2);

/// One who waits looks no more often than this, however much else happens.
const MIN_INTERVAL: Duration = Duration::from_millis(100);

/// Records of the session that are shown from before a request.
const BEFORE: usize = 10;

/// The longest note, reason or review, in bytes.
pub(crate) const MAX_TEXT: usize = 20_000;

/// A request to a person, with its current status.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "ApprovalShown")]
pub(crate) struct ApprovalView {
    /// The request.
    #[serde(flatten)]
    pub(crate) approval: Approval,
    /// Its status: `pending`, `override`, `timed out`, `approved`, `expired`, `denied` or `used`.
    pub(crate) status: String,
    /// The role that it is with, as long as it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) authority: Option<String>,
    /// When no answer becomes a time-out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) deadline: Option<Timestamp>,
    /// Seconds until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seconds_left: Option<i64>,
    /// The status of its review: `due`, `overdue` or `filed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) review_status: Option<String>,
}

impl ApprovalView {
    /// The view of a request at a time.
    pub(crate) fn new(approval: Approval, now: Timestamp) -> Self {
        let authority = approval.authority_at(now).map(str::to_owned);
        let deadline = approval.deadline().filter(|_| authority.is_some());
        ApprovalView {
            status: approval.status_at(now).to_owned(),
            seconds_left: deadline.map(|end| end.duration_since(now).as_secs().max(0)),
            review_status: approval.review.as_ref().map(|review| review.status_at(now).to_owned()),
            authority,
            deadline,
            // What seals an answer is between the engine and the store.
            approval: Approval { seal: None, ..approval },
        }
    }
}

/// Everything that an approver needs to answer.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ApprovalInFull")]
pub(crate) struct ApprovalDetails {
    /// The request, with its current status.
    #[serde(flatten)]
    pub(crate) shown: ApprovalView,
    /// The record that it was made for, whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) asked_by: Option<RecordLine>,
    /// What the session did before, the newest first.
    pub(crate) before: Vec<RecordLine>,
    /// The policy that made the request.
    pub(crate) policy: String,
    /// The roles that may answer it now.
    pub(crate) may_answer: Vec<String>,
    /// What the caller may do now.
    pub(crate) can: AllowedActions,
}

/// What a caller may do with a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ApprovalCan")]
pub(crate) struct AllowedActions {
    /// Approve or deny it.
    pub(crate) answer: bool,
    /// Revoke an approval that is not used yet, by answering no.
    pub(crate) take_back: bool,
    /// File the review that is owed.
    pub(crate) review: bool,
    /// Why the caller may not answer a pending request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why_not: Option<String>,
}

/// Which requests.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ListQuery {
    #[serde(default)]
    state: Option<ApprovalState>,
    #[serde(default)]
    session: Option<String>,
    #[serde(default)]
    kind: Option<ApprovalKind>,
    #[serde(default)]
    urgency: Option<Urgency>,
    #[serde(default)]
    requested_by: Option<String>,
    #[serde(default)]
    needs_review: bool,
    #[serde(default)]
    after: Option<String>,
    #[serde(default)]
    limit: Option<usize>,
}

/// An answer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ApprovalAnswer")]
struct Answer {
    /// Whether the action may be taken.
    approve: bool,
    /// What to say about it.
    #[serde(default)]
    note: Option<String>,
}

/// A review after an emergency.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ApprovalReview")]
struct ReviewBody {
    /// What happened, whether it was right, and what follows from it.
    text: String,
}

/// What an agent asks for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ApprovalWish")]
struct RequestBody {
    /// The audit record of the decision that stopped the action.
    decision: u64,
    /// The guardrail to lift. Absent: the one that decided.
    #[serde(default)]
    guardrail: Option<String>,
    /// Why the action is needed.
    reason: String,
    /// How urgent it is.
    #[serde(default)]
    urgency: Urgency,
}

/// How long to wait.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WaitQuery {
    #[serde(default)]
    timeout_s: Option<u64>,
}

pub(super) fn routes(api: Api) -> Api {
    let of = |method, path, id, summary| Operation::new(method, path, id, "approvals", summary);
    let one = |method, path, id, summary| {
        of(method, path, id, summary).with::<String>(Place::Path, "id", "The name of the request")
    };
    let list = of("get", "/v1/approvals", "list_approvals", "Lists requests to people, the latest first")
        .with::<Option<ApprovalState>>(Place::Query, "state", "Those in this state")
        .with::<Option<String>>(Place::Query, "session", "Those of this session")
        .with::<Option<ApprovalKind>>(Place::Query, "kind", "Escalations or bypasses")
        .with::<Option<Urgency>>(Place::Query, "urgency", "Those of this urgency")
        .with::<Option<String>>(Place::Query, "requested_by", "Those that this agent asked for")
        .with::<bool>(Place::Query, "needs_review", "Those for which a review is owed and not filed")
        .with::<Option<String>>(Place::Query, "after", "Go on after this request")
        .with::<Option<usize>>(Place::Query, "limit", "Requests of a page: 1 to 1000, usually 100")
        .gives::<Page<ApprovalView>>("Requests")
        .fails(&[504]);
    let show = one(
        "get",
        "/v1/approvals/{id}",
        "show_approval",
        "Shows a request with everything that somebody has to know to answer it",
    )
    .gives::<ApprovalDetails>("The request")
    .fails(&[504]);
    let ask = of("post", "/v1/approvals", "ask", "Asks a person to let pass an action that was stopped")
        .takes::<RequestBody>()
        .answers(201, "The request, which waits for an answer", Some(Content::json::<ApprovalView>()))
        .fails(&[409, 504]);
    let decide = one(
        "post",
        "/v1/approvals/{id}/decide",
        "answer",
        "Answers a request, as the person who has logged in. It holds for exactly that action, once; a no to what is approved and not used yet takes the approval back",
    )
    .takes::<Answer>()
    .gives::<ApprovalView>("The request, answered")
    .fails(&[409, 504]);
    let review = one(
        "post",
        "/v1/approvals/{id}/review",
        "review",
        "Files the review that is owed for an action that an emergency let pass",
    )
    .takes::<ReviewBody>()
    .gives::<ApprovalView>("The request, review_approval")
    .fails(&[409, 504]);
    let wait = one(
        "get",
        "/v1/approvals/{id}/wait",
        "wait_for_answer",
        "Waits until a request is answered, grants itself or times out, and answers how it stands then",
    )
    .with::<Option<u64>>(Place::Query, "timeout_s", "Seconds to wait at most: 0 to 120, usually 60")
    .gives::<ApprovalView>("How it stands. `pending`: nobody has answered yet, so ask again");
    api.route(list, Right::Read, Lifetime::Short, get(approvals))
        .route(ask, Right::Ask, Lifetime::Short, post(request))
        .route(show, Right::Read, Lifetime::Short, get(approval))
        .route(decide, Right::Answer, Lifetime::Short, post(answer))
        .route(review, Right::Answer, Lifetime::Short, post(file_review))
        .route(wait, Right::Decide, Lifetime::Long, get(wait_for))
}

async fn approvals(
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> HandlerResult<Json<Page<ApprovalView>>> {
    let limit = page_size(query.limit)?;
    blocking(move || {
        let project = caller.project();
        settle(project);
        let after = match &query.after {
            Some(id) => {
                let last = visible_approval(&caller, id)?;
                Some((last.created, last.id))
            }
            None => None,
        };
        let mut filter = ApprovalFilter {
            state: query.state,
            session: query.session,
            kind: query.kind,
            urgency: query.urgency,
            requested_by: query.requested_by,
            needs_review: query.needs_review,
            after,
            limit: Some(limit),
            ..ApprovalFilter::default()
        };
        let now = project.engine().now();
        let mut rows = project.store().approvals(&filter)?;
        if !caller.visibility().is_full() {
            rows = visible_page(&caller, &mut filter, rows, limit)?;
        }
        let next = rows.last().filter(|_| rows.len() >= limit).map(|last| last.id.clone());
        Ok(Json(Page { items: rows.into_iter().map(|row| ApprovalView::new(row, now)).collect(), next }))
    })
    .await
}

/// Reads pages of requests until enough are visible to the caller.
fn visible_page(
    caller: &Caller,
    filter: &mut ApprovalFilter,
    mut page: Vec<Approval>,
    limit: usize,
) -> HandlerResult<Vec<Approval>> {
    let mut rows = Vec::new();
    loop {
        let is_full = page.len() >= filter.page();
        filter.after = page.last().map(|last| (last.created, last.id.clone()));
        rows.extend(page.into_iter().filter(|row| caller.visibility().approval(row)));
        if !is_full || rows.len() >= limit {
            rows.truncate(limit);
            return Ok(rows);
        }
        filter.limit = Some(MAX_PAGE);
        page = caller.project().store().approvals(filter)?;
    }
}

/// A request, if it is visible to the caller.
fn visible_approval(caller: &Caller, id: &str) -> HandlerResult<Approval> {
    let found = caller.project().approval(id)?;
    match caller.visibility().approval(&found) {
        true => Ok(found),
        false => Err(not_found(id)),
    }
}

fn not_found(id: &str) -> Problem {
    Problem::not_found(format!("there is no approval `{}`", short(id)))
}

/// Puts on record what time has made of requests. A store that cannot be written is shown as it is.
pub(crate) fn settle(project: &Project) {
    if let Err(error) = project.engine().approvals().settle_all() {
        log::warn!(project = project.name(), error:%; "requests cannot be settled");
    }
}

async fn approval(caller: Caller, Named(id): Named<String>) -> HandlerResult<Json<ApprovalDetails>> {
    blocking(move || Ok(Json(details(&caller, &id)?))).await
}

/// Everything that an approver needs to answer a request.
fn details(caller: &Caller, id: &str) -> HandlerResult<ApprovalDetails> {
    let (project, visibility) = (caller.project(), caller.visibility());
    let approval = visible_approval(caller, id)?;
    let engine = project.engine_of(&approval)?;
    let approval = engine.approvals().settle(&approval.id)?;
    let now = engine.now();
    let entry = record_for_approval(&**project.store(), &approval)?;
    let before = AuditFilter {
        session: Some(approval.session.clone()),
        after_seq: entry.as_ref().map(|entry| entry.seq),
        limit: Some(BEFORE),
        newest_first: true,
        ..AuditFilter::default()
    };
    let before = visibility.entries(&**project.store(), &before)?.0.iter().map(RecordLine::new).collect();
    let policy = engine.policy();
    let (may_answer, can) = permissions(&approval, policy.authorities(), caller.identity(), now);
    let asked_by = entry.as_ref().filter(|entry| visibility.entry(entry)).map(RecordLine::with_record);
    let policy = policy.revision().to_string();
    Ok(ApprovalDetails { shown: ApprovalView::new(approval, now), asked_by, before, policy, may_answer, can })
}

/// The roles that may answer a request now, and what the caller may do.
pub(crate) fn permissions(
    approval: &Approval,
    authorities: &Authorities,
    who: &Identity,
    now: Timestamp,
) -> (Vec<String>, AllowedActions) {
    let may_answer = approval.authority_at(now).map(|authority| deciders(authorities, authority));
    let may_answer = may_answer.unwrap_or_default();
    let is_unused = approval.status_at(now) == "approved";
    let may_take_back =
        if is_unused { deciders(authorities, approval.recorded_authority()) } else { Vec::new() };
    let reviewers: Vec<String> = authorities.supervisors.iter().chain(&authorities.humans).cloned().collect();
    let person = match who {
        Identity::Person(signed_in) => Some(&signed_in.person),
        _ => None,
    };
    let can = allowed_actions(approval, person, &may_answer, &may_take_back, &reviewers);
    (may_answer, can)
}

/// The roles that may decide what is with an authority.
fn deciders(authorities: &Authorities, authority: &str) -> Vec<String> {
    let mut roles: Vec<String> = Vec::new();
    let all = authorities.order.iter().chain(&authorities.humans).map(String::as_str).chain([authority]);
    for role in all.filter(|role| authorities.may_decide(role, authority)) {
        if !roles.iter().any(|known| known == role) {
            roles.push(role.to_owned());
        }
    }
    roles
}

fn allowed_actions(
    approval: &Approval,
    person: Option<&Person>,
    may_answer: &[String],
    may_take_back: &[String],
    reviewers: &[String],
) -> AllowedActions {
    let has = |roles: &[String]| person.is_some_and(|it| it.roles().iter().any(|role| roles.contains(role)));
    let is_own = person.is_some_and(|person| approval.requested_by.as_deref() == Some(person.name()));
    let waits = !may_answer.is_empty();
    let why_not = match person {
        _ if !waits => None,
        None => Some("only a person who has logged in can answer".to_owned()),
        Some(person) if is_own => Some(format!("`{}` asked for it", person.name())),
        Some(person) if !has(may_answer) => {
            let (own, needed) = (person.roles().join(", "), may_answer.join(" or "));
            Some(format!("`{}` answers as {own}, and it takes a {needed}", person.name()))
        }
        Some(_) => None,
    };
    AllowedActions {
        answer: waits && why_not.is_none(),
        take_back: has(may_take_back) && !is_own,
        review: approval.needs_review() && has(reviewers) && !is_own,
        why_not,
    }
}

async fn request(
    caller: Caller,
    Body(body): Body<RequestBody>,
) -> HandlerResult<(StatusCode, Json<ApprovalView>)> {
    check_length("reason", &body.reason, MAX_TEXT)?;
    blocking(move || {
        let project = caller.project();
        let entry = project.store().entry(body.decision)?;
        let entry =
            entry.ok_or_else(|| Problem::not_found(format!("there is no record {}", body.decision)))?;
        let record = super::audit::decode_record(&entry)?;
        let agent = record.event.agent.as_ref().and_then(|agent| agent.id.as_deref());
        check_agent(&caller, agent)?;
        let engine = project.engine_of_record(body.decision)?;
        let ask = BypassRequest {
            seq: body.decision,
            guardrail: body.guardrail,
            reason: body.reason,
            urgency: body.urgency,
        };
        let asked = engine.approvals().request(&ask)?;
        Ok((StatusCode::CREATED, Json(ApprovalView::new(asked, engine.now()))))
    })
    .await
}

/// Checks that the caller's key may act for the agent of a request.
fn check_agent(caller: &Caller, agent: Option<&str>) -> HandlerResult<()> {
    match caller.key() {
        Some(key) if !key.is_for_agent(agent) => {
            Err(Problem::forbidden("this key does not speak for the agent that was stopped"))
        }
        _ => Ok(()),
    }
}

async fn answer(
    caller: Caller,
    Named(id): Named<String>,
    Body(answer): Body<Answer>,
) -> HandlerResult<Json<ApprovalView>> {
    let person = caller.person()?.clone();
    if let Some(note) = &answer.note
        && note.len() > MAX_TEXT
    {
        return Err(Problem::invalid(format!("`note` has at most {MAX_TEXT} bytes")));
    }
    blocking(move || {
        Ok(Json(answer_approval(caller.project(), &id, answer.approve, &person, answer.note.as_deref())?))
    })
    .await
}

/// A person's answer.
pub(crate) fn answer_approval(
    project: &Project,
    id: &str,
    approve: bool,
    person: &Person,
    note: Option<&str>,
) -> HandlerResult<ApprovalView> {
    let approval = project.approval(id)?;
    let engine = project.engine_of(&approval)?;
    let answered =
        engine.approvals().answer(id, approve, person, note.filter(|note| !note.trim().is_empty()))?;
    Ok(ApprovalView::new(answered, engine.now()))
}

async fn file_review(
    caller: Caller,
    Named(id): Named<String>,
    Body(filed): Body<ReviewBody>,
) -> HandlerResult<Json<ApprovalView>> {
    let person = caller.person()?.clone();
    check_length("text", &filed.text, MAX_TEXT)?;
    blocking(move || Ok(Json(review_approval(caller.project(), &id, &person, &filed.text)?))).await
}

/// A review after an emergency.
pub(crate) fn review_approval(
    project: &Project,
    id: &str,
    person: &Person,
    text: &str,
) -> HandlerResult<ApprovalView> {
    let approval = project.approval(id)?;
    let engine = project.engine_of(&approval)?;
    let review_approval = engine.approvals().review(id, person, text)?;
    Ok(ApprovalView::new(review_approval, engine.now()))
}

async fn wait_for(
    State(app): State<App>,
    caller: Caller,
    Named(id): Named<String>,
    Query(patience): Query<WaitQuery>,
) -> HandlerResult<Json<ApprovalView>> {
    let seconds = patience.timeout_s.unwrap_or(60);
    if seconds > MAX_WAIT_S {
        return Err(Problem::malformed(format!("`timeout_s` is 0 to {MAX_WAIT_S}")));
    }
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut listener = caller.project().live().listen(caller.project().store())?;
    let caller = Arc::new(caller);
    loop {
        listener.catch_up();
        let (of, id) = (caller.clone(), id.clone());
        let shown = blocking(move || {
            let project = of.project();
            let found = project.approval(&id)?;
            // Callers that may not see the request do not learn that it exists.
            check_agent(&of, found.requested_by.as_deref()).map_err(|_| not_found(&id))?;
            let settled = project.engine().approvals().settle(&id)?;
            Ok(ApprovalView::new(settled, project.engine().now()))
        })
        .await?;
        if shown.status != "pending" || Instant::now() >= end || app.is_closing() {
            return Ok(Json(shown));
        }
        tokio::select! {
            () = async { sleep(MIN_INTERVAL).await; listener.news().await } => {}
            () = sleep_until(end.min(Instant::now() + POLL)) => {}
            () = app.closed() => {}
        }
    }
}
