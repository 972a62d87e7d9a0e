//! The audit log: search, one record with its proof, verification and export.

use axum::extract::{Path, State};
use maud::{Markup, html};
use midrail::EventKind;
use midrail::core::Record;
use midrail::reproduce::{Reproduction, ReproductionResult};
use midrail::store::{AuditFilter, TrustAnchor, Verification};
use serde::Deserialize;

use super::layout::{Frame, Tab};
use super::record_view;
use super::widgets::{self, EFFECTS, badge, count, json, short_line};
use crate::access::Caller;
use crate::api::audit::{AuditRecord, audit_record, entry, verify_project_log};
use crate::api::input::Query;
use crate::app::App;
use crate::blocking::blocking;
use crate::problem::{HandlerResult, Problem};

/// Records on a page.
const PAGE: usize = 50;

#[derive(Deserialize, Clone, Default)]
pub(crate) struct PageQuery {
    session: Option<String>,
    tool: Option<String>,
    guardrail: Option<String>,
    effect: Option<String>,
    kind: Option<String>,
    since: Option<String>,
    until: Option<String>,
    before: Option<u64>,
}

impl PageQuery {
    fn filter(&self) -> HandlerResult<AuditFilter> {
        let said = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let kind = said(&self.kind).map(|kind| kind.parse::<EventKind>());
        let kind = kind.transpose().map_err(|error| Problem::invalid(error.to_string()))?;
        Ok(AuditFilter {
            session: said(&self.session),
            tool: said(&self.tool),
            guardrail: said(&self.guardrail),
            effect: said(&self.effect).as_deref().and_then(widgets::effect_of),
            kind,
            since: time(&self.since)?,
            until: time(&self.until)?,
            after_seq: self.before,
            limit: Some(PAGE),
            newest_first: true,
        })
    }

    /// The same with its times in full, as programs write them.
    fn exact(&self) -> HandlerResult<PageQuery> {
        let full = |text: &Option<String>| Ok::<_, Problem>(time(text)?.map(|time| time.to_string()));
        Ok(PageQuery { since: full(&self.since)?, until: full(&self.until)?, ..self.clone() })
    }

    fn query(&self, before: Option<u64>) -> String {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let before = before.map(|before| before.to_string()).unwrap_or_default();
        widgets::query(&[
            ("session", &text(&self.session)),
            ("tool", &text(&self.tool)),
            ("guardrail", &text(&self.guardrail)),
            ("effect", &text(&self.effect)),
            ("kind", &text(&self.kind)),
            ("since", &text(&self.since)),
            ("until", &text(&self.until)),
            ("before", &before),
        ])
    }
}

/// A moment as a form sends it (`2026-11-15T10:00`), or in full. It is in UTC.
fn time(text: &Option<String>) -> HandlerResult<Option<jiff::Timestamp>> {
    let Some(text) = text.as_deref().filter(|text| !text.is_empty()) else { return Ok(None) };
    let found = text.parse().or_else(|_| format!("{text}Z").parse());
    let found = found.or_else(|_| format!("{text}:00Z").parse());
    found.map(Some).map_err(|_| {
        Problem::invalid(format!(
            "`{}` is not a valid time; use the format 2026-11-15T10:00",
            crate::text::short(text)
        ))
    })
}

pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<PageQuery>,
) -> HandlerResult<Markup> {
    blocking(move || {
        let frame = Frame::new(&app, &caller, "Audit", Tab::Audit)?;
        let store = caller.project().store();
        let entries = store.entries(&query.filter()?)?;
        let head = store.head()?;
        let is = |text: &Option<String>, word: &str| text.as_deref() == Some(word);
        let export = format!("/v1/audit/export{}", query.exact()?.query(None));
        Ok(frame.page(html! {
            div.page-head {
                h1 { "Audit" }
                div.actions {
                    button.button.quiet type="button" hx-post="/audit/verify" hx-target="#verified" hx-swap="innerHTML" hx-disable="this" data-busy="Verifying…" { "Verify log" }
                    a.button.quiet href=(export) download="midrail-audit.jsonl" { "Export" }
                }
            }
            div #verified aria-live="polite" {}
            form.filters method="get" action="/audit" {
                @for (name, title, text) in [("session", "Session", &query.session), ("tool", "Tool", &query.tool), ("guardrail", "Guardrail", &query.guardrail)] {
                    label { span.label { (title) } input name=(name) value=(text.clone().unwrap_or_default()) placeholder="any" data-search[name == "session"] autocomplete="off" spellcheck="false"; }
                }
                label { span.label { "Effect" } select name="effect" {
                    option value="" { "any" }
                    @for effect in EFFECTS { option value=(effect.as_str()) selected[is(&query.effect, effect.as_str())] { (effect.as_str()) } }
                } }
                label { span.label { "Event" } select name="kind" {
                    option value="" { "any" }
                    @for kind in EventKind::ALL { option value=(kind.as_str()) selected[is(&query.kind, kind.as_str())] { (record_view::kind(*kind)) } }
                } }
                label { span.label { "From (UTC)" } input type="datetime-local" name="since" value=(query.since.clone().unwrap_or_default()); }
                label { span.label { "Until (UTC)" } input type="datetime-local" name="until" value=(query.until.clone().unwrap_or_default()); }
                button.button type="submit" { "Search" }
                @if !query.query(None).is_empty() { a.button.quiet href="/audit" { "Clear" } }
            }
            section.card.flush {
                @if entries.is_empty() {
                    (widgets::empty("No matching records", html! {
                        @match head { Some(_) => p { "Change the filter or the time range." }, None => p { "The log is empty. Every decision is recorded here." } }
                    }))
                } @else {
                    div.scroll { table.list {
                        thead { tr { th.num { "Record" } th { "Time" } th { "Effect" } th { "What" } th { "Session" } } }
                        tbody { @for entry in &entries { (record_view::row(entry, true, frame.now)) } }
                    } }
                }
            }
            nav.pager {
                @if query.before.is_some() { a.button.quiet href={ "/audit" (query.query(None)) } { "Newest" } }
                @if let Some(last) = entries.last().filter(|_| entries.len() == PAGE) {
                    a.button.quiet href={ "/audit" (query.query(Some(last.seq))) } { "Older" }
                }
            }
        }))
    })
    .await
}

pub(crate) async fn show(
    State(app): State<App>,
    caller: Caller,
    Path(seq): Path<u64>,
) -> HandlerResult<Markup> {
    blocking(move || {
        let frame = Frame::new(&app, &caller, format!("Record {seq}"), Tab::Audit)?;
        let store = caller.project().store();
        let AuditRecord { prev, hash, body, checkpoint, .. } = audit_record(&caller, seq)?;
        let head = store.head()?.map_or(0, |head| head.seq);
        let record: Option<Record> = serde_json::from_str(&body).ok();
        let again = match &record {
            Some(record) => Reproduction::new(&**store).reproduce(record)?,
            None => None,
        };
        Ok(frame.page(html! {
            nav.crumbs { a href="/audit" { "Audit" } span { "/" } }
            div.page-head {
                h1 { "Record " (count(seq)) }
                div.actions {
                    @if seq > 1 { a.button.quiet href={ "/audit/" (seq - 1) } rel="prev" { "Before" } }
                    @if seq < head { a.button.quiet href={ "/audit/" (seq + 1) } rel="next" { "After" } }
                }
            }
            @match &record {
                Some(record) => (whole(record, seq, frame.now)),
                None => div.notice.bad { "This record cannot be read. Verify the log to check that it was not changed." },
            }
            section.card {
                h2 { "Proof" }
                dl.proof {
                    div { dt { "Hash" } dd { code.break { (hash) } } }
                    div { dt { "Previous hash" } dd { @if seq > 1 { a href={ "/audit/" (seq - 1) } { code.break { (prev) } } } @else { code.break { (prev) } } } }
                    div { dt { "Signed by" } dd {
                        @match &checkpoint {
                            Some(checkpoint) => {
                                "the checkpoint at " a href={ "/audit/" (checkpoint.seq) } { "record " (count(checkpoint.seq)) } ", "
                                (widgets::ago_of(&checkpoint.time, frame.now)) ", key " code { (short_line(&checkpoint.key, 80)) }
                            }
                            None => span.muted { "not signed yet; the next checkpoint covers it" },
                        }
                    } }
                    div { dt { "Replay" } dd { (replayed(again.as_ref())) } }
                }
            }
            @if let Some(record) = &record {
                section.card { h2 { "Inputs" } (record_view::known_facts(record)) }
            }
            section.card {
                details.raw { summary { "Raw record, as it was hashed" } pre.code { code { (widgets::mark_redactions(&body)) } } }
            }
        }))
    })
    .await
}

fn whole(record: &Record, seq: u64, now: jiff::Timestamp) -> Markup {
    let (event, decision) = (&record.event, &record.decision);
    html! {
        section.card {
            div.record-head {
                (badge(decision.effect))
                @if let Some(would) = decision.would { span.muted { "would be " (badge(would)) } }
                span.kind { (record_view::kind(event.kind)) }
                strong.subject { (record_view::subject(event)) }
            }
            dl.inline {
                div { dt { "Time" } dd { (widgets::ago(record.time, now)) } }
                div { dt { "Session" } dd { a href={ (widgets::session_at(&record.session)) "?after=" (seq.saturating_sub(1)) } { (short_line(&record.session, 60)) } } }
                @if let Some(agent) = record_view::agent(event) { div { dt { "Agent" } dd { (short_line(&agent, 60)) } } }
                @if let Some(by) = &decision.by { div { dt { "Decided by" } dd { a href={ "/guardrails/" (widgets::part(by)) } { (short_line(by, 60)) } } } }
                div { dt { "Policy" } dd { a href={ "/policy/" (widgets::part(&decision.policy)) } { (widgets::hash(&decision.policy)) } } }
                @if let Some(approval) = &decision.approval { div { dt { "Approval" } dd { a href={ "/approvals/" (widgets::part(&approval.id)) } { (short_line(&approval.id, 40)) } } } }
            }
            @if record_view::has_agent_message(decision) { div.told { span.label { "Shown to the agent" } (record_view::agent_message(decision)) } }
        }
        section.card { h2 { "Event" } (record_view::event(event)) }
        section.card.flush-table { h2 { "Guardrails" } (record_view::chain(decision)) }
        @if !decision.metadata.is_empty() {
            section.card { h2 { "Denial metadata" } (json(&serde_json::Value::Object(decision.metadata.clone()))) }
        }
    }
}

fn replayed(again: Option<&ReproductionResult>) -> Markup {
    html! {
        @match again {
            None => span.muted { "no decision to replay" },
            Some(ReproductionResult::Same) => { span.badge.st-approved { "reproduced" } " replaying the record gives the same decision" },
            Some(ReproductionResult::Differs(changes)) => {
                span.badge.st-denied { "differs" } " replaying the record gives a different decision:"
                ul { @for change in changes { li { code { (change.field) } } } }
            },
            Some(ReproductionResult::Unknown(why)) => { span.badge.fx-skipped { "unknown" } " " (short_line(why, 300)) },
        }
    }
}

/// The inside of one event of a timeline.
pub(crate) async fn part(caller: Caller, Path(seq): Path<u64>) -> HandlerResult<Markup> {
    blocking(move || {
        let record = entry(&caller, seq)?.record()?;
        Ok(html! {
            (record_view::event(&record.event))
            (record_view::chain(&record.decision))
            p { a href={ "/audit/" (seq) } { "Record " (seq) " in the audit log" } }
        })
    })
    .await
}

pub(crate) async fn verify(caller: Caller) -> HandlerResult<Markup> {
    let started = std::time::Instant::now();
    let found = verify_project_log(caller, TrustAnchor::default()).await?;
    Ok(outcome(&found, started.elapsed()))
}

fn outcome(found: &Verification, took: std::time::Duration) -> Markup {
    let took = widgets::micros(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
    html! {
        @match &found.misfit {
            None => div.notice.good {
                strong { "The audit log is intact. " }
                (count(found.records)) " records and " (widgets::many(found.checkpoints, "signature")) " checked in " (took) "."
                @if found.unsigned > 0 { " The last " (count(found.unsigned)) " are not signed yet." }
                @if let Some(head) = &found.head { p { "To detect truncation later, note the head: " code.break { (head.seq) ":" (head.hash) } } }
            },
            Some(misfit) => div.notice.bad role="alert" {
                strong { "Record " a href={ "/audit/" (misfit.seq) } { (count(misfit.seq)) } " does not match. " }
                (widgets::visible_text(&misfit.detail))
                p { (count(found.records)) " records before it are intact." }
            },
        }
    }
}
