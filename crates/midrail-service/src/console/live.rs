//! The live page: decisions as they are made, whichever process makes them.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};

use super::filter::Filter;
use super::layout::View;
use super::record_view;
use super::widgets::{self, short_line};
use crate::access::Caller;
use crate::api::input::{Query, Read};
use crate::app::App;
use crate::live::{self, LiveEvent, LiveFilter, Reader};
use crate::problem::HandlerResult;
use crate::project::Project;

/// Decisions that are shown when the page opens.
const AT_FIRST: usize = 50;

pub(crate) fn page(view: &View, Query(filter): Query<Filter>) -> HandlerResult<Markup> {
    let store = view.caller.project.store();
    let entries = store.entries(&filter.audit(AT_FIRST)?)?;
    let head = store.head()?.map_or(0, |head| head.seq);
    view.page("Live", "/live", html! {
        div.page-head {
            h1 { "Live" }
            div.actions {
                span.muted #live-missed {}
                button.button.quiet type="button" #live-pause aria-pressed="false" { "Pause" }
            }
        }
        form.filters #live-filters method="get" action="/live" {
            (filter.fields())
            button.button type="submit" { "Filter" }
            @if !filter.query(None).is_empty() { a.button.quiet href="/live" { "Clear" } }
        }
        section.card.flush {
            div.scroll {
                table.list.live #live data-after=(head) {
                    (record_view::heads(true))
                    tbody #live-rows { @for entry in &entries { (row(entry)) } }
                }
            }
            div #live-empty hidden[!entries.is_empty()] {
                (widgets::empty("No decisions yet", html! { p { "Decisions appear here as they are made. Run an agent, or change the filter." } }))
            }
        }
    })
}

pub(crate) async fn stream(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Read(Query(filter)): Read<Query<Filter>>,
) -> HandlerResult<Response> {
    let last = headers.get("last-event-id").and_then(|last| last.to_str().ok()?.trim().parse().ok());
    let (project, rows) = (caller.project.clone(), filter.rows);
    let filter = LiveFilter { after: last.or(filter.after), ..filter.live() };
    let render = Arc::new(move |event: &LiveEvent| message(&project, event, rows));
    live::stream(Reader { app, caller, headers }, filter, render).await
}

/// A live event in the format of the console's script.
fn message(project: &Project, event: &LiveEvent, rows: bool) -> Option<String> {
    match event {
        LiveEvent::Decision(line) | LiveEvent::Change(line) if rows => {
            let entry = project.store().entry(line.seq).ok()??;
            Some(serde_json::json!({"row": row(&entry).into_string()}).to_string())
        }
        LiveEvent::Decision(_) | LiveEvent::Change(_) => None,
        LiveEvent::Approval(event) => {
            let approval = &event.approval;
            let what = format!("{} {}", approval.subject(), super::approvals::arguments(approval));
            let message = serde_json::json!({
                "id": approval.id, "status": event.status, "what": short_line(&what, 160), "reason": short_line(&approval.reason, 200),
            });
            Some(message.to_string())
        }
        LiveEvent::Alert(alert) => Some(
            serde_json::json!({"name": short_line(&alert.name, 60), "message": short_line(&alert.message, 200)})
                .to_string(),
        ),
    }
}

fn row(entry: &midrail::store::AuditEntry) -> Markup {
    record_view::row(entry, widgets::clock(entry.labels.time), true)
}
