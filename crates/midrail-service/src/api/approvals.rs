//! Approvals over HTTP: requests to people, what an approver needs to know to answer, the answer, and waiting for it.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::routing::get;
use jiff::Timestamp;
use midrail::admin::{ApprovalView, Person};
use midrail::approvals::{Approvals, BypassRequest, record_for_approval};
use midrail::core::{ApprovalKind, Authorities};
use midrail::store::{Approval, ApprovalFilter, ApprovalState, AuditFilter, MAX_PAGE, Urgency};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep, sleep_until};

use crate::access::{Caller, Identity, Right};
use crate::api::input::{Body, Named, Page, Query, Read, check_length, page_size};
use crate::api::openapi::Content;
use crate::api::router::Api;
use crate::app::App;
use crate::blocking::blocking;
use crate::problem::{HandlerResult, Problem};
use crate::record_line::RecordLine;
use crate::text::short;

/// The longest wait for an answer, in seconds.
const MAX_WAIT_S: u64 = 120;

/// How often a wait checks for changes that only time makes.
const POLL: Duration = Duration::from_secs(2);

/// The shortest interval between two checks of a wait, however many records are written.
const MIN_INTERVAL: Duration = Duration::from_millis(100);

/// Records of the session before a request that are shown with it.
const BEFORE: usize = 10;

/// The longest note, reason or review, in bytes.
const MAX_TEXT: usize = 20_000;

pub(super) fn routes(api: Api) -> Api {
    api.group("approvals")
        .get("/v1/approvals", "list_approvals", "List requests to people, the latest first")
        .json(Right::Read, list)
        .post("/v1/approvals", "ask", "Request approval for a blocked action")
        .created()
        .fails(&[409])
        .json(Right::Ask, request)
        .get("/v1/approvals/{id}", "show_approval", "Show a request with everything needed to answer it")
        .json(Right::Read, details)
        .post(
            "/v1/approvals/{id}/decide",
            "answer",
            "Answer a request as the person who has logged in. An approval is valid for exactly that action, once; \
             a denial of an approval that is not used yet revokes it",
        )
        .fails(&[409])
        .json(Right::Answer, answer)
        .post("/v1/approvals/{id}/review", "review", "File the review of an emergency override")
        .fails(&[409])
        .json(Right::Answer, review)
        .get(
            "/v1/approvals/{id}/wait",
            "wait_for_answer",
            "Wait until a request is answered, granted by an emergency override or timed out",
        )
        .long()
        .takes::<(Named<String>, Query<WaitQuery>)>()
        .answers(
            200,
            "The request. If it is still `pending`, wait again",
            Some(Content::json::<ApprovalView>()),
        )
        .handler(Right::Decide, get(wait))
}

/// The filters of a list of requests.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct ListQuery {
    /// Only requests in this state
    state: Option<ApprovalState>,
    /// Only requests of this session
    session: Option<String>,
    /// Only escalations or bypasses
    kind: Option<ApprovalKind>,
    /// Only requests of this urgency
    urgency: Option<Urgency>,
    /// Only requests of this agent
    requested_by: Option<String>,
    /// Only requests whose review is due and not filed
    needs_review: bool,
    /// Continue after this request
    after: Option<String>,
    /// Requests per page: 1 to 1000, by default 100
    limit: Option<usize>,
}

fn list(caller: &Caller, Query(query): Query<ListQuery>) -> HandlerResult<Page<ApprovalView>> {
    let limit = page_size(query.limit)?;
    let project = &caller.project;
    // If the store cannot be written, requests are shown as they are.
    if let Err(error) = project.engine().approvals().settle_all() {
        log::warn!(project = project.name(), error:%; "requests cannot be settled");
    }
    let last = query.after.map(|id| visible_approval(caller, &id)).transpose()?;
    let mut filter = ApprovalFilter {
        state: query.state,
        session: query.session,
        kind: query.kind,
        urgency: query.urgency,
        requested_by: query.requested_by,
        needs_review: query.needs_review,
        after: last.map(|last| (last.created, last.id)),
        limit: Some(limit),
        ..ApprovalFilter::default()
    };
    let now = project.engine().now();
    let mut rows = Vec::new();
    loop {
        let page = project.store().approvals(&filter)?;
        let is_full = page.len() >= filter.page();
        filter.after = page.last().map(|last| (last.created, last.id.clone()));
        rows.extend(page.into_iter().filter(|row| caller.visibility().approval(row)));
        if !is_full || rows.len() >= limit {
            break;
        }
        // Some requests were not visible to the caller.
        filter.limit = Some(MAX_PAGE);
    }
    rows.truncate(limit);
    let next = rows.last().filter(|_| rows.len() >= limit).map(|last| last.id.clone());
    Ok(Page { items: rows.into_iter().map(|row| ApprovalView::new(row, now)).collect(), next })
}

/// A request, if it is visible to the caller.
fn visible_approval(caller: &Caller, id: &str) -> HandlerResult<Approval> {
    let found = caller.project.approval(id)?;
    if caller.visibility().approval(&found) { Ok(found) } else { Err(not_found(id)) }
}

fn not_found(id: &str) -> Problem {
    Problem::not_found(format!("there is no approval `{}`", short(id)))
}

/// Everything that an approver needs to answer.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ApprovalInFull")]
struct ApprovalDetails {
    /// The request, with its current status.
    #[serde(flatten)]
    shown: ApprovalView,
    /// The full record that it was made for.
    #[serde(skip_serializing_if = "Option::is_none")]
    asked_by: Option<RecordLine>,
    /// Earlier records of the session, the newest first.
    before: Vec<RecordLine>,
    /// The policy that made the request.
    policy: String,
    /// The roles that may answer it now.
    may_answer: Vec<String>,
    /// What the caller may do now.
    can: AllowedActions,
}

fn details(caller: &Caller, Named(id): Named<String>) -> HandlerResult<ApprovalDetails> {
    let (project, visibility) = (&caller.project, caller.visibility());
    let engine = project.engine_of(&visible_approval(caller, &id)?)?;
    let approval = engine.approvals().settle(&id)?;
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
    let (may_answer, can) = permissions(&approval, policy.authorities(), &caller.identity, now);
    let asked_by = entry.as_ref().filter(|entry| visibility.entry(entry)).map(RecordLine::with_record);
    let policy = policy.revision().to_string();
    Ok(ApprovalDetails { shown: ApprovalView::new(approval, now), asked_by, before, policy, may_answer, can })
}

/// What a caller may do with a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ApprovalCan")]
pub(crate) struct AllowedActions {
    /// Approve or deny it.
    pub(crate) answer: bool,
    /// Revoke an approval that is not used yet, by denying it.
    pub(crate) take_back: bool,
    /// File the review that is due.
    pub(crate) review: bool,
    /// Why the caller may not answer a pending request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why_not: Option<String>,
}

/// The roles that may answer a request now, and what the caller may do.
pub(crate) fn permissions(
    approval: &Approval,
    authorities: &Authorities,
    identity: &Identity,
    now: Timestamp,
) -> (Vec<String>, AllowedActions) {
    let may_answer = approval.authority_at(now).map(|authority| deciders(authorities, authority));
    let may_answer = may_answer.unwrap_or_default();
    let is_unused = approval.status_at(now) == "approved";
    let may_revoke =
        if is_unused { deciders(authorities, approval.recorded_authority()) } else { Vec::new() };
    let reviewers: Vec<String> = authorities.supervisors.iter().chain(&authorities.humans).cloned().collect();
    let person = match identity {
        Identity::Person(signed_in) => Some(&signed_in.person),
        Identity::Anyone | Identity::Program(_) => None,
    };
    let has = |roles: &[String]| person.is_some_and(|it| it.roles().iter().any(|role| roles.contains(role)));
    let is_own = person.is_some_and(|person| approval.requested_by.as_deref() == Some(person.name()));
    let waits = !may_answer.is_empty();
    let why_not = match person {
        _ if !waits => None,
        None => Some("only a person who has logged in can answer".to_owned()),
        Some(person) if is_own => Some(format!("`{}` made the request", person.name())),
        Some(person) if !has(&may_answer) => {
            let (own, needed) = (person.roles().join(", "), may_answer.join(" or "));
            Some(format!("`{}` has the role {own}; the request needs a {needed}", person.name()))
        }
        Some(_) => None,
    };
    let can = AllowedActions {
        answer: waits && why_not.is_none(),
        take_back: has(&may_revoke) && !is_own,
        review: approval.needs_review() && has(&reviewers) && !is_own,
        why_not,
    };
    (may_answer, can)
}

/// The roles that may decide a request addressed to an authority.
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

/// A request of an agent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ApprovalWish")]
struct RequestBody {
    /// The audit record of the decision that blocked the action.
    decision: u64,
    /// The guardrail to bypass. Absent: the one that decided.
    #[serde(default)]
    guardrail: Option<String>,
    /// Why the action is needed.
    reason: String,
    /// How urgent it is.
    #[serde(default)]
    urgency: Urgency,
}

fn request(caller: &Caller, Body(body): Body<RequestBody>) -> HandlerResult<ApprovalView> {
    check_length("reason", &body.reason, MAX_TEXT)?;
    let project = &caller.project;
    let entry = project.store().entry(body.decision)?;
    let entry = entry.ok_or_else(|| Problem::not_found(format!("there is no record {}", body.decision)))?;
    let record = super::audit::decode_record(&entry)?;
    caller.check_agent(record.event.agent.as_ref().and_then(|agent| agent.id.as_deref()))?;
    let engine = project.engine_of_record(body.decision)?;
    let RequestBody { decision: seq, guardrail, reason, urgency } = body;
    let requested = engine.approvals().request(&BypassRequest { seq, guardrail, reason, urgency })?;
    Ok(ApprovalView::new(requested, engine.now()))
}

/// An answer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ApprovalAnswer")]
struct Answer {
    /// Whether the action is allowed.
    approve: bool,
    /// A note for the record.
    #[serde(default)]
    note: Option<String>,
    /// With an approval: also treat the destination of the call as named in this session.
    #[serde(default)]
    name_destination: bool,
}

fn answer(
    caller: &Caller,
    (Named(id), Body(answer)): (Named<String>, Body<Answer>),
) -> HandlerResult<ApprovalView> {
    if answer.note.as_ref().is_some_and(|note| note.len() > MAX_TEXT) {
        return Err(Problem::invalid(format!("`note` has at most {MAX_TEXT} bytes")));
    }
    let note = answer.note.as_deref().filter(|note| !note.trim().is_empty());
    act(caller, &id, |approvals, person| {
        if answer.approve && answer.name_destination {
            return approvals.approve_and_name(&id, person, note);
        }
        approvals.answer(&id, answer.approve, person, note)
    })
}

/// A review after an emergency.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ApprovalReview")]
struct ReviewBody {
    /// What happened, whether it was justified, and what to do about it.
    text: String,
}

fn review(
    caller: &Caller,
    (Named(id), Body(body)): (Named<String>, Body<ReviewBody>),
) -> HandlerResult<ApprovalView> {
    check_length("text", &body.text, MAX_TEXT)?;
    act(caller, &id, |approvals, person| approvals.review(&id, person, &body.text))
}

/// Changes a request under the policy that made it.
fn act(
    caller: &Caller,
    id: &str,
    change: impl FnOnce(Approvals<'_>, &Person) -> Result<Approval, midrail::EngineError>,
) -> HandlerResult<ApprovalView> {
    let (person, project) = (caller.person()?, &caller.project);
    let engine = project.engine_of(&project.approval(id)?)?;
    Ok(ApprovalView::new(change(engine.approvals(), person)?, engine.now()))
}

/// How long to wait.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WaitQuery {
    /// Seconds to wait at most: 0 to 120, by default 60
    timeout_s: Option<u64>,
}

async fn wait(
    State(app): State<App>,
    caller: Caller,
    Read((Named(id), Query(query))): Read<(Named<String>, Query<WaitQuery>)>,
) -> HandlerResult<Json<ApprovalView>> {
    let seconds = query.timeout_s.unwrap_or(60);
    if seconds > MAX_WAIT_S {
        return Err(Problem::malformed(format!("`timeout_s` is 0 to {MAX_WAIT_S}")));
    }
    let end = Instant::now() + Duration::from_secs(seconds);
    answered(&app, Arc::new(caller), id, end).await.map(Json)
}

/// Waits until a request is answered, granted or timed out, at most until `end`.
pub(crate) async fn answered(
    app: &App,
    caller: Arc<Caller>,
    id: String,
    end: Instant,
) -> HandlerResult<ApprovalView> {
    let mut listener = caller.project.live.listen(caller.project.store())?;
    loop {
        listener.catch_up();
        let (caller, id) = (caller.clone(), id.clone());
        let view = blocking(move || {
            let project = &caller.project;
            let found = project.approval(&id)?;
            // Callers that may not see the request do not learn that it exists.
            caller.check_agent(found.requested_by.as_deref()).map_err(|_| not_found(&id))?;
            let settled = project.engine().approvals().settle(&id)?;
            Ok(ApprovalView::new(settled, project.engine().now()))
        })
        .await?;
        if view.status != "pending" || Instant::now() >= end || app.is_closing() {
            return Ok(view);
        }
        tokio::select! {
            () = async { sleep(MIN_INTERVAL).await; listener.news().await } => {}
            () = sleep_until(end.min(Instant::now() + POLL)) => {}
            () = app.closed() => {}
        }
    }
}
