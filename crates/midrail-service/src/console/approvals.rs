//! Approvals: open requests, and everything that an approver needs to answer.

use std::collections::BTreeSet;

use jiff::Timestamp;
use maud::{Markup, html};
use midrail::Policy;
use midrail::admin::{ApprovalView, RequestGroup, group_requests, open_approvals, session_around};
use midrail::approvals::{is_about_earlier_event, record_for_approval};
use midrail::core::ApprovalKind;
use midrail::store::{Approval, ApprovalFilter, ApprovalState, Urgency};
use serde::Deserialize;
use serde_json::Value;

use super::context;
use super::layout::View;
use super::record_view;
use super::widgets::{self, short_line, visible_text};
use crate::access::{Caller, Identity, Right};
use crate::api::approvals::permissions;
use crate::api::input::{Named, Query};
use crate::problem::HandlerResult;

/// Requests on a page.
const PAGE: usize = 50;

/// Alike requests that a card shows without being opened.
const MAX_OPEN: usize = 8;

/// Records of the session before and after a request that are shown with it.
const AROUND: (usize, usize) = (8, 4);

/// The arguments of a request, one per line; a single command as it is. No argument is left out, because an answer
/// applies to all of them. Further lines of a value are indented, so that they cannot be taken for another argument.
pub(crate) fn arguments(approval: &Approval) -> String {
    let args: Option<Value> = serde_json::from_str(&approval.summary).ok();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match args.as_ref().and_then(Value::as_object) {
        Some(args) => {
            let is_alone = args.len() == 1;
            let lines = args.iter().map(|(name, value)| match name.as_str() {
                "command" | "cmd" | "script" if is_alone => text(value),
                _ => format!("{name}: {}", text(value).lines().collect::<Vec<_>>().join("\n    ")),
            });
            lines.collect::<Vec<_>>().join("\n")
        }
        None => approval.summary.clone(),
    }
}

#[derive(Deserialize, schemars::JsonSchema)]
pub(crate) struct PageQuery {
    show: Option<String>,
    page: Option<usize>,
}

pub(crate) fn list(view: &View, Query(query): Query<PageQuery>) -> HandlerResult<Markup> {
    let all = query.show.as_deref() == Some("all");
    view.page("Approvals", "/approvals", html! {
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
        @if !view.caller.may(Right::Answer) {
            p.notice {
                @if view.caller.signed_in().is_some() { "You can view requests, but not answer them: you only have the role of a viewer." }
                @else { "To answer, " a href="/login?next=/approvals" { "log in" } " with your approver key. " code { "midrail approver add NAME --role human_operator" } " makes one." }
            }
        }
        @if all { (every_request(view, query.page.unwrap_or(0))?) }
        @else { div #queue hx-get="/approvals/queue" hx-trigger="refresh" hx-swap="innerHTML" { (part(view, ())?) } }
    })
}

/// The number of open requests, for the badge.
pub(crate) fn waiting(view: &View, (): ()) -> HandlerResult<axum::Json<Value>> {
    Ok(axum::Json(serde_json::json!({"waiting": view.waiting()?})))
}

/// The queue of open requests.
pub(crate) fn part(view: &View, (): ()) -> HandlerResult<Markup> {
    let (store, now) = (view.caller.project.store(), view.now);
    let mut owed = store.approvals(&ApprovalFilter {
        needs_review: true,
        limit: Some(PAGE),
        ..ApprovalFilter::default()
    })?;
    let mut waiting = open_approvals(&**store, None, now)?;
    // The most urgent first, then the oldest.
    waiting
        .sort_by_key(|approval| (std::cmp::Reverse(approval.urgency), approval.deadline(), approval.created));
    owed.sort_by_key(|approval| approval.review.as_ref().map(|review| review.due));
    let policy = view.caller.project.engine().policy();
    let groups = group_requests(waiting);
    let more = groups.len().saturating_sub(PAGE);
    Ok(html! {
        @for approval in &owed { (owed_card(approval, now)) }
        @if groups.is_empty() && owed.is_empty() {
            section.card { (widgets::empty("No requests are waiting", html! {
                p { "When a guardrail escalates a call, the call is held and appears here. Keep this page open: it updates itself and can notify you." }
            })) }
        }
        @for group in groups.iter().take(PAGE) { (card(group, &view.caller, &policy, now)) }
        @if more > 0 { p.muted { "and " (more) " more" } }
    })
}

/// A card for a call with the requests of all guardrails that hold it, and below it the alike calls of the same agent.
fn card(group: &RequestGroup, caller: &Caller, policy: &Policy, now: Timestamp) -> Markup {
    let Some((call, alike)) = group.calls.split_first() else { return html! {} };
    let Some(first) = call.first() else { return html! {} };
    let at = at(first);
    let all: Vec<&Approval> = group.calls.iter().flatten().collect();
    html! {
        article.card.request data-item data-href=(at) data-approval=(answerable(call, caller, policy, now)) data-what=(what(first)) {
            div.request-head {
                (urgency(first))
                strong { (short_line(first.subject(), 40)) }
                @for approval in call { span.chip { (widgets::guardrail(&approval.guardrail)) } }
                @if !alike.is_empty() { span.badge.sev-medium { (group.calls.len()) " alike" } }
                span.muted { "requested by " (short_line(first.requested_by.as_deref().unwrap_or("an agent"), 40)) " in " (short_line(&first.session, 24)) ", " (widgets::ago(first.created, now)) }
                span.request-left { (left(first, now)) }
            }
            pre.code.command { code { (widgets::mark_redactions(&arguments(first))) } }
            @for reason in call.iter().map(|approval| &approval.reason).collect::<BTreeSet<_>>() { p.reason { (widgets::inline_code(reason)) } }
            @if let Some(text) = &first.justification { p.justification { span.label { "The agent says" } (visible_text(text)) } }
            div.request-foot {
                (call_buttons(call, caller, policy, now))
                a.details-link href=(at) { "Full context" }
            }
            @if !alike.is_empty() { details.alike open[alike.len() <= MAX_OPEN] {
                summary { (widgets::many(widgets::whole(alike.len()), "more request")) " with other arguments" }
                ul.rows { @for call in alike { @if let Some(first) = call.first() {
                    li data-item data-href=(self::at(first)) data-approval=(answerable(call, caller, policy, now)) data-what=(what(first)) {
                        span.row-main { a href=(self::at(first)) { code { (short_line(&arguments(first), 120)) } } " " span.muted { (widgets::ago(first.created, now)) } }
                        span.row-side { (call_buttons(call, caller, policy, now)) }
                    }
                } } }
                @let ids = all_answerable(&all, caller, policy, now);
                @if !ids.is_empty() { div.actions data-approval=(ids) data-what={ (group.calls.len()) " alike calls of " (short_line(first.subject(), 40)) } {
                    button.button.deny type="button" data-answer="deny" { "Deny all " (group.calls.len()) }
                } }
            } }
        }
    }
}

/// What is asked, for the dialog that confirms the answer.
fn what(approval: &Approval) -> String {
    format!("{} {}", short_line(approval.subject(), 40), short_line(&arguments(approval), 300))
}

/// The ids of the requests of a call that the caller may answer now, or of all requests if it is none of them.
fn answerable(call: &[Approval], caller: &Caller, policy: &Policy, now: Timestamp) -> String {
    let all: Vec<&Approval> = call.iter().collect();
    let ids = all_answerable(&all, caller, policy, now);
    if !ids.is_empty() {
        return ids;
    }
    call.iter().map(|approval| approval.id.as_str()).collect::<Vec<_>>().join(" ")
}

fn all_answerable(all: &[&Approval], caller: &Caller, policy: &Policy, now: Timestamp) -> String {
    let may =
        |approval: &&&Approval| permissions(approval, policy.authorities(), &caller.identity, now).1.answer;
    all.iter().filter(may).map(|approval| approval.id.as_str()).collect::<Vec<_>>().join(" ")
}

/// The buttons of the first request of a call that the caller may answer, or else why they may answer none.
fn call_buttons(call: &[Approval], caller: &Caller, policy: &Policy, now: Timestamp) -> Markup {
    let may =
        |approval: &&Approval| permissions(approval, policy.authorities(), &caller.identity, now).1.answer;
    let shown = call.iter().find(may).or_else(|| call.first());
    html! { @if let Some(approval) = shown { (buttons(approval, caller, policy, now)) } }
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
            (widgets::countdown(end, now)) span.muted { " left" }
        }
    }
}

fn buttons(approval: &Approval, caller: &Caller, policy: &Policy, now: Timestamp) -> Markup {
    let (_, can) = permissions(approval, policy.authorities(), &caller.identity, now);
    html! {
        @if can.answer {
            div.actions {
                button.button.approve type="button" data-answer="approve" { "Approve" kbd { "a" } }
                button.button.deny type="button" data-answer="deny" { "Deny" kbd { "d" } }
            }
        } @else if let Some(why) = &can.why_not { p.muted { (short_line(why, 200)) } }
        @if can.take_back {
            div.actions { button.button.deny type="button" data-answer="take-back" { "Revoke" kbd { "t" } } }
            p.muted { "As long as the approval is not used, you can revoke it." }
        }
        @if can.review { div.actions { button.button type="button" data-answer="review" { "Write the review" } } }
    }
}

fn owed_card(approval: &Approval, now: Timestamp) -> Markup {
    let Some(review) = &approval.review else { return html! {} };
    let is_overdue = review.status_at(now) == "overdue";
    html! {
        article.card.request.owed.overdue[is_overdue] data-item data-href=(at(approval)) {
            div.request-head {
                span class={ "badge " (if is_overdue { "sev-critical" } else { "sev-medium" }) } { @if is_overdue { "review overdue" } @else { "review due" } }
                strong { (short_line(approval.subject(), 40)) }
                span.muted { "allowed by an emergency override, " (widgets::ago(approval.created, now)) }
                span.request-left { @if is_overdue { "due " (widgets::ago(review.due, now)) } @else { (widgets::countdown(review.due, now)) span.muted { " left" } } }
            }
            pre.code.command { code { (widgets::mark_redactions(&arguments(approval))) } }
            div.request-foot { a.button href=(at(approval)) { "Review" } }
        }
    }
}

fn every_request(view: &View, page: usize) -> HandlerResult<Markup> {
    let limit = page.saturating_add(1).saturating_mul(PAGE).saturating_add(1);
    let filter = ApprovalFilter { limit: Some(limit), ..ApprovalFilter::default() };
    let rows = view.caller.project.store().approvals(&filter)?;
    let has_more = rows.len() >= limit && limit < midrail::store::MAX_PAGE;
    let rows = rows.into_iter().skip(page.saturating_mul(PAGE)).take(PAGE);
    let rows: Vec<ApprovalView> = rows.map(|approval| ApprovalView::new(approval, view.now)).collect();
    Ok(html! {
        section.card.flush {
            @if rows.is_empty() {
                (widgets::empty("No requests yet", html! { p { "Answered requests stay here, with who answered and why." } }))
            } @else { (widgets::resource(&rows, view.now, |row| Some(at(&row.approval)), |_| html! {})) }
        }
        nav.pager {
            @if page > 0 { a.button.quiet href={ "/approvals?show=all&page=" (page - 1) } { "Newer" } }
            @if has_more { a.button.quiet href={ "/approvals?show=all&page=" (page + 1) } { "Older" } }
        }
    })
}

/// The page of a request.
fn at(approval: &Approval) -> String {
    format!("/approvals/{}", widgets::escape(&approval.id))
}

pub(crate) fn show(view: &View, Named(id): Named<String>) -> HandlerResult<Markup> {
    let approval = view.caller.project.approval(&id)?;
    let title = format!("{} {}", approval.tool.as_deref().unwrap_or("Approval"), arguments(&approval));
    view.page(
        title,
        "/approvals",
        html! {
            nav.crumbs { a href="/approvals" { "Approvals" } span { "/" } }
            (whole(&view.caller, &approval)?)
        },
    )
}

fn whole(caller: &Caller, approval: &Approval) -> HandlerResult<Markup> {
    let (store, now) = (caller.project.store(), caller.project.engine().now());
    let entry = record_for_approval(&**store, approval)?;
    let record = entry.as_ref().and_then(|entry| entry.record().ok());
    let history = session_around(&**store, approval, AROUND)?;
    let engine = caller.project.engine_of(approval)?;
    let policy = engine.policy();
    Ok(html! {
        article.approval #approval data-item data-approval=(approval.id) data-what={ (short_line(approval.subject(), 40)) " " (short_line(&arguments(approval), 300)) } {
            div.page-head {
                h1 { (short_line(approval.tool.as_deref().unwrap_or("Action"), 60)) }
                div.actions { (urgency(approval)) (widgets::status(approval.status_at(now))) }
            }
            div.split {
                div.split-main {
                    section.card.first-seen {
                        h2 { "Requested action" }
                        @match record.as_ref().filter(|record| !is_about_earlier_event(record, approval)) { Some(record) => (context::action(record)), None => pre.code.command { code { (widgets::mark_redactions(&approval.summary)) } } }
                    }
                    section.card {
                        h2 { "Why your approval is needed" }
                        p.reason { (widgets::inline_code(&approval.reason)) }
                        p.justification { span.label { "The agent says" } @match &approval.justification { Some(text) => (visible_text(text)), None => span.muted { "no reason given" } } }
                        p { (widgets::guardrail(&approval.guardrail)) " escalated this call" @if let Some(entry) = &entry { ", in " a href={ "/audit/" (entry.seq) } { "record " (entry.seq) } } }
                    }
                    section.card.flush {
                        h2 { "Session activity" }
                        (record_view::rows(&history, false, now))
                        p.card-foot { a href=(widgets::session_at(&approval.session)) { "View session" } }
                    }
                }
                aside.split-side {
                    section.card.answer-card {
                        (state(approval, now))
                        (review(approval, now))
                        (buttons(approval, caller, &policy, now))
                    }
                    section.card.last-seen { (details(approval, &policy, now)) }
                }
            }
        }
    })
}

/// The status of a request in a sentence.
fn state(approval: &Approval, now: Timestamp) -> Markup {
    html! {
        @if approval.authority_at(now).is_some() {
            h2 { "Your answer" }
            @if let Some(end) = approval.deadline() { p.big-countdown { (widgets::countdown(end, now)) } p.muted { "until the request times out" } }
            @if approval.denied_before.is_some() { p.notice { "A person denied this action before, so an emergency override is not possible." } }
            @if let Some(at) = approval.override_at {
                p.notice { @if now >= at { "The emergency override is in effect." } @else { "Emergency override in " (widgets::countdown(at, now)) "." } }
            }
            p.muted { "An approval allows this exact call once." }
        } @else if let Some(by) = &approval.decided_by {
            h2 { (short_line(by, 40)) " " @match approval.state { ApprovalState::Denied if approval.taken_back.is_some() => "revoked the approval", ApprovalState::Denied => "denied this", _ => "approved this" } }
            p.muted { @if let Some(role) = &approval.decided_role { "as " (short_line(role, 40)) ", " } @if let Some(at) = approval.decided_at { (widgets::ago(at, now)) } }
            @if let Some(note) = &approval.note { blockquote { (visible_text(note)) } }
            @if let Some(was) = &approval.taken_back { p.muted { "It was approved by " (short_line(was.by.as_deref().unwrap_or("someone"), 40)) @if let Some(at) = was.at { ", " (widgets::ago(at, now)) } "." } }
            @if let Some(used) = approval.used_at { p { "The call was made " (widgets::ago(used, now)) "." } }
            @else if approval.state == ApprovalState::Approved { p { "The same call is allowed once" @if let Some(end) = approval.deadline() { ", within " (widgets::countdown(end, now)) } "." } }
        } @else {
            h2 { "No answer in time" }
            p.muted { "The call stays blocked. This does not count as a denial: the agent can request it again." }
        }
    }
}

fn review(approval: &Approval, now: Timestamp) -> Markup {
    let Some(review) = &approval.review else { return html! {} };
    html! {
        @if let Some(at) = review.filed_at {
            h3 { "Reviewed" }
            p.muted { "by " (short_line(review.filed_by.as_deref().unwrap_or("someone"), 40)) ", " (widgets::ago(at, now)) }
            blockquote { (visible_text(review.text.as_deref().unwrap_or_default())) }
        } @else {
            h3 { "Review due" }
            p { @if review.status_at(now) == "overdue" { span.badge.sev-critical { "overdue" } " since " (widgets::ago(review.due, now)) } @else { "within " (widgets::countdown(review.due, now)) } }
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
    let (may_answer, _) = permissions(approval, policy.authorities(), &Identity::Anyone, now);
    html! {
        dl.stacked {
            @if !may_answer.is_empty() { div { dt { "Who may answer" } dd { @for role in &may_answer { span.chip { (short_line(role, 40)) } " " } } } }
            @if approval.urgency == Urgency::Urgent && chain.len() > 1 {
                div { dt { "Escalation path" } dd { @for (at, role) in chain.iter().enumerate() { @if at > 0 { " → " } @if Some(role.as_str()) == authority { strong { (short_line(role, 40)) } } @else { (short_line(role, 40)) } } } }
            }
            div { dt { "Requested by" } dd { (short_line(approval.requested_by.as_deref().unwrap_or("an unnamed agent"), 60)) } }
            div { dt { "Requested" } dd { (widgets::ago(approval.created, now)) } }
            div { dt { "Session" } dd { a href=(widgets::session_at(&approval.session)) { (short_line(&approval.session, 60)) } } }
            @if let Some(task) = &approval.task { div { dt { "Task" } dd { (short_line(task, 80)) } } }
            @if let Some(severity) = approval.severity { div { dt { "Severity" } dd { span class={ "badge sev-" (severity.as_str()) } { (severity.as_str()) } } } }
            div { dt { "Bound to" } dd { code.break { (short_line(&approval.action, 80)) } } }
            div { dt { "Request" } dd { code.break { (short_line(&approval.id, 80)) } } }
        }
    }
}
