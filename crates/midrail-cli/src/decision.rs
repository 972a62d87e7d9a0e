//! Decisions as text: one as a block, many as a timeline. Text of agents is made safe to print.

use std::collections::BTreeMap;

use jiff::Timestamp;
use midrail::core::{ApprovalKind, Autonomy, VerdictRecord};
use midrail::guardrails::label;
use midrail::{Decision, Effect, Event, Mode};
use serde_json::Value;

use crate::output::{Output, field, short, wrap};
use crate::paint::{Paint, Style, effect_style};
use crate::table::{self, Table, cell, styled};
use crate::time;

/// The most lines of passed-on content without `--verbose`.
const MAX_CONTENT_LINES: usize = 6;

/// The subject of an event in a few words, safe to print.
pub(crate) fn subject(event: &Event) -> String {
    short(&midrail::admin::subject(event), 80).into_owned()
}

/// One decision as a block of lines.
pub(crate) fn block(event: &Event, decision: &Decision, ask: Option<&str>, output: &Output) -> Vec<String> {
    let paint = output.paint;
    let head = format!("{} {}", event.kind, subject(event));
    let mut lines =
        vec![format!("{}  {}", paint.effect(decision.effect), paint.style(Style::Strong, head.trim_end()))];
    for (name, text) in fields(decision, output.is_verbose()) {
        lines.extend(field(&name, &text, paint, output.width));
    }
    if let Some(ask) = ask {
        lines.extend(field("ask", ask, paint, output.width));
    }
    if output.is_verbose() {
        let table = verdicts(decision);
        if !table.is_empty() {
            lines.push(String::new());
            lines.extend(table.lines(paint, 2, output.width));
        }
    }
    lines
}

/// The fields of a decision beyond its effect.
fn fields(decision: &Decision, whole: bool) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    let mut add = |name: &str, text: String| {
        if !text.is_empty() {
            fields.push((name.to_owned(), text));
        }
    };
    add("by", decision.by.as_deref().map(label).unwrap_or_default());
    add("reason", decision.reason.clone());
    add("advice", decision.advice.clone().unwrap_or_default());
    if let Some(retry) = &decision.retry {
        add("try again", format!("{} (try {} of {})", retry.message, retry.attempt, retry.max_attempts));
    }
    if let Some(approval) = &decision.approval {
        let kind = match approval.kind {
            ApprovalKind::Escalation => "escalation",
            ApprovalKind::Bypass => "bypass",
        };
        let until =
            approval.expires.map(|time| format!(" until {}", time::date_time(time))).unwrap_or_default();
        add("approval", format!("{} ({kind}): waits for `{}`{until}", approval.id, approval.approver));
    }
    if let Some(content) = &decision.content {
        add("passes on", cut(content, whole));
    }
    add("feedback", decision.feedback.join("\n"));
    add("effects", decision.effects.join(", "));
    let recovery = decision.recovery.and_then(|recovery| serde_json::to_value(recovery).ok());
    add("recovery", recovery.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned());
    add("risk", decision.risk.map(|risk| risk.as_str().to_owned()).unwrap_or_default());
    if let Some(autonomy) = decision.autonomy {
        add("autonomy", in_words(autonomy));
    }
    if decision.rollback_requested {
        add("rollback", "the result is withheld, and the action should be undone".to_owned());
    }
    add("user", decision.user_message.clone().unwrap_or_default());
    if let Some(pause) = &decision.paused {
        add("paused", format!("until {}, by {}: {}", time::date_time(pause.until), pause.by, pause.reason));
    }
    if let Some(would) = decision.would {
        add("shadow", format!("would be {would} if it were enforced"));
    } else if decision.mode == Mode::Shadow {
        add("shadow", "nothing is enforced".to_owned());
    }
    if let Some(place) = &decision.audit.0 {
        add("record", place.seq.to_string());
    }
    fields
}

/// The autonomy of the agent, and what it means.
fn in_words(autonomy: Autonomy) -> String {
    let meaning = match autonomy {
        Autonomy::Standard => "",
        Autonomy::Strict => ": half of a budget is used, and thresholds are tighter",
        Autonomy::Lockdown => ": little is left of a budget, and warnings are blocks",
        Autonomy::Halt => ": a budget is used up",
    };
    format!("{}{meaning}", autonomy.as_str())
}

fn cut(content: &str, whole: bool) -> String {
    let lines = content.lines().count();
    if whole || lines <= MAX_CONTENT_LINES {
        return content.to_owned();
    }
    let kept: Vec<&str> = content.lines().take(MAX_CONTENT_LINES).collect();
    format!("{}\n… and {} lines more", kept.join("\n"), lines - MAX_CONTENT_LINES)
}

/// The verdict of each guardrail of the chain.
pub(crate) fn verdicts(decision: &Decision) -> Table {
    let effect = |verdict: &VerdictRecord| {
        let (word, style) = verdict.effect.map_or_else(|| styled("skipped", Style::Dim), table::effect);
        (if verdict.shadow { word + " (shadow)" } else { word }, style)
    };
    let reason = |verdict: &VerdictRecord| match &verdict.error {
        Some(error) => format!("failed: {error}; {}", verdict.reason),
        None if verdict.skipped => "could not have raised the effect".to_owned(),
        None => verdict.reason.clone(),
    };
    let took = |verdict: &VerdictRecord| {
        verdict.duration_us.0.map(midrail::core::duration::micros).unwrap_or_default()
    };
    Table::of(
        &decision.verdicts,
        &[
            ("guardrail", &|verdict| table::guardrail(&verdict.guardrail)),
            ("effect", &|verdict| effect(verdict)),
            ("took", &|verdict| cell(took(verdict))),
            ("reason", &|verdict| cell(short(reason(verdict).trim_end_matches("; "), 200))),
        ],
    )
}

/// The advice and the retry message of a decision.
pub(crate) fn messages(decision: &Decision) -> Vec<(String, Style)> {
    let advice = decision.advice.as_ref().map(|advice| format!("→ {advice}"));
    let retry = decision
        .retry
        .as_ref()
        .map(|retry| format!("→ {} (try {} of {})", retry.message, retry.attempt, retry.max_attempts));
    advice.into_iter().chain(retry).map(|text| (text, Style::Note)).collect()
}

/// Decisions in the order in which they were made.
pub(crate) struct Timeline {
    has_headings: bool,
    day: Option<String>,
    session: Option<String>,
    counts: BTreeMap<Effect, u64>,
}

impl Timeline {
    /// An empty timeline.
    pub(crate) fn new() -> Self {
        Timeline { has_headings: true, day: None, session: None, counts: BTreeMap::new() }
    }

    /// A timeline of one short session, without headings.
    pub(crate) fn single_session() -> Self {
        Timeline { has_headings: false, ..Timeline::new() }
    }

    /// The lines of one more decision.
    pub(crate) fn add(
        &mut self,
        time: Timestamp,
        event: &Event,
        decision: &Decision,
        output: &Output,
    ) -> Vec<String> {
        const INDENT: usize = 22;
        *self.counts.entry(decision.effect).or_default() += 1;
        let paint = output.paint;
        let mut lines = self.headings(time, event, paint);
        lines.push(format!(
            "{}  {}  {} {}",
            paint.style(Style::Dim, time::time_of_day(time)),
            paint.effect_column(decision.effect),
            paint.style(Style::Dim, format!("{:<11}", event.kind)),
            paint.style(Style::Strong, subject(event)),
        ));
        let room = output.width.saturating_sub(INDENT).max(20);
        let mut add = |text: String, style: Option<Style>| {
            for line in wrap(&text, room) {
                let line = style.map_or(line.clone(), |style| paint.style(style, &line));
                lines.push(format!("{:INDENT$}{line}", ""));
            }
        };
        if decision.effect > Effect::Allow || decision.would.is_some() {
            let by = decision.by.as_deref().map_or("midrail".to_owned(), label);
            add(format!("{by}: {}", decision.reason).trim_end_matches(": ").to_owned(), None);
        }
        for (text, style) in messages(decision) {
            add(text, Some(style));
        }
        if let Some(content) = &decision.content {
            let quoted: Vec<String> =
                cut(content, output.is_verbose()).lines().map(|line| format!("│ {line}")).collect();
            add(quoted.join("\n"), Some(effect_style(Effect::Redact)));
        }
        if let Some(approval) = &decision.approval {
            add(format!("waits for `{}` as approval {}", approval.approver, approval.id), Some(Style::Dim));
        }
        if let Some(autonomy) = decision.autonomy.filter(|autonomy| *autonomy > Autonomy::Standard) {
            add(format!("autonomy: {}", in_words(autonomy)), Some(Style::Dim));
        }
        if let Some(would) = decision.would {
            add(format!("in shadow mode; enforced it would be {would}"), Some(Style::Dim));
        }
        for feedback in &decision.feedback {
            add(feedback.clone(), Some(Style::Dim));
        }
        lines
    }

    /// The day and the session, if they changed.
    fn headings(&mut self, time: Timestamp, event: &Event, paint: Paint) -> Vec<String> {
        if !self.has_headings {
            return Vec::new();
        }
        let mut parts = Vec::new();
        let day = time::day(time);
        if self.day.as_ref() != Some(&day) {
            parts.push(day.clone());
            self.day = Some(day);
        }
        let session = event.session.as_deref().unwrap_or("default");
        if self.session.as_deref() != Some(session) {
            parts.push(format!("session {}", short(session, 60)));
            self.session = Some(session.to_owned());
        }
        if parts.is_empty() {
            Vec::new()
        } else {
            vec![paint.style(Style::Dim, format!("── {} ──", parts.join(" · ")))]
        }
    }

    /// The number of decisions by effect.
    pub(crate) fn summary(&self, paint: Paint) -> String {
        let all: u64 = self.counts.values().sum();
        let part = |(effect, count): (&Effect, &u64)| {
            paint.style(effect_style(*effect), format!("{count} {effect}"))
        };
        let parts: Vec<String> = self.counts.iter().map(part).collect();
        match all {
            0 => "no decisions".to_owned(),
            1 => format!("1 decision: {}", parts.join(", ")),
            _ => format!("{all} decisions: {}", parts.join(", ")),
        }
    }
}
