//! The audit log: search, one record with its proof, verification and export.

use axum::extract::{Path, State};
use maud::{Markup, html};
use midrail::redecide::{Reproduced, Reproduction};
use midrail::store::{Expect, Filter, Verification};
use midrail::{EventKind, Record};
use serde::Deserialize;

use super::layout::{Frame, Tab};
use super::look::{self, EFFECTS, badge, count, json, line};
use super::telling;
use crate::access::Caller;
use crate::api::audit::{Stands, entry, stands, verified};
use crate::api::input::Query;
use crate::app::App;
use crate::problem::{Outcome, Problem};
use crate::work::blocking;

/// Records on a page.
const PAGE: usize = 50;

#[derive(Deserialize, Clone, Default)]
pub(crate) struct Asked {
    session: Option<String>,
    tool: Option<String>,
    guardrail: Option<String>,
    effect: Option<String>,
    kind: Option<String>,
    since: Option<String>,
    until: Option<String>,
    before: Option<u64>,
}

impl Asked {
    fn filter(&self) -> Outcome<Filter> {
        let said = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let kind = said(&self.kind).map(|kind| kind.parse::<EventKind>());
        let kind = kind.transpose().map_err(|error| Problem::invalid(error.to_string()))?;
        Ok(Filter {
            session: said(&self.session),
            tool: said(&self.tool),
            guardrail: said(&self.guardrail),
            effect: said(&self.effect).as_deref().and_then(look::effect_of),
            kind,
            since: time(&self.since)?,
            until: time(&self.until)?,
            after_seq: self.before,
            limit: Some(PAGE),
            newest_first: true,
        })
    }

    /// The same with its times in full, as programs write them.
    fn exact(&self) -> Outcome<Asked> {
        let full = |text: &Option<String>| Ok::<_, Problem>(time(text)?.map(|time| time.to_string()));
        Ok(Asked { since: full(&self.since)?, until: full(&self.until)?, ..self.clone() })
    }

    fn query(&self, before: Option<u64>) -> String {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let before = before.map(|before| before.to_string()).unwrap_or_default();
        look::query(&[
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
fn time(text: &Option<String>) -> Outcome<Option<jiff::Timestamp>> {
    let Some(text) = text.as_deref().filter(|text| !text.is_empty()) else { return Ok(None) };
    let found = text.parse().or_else(|_| format!("{text}Z").parse());
    let found = found.or_else(|_| format!("{text}:00Z").parse());
    found.map(Some).map_err(|_| {
        Problem::invalid(format!("`{}` is no time: write 2026-11-15T10:00", crate::project::short(text)))
    })
}

pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(asked): Query<Asked>,
) -> Outcome<Markup> {
    blocking(move || {
        let frame = Frame::of(&app, &caller, "Audit", Tab::Audit)?;
        let store = caller.project().store();
        let entries = store.entries(&asked.filter()?)?;
        let head = store.head()?;
        let is = |text: &Option<String>, word: &str| text.as_deref() == Some(word);
        let export = format!("/v1/audit/export{}", asked.exact()?.query(None));
        Ok(frame.page(html! {
            div.page-head {
                h1 { "Audit" }
                div.actions {
                    button.button.quiet type="button" hx-post="/audit/verify" hx-target="#verified" hx-swap="innerHTML" hx-disable="this" data-busy="Verifying…" { "Verify the log" }
                    a.button.quiet href=(export) download="midrail-audit.jsonl" { "Export" }
                }
            }
            div #verified aria-live="polite" {}
            form.filters method="get" action="/audit" {
                @for (name, title, text) in [("session", "Session", &asked.session), ("tool", "Tool", &asked.tool), ("guardrail", "Guardrail", &asked.guardrail)] {
                    label { span.label { (title) } input name=(name) value=(text.clone().unwrap_or_default()) placeholder="any" data-search[name == "session"] autocomplete="off" spellcheck="false"; }
                }
                label { span.label { "Effect" } select name="effect" {
                    option value="" { "any" }
                    @for effect in EFFECTS { option value=(effect.word()) selected[is(&asked.effect, effect.word())] { (effect.word()) } }
                } }
                label { span.label { "Event" } select name="kind" {
                    option value="" { "any" }
                    @for kind in EventKind::ALL { option value=(kind.word()) selected[is(&asked.kind, kind.word())] { (telling::kind(*kind)) } }
                } }
                label { span.label { "From (UTC)" } input type="datetime-local" name="since" value=(asked.since.clone().unwrap_or_default()); }
                label { span.label { "Until (UTC)" } input type="datetime-local" name="until" value=(asked.until.clone().unwrap_or_default()); }
                button.button type="submit" { "Search" }
                @if !asked.query(None).is_empty() { a.button.quiet href="/audit" { "Clear" } }
            }
            section.card.flush {
                @if entries.is_empty() {
                    (look::empty("No record fits", html! {
                        @match head { Some(_) => p { "Loosen the filter, or look at another time." }, None => p { "The log is empty. Every decision becomes a record here." } }
                    }))
                } @else {
                    div.scroll { table.list {
                        thead { tr { th.num { "Record" } th { "Time" } th { "Effect" } th { "What" } th { "Session" } } }
                        tbody { @for entry in &entries { (telling::row(entry, true, frame.now)) } }
                    } }
                }
            }
            nav.pager {
                @if asked.before.is_some() { a.button.quiet href={ "/audit" (asked.query(None)) } { "Newest" } }
                @if let Some(last) = entries.last().filter(|_| entries.len() == PAGE) {
                    a.button.quiet href={ "/audit" (asked.query(Some(last.seq))) } { "Older" }
                }
            }
        }))
    })
    .await
}

pub(crate) async fn show(State(app): State<App>, caller: Caller, Path(seq): Path<u64>) -> Outcome<Markup> {
    blocking(move || {
        let frame = Frame::of(&app, &caller, format!("Record {seq}"), Tab::Audit)?;
        let store = caller.project().store();
        let Stands { prev, hash, body, checkpoint, .. } = stands(&caller, seq)?;
        let head = store.head()?.map_or(0, |head| head.seq);
        let record: Option<Record> = serde_json::from_str(&body).ok();
        let again = match &record {
            Some(record) => Reproduction::new(&**store).again(record)?,
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
                None => div.notice.bad { "This record cannot be read. Verify the log to see whether it was changed." },
            }
            section.card {
                h2 { "Proof" }
                dl.proof {
                    div { dt { "Hash" } dd { code.break { (hash) } } }
                    div { dt { "Hash before" } dd { @if seq > 1 { a href={ "/audit/" (seq - 1) } { code.break { (prev) } } } @else { code.break { (prev) } } } }
                    div { dt { "Signed by" } dd {
                        @match &checkpoint {
                            Some(checkpoint) => {
                                "the checkpoint at " a href={ "/audit/" (checkpoint.seq) } { "record " (count(checkpoint.seq)) } ", "
                                (look::ago_of(&checkpoint.time, frame.now)) ", key " code { (line(&checkpoint.key, 80)) }
                            }
                            None => span.muted { "no checkpoint covers it yet; the next one will" },
                        }
                    } }
                    div { dt { "Replay" } dd { (replayed(again.as_ref())) } }
                }
            }
            @if let Some(record) = &record {
                section.card { h2 { "What was known" } (telling::known(record)) }
            }
            section.card {
                details.raw { summary { "The record, byte for byte as it was hashed" } pre.code { code { (look::marked(&body)) } } }
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
                @if let Some(would) = decision.would { span.muted { "would have been " (badge(would)) } }
                span.kind { (telling::kind(event.kind)) }
                strong.subject { (telling::subject(event)) }
            }
            dl.inline {
                div { dt { "Time" } dd { (look::ago(record.time, now)) } }
                div { dt { "Session" } dd { a href={ (look::session_at(&record.session)) "?after=" (seq.saturating_sub(1)) } { (line(&record.session, 60)) } } }
                @if let Some(agent) = telling::agent(event) { div { dt { "Agent" } dd { (line(&agent, 60)) } } }
                @if let Some(by) = &decision.by { div { dt { "Decided by" } dd { a href={ "/guardrails/" (look::part(by)) } { (line(by, 60)) } } } }
                div { dt { "Policy" } dd { a href={ "/policy/" (look::part(&decision.policy)) } { (look::hash(&decision.policy)) } } }
                @if let Some(approval) = &decision.approval { div { dt { "Approval" } dd { a href={ "/approvals/" (look::part(&approval.id)) } { (line(&approval.id, 40)) } } } }
            }
            @if telling::was_told(decision) { div.told { span.label { "The agent saw" } (telling::told(decision)) } }
        }
        section.card { h2 { "The event" } (telling::event(event)) }
        section.card.flush-table { h2 { "The chain" } (telling::chain(decision)) }
        @if !decision.metadata.is_empty() {
            section.card { h2 { "The denial in parts" } (json(&serde_json::Value::Object(decision.metadata.clone()))) }
        }
    }
}

fn replayed(again: Option<&Reproduced>) -> Markup {
    html! {
        @match again {
            None => span.muted { "there was nothing to decide" },
            Some(Reproduced::Same) => { span.badge.st-approved { "reproduced" } " deciding again from this record comes to the same decision" },
            Some(Reproduced::Differs(changes)) => {
                span.badge.st-denied { "differs" } " deciding again comes to something else:"
                ul { @for change in changes { li { code { (change.field) } } } }
            },
            Some(Reproduced::Unknown(why)) => { span.badge.fx-skipped { "unknown" } " " (line(why, 300)) },
        }
    }
}

/// The inside of one event of a timeline.
pub(crate) async fn part(caller: Caller, Path(seq): Path<u64>) -> Outcome<Markup> {
    blocking(move || {
        let record = entry(&caller, seq)?.record()?;
        Ok(html! {
            (telling::event(&record.event))
            (telling::chain(&record.decision))
            p { a href={ "/audit/" (seq) } { "Record " (seq) " with its proof" } }
        })
    })
    .await
}

pub(crate) async fn verify(caller: Caller) -> Outcome<Markup> {
    let started = std::time::Instant::now();
    let found = verified(caller, Expect::default()).await?;
    Ok(outcome(&found, started.elapsed()))
}

fn outcome(found: &Verification, took: std::time::Duration) -> Markup {
    let took = look::micros(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
    html! {
        @match &found.misfit {
            None => div.notice.good {
                strong { "The log fits together. " }
                (count(found.records)) " records and " (look::many(found.checkpoints, "signature")) " checked in " (took) "."
                @if found.unsigned > 0 { " The last " (count(found.unsigned)) " are not signed yet." }
                @if let Some(head) = &found.head { p { "Note the head to see later whether anything was cut off: " code.break { (head.seq) ":" (head.hash) } } }
            },
            Some(misfit) => div.notice.bad role="alert" {
                strong { "Record " a href={ "/audit/" (misfit.seq) } { (count(misfit.seq)) } " does not fit. " }
                (look::shown(&misfit.detail))
                p { (count(found.records)) " records fit, from the first on." }
            },
        }
    }
}
