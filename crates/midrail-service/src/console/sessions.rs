//! Sessions: the list, and the timeline of one run.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use maud::{Markup, html};
use midrail::store::{Approval, ApprovalFilter, AuditEntry, AuditFilter, SessionFilter, SessionInfo};
use serde::Deserialize;

use super::charts;
use super::layout::View;
use super::record_view::{self, subject};
use super::widgets::{self, badge, count, short_line};
use crate::api::input::{Named, Query};
use crate::problem::{HandlerResult, Problem};
use crate::text::short;

/// Sessions on a page.
const PAGE: usize = 50;

/// Events on a page of a timeline.
const EVENTS: usize = 60;

#[derive(Deserialize, schemars::JsonSchema)]
pub(crate) struct PageQuery {
    q: Option<String>,
    /// Show sessions whose last record is before this one.
    before: Option<u64>,
}

pub(crate) fn list(view: &View, Query(query): Query<PageQuery>) -> HandlerResult<Markup> {
    let store = view.caller.project.store();
    let wanted = query.q.unwrap_or_default();
    let some = SessionFilter {
        containing: Some(wanted.clone()).filter(|part| !part.is_empty()),
        before_seq: query.before,
        limit: Some(PAGE + 1),
        ..SessionFilter::default()
    };
    let mut page = store.find_sessions(&some)?;
    let has_older = page.len() > PAGE;
    page.truncate(PAGE);
    let oldest = page.last().filter(|_| has_older).map(|info| info.last_seq);
    // Records without a session have an empty name.
    page.retain(|info| !info.session.is_empty());
    let mut rows = Vec::new();
    for info in page {
        let last = store.entry(info.last_seq)?;
        rows.push((info, last));
    }
    view.page("Sessions", "/sessions", html! {
        div.page-head { h1 { "Sessions" } }
        form.filters method="get" action="/sessions" {
            label.wide { span.label { "Session" } input name="q" value=(wanted) placeholder="part of the name" data-search autocomplete="off" spellcheck="false"; }
            button.button type="submit" { "Search" }
        }
        section.card.flush {
            @if rows.is_empty() {
                (widgets::empty("No sessions", html! {
                    @if wanted.is_empty() { p { "A session starts with its first event. Run an agent with Midrail's hooks, or POST an event to " code { "/v1/decide" } "." } }
                    @else { p { "No session name contains this text." } a.button.quiet href="/sessions" { "Show all" } }
                }))
            } @else {
                div.scroll { table.list {
                    thead { tr { th { "Session" } th { "Agent" } th { "Last event" } th.num { "Records" } th { "Active" } } }
                    tbody { @for (info, last) in &rows { (session_row(info, last.as_ref(), view.now)) } }
                } }
            }
        }
        (pager(&wanted, query.before.is_some(), oldest))
    })
}

fn session_row(info: &SessionInfo, last: Option<&AuditEntry>, now: Timestamp) -> Markup {
    let record = last.and_then(|entry| entry.record().ok());
    let agent = record.as_ref().and_then(|record| record_view::agent(&record.event));
    html! {
        tr data-item data-href=(widgets::session_at(&info.session)) {
            td.session { a href=(widgets::session_at(&info.session)) { (short_line(&info.session, 48)) } }
            td.nowrap { @match agent { Some(agent) => (short_line(&agent, 32)), None => span.muted { "–" } } }
            td.about {
                @if let Some(record) = &record {
                    @if !record.event.kind.is_internal() { (badge(record.decision.effect)) " " }
                    span.kind { (record_view::kind(record.event.kind)) } " " span.subject { (subject(&record.event)) }
                }
            }
            td.num { (count(info.records)) }
            td.nowrap { (widgets::ago(info.last_active, now)) }
        }
    }
}

fn pager(wanted: &str, is_later: bool, oldest: Option<u64>) -> Markup {
    let to = |before: &str| format!("/sessions{}", widgets::query(&[("q", wanted), ("before", before)]));
    html! {
        @if is_later || oldest.is_some() {
            nav.pager aria-label="Pages of the list" {
                @if is_later { a.button.quiet href=(to("")) { "Latest" } }
                @if let Some(oldest) = oldest { a.button.quiet href=(to(&oldest.to_string())) { "Older" } }
            }
        }
    }
}

#[derive(Deserialize, schemars::JsonSchema)]
pub(crate) struct Place {
    /// Show events before this record.
    before: Option<u64>,
    /// Show events after this record.
    after: Option<u64>,
}

pub(crate) fn show(
    view: &View,
    (Named(session), Query(place)): (Named<String>, Query<Place>),
) -> HandlerResult<Markup> {
    let store = view.caller.project.store();
    let of = AuditFilter { session: Some(session.clone()), limit: Some(EVENTS), ..AuditFilter::default() };
    let latest = |before: Option<u64>| -> HandlerResult<Vec<AuditEntry>> {
        let mut page = store.entries(&AuditFilter { after_seq: before, newest_first: true, ..of.clone() })?;
        page.reverse();
        Ok(page)
    };
    let mut entries = match place.after {
        Some(after) => store.entries(&AuditFilter { after_seq: Some(after), ..of.clone() })?,
        None => latest(place.before)?,
    };
    if entries.is_empty() && place.after.is_some() {
        entries = latest(None)?;
    }
    let (Some(first), Some(last)) = (entries.first(), entries.last()) else {
        return Err(Problem::not_found(format!("there is no session `{}` here", short(&session))));
    };
    let one = AuditFilter { limit: Some(1), ..of.clone() };
    let has_earlier = !store
        .entries(&AuditFilter { after_seq: Some(first.seq), newest_first: true, ..one.clone() })?
        .is_empty();
    let has_later = !store.entries(&AuditFilter { after_seq: Some(last.seq), ..one })?.is_empty();
    let approvals = store.approvals(&ApprovalFilter {
        session: Some(session.clone()),
        limit: Some(200),
        ..ApprovalFilter::default()
    })?;
    let approvals: BTreeMap<String, Approval> =
        approvals.into_iter().map(|approval| (approval.id.clone(), approval)).collect();
    let at = widgets::session_at(&session);
    view.page(record_view::heading(&session), "/sessions", html! {
        nav.crumbs { a href="/sessions" { "Sessions" } span { "/" } }
        div.page-head { h1.mono { (record_view::heading(&session)) } a.button.quiet href={ "/live" (widgets::query(&[("session", &session)])) } { "Watch live" } }
        (facts_of(&entries, &approvals, view.now))
        @if has_earlier { nav.pager { a.button.quiet href={ (at) "?before=" (first.seq) } { "Earlier events" } } }
        ol.timeline {
            @for (before, entry) in std::iter::once(None).chain(entries.iter().map(Some)).zip(&entries) {
                @let day = day_of(entry);
                @if before.map(day_of).as_ref() != Some(&day) { li.day { (day) } }
                (event(entry, &approvals, view.now))
            }
        }
        @if has_later { nav.pager { a.button.quiet href={ (at) "?after=" (last.seq) } { "Later events" } a.button.quiet href=(at) { "Latest" } } }
        @else { p.muted.timeline-end { "These are the latest events. " a href=(at) { "Refresh" } } }
    })
}

/// The facts above the timeline.
fn facts_of(entries: &[AuditEntry], approvals: &BTreeMap<String, Approval>, now: Timestamp) -> Markup {
    let records: Vec<_> = entries.iter().filter_map(|entry| entry.record().ok()).collect();
    let agents: BTreeSet<String> =
        records.iter().filter_map(|record| record_view::agent(&record.event)).collect();
    let parents: BTreeSet<String> = records.iter().filter_map(|record| record.event.parent.clone()).collect();
    let task = records.iter().rev().find_map(|record| record.event.task.as_ref());
    let cwd = records.iter().rev().find_map(|record| record.event.cwd.as_deref());
    let mut sums = BTreeMap::new();
    for record in records.iter().filter(|record| !record.event.kind.is_internal()) {
        *sums.entry(record.decision.effect).or_default() += 1;
    }
    let waiting = approvals.values().filter(|approval| approval.authority_at(now).is_some()).count();
    html! {
        section.card.facts {
            dl {
                @if !agents.is_empty() { div { dt { "Agents" } dd { @for agent in agents.iter().take(8) { span.chip { (short_line(agent, 40)) } " " } } } }
                @if !parents.is_empty() { div { dt { "Sub-agents of" } dd { @for parent in parents.iter().take(8) { span.chip { (short_line(parent, 40)) } " " } } } }
                @if let Some(task) = task {
                    div { dt { "Task" } dd { @if let Some(id) = &task.id { code { (short_line(id, 40)) } " " } (short_line(task.goal.as_deref().unwrap_or_default(), 200)) } }
                }
                @if let Some(cwd) = cwd { div { dt { "Folder" } dd { code { (short_line(cwd, 120)) } } } }
                @if waiting > 0 { div { dt { "Waiting" } dd { a href="/approvals" { (widgets::many(widgets::whole(waiting), "request")) " for a person" } } } }
            }
            div.facts-side { (charts::spectrum(&sums)) (charts::legend(&sums)) }
        }
    }
}

/// The day of a record.
fn day_of(entry: &AuditEntry) -> String {
    entry.labels.time.strftime("%A, %d %B %Y").to_string()
}

fn event(entry: &AuditEntry, approvals: &BTreeMap<String, Approval>, now: Timestamp) -> Markup {
    let Ok(record) = entry.record() else {
        return html! { li.event { p.error { "Record " (entry.seq) " cannot be read. " a href="/audit" { "Verify the log" } } } };
    };
    let (event, decision) = (&record.event, &record.decision);
    let approval = decision.approval.as_ref().and_then(|query| approvals.get(&query.id));
    let is_own = event.kind.is_internal();
    html! {
        li.event.sub[event.is_sub_agent()].own[is_own] id={ "r" (entry.seq) } data-item data-toggle {
            span class={ "node fill-" (decision.effect.as_str()) } aria-hidden="true" {}
            details hx-get={ "/audit/" (entry.seq) "/part" } hx-trigger="toggle once" hx-target="find .event-more" hx-swap="innerHTML" {
                summary {
                    span.event-head {
                        (widgets::clock(entry.labels.time))
                        @if !is_own { (badge(decision.effect)) }
                        span.kind { (record_view::kind(event.kind)) }
                        span.subject { (subject(event)) }
                    }
                    span.event-side {
                        @if event.is_sub_agent() { span.chip title={ "sub-agent of " (short_line(event.parent.as_deref().unwrap_or_default(), 60)) } { "sub-agent" } }
                        @if let Some(agent) = record_view::agent(event) { span.chip { (short_line(&agent, 24)) } }
                        @if decision.would.is_some() { span.badge.shadow { "shadow: stricter" } }
                        span.seq { "#" (entry.seq) }
                    }
                }
                div.event-more { p.muted.loading { "Loading…" } }
            }
            @if record_view::has_agent_message(decision) && !is_own {
                div.agent-message {
                    span.label { "Shown to the agent" @if let Some(by) = &decision.by { " · " (widgets::guardrail(by)) } }
                    (record_view::agent_message(decision))
                }
            }
            @if !decision.verdicts.is_empty() && !is_own { (record_view::chain_summary(decision)) }
            @if let Some(approval) = approval { (record_view::approval_line(approval, now)) }
        }
    }
}
