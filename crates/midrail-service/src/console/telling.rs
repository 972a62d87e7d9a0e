//! One record told to a person: the event, what the agent was told, and the chain guardrail by guardrail.

use maud::{Markup, html};
use midrail::store::{Approval, Entry};
use midrail::{Decision, Effect, Event, EventKind, Fact, FileState, HookAnswer, Record, Said};
use serde_json::Value;

use super::look::{self, badge, json, line, marked, micros, shown};

/// What an event is about, in a few words.
pub(crate) fn subject(event: &Event) -> String {
    let of = |name: &str| event.extra.get(name);
    let text = match event.kind {
        _ if event.tool.is_some() => {
            let whole = midrail::cases::in_short(event);
            whole.strip_prefix(event.kind.word()).unwrap_or(&whole).trim_start().to_owned()
        }
        EventKind::BeforeHandoff | EventKind::AfterHandoff => {
            let to = event.handoff.as_ref().and_then(|handoff| handoff.to.as_deref());
            to.map(|to| format!("to {to}")).unwrap_or_default()
        }
        EventKind::OnError => {
            event.error.as_ref().and_then(|error| error.message.clone()).unwrap_or_default()
        }
        EventKind::BeforeStop => event.stop_reason.clone().unwrap_or_default(),
        EventKind::ApprovalDecided => {
            let part = |name: &str| of("approval")?.get(name)?.as_str();
            let is_back = of("what").and_then(Value::as_str) == Some("approval_taken_back");
            let state = if is_back { "taken back" } else { part("state").unwrap_or("decided") };
            match part("decided_by") {
                Some(by) => format!("{state} by {by}"),
                None => state.to_owned(),
            }
        }
        EventKind::Administered => {
            let what = of("what").and_then(Value::as_str).unwrap_or_default().replace('_', " ");
            let whom = of("approver").and_then(|approver| approver.get("name")?.as_str());
            let whom = whom.or_else(|| of("approval").and_then(|approval| approval.get("id")?.as_str()));
            let whom =
                whom.or_else(|| ["actor", "task", "path", "by"].iter().find_map(|name| of(name)?.as_str()));
            format!("{what} {}", whom.unwrap_or_default())
        }
        _ => event.text.clone().unwrap_or_default(),
    };
    line(&text, 160)
}

/// The kind of an event in words.
pub(crate) fn kind(kind: EventKind) -> String {
    kind.word().replace('_', " ")
}

/// Who acts, where the event tells.
pub(crate) fn agent(event: &Event) -> Option<String> {
    let agent = event.agent.as_ref()?;
    agent.id.clone().or_else(|| agent.role.clone())
}

/// What the agent was told, as it was told.
pub(crate) fn told(decision: &Decision) -> Markup {
    html! {
        @if !decision.reason.is_empty() { p.reason { (marked(&decision.reason)) } }
        @if let Some(advice) = &decision.advice { p.advice { span.label { "Advice" } (marked(advice)) } }
        @if let Some(retry) = &decision.retry {
            p.advice { span.label { "Try " (retry.attempt) " of " (retry.max_attempts) } (marked(&retry.message)) }
        }
        @if let Some(message) = &decision.user_message { p.advice { span.label { "To the user" } (marked(message)) } }
        @for feedback in &decision.feedback {
            div.feedback { span.label { "Feedback" } pre.code { code { (marked(feedback)) } } }
        }
        @if let Some(content) = &decision.content {
            div.feedback { span.label { "What passed on" } pre.code { code { (marked(content)) } } }
        }
    }
}

/// Whether the agent was told anything.
pub(crate) fn was_told(decision: &Decision) -> bool {
    decision.effect > Effect::Allow
        || !decision.feedback.is_empty()
        || decision.content.is_some()
        || decision.retry.is_some()
}

/// The verdicts of a decision, in the order of the law: those that matter, and those that had nothing to say.
struct Spoken<'d> {
    loud: Vec<&'d Said>,
    quiet: Vec<&'d Said>,
}

impl<'d> Spoken<'d> {
    fn of(decision: &'d Decision) -> Self {
        let (loud, quiet) = decision.verdicts.iter().partition(|said| {
            said.effect > Some(Effect::Allow)
                || said.error.is_some()
                || decision.by.as_deref() == Some(&*said.guardrail)
        });
        Spoken { loud, quiet }
    }

    /// Those that had nothing to say, counted: `12 others allowed, 3 were not asked`.
    fn quiet_in_words(&self) -> String {
        let skipped = self.quiet.iter().filter(|said| said.effect.is_none()).count();
        let allowed = self.quiet.len() - skipped;
        let others = match (self.loud.is_empty(), allowed) {
            (true, 1) => "guardrail",
            (true, _) => "guardrails",
            (false, 1) => "other",
            (false, _) => "others",
        };
        match (allowed, skipped) {
            (0, 1) => "1 was not asked".to_owned(),
            (0, skipped) => format!("{skipped} were not asked"),
            (allowed, 0) => format!("{allowed} {others} allowed"),
            (allowed, 1) => format!("{allowed} {others} allowed, 1 was not asked"),
            (allowed, skipped) => format!("{allowed} {others} allowed, {skipped} were not asked"),
        }
    }
}

/// The chain in full: every guardrail, with how long it took. Those that had nothing to say are folded.
pub(crate) fn chain(decision: &Decision) -> Markup {
    if decision.verdicts.is_empty() {
        return html! { p.muted { "No guardrail was asked about this." } };
    }
    let slowest = decision.verdicts.iter().filter_map(|said| said.duration_us.0).max().unwrap_or(0);
    let spoken = Spoken::of(decision);
    let table = |rows: &[&Said]| {
        html! {
            div.scroll {
                table.chain {
                    thead { tr { th { "Guardrail" } th { "Said" } th { "Why" } th.num { "Took" } } }
                    tbody { @for said in rows { (link(said, decision, slowest)) } }
                }
            }
        }
    };
    html! {
        @if !spoken.loud.is_empty() { (table(&spoken.loud)) }
        @if !spoken.quiet.is_empty() {
            details.quiet { summary { (spoken.quiet_in_words()) } (table(&spoken.quiet)) }
        }
    }
}

/// The chain in short, for a timeline: who said what, and why.
pub(crate) fn heard(decision: &Decision) -> Markup {
    let spoken = Spoken::of(decision);
    let is_decisive = |said: &Said| decision.by.as_deref() == Some(&*said.guardrail);
    html! {
        ul.heard {
            @for said in &spoken.loud {
                li.decided[is_decisive(said)] {
                    @match said.effect { Some(effect) => (badge(effect)), None => span.badge.fx-skipped { "not asked" } }
                    a href={ "/guardrails/" (look::part(&said.guardrail)) } { (line(&said.guardrail, 60)) }
                    @if said.shadow { span.badge.shadow { "shadow" } }
                    span.why {
                        // What the agent was told stands above already.
                        @if said.reason != decision.reason { (marked(&said.reason)) }
                        @if let Some(error) = &said.error { span.error { "failed: " (marked(error)) } }
                    }
                }
            }
            @if !spoken.quiet.is_empty() {
                li.quiet { details {
                    summary { (spoken.quiet_in_words()) }
                    p { @for said in &spoken.quiet {
                        a.chip.skipped[said.effect.is_none()] href={ "/guardrails/" (look::part(&said.guardrail)) } title=[said.effect.is_none().then_some("was not asked: it could not have raised the effect")] { (line(&said.guardrail, 60)) } " "
                    } }
                } }
            }
        }
    }
}

fn link(said: &Said, decision: &Decision, slowest: u64) -> Markup {
    let decided = decision.by.as_deref() == Some(&*said.guardrail);
    html! {
        tr.skipped[said.skipped] .decided[decided] {
            td { a href={ "/guardrails/" (look::part(&said.guardrail)) } { (line(&said.guardrail, 60)) } }
            td {
                @match said.effect {
                    Some(effect) => (badge(effect)),
                    None => span.badge.fx-skipped { @if said.skipped { "skipped" } @else { "–" } },
                }
                @if said.shadow { " " span.badge.shadow { "shadow" } }
            }
            td.why {
                (marked(&said.reason))
                @if let Some(error) = &said.error { span.error { "failed: " (marked(error)) } }
                @if said.skipped && said.reason.is_empty() { span.muted { "could not have raised the effect" } }
            }
            td.num {
                @if let Some(us) = said.duration_us.0 {
                    (micros(us)) (super::charts::meter(us, slowest, "fill-accent"))
                }
            }
        }
    }
}

/// The event itself: what it does, with every text of it.
pub(crate) fn event(event: &Event) -> Markup {
    let mut fields: Vec<(&str, Markup)> = Vec::new();
    let mut text = |name: &'static str, text: &Option<String>| {
        if let Some(text) = text {
            fields.push((name, html! { pre.code { code { (marked(text)) } } }));
        }
    };
    text("Text", &event.text);
    text("Stop reason", &event.stop_reason);
    text("Error", &event.error.as_ref().and_then(|error| error.message.clone()));
    if let Some(tool) = &event.tool {
        for (name, value) in &tool.args {
            let shown_value = match value {
                Value::String(text) => html! { pre.code { code { (marked(text)) } } },
                other => json(other),
            };
            fields.push(("", html! { span.label { (line(name, 60)) } (shown_value) }));
        }
    }
    if let Some(result) = &event.result {
        let ended = match (result.ok, result.exit_code) {
            (Some(true), _) => "Result, went well".to_owned(),
            (Some(false), Some(code)) => format!("Result, failed with {code}"),
            (Some(false), None) => "Result, failed".to_owned(),
            (None, _) => "Result".to_owned(),
        };
        let content = match &result.content {
            Some(Value::String(text)) => html! { pre.code { code { (marked(text)) } } },
            Some(other) => json(other),
            None => html! { p.muted { "no content" } },
        };
        fields.push(("", html! { span.label { (ended) } (content) }));
    }
    if let Some(handoff) = &event.handoff {
        fields.push(("Hand-off", json(&serde_json::to_value(handoff).unwrap_or_default())));
    }
    if let Some(output) = &event.output {
        fields.push(("Output", json(output)));
    }
    html! {
        div.event-fields {
            @for (name, value) in &fields {
                div.event-field { @if !name.is_empty() { span.label { (name) } } (value) }
            }
            @if fields.is_empty() { p.muted { "The event carries no text." } }
            details.raw { summary { "The event as it was recorded" } (json(&serde_json::to_value(event).unwrap_or_default())) }
        }
    }
}

/// What was known when it was decided.
pub(crate) fn known(record: &Record) -> Markup {
    html! {
        div.scroll {
            table.known {
                tbody {
                    @if let Some(root) = &record.facts.root { tr { th { "root" } td { code { (line(root, 300)) } } } }
                    @for (key, fact) in &record.facts.known {
                        tr { th { code { (line(&key.to_string(), 80)) } } td { (line(&in_words(fact), 400)) } }
                    }
                    @for (key, slice) in &record.slices {
                        tr {
                            th { code { "session:" (line(key, 80)) } }
                            td { code { (line(&slice.as_ref().map_or("none".to_owned(), ToString::to_string), 400)) } }
                        }
                    }
                }
            }
        }
    }
}

fn in_words(fact: &Fact) -> String {
    match fact {
        Fact::Action(action) => {
            let files = action
                .target_files
                .as_ref()
                .map_or("of files that are not known".to_owned(), |files| files.join(", "));
            let dangers: Vec<&str> = action.dangers.iter().map(|danger| danger.reason.as_str()).collect();
            format!(
                "{} {files} {} {}",
                action.kind.word(),
                action.command.as_deref().unwrap_or_default(),
                dangers.join("; ")
            )
        }
        Fact::Secrets(found) | Fact::Findings(found) if found.is_empty() => "none".to_owned(),
        Fact::Secrets(found) | Fact::Findings(found) => found
            .iter()
            .map(|finding| format!("{} at {}", finding.kind, finding.at))
            .collect::<Vec<_>>()
            .join(", "),
        Fact::Script(action) if action.dangers.is_empty() => "destroys nothing".to_owned(),
        Fact::Script(action) => {
            action.dangers.iter().map(|danger| danger.reason.as_str()).collect::<Vec<_>>().join("; ")
        }
        Fact::Place(place) => place.clone(),
        Fact::File(FileState::Absent) => "not there".to_owned(),
        Fact::File(FileState::Special) => "a folder, or no ordinary file".to_owned(),
        Fact::File(FileState::File { checksum }) => format!("there, checksum {checksum}"),
        Fact::Command(end) => match end.exit_code {
            Some(code) => format!("exited with code {code} after {} ms", end.took_ms),
            None => format!("was ended by a signal after {} ms", end.took_ms),
        },
        Fact::Hook(end) => match &end.answer {
            HookAnswer::Pass => "passes".to_owned(),
            HookAnswer::Refuse { message, request: Some(_), .. } => format!("asks a person: {message}"),
            HookAnswer::Refuse { message, .. } => format!("refuses: {message}"),
            HookAnswer::Replace { result, .. } => format!("puts in its place: {result}"),
        },
        Fact::Unavailable(why) => format!("not known: {why}"),
        other => serde_json::to_string(other).unwrap_or_default(),
    }
}

/// One record in a list: when, what, and what became of it.
pub(crate) fn row(entry: &Entry, with_session: bool, now: jiff::Timestamp) -> Markup {
    let is_own = entry.labels.kind.parse::<EventKind>().is_ok_and(EventKind::is_engines_own);
    let record = entry.record().ok();
    let (about, by, reason) = match &record {
        Some(record) => {
            let by = record.decision.by.as_deref().unwrap_or_default().to_owned();
            (subject(&record.event), by, line(&record.decision.reason, 160))
        }
        None => ("this record cannot be read".to_owned(), String::new(), String::new()),
    };
    html! {
        tr.own[is_own] data-item data-href={ "/audit/" (entry.seq) } {
            td.num { a href={ "/audit/" (entry.seq) } { (entry.seq) } }
            td.nowrap { (look::ago(entry.labels.time, now)) }
            td { (look::badge_of(&entry.labels.effect)) }
            td.about {
                span.kind { (line(&entry.labels.kind.replace('_', " "), 30)) } " " span.subject { (about) }
                @if !reason.is_empty() { div.row-reason { @if !by.is_empty() { code { (line(&by, 40)) } " " } (reason) } }
            }
            @if with_session { td.session { a href=(look::session_at(&entry.labels.session)) { (line(&entry.labels.session, 28)) } } }
        }
    }
}

/// A request in line with the event that it was asked for.
pub(crate) fn in_line(approval: &Approval, now: jiff::Timestamp) -> Markup {
    let status = approval.status_at(now);
    html! {
        a.approval-line href={ "/approvals/" (look::part(&approval.id)) } {
            span class={ "badge st-" (status.replace(' ', "-")) } { (status) }
            @if let Some(authority) = approval.authority_at(now) {
                " waits for " strong { (line(authority, 40)) }
                @if let Some(end) = approval.deadline() { ", " (look::countdown(end, now)) " left" }
            } @else if let Some(by) = &approval.decided_by {
                " by " strong { (line(by, 40)) }
                @if let Some(note) = &approval.note { ": “" (line(note, 120)) "”" }
            }
        }
    }
}

/// A text as it was, for a heading.
pub(crate) fn heading(text: &str) -> String {
    line(&shown(text), 120)
}
