//! Approvals: what waits for people, with everything that they need to answer.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use maud::{Markup, html};
use midrail::store::{ApprovalFilter, Filter, Urgency};
use midrail::{Approval, ApprovalKind, ApprovalState, Policy, is_late, record_of_approval};
use serde::Deserialize;
use serde_json::Value;

use super::context;
use super::layout::{self, Frame, Tab};
use super::look::{self, line, shown};
use super::telling;
use crate::access::{Caller, Who};
use crate::api::approvals::{MOST, decide, reviewed, standing};
use crate::api::input::{Body, Query, within};
use crate::app::App;
use crate::problem::{Outcome, Problem};
use crate::work::blocking;

/// Requests on a page.
const PAGE: usize = 50;

/// Records of the session that are shown from before and after a request.
const BEFORE: usize = 8;
const AFTER: usize = 4;

/// The arguments of a request by name, a line each; a command alone as it is. None is left out: who answers answers for
/// all of them. A value of several lines is set in, so that none of them can pass for an argument of its own.
pub(crate) fn what(approval: &Approval) -> String {
    let args: Option<Value> = serde_json::from_str(&approval.summary).ok();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match args.as_ref().and_then(Value::as_object) {
        Some(args) => {
            let is_alone = args.len() == 1;
            let said = args.iter().map(|(name, value)| match name.as_str() {
                "command" | "cmd" | "script" if is_alone => text(value),
                _ => format!("{name}: {}", text(value).lines().collect::<Vec<_>>().join("\n    ")),
            });
            said.collect::<Vec<_>>().join("\n")
        }
        None => approval.summary.clone(),
    }
}

#[derive(Deserialize)]
pub(crate) struct Asked {
    show: Option<String>,
    page: Option<usize>,
}

pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(asked): Query<Asked>,
) -> Outcome<Markup> {
    blocking(move || {
        let frame = Frame::of(&app, &caller, "Approvals", Tab::Approvals)?;
        let all = asked.show.as_deref() == Some("all");
        let page = asked.page.unwrap_or(0);
        let content = if all { answered(&caller, page, frame.now)? } else { queue(&caller)? };
        Ok(frame.page(html! {
            div.page-head {
                h1 { "Approvals" }
                div.actions {
                    button.button.quiet type="button" data-notify hidden { "Notify me" }
                    div.tabs role="group" aria-label="Which" {
                        a href="/approvals" aria-current=[(!all).then_some("true")] { "Waiting" }
                        a href="/approvals?show=all" aria-current=[all.then_some("true")] { "All" }
                    }
                }
            }
            @if !frame.may_answer {
                p.notice {
                    @if frame.is_person { "You can look, and answer nothing: your roles are those of a viewer." }
                    @else { "To answer, " a href="/login?next=/approvals" { "log in" } " with your approver key. " code { "midrail approver add NAME --role human_operator" } " makes one." }
                }
            }
            @if all { (content) } @else { div #queue hx-get="/approvals/queue" hx-trigger="refresh" hx-swap="innerHTML" { (content) } }
        }))
    })
    .await
}

/// The queue alone, to be put in place of the one before.
pub(crate) async fn part(caller: Caller) -> Outcome<Markup> {
    blocking(move || queue(&caller)).await
}

/// How many wait, for the badge.
pub(crate) async fn waiting(caller: Caller) -> Outcome<Response> {
    blocking(
        move || Ok(axum::Json(serde_json::json!({"waiting": layout::waiting(&caller)?})).into_response()),
    )
    .await
}

fn queue(caller: &Caller) -> Outcome<Markup> {
    let (store, now) = (caller.project().store(), caller.project().engine().now());
    let owed = store.approvals(&ApprovalFilter {
        needs_review: true,
        limit: Some(PAGE),
        ..ApprovalFilter::default()
    })?;
    let pending = ApprovalFilter { state: Some(ApprovalState::Pending), ..ApprovalFilter::default() };
    let mut waiting = store.approvals(&pending)?;
    waiting.retain(|approval| approval.authority_at(now).is_some());
    // The most urgent first, then whoever has waited longest.
    waiting
        .sort_by_key(|approval| (std::cmp::Reverse(approval.urgency), approval.deadline(), approval.created));
    let mut owed = owed;
    owed.sort_by_key(|approval| approval.review.as_ref().map(|review| review.due));
    let policy = caller.project().engine().policy();
    let more = waiting.len().saturating_sub(PAGE);
    Ok(html! {
        @for approval in &owed { (owed_card(approval, now)) }
        @if waiting.is_empty() && owed.is_empty() {
            section.card { (look::empty("Nothing waits for you", html! {
                p { "When a guardrail wants a person's judgement, the call is held and shows up here. Leave this page open: it follows along, and can notify you." }
            })) }
        }
        @for approval in waiting.iter().take(PAGE) { (card(approval, caller, &policy, now)) }
        @if more > 0 { p.muted { "and " (more) " more" } }
    })
}

fn card(approval: &Approval, caller: &Caller, policy: &Policy, now: Timestamp) -> Markup {
    let at = format!("/approvals/{}", look::part(&approval.id));
    html! {
        article.card.request data-item data-href=(at) data-approval=(approval.id) data-what={ (line(approval.subject(), 40)) " " (line(&what(approval), 300)) } {
            div.request-head {
                (urgency(approval))
                strong { (line(approval.subject(), 40)) }
                a.chip href={ "/guardrails/" (look::part(&approval.guardrail)) } { (line(&approval.guardrail, 40)) }
                span.muted { "asked by " (line(approval.requested_by.as_deref().unwrap_or("an agent"), 40)) " in " (line(&approval.session, 24)) ", " (look::ago(approval.created, now)) }
                span.request-left { (left(approval, now)) }
            }
            pre.code.command { code { (look::marked(&what(approval))) } }
            p.reason { (look::worded(&approval.reason)) }
            @if let Some(text) = &approval.justification { p.justification { span.label { "The agent says" } (shown(text)) } }
            div.request-foot {
                (buttons(approval, caller, policy, now))
                a.details-link href=(at) { "Full context" }
            }
        }
    }
}

fn urgency(approval: &Approval) -> Markup {
    html! {
        @match approval.urgency {
            Urgency::Normal => {},
            Urgency::Urgent => span.badge.sev-high { "urgent" },
            Urgency::Emergency => span.badge.sev-critical { "emergency" },
        }
        @if approval.kind == ApprovalKind::Bypass { span.badge.fx-skipped { "bypass" } }
    }
}

fn left(approval: &Approval, now: Timestamp) -> Markup {
    html! {
        @if let (Some(_), Some(end)) = (approval.authority_at(now), approval.deadline()) {
            (look::countdown(end, now)) span.muted { " left" }
        }
    }
}

fn buttons(approval: &Approval, caller: &Caller, policy: &Policy, now: Timestamp) -> Markup {
    let (_, can) = standing(approval, policy.authorities(), caller.who(), now);
    html! {
        @if can.answer {
            div.actions {
                button.button.approve type="button" data-answer="approve" { "Approve" kbd { "a" } }
                button.button.deny type="button" data-answer="deny" { "Deny" kbd { "d" } }
            }
        } @else if let Some(why) = &can.why_not { p.muted { (line(why, 200)) } }
        @if can.take_back {
            div.actions { button.button.deny type="button" data-answer="take-back" { "Take back" kbd { "t" } } }
            p.muted { "As long as nobody has used it, the call can be stopped again." }
        }
        @if can.review { div.actions { button.button type="button" data-answer="review" { "Write the review" } } }
    }
}

fn owed_card(approval: &Approval, now: Timestamp) -> Markup {
    let Some(review) = &approval.review else { return html! {} };
    let is_overdue = review.status_at(now) == "overdue";
    html! {
        article.card.request.owed.overdue[is_overdue] data-item data-href={ "/approvals/" (look::part(&approval.id)) } {
            div.request-head {
                span class={ "badge " (if is_overdue { "sev-critical" } else { "sev-medium" }) } { @if is_overdue { "review overdue" } @else { "review due" } }
                strong { (line(approval.subject(), 40)) }
                span.muted { "let pass in an emergency, " (look::ago(approval.created, now)) }
                span.request-left { @if is_overdue { "due " (look::ago(review.due, now)) } @else { (look::countdown(review.due, now)) span.muted { " left" } } }
            }
            pre.code.command { code { (look::marked(&what(approval))) } }
            div.request-foot { a.button href={ "/approvals/" (look::part(&approval.id)) } { "Review" } }
        }
    }
}

fn answered(caller: &Caller, page: usize, now: Timestamp) -> Outcome<Markup> {
    let limit = page.saturating_add(1).saturating_mul(PAGE).saturating_add(1);
    let rows = caller
        .project()
        .store()
        .approvals(&ApprovalFilter { limit: Some(limit), ..ApprovalFilter::default() })?;
    let has_more = rows.len() >= limit && limit < midrail::store::MAX_PAGE;
    let rows: Vec<Approval> = rows.into_iter().skip(page.saturating_mul(PAGE)).take(PAGE).collect();
    Ok(html! {
        section.card.flush {
            @if rows.is_empty() {
                (look::empty("Nobody was asked yet", html! { p { "Requests stay here when they are answered, with who answered and why." } }))
            } @else {
                div.scroll { table.list {
                    thead { tr { th { "Status" } th { "What" } th { "Guardrail" } th { "Answered by" } th { "Asked" } } }
                    tbody {
                        @for approval in &rows {
                            @let at = format!("/approvals/{}", look::part(&approval.id));
                            tr data-item data-href=(at) {
                                td { (status(approval, now)) }
                                td.about { a href=(at) { strong { (line(approval.subject(), 40)) } } " " span.mono.subject { (line(&what(approval), 120)) }
                                    @if let Some(note) = &approval.note { div.row-reason { "“" (line(note, 160)) "”" } } }
                                td { (line(&approval.guardrail, 40)) }
                                td { @match &approval.decided_by { Some(by) => (line(by, 40)), None => span.muted { "–" } } }
                                td.nowrap { (look::ago(approval.created, now)) }
                            }
                        }
                    }
                } }
            }
        }
        nav.pager {
            @if page > 0 { a.button.quiet href={ "/approvals?show=all&page=" (page - 1) } { "Newer" } }
            @if has_more { a.button.quiet href={ "/approvals?show=all&page=" (page + 1) } { "Older" } }
        }
    })
}

fn status(approval: &Approval, now: Timestamp) -> Markup {
    let status = approval.status_at(now);
    html! { span class={ "badge st-" (status.replace(' ', "-")) } { (status) } }
}

pub(crate) async fn show(State(app): State<App>, caller: Caller, Path(id): Path<String>) -> Outcome<Markup> {
    blocking(move || {
        let approval = caller.project().approval(&id)?;
        let title = format!("{} {}", approval.tool.as_deref().unwrap_or("Approval"), what(&approval));
        let frame = Frame::of(&app, &caller, title, Tab::Approvals)?;
        Ok(frame.page(html! {
            nav.crumbs { a href="/approvals" { "Approvals" } span { "/" } }
            (whole(&caller, &approval)?)
        }))
    })
    .await
}

fn whole(caller: &Caller, approval: &Approval) -> Outcome<Markup> {
    let (store, now) = (caller.project().store(), caller.project().engine().now());
    let entry = record_of_approval(&**store, approval)?;
    let record = entry.as_ref().and_then(|entry| entry.record().ok());
    let of = Filter { session: Some(approval.session.clone()), ..Filter::default() };
    let mut history = store.entries(&Filter {
        until: Some(approval.created),
        newest_first: true,
        limit: Some(BEFORE),
        ..of.clone()
    })?;
    history.reverse();
    let after = store.entries(&Filter { since: Some(approval.created), limit: Some(AFTER), ..of })?;
    let engine = caller.project().engine_of(approval)?;
    let policy = engine.policy();
    Ok(html! {
        article.approval #approval data-item data-approval=(approval.id) data-what={ (line(approval.subject(), 40)) " " (line(&what(approval), 300)) } {
            div.page-head {
                h1 { (line(approval.tool.as_deref().unwrap_or("Action"), 60)) }
                div.actions { (urgency(approval)) (status(approval, now)) }
            }
            div.split {
                div.split-main {
                    section.card.first-seen {
                        h2 { "What it wants to do" }
                        @match record.as_ref().filter(|record| !is_late(record, approval)) { Some(record) => (context::action(record)), None => pre.code.command { code { (look::marked(&approval.summary)) } } }
                    }
                    section.card {
                        h2 { "Why you are asked" }
                        p.reason { (look::worded(&approval.reason)) }
                        p.justification { span.label { "The agent says" } @match &approval.justification { Some(text) => (shown(text)), None => span.muted { "nothing about why it is needed" } } }
                        p { a href={ "/guardrails/" (look::part(&approval.guardrail)) } { (line(&approval.guardrail, 60)) } " asks" @if let Some(entry) = &entry { ", in " a href={ "/audit/" (entry.seq) } { "record " (entry.seq) } } }
                    }
                    section.card.flush {
                        h2 { "What the session did" }
                        div.scroll { table.list {
                            tbody { @for entry in history.iter().chain(&after) { (telling::row(entry, false, now)) } }
                        } }
                        p.card-foot { a href=(look::session_at(&approval.session)) { "The whole session" } }
                    }
                }
                aside.split-side {
                    section.card.answer-card {
                        (stands(approval, now))
                        (review(approval, now))
                        (buttons(approval, caller, &policy, now))

                    }
                    section.card.last-seen { (details(approval, &policy, now)) }
                }
            }
        }
    })
}

/// How it stands, in a sentence.
fn stands(approval: &Approval, now: Timestamp) -> Markup {
    html! {
        @if approval.authority_at(now).is_some() {
            h2 { "Your answer" }
            @if let Some(end) = approval.deadline() { p.big-countdown { (look::countdown(end, now)) } p.muted { "until no answer becomes a no" } }
            @if approval.denied_before.is_some() { p.notice { "A person has denied this action before: it never grants itself." } }
            @if let Some(at) = approval.override_at {
                p.notice { @if now >= at { "It grants itself now." } @else { "It grants itself in " (look::countdown(at, now)) "." } }
            }
            p.muted { "An approval is good for this very call, once." }
        } @else if let Some(by) = &approval.decided_by {
            h2 { (line(by, 40)) " " @match approval.state { ApprovalState::Denied if approval.taken_back.is_some() => "took the approval back", ApprovalState::Denied => "denied this", _ => "approved this" } }
            p.muted { @if let Some(role) = &approval.decided_role { "as " (line(role, 40)) ", " } @if let Some(at) = approval.decided_at { (look::ago(at, now)) } }
            @if let Some(note) = &approval.note { blockquote { (shown(note)) } }
            @if let Some(was) = &approval.taken_back { p.muted { "It was approved by " (line(was.by.as_deref().unwrap_or("someone"), 40)) @if let Some(at) = was.at { ", " (look::ago(at, now)) } "." } }
            @if let Some(used) = approval.used_at { p { "The call was made " (look::ago(used, now)) "." } }
            @else if approval.state == ApprovalState::Approved { p { "The very same call passes once" @if let Some(end) = approval.deadline() { ", within " (look::countdown(end, now)) } "." } }
        } @else {
            h2 { "Nobody answered in time" }
            p.muted { "The call stays blocked. This is no denial, and it can be asked again." }
        }
    }
}

fn review(approval: &Approval, now: Timestamp) -> Markup {
    let Some(review) = &approval.review else { return html! {} };
    html! {
        @if let Some(at) = review.filed_at {
            h3 { "Reviewed" }
            p.muted { "by " (line(review.filed_by.as_deref().unwrap_or("someone"), 40)) ", " (look::ago(at, now)) }
            blockquote { (shown(review.text.as_deref().unwrap_or_default())) }
        } @else {
            h3 { "A review is owed" }
            p { @if review.status_at(now) == "overdue" { span.badge.sev-critical { "overdue" } " since " (look::ago(review.due, now)) } @else { "within " (look::countdown(review.due, now)) } }
        }
    }
}

fn details(approval: &Approval, policy: &Policy, now: Timestamp) -> Markup {
    let authority = approval.authority_at(now);
    let chain: Vec<&String> = if approval.approvers.is_empty() {
        vec![&approval.approver]
    } else {
        approval.approvers.iter().collect()
    };
    let (may_answer, _) = standing(approval, policy.authorities(), &Who::Anyone, now);
    html! {
        dl.stacked {
            @if !may_answer.is_empty() { div { dt { "Who may answer" } dd { @for role in &may_answer { span.chip { (line(role, 40)) } " " } } } }
            @if approval.urgency == Urgency::Urgent && chain.len() > 1 {
                div { dt { "Goes to" } dd { @for (at, role) in chain.iter().enumerate() { @if at > 0 { " → " } @if Some(role.as_str()) == authority { strong { (line(role, 40)) } } @else { (line(role, 40)) } } } }
            }
            div { dt { "Asked by" } dd { (line(approval.requested_by.as_deref().unwrap_or("an agent without a name"), 60)) } }
            div { dt { "Asked" } dd { (look::ago(approval.created, now)) } }
            div { dt { "Session" } dd { a href=(look::session_at(&approval.session)) { (line(&approval.session, 60)) } } }
            @if let Some(task) = &approval.task { div { dt { "Task" } dd { (line(task, 80)) } } }
            @if let Some(severity) = approval.severity { div { dt { "Severity" } dd { span class={ "badge sev-" (severity.word()) } { (severity.word()) } } } }
            div { dt { "Bound to" } dd { code.break { (line(&approval.action, 80)) } } }
            div { dt { "Request" } dd { code.break { (line(&approval.id, 80)) } } }
        }
    }
}

/// A person's answer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answer {
    /// `approve`, `deny`, `take-back` or `review`.
    answer: String,
    #[serde(default)]
    note: String,
}

pub(crate) async fn answer(
    caller: Caller,
    Path(id): Path<String>,
    Body(given): Body<Answer>,
) -> Outcome<Markup> {
    if given.answer == "review" || !given.note.is_empty() {
        within("note", &given.note, MOST)?;
    }
    blocking(move || {
        let (project, person) = (caller.project(), caller.person()?);
        match given.answer.as_str() {
            "approve" => decide(project, &id, true, person, Some(&given.note))?,
            // A no to what is approved and not used yet takes the approval back.
            "deny" | "take-back" => decide(project, &id, false, person, Some(&given.note))?,
            "review" => reviewed(project, &id, person, &given.note)?,
            _ => return Err(Problem::invalid("`answer` is `approve`, `deny`, `take-back` or `review`")),
        };
        whole(&caller, &project.approval(&id)?)
    })
    .await
}
