//! The live page: decisions as they are made, whichever process makes them.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use midrail::EventKind;
use midrail::store::AuditFilter;
use serde::Deserialize;

use super::layout::{Frame, Tab};
use super::record_view;
use super::widgets::{self, EFFECTS, short_line};
use crate::access::Caller;
use crate::api::input::Query;
use crate::app::App;
use crate::blocking::blocking;
use crate::live::{self, LiveEvent, LiveFilter, Reader};
use crate::problem::HandlerResult;
use crate::project::Project;

/// Decisions that are there when the page opens.
const AT_FIRST: usize = 50;

#[derive(Deserialize, Default)]
pub(crate) struct PageQuery {
    effect: Option<String>,
    session: Option<String>,
    tool: Option<String>,
    guardrail: Option<String>,
}

pub(crate) async fn page(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<PageQuery>,
) -> HandlerResult<Markup> {
    blocking(move || {
        let frame = Frame::new(&app, &caller, "Live", Tab::Live)?;
        let said = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let filter = AuditFilter {
            effect: query.effect.as_deref().and_then(widgets::effect_of),
            session: said(&query.session),
            tool: said(&query.tool),
            guardrail: said(&query.guardrail),
            newest_first: true,
            limit: Some(AT_FIRST),
            ..AuditFilter::default()
        };
        let store = caller.project().store();
        let entries = store.entries(&filter)?;
        let head = store.head()?.map_or(0, |head| head.seq);
        let value = |text: &Option<String>| text.clone().unwrap_or_default();
        Ok(frame.page(html! {
            div.page-head {
                h1 { "Live" }
                div.actions {
                    span.muted #live-missed {}
                    button.button.quiet type="button" #live-pause aria-pressed="false" { "Pause" }
                }
            }
            form.filters #live-filters method="get" action="/live" {
                label { span.label { "Effect" }
                    select name="effect" data-search {
                        option value="" { "any" }
                        @for effect in EFFECTS { option value=(effect.as_str()) selected[query.effect.as_deref() == Some(effect.as_str())] { (effect.as_str()) } }
                    }
                }
                @for (name, title, text) in [("session", "Session", &query.session), ("tool", "Tool", &query.tool), ("guardrail", "Guardrail", &query.guardrail)] {
                    label { span.label { (title) } input name=(name) value=(value(text)) placeholder="any" autocomplete="off" spellcheck="false"; }
                }
                button.button type="submit" { "Filter" }
                @if [&query.effect, &query.session, &query.tool, &query.guardrail].into_iter().any(|text| said(text).is_some()) {
                    a.button.quiet href="/live" { "Clear" }
                }
            }
            section.card.flush {
                div.scroll {
                    table.list.live #live data-after=(head) {
                        thead { tr { th { "Time" } th { "Effect" } th { "What" } th { "Session" } th.num { "Record" } } }
                        tbody #live-rows { @for entry in &entries { (row(entry)) } }
                    }
                }
                div #live-empty hidden[!entries.is_empty()] {
                    (widgets::empty("No decisions yet", html! { p { "Decisions appear here as they are made. Run an agent, or change the filter." } }))
                }
            }
        }))
    })
    .await
}

/// The live events that a page receives.
#[derive(Deserialize, Default)]
pub(crate) struct StreamQuery {
    effect: Option<String>,
    session: Option<String>,
    tool: Option<String>,
    guardrail: Option<String>,
    after: Option<u64>,
    /// Whether decisions are sent as table rows.
    #[serde(default)]
    rows: bool,
}

pub(crate) async fn stream(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Query(query): Query<StreamQuery>,
) -> HandlerResult<Response> {
    let said = |text: Option<String>| text.filter(|text| !text.is_empty());
    let filter = LiveFilter {
        effect: query.effect.as_deref().and_then(widgets::effect_of),
        at_least: None,
        session: said(query.session),
        guardrail: said(query.guardrail),
        tool: said(query.tool),
        key: caller.key().cloned(),
    };
    let last = headers.get("last-event-id").and_then(|last| last.to_str().ok()?.trim().parse().ok());
    let (of, rows) = (caller.project().clone(), query.rows);
    let show = Arc::new(move |event: &LiveEvent| visible_text(&of, event, rows));
    live::stream(Reader { app, caller, headers }, filter, last.or(query.after), show).await
}

/// A event as the script of the console takes it.
fn visible_text(project: &Project, event: &LiveEvent, rows: bool) -> Option<String> {
    match event {
        LiveEvent::Decision(line) | LiveEvent::Change(line) if rows => {
            let entry = project.store().entry(line.seq).ok()??;
            Some(serde_json::json!({"row": row(&entry).into_string()}).to_string())
        }
        LiveEvent::Decision(_) | LiveEvent::Change(_) => None,
        LiveEvent::Approval(query) => {
            let approval = &query.approval;
            let what = format!("{} {}", approval.subject(), super::approvals::what(approval));
            let told = serde_json::json!({
                "id": approval.id, "status": query.status, "what": short_line(&what, 160), "reason": short_line(&approval.reason, 200),
            });
            Some(told.to_string())
        }
        LiveEvent::Alert(alert) => Some(
            serde_json::json!({"name": short_line(&alert.name, 60), "message": short_line(&alert.message, 200)})
                .to_string(),
        ),
    }
}

fn row(entry: &midrail::store::AuditEntry) -> Markup {
    let record = entry.record().ok();
    let is_own = entry.labels.kind.parse::<EventKind>().is_ok_and(EventKind::is_internal);
    html! {
        tr.own[is_own] data-item data-href={ "/audit/" (entry.seq) } {
            td.nowrap { (widgets::clock(entry.labels.time)) }
            td { (widgets::badge_of(&entry.labels.effect)) }
            td.about {
                span.kind { (short_line(&entry.labels.kind.replace('_', " "), 30)) } " "
                @if let Some(record) = &record {
                    span.subject { (record_view::subject(&record.event)) }
                    @if !record.decision.reason.is_empty() {
                        div.row-reason {
                            @if let Some(by) = &record.decision.by { code { (short_line(by, 40)) } " " }
                            span { (short_line(&record.decision.reason, 160)) }
                        }
                    }
                }
            }
            td.session { a href=(widgets::session_at(&entry.labels.session)) { (short_line(&entry.labels.session, 28)) } }
            td.num { a href={ "/audit/" (entry.seq) } { (entry.seq) } }
        }
    }
}
