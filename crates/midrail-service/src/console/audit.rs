//! The audit log: search, one record with its proof, verification and export.

use maud::{Markup, html};
use midrail::core::Record;
use midrail::reproduce::{Reproduction, ReproductionResult};
use midrail::store::{TrustAnchor, Verification};

use super::filter::Filter;
use super::layout::View;
use super::record_view;
use super::widgets::{self, badge, count, json, short_line};
use crate::api::audit::{AuditRecord, audit_record, entry, verify_project_log};
use crate::api::input::{Named, Query};
use crate::problem::HandlerResult;

/// Records on a page.
const PAGE: usize = 50;

pub(crate) fn list(view: &View, Query(filter): Query<Filter>) -> HandlerResult<Markup> {
    let store = view.caller.project.store();
    let entries = store.entries(&filter.audit(PAGE)?)?;
    let is_empty = store.head()?.is_none();
    let export = format!("/v1/audit/export{}", filter.exact()?.query(None));
    view.page("Audit", "/audit", html! {
        div.page-head {
            h1 { "Audit" }
            div.actions {
                button.button.quiet type="button" hx-post="/audit/verify" hx-target="#verified" hx-swap="innerHTML" hx-disable="this" data-busy="Verifying…" { "Verify log" }
                a.button.quiet href=(export) download="midrail-audit.jsonl" { "Export" }
            }
        }
        div #verified aria-live="polite" {}
        form.filters method="get" action="/audit" {
            (filter.fields())
            (filter.more_fields())
            button.button type="submit" { "Search" }
            @if !filter.query(None).is_empty() { a.button.quiet href="/audit" { "Clear" } }
        }
        section.card.flush {
            @if entries.is_empty() {
                (widgets::empty("No matching records", html! {
                    @if is_empty { p { "The log is empty. Every decision is recorded here." } } @else { p { "Change the filter or the time range." } }
                }))
            } @else { (record_view::rows(&entries, true, view.now)) }
        }
        nav.pager {
            @if filter.before.is_some() { a.button.quiet href={ "/audit" (filter.query(None)) } { "Newest" } }
            @if let Some(last) = entries.last().filter(|_| entries.len() == PAGE) {
                a.button.quiet href={ "/audit" (filter.query(Some(last.seq))) } { "Older" }
            }
        }
    })
}

pub(crate) fn show(view: &View, Named(seq): Named<u64>) -> HandlerResult<Markup> {
    let store = view.caller.project.store();
    let AuditRecord { prev, hash, body, checkpoint, .. } = audit_record(&view.caller, seq)?;
    let head = store.head()?.map_or(0, |head| head.seq);
    let record: Option<Record> = serde_json::from_str(&body).ok();
    let again = match &record {
        Some(record) => Reproduction::new(&**store).reproduce(record)?,
        None => None,
    };
    view.page(format!("Record {seq}"), "/audit", html! {
        nav.crumbs { a href="/audit" { "Audit" } span { "/" } }
        div.page-head {
            h1 { "Record " (count(seq)) }
            div.actions {
                @if seq > 1 { a.button.quiet href={ "/audit/" (seq - 1) } rel="prev" { "Before" } }
                @if seq < head { a.button.quiet href={ "/audit/" (seq + 1) } rel="next" { "After" } }
            }
        }
        @match &record {
            Some(record) => (whole(record, seq, view.now)),
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
                            (widgets::ago_of(&checkpoint.time, view.now)) ", key " code { (short_line(&checkpoint.key, 80)) }
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
    })
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
                @if let Some(grounds) = &decision.grounds { div { dt { "Made without a question" } dd { (short_line(grounds, 200)) } } }
                @if let Some(by) = &decision.by { div { dt { "Decided by" } dd { (widgets::guardrail(by)) } } }
                div { dt { "Policy" } dd { a href={ "/policy/" (widgets::escape(&decision.policy)) } { (widgets::hash(&decision.policy)) } } }
                @if let Some(approval) = &decision.approval { div { dt { "Approval" } dd { a href={ "/approvals/" (widgets::escape(&approval.id)) } { (short_line(&approval.id, 40)) } } } }
            }
            @if record_view::has_agent_message(decision) { div.agent-message { span.label { "Shown to the agent" } (record_view::agent_message(decision)) } }
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
pub(crate) fn part(view: &View, Named(seq): Named<u64>) -> HandlerResult<Markup> {
    let record = entry(&view.caller, seq)?.record()?;
    Ok(html! {
        (record_view::event(&record.event))
        (record_view::chain(&record.decision))
        p { a href={ "/audit/" (seq) } { "Record " (seq) " in the audit log" } }
    })
}

pub(crate) fn verify(view: &View, (): ()) -> HandlerResult<Markup> {
    let started = std::time::Instant::now();
    let found = verify_project_log(&view.caller, &TrustAnchor::default())?;
    Ok(verification(&found, started.elapsed()))
}

fn verification(found: &Verification, took: std::time::Duration) -> Markup {
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
