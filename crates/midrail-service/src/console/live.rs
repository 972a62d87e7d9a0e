//! The live page: decisions as they are made, whichever process makes them.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use maud::{Markup, html};
use midrail::EventKind;
use midrail::store::Filter;
use serde::Deserialize;

use super::layout::{Frame, Tab};
use super::look::{self, EFFECTS, line};
use super::telling;
use crate::access::Caller;
use crate::api::input::Query;
use crate::app::App;
use crate::live::{self, Happening, Reader, Wanted};
use crate::problem::Outcome;
use crate::project::Project;
use crate::work::blocking;

/// Decisions that are there when the page opens.
const AT_FIRST: usize = 50;

#[derive(Deserialize, Default)]
pub(crate) struct Asked {
    effect: Option<String>,
    session: Option<String>,
    tool: Option<String>,
    guardrail: Option<String>,
}

pub(crate) async fn page(
    State(app): State<App>,
    caller: Caller,
    Query(asked): Query<Asked>,
) -> Outcome<Markup> {
    blocking(move || {
        let frame = Frame::of(&app, &caller, "Live", Tab::Live)?;
        let said = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let filter = Filter {
            effect: asked.effect.as_deref().and_then(look::effect_of),
            session: said(&asked.session),
            tool: said(&asked.tool),
            guardrail: said(&asked.guardrail),
            newest_first: true,
            limit: Some(AT_FIRST),
            ..Filter::default()
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
                        @for effect in EFFECTS { option value=(effect.word()) selected[asked.effect.as_deref() == Some(effect.word())] { (effect.word()) } }
                    }
                }
                @for (name, title, text) in [("session", "Session", &asked.session), ("tool", "Tool", &asked.tool), ("guardrail", "Guardrail", &asked.guardrail)] {
                    label { span.label { (title) } input name=(name) value=(value(text)) placeholder="any" autocomplete="off" spellcheck="false"; }
                }
                button.button type="submit" { "Filter" }
                @if [&asked.effect, &asked.session, &asked.tool, &asked.guardrail].into_iter().any(|text| said(text).is_some()) {
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
                    (look::empty("Nothing yet", html! { p { "Decisions appear here the moment they are made. Let an agent do something, or loosen the filter." } }))
                }
            }
        }))
    })
    .await
}

/// What a page is told of while it is open.
#[derive(Deserialize, Default)]
pub(crate) struct Heard {
    effect: Option<String>,
    session: Option<String>,
    tool: Option<String>,
    guardrail: Option<String>,
    after: Option<u64>,
    /// Whether decisions come as rows. Else it is told that there were some.
    #[serde(default)]
    rows: bool,
}

pub(crate) async fn stream(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Query(heard): Query<Heard>,
) -> Outcome<Response> {
    let said = |text: Option<String>| text.filter(|text| !text.is_empty());
    let wanted = Wanted {
        effect: heard.effect.as_deref().and_then(look::effect_of),
        at_least: None,
        session: said(heard.session),
        guardrail: said(heard.guardrail),
        tool: said(heard.tool),
        key: caller.key().cloned(),
    };
    let last = headers.get("last-event-id").and_then(|last| last.to_str().ok()?.trim().parse().ok());
    let (of, rows) = (caller.project().clone(), heard.rows);
    let show = Arc::new(move |happening: &Happening| shown(&of, happening, rows));
    live::stream(Reader { app, caller, headers }, wanted, last.or(heard.after), show).await
}

/// A happening as the script of the console takes it.
fn shown(project: &Project, happening: &Happening, rows: bool) -> Option<String> {
    match happening {
        Happening::Decision(line) | Happening::Change(line) if rows => {
            let entry = project.store().entry(line.seq).ok()??;
            Some(serde_json::json!({"row": row(&entry).into_string()}).to_string())
        }
        Happening::Decision(_) | Happening::Change(_) => None,
        Happening::Approval(asked) => {
            let approval = &asked.approval;
            let what = format!("{} {}", approval.subject(), super::approvals::what(approval));
            let told = serde_json::json!({
                "id": approval.id, "status": asked.status, "what": line(&what, 160), "reason": line(&approval.reason, 200),
            });
            Some(told.to_string())
        }
        Happening::Alert(alert) => Some(
            serde_json::json!({"name": line(&alert.name, 60), "message": line(&alert.message, 200)})
                .to_string(),
        ),
    }
}

fn row(entry: &midrail::store::Entry) -> Markup {
    let record = entry.record().ok();
    let is_own = entry.labels.kind.parse::<EventKind>().is_ok_and(EventKind::is_engines_own);
    html! {
        tr.own[is_own] data-item data-href={ "/audit/" (entry.seq) } {
            td.nowrap { (look::clock(entry.labels.time)) }
            td { (look::badge_of(&entry.labels.effect)) }
            td.about {
                span.kind { (line(&entry.labels.kind.replace('_', " "), 30)) } " "
                @if let Some(record) = &record {
                    span.subject { (telling::subject(&record.event)) }
                    @if !record.decision.reason.is_empty() {
                        div.row-reason {
                            @if let Some(by) = &record.decision.by { code { (line(by, 40)) } " " }
                            span { (line(&record.decision.reason, 160)) }
                        }
                    }
                }
            }
            td.session { a href=(look::session_at(&entry.labels.session)) { (line(&entry.labels.session, 28)) } }
            td.num { a href={ "/audit/" (entry.seq) } { (entry.seq) } }
        }
    }
}
