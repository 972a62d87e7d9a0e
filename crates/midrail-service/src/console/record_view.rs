//! The view of one record: the event, the message to the agent, and the verdict of each guardrail.

use maud::{Markup, html};
use midrail::core::{Record, VerdictRecord};
use midrail::store::{Approval, AuditEntry};
use midrail::{Decision, Effect, Event, EventKind};
use serde_json::Value;

use super::widgets::{self, badge, json, mark_redactions, micros, short_line, visible_text};

/// The subject of an event in a few words.
pub(crate) fn subject(event: &Event) -> String {
    short_line(&midrail::admin::subject(event), 160)
}

/// The kind of an event in words.
pub(crate) fn kind(kind: EventKind) -> String {
    kind.as_str().replace('_', " ")
}

/// The id or role of the agent.
pub(crate) fn agent(event: &Event) -> Option<String> {
    let agent = event.agent.as_ref()?;
    agent.id.clone().or_else(|| agent.role.clone())
}

/// The message that the agent received.
pub(crate) fn agent_message(decision: &Decision) -> Markup {
    html! {
        @if !decision.reason.is_empty() { p.reason { (mark_redactions(&decision.reason)) } }
        @if let Some(advice) = &decision.advice { p.advice { span.label { "Advice" } (mark_redactions(advice)) } }
        @if let Some(retry) = &decision.retry {
            p.advice { span.label { "Try " (retry.attempt) " of " (retry.max_attempts) } (mark_redactions(&retry.message)) }
        }
        @if let Some(message) = &decision.user_message { p.advice { span.label { "To the user" } (mark_redactions(message)) } }
        @for feedback in &decision.feedback {
            div.feedback { span.label { "Feedback" } pre.code { code { (mark_redactions(feedback)) } } }
        }
        @if let Some(content) = &decision.content {
            div.feedback { span.label { "Content passed on" } pre.code { code { (mark_redactions(content)) } } }
        }
    }
}

/// Whether the agent received a message.
pub(crate) fn has_agent_message(decision: &Decision) -> bool {
    decision.effect > Effect::Allow
        || !decision.feedback.is_empty()
        || decision.content.is_some()
        || decision.retry.is_some()
}

/// The verdicts of a decision in chain order, split into notable ones and plain allows or skips.
struct VerdictGroups<'d> {
    notable: Vec<&'d VerdictRecord>,
    quiet: Vec<&'d VerdictRecord>,
}

impl<'d> VerdictGroups<'d> {
    fn new(decision: &'d Decision) -> Self {
        let (notable, quiet) = decision.verdicts.iter().partition(|verdict| {
            verdict.effect > Some(Effect::Allow)
                || verdict.error.is_some()
                || decision.by.as_deref() == Some(&*verdict.guardrail)
        });
        VerdictGroups { notable, quiet }
    }

    /// The quiet verdicts, counted: `12 others allowed, 3 were skipped`.
    fn quiet_summary(&self) -> String {
        let skipped = self.quiet.iter().filter(|verdict| verdict.effect.is_none()).count();
        let allowed = self.quiet.len() - skipped;
        let noun = if self.notable.is_empty() { "guardrail" } else { "other" };
        let allowed =
            (allowed > 0).then(|| format!("{} allowed", widgets::many(widgets::whole(allowed), noun)));
        let were = if skipped == 1 { "was" } else { "were" };
        let skipped = (skipped > 0).then(|| format!("{skipped} {were} skipped"));
        allowed.into_iter().chain(skipped).collect::<Vec<_>>().join(", ")
    }
}

/// The chain in full: every guardrail and its duration. Quiet verdicts are folded.
pub(crate) fn chain(decision: &Decision) -> Markup {
    if decision.verdicts.is_empty() {
        return html! { p.muted { "No guardrail was evaluated for this event." } };
    }
    let slowest = decision.verdicts.iter().filter_map(|verdict| verdict.duration_us.0).max().unwrap_or(0);
    let groups = VerdictGroups::new(decision);
    let table = |rows: &[&VerdictRecord]| {
        html! {
            div.scroll {
                table.chain {
                    thead { tr { th { "Guardrail" } th { "Result" } th { "Why" } th.num { "Took" } } }
                    tbody { @for verdict in rows { (chain_row(verdict, decision, slowest)) } }
                }
            }
        }
    };
    html! {
        @if !groups.notable.is_empty() { (table(&groups.notable)) }
        @if !groups.quiet.is_empty() {
            details.quiet { summary { (groups.quiet_summary()) } (table(&groups.quiet)) }
        }
    }
}

/// The chain in short, for a timeline.
pub(crate) fn chain_summary(decision: &Decision) -> Markup {
    let groups = VerdictGroups::new(decision);
    let is_decisive = |verdict: &VerdictRecord| decision.by.as_deref() == Some(&*verdict.guardrail);
    html! {
        ul.verdicts {
            @for verdict in &groups.notable {
                li.decided[is_decisive(verdict)] {
                    @match verdict.effect { Some(effect) => (badge(effect)), None => span.badge.fx-skipped { "skipped" } }
                    (widgets::guardrail(&verdict.guardrail))
                    @if verdict.shadow { span.badge.shadow { "shadow" } }
                    span.why {
                        // The message to the agent is shown above.
                        @if verdict.reason != decision.reason { (mark_redactions(&verdict.reason)) }
                        @if let Some(error) = &verdict.error { span.error { "failed: " (mark_redactions(error)) } }
                    }
                }
            }
            @if !groups.quiet.is_empty() {
                li.quiet { details {
                    summary { (groups.quiet_summary()) }
                    p { @for verdict in &groups.quiet {
                        a.chip.skipped[verdict.effect.is_none()] href={ "/guardrails/" (widgets::escape(&verdict.guardrail)) } title=[verdict.effect.is_none().then_some("skipped: it could not have raised the effect")] { (short_line(&verdict.guardrail, 60)) } " "
                    } }
                } }
            }
        }
    }
}

fn chain_row(verdict: &VerdictRecord, decision: &Decision, slowest: u64) -> Markup {
    let decided = decision.by.as_deref() == Some(&*verdict.guardrail);
    html! {
        tr.skipped[verdict.skipped] .decided[decided] {
            td { (widgets::guardrail(&verdict.guardrail)) }
            td {
                @match verdict.effect {
                    Some(effect) => (badge(effect)),
                    None => span.badge.fx-skipped { @if verdict.skipped { "skipped" } @else { "–" } },
                }
                @if verdict.shadow { " " span.badge.shadow { "shadow" } }
            }
            td.why {
                (mark_redactions(&verdict.reason))
                @if let Some(error) = &verdict.error { span.error { "failed: " (mark_redactions(error)) } }
                @if verdict.skipped && verdict.reason.is_empty() { span.muted { "could not have raised the effect" } }
            }
            td.num {
                @if let Some(us) = verdict.duration_us.0 {
                    (micros(us)) (super::charts::meter(us, slowest, "fill-accent"))
                }
            }
        }
    }
}

/// The event with all its texts.
pub(crate) fn event(event: &Event) -> Markup {
    let code = |text: &str| html! { pre.code { code { (mark_redactions(text)) } } };
    let value = |value: &Value| value.as_str().map_or_else(|| json(value), code);
    let mut fields: Vec<(String, Markup)> = Vec::new();
    let mut add =
        |name: &str, shown: Option<Markup>| fields.extend(shown.map(|shown| (name.to_owned(), shown)));
    add("Text", event.text.as_deref().map(code));
    add("Stop reason", event.stop_reason.as_deref().map(code));
    add("Error", event.error.as_ref().and_then(|error| error.message.as_deref()).map(code));
    for (name, argument) in event.tool.iter().flat_map(|tool| &tool.args) {
        add(&short_line(name, 60), Some(value(argument)));
    }
    if let Some(result) = &event.result {
        let ended = match (result.ok, result.exit_code) {
            (Some(true), _) => "Result: success".to_owned(),
            (Some(false), Some(code)) => format!("Result: failed with {code}"),
            (Some(false), None) => "Result: failed".to_owned(),
            (None, _) => "Result".to_owned(),
        };
        let content = result.content.as_ref().map(value);
        add(&ended, Some(content.unwrap_or_else(|| html! { p.muted { "no content" } })));
    }
    add(
        "Hand-off",
        event.handoff.as_ref().map(|handoff| json(&serde_json::to_value(handoff).unwrap_or_default())),
    );
    add("Output", event.output.as_ref().map(json));
    html! {
        div.event-fields {
            @for (name, value) in &fields { div.event-field { span.label { (name) } (value) } }
            @if fields.is_empty() { p.muted { "The event has no text." } }
            details.raw { summary { "Recorded event" } (json(&serde_json::to_value(event).unwrap_or_default())) }
        }
    }
}

/// The facts and slices of a decision.
pub(crate) fn known_facts(record: &Record) -> Markup {
    html! {
        div.scroll {
            table.known {
                tbody {
                    @if let Some(root) = &record.facts.root { tr { th { "root" } td { code { (short_line(root, 300)) } } } }
                    @for (key, fact) in &record.facts.known {
                        tr { th { code { (short_line(&key.to_string(), 80)) } } td { (short_line(&midrail::admin::fact_text(fact), 400)) } }
                    }
                    @for (key, slice) in &record.slices {
                        tr {
                            th { code { "session:" (short_line(key, 80)) } }
                            td { code { (short_line(&slice.as_ref().map_or("none".to_owned(), ToString::to_string), 400)) } }
                        }
                    }
                }
            }
        }
    }
}

/// The heads of a list of records.
pub(crate) fn heads(with_session: bool) -> Markup {
    html! { thead { tr { th.num { "Record" } th { "Time" } th { "Effect" } th { "What" } @if with_session { th { "Session" } } } } }
}

/// One record in a list.
pub(crate) fn row(entry: &AuditEntry, time: Markup, with_session: bool) -> Markup {
    let is_own = entry.labels.kind.parse::<EventKind>().is_ok_and(EventKind::is_internal);
    let record = entry.record().ok();
    let decision =
        record.as_ref().map(|record| &record.decision).filter(|decision| !decision.reason.is_empty());
    html! {
        tr.own[is_own] data-item data-href={ "/audit/" (entry.seq) } {
            td.num { a href={ "/audit/" (entry.seq) } { (entry.seq) } }
            td.nowrap { (time) }
            td { (widgets::badge_of(&entry.labels.effect)) }
            td.about {
                span.kind { (short_line(&entry.labels.kind.replace('_', " "), 30)) } " "
                span.subject { @match &record { Some(record) => (subject(&record.event)), None => "unreadable record" } }
                @if let Some(decision) = decision {
                    div.row-reason { @if let Some(by) = &decision.by { code { (short_line(&midrail::guardrails::label(by), 60)) } " " } (short_line(&decision.reason, 160)) }
                }
            }
            @if with_session { td.session { a href=(widgets::session_at(&entry.labels.session)) { (short_line(&entry.labels.session, 28)) } } }
        }
    }
}

/// A list of records.
pub(crate) fn rows<'e>(
    entries: impl IntoIterator<Item = &'e AuditEntry>,
    with_session: bool,
    now: jiff::Timestamp,
) -> Markup {
    html! {
        div.scroll { table.list {
            (heads(with_session))
            tbody { @for entry in entries { (row(entry, widgets::ago(entry.labels.time, now), with_session)) } }
        } }
    }
}

/// A request, next to the event that it was made for.
pub(crate) fn approval_line(approval: &Approval, now: jiff::Timestamp) -> Markup {
    html! {
        a.approval-line href={ "/approvals/" (widgets::escape(&approval.id)) } {
            (widgets::status(approval.status_at(now)))
            @if let Some(authority) = approval.authority_at(now) {
                " waits for " strong { (short_line(authority, 40)) }
                @if let Some(end) = approval.deadline() { ", " (widgets::countdown(end, now)) " left" }
            } @else if let Some(by) = &approval.decided_by {
                " by " strong { (short_line(by, 40)) }
                @if let Some(note) = &approval.note { ": “" (short_line(note, 120)) "”" }
            }
        }
    }
}

/// A text as it was, for a heading.
pub(crate) fn heading(text: &str) -> String {
    short_line(&visible_text(text), 120)
}
