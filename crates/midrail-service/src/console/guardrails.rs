//! Guardrails: the catalogue with its pages, their figures, and a form to try events.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::body::Bytes;
use maud::{Markup, html};
use midrail::core::{Bypass, Category};
use midrail::files::RecordedFiles;
use midrail::guardrails::{Builtin, CATALOGUE};
use midrail::metrics::CATEGORIES;
use midrail::pack::PolicySource;
use midrail::store::{AuditFilter, AuditStats, GuardrailStats};
use midrail::{Effect, Engine, Event, Files, Mode, Policy, PolicyEntry, Tools};
use midrail_adapters::wire;

use super::charts;
use super::layout::View;
use super::markdown;
use super::record_view;
use super::stats;
use super::widgets::{self, badge, compact, count, micros, short_line, visible_text};
use crate::api::input::Named;
use crate::api::policy::view::guardrails;
use crate::problem::{HandlerResult, Problem};
use crate::text::{form_value, short};

/// Decisions of a guardrail that its page shows.
const RECENT: usize = 10;

/// A sample event.
const SAMPLE: &str = r#"{
  "kind": "before_tool",
  "session": "try",
  "cwd": "/repo",
  "tool": {"name": "Bash", "args": {"command": "cd /tmp && rm -rf ~ && echo done"}}
}"#;

/// A guardrail in the list: its page, and its place in the policy.
struct Known<'p> {
    id: String,
    name: String,
    about: String,
    category: Option<Category>,
    page: Option<&'static Builtin>,
    entry: Option<&'p PolicyEntry>,
}

fn all(policy: &Policy) -> Vec<Known<'_>> {
    let ids: BTreeSet<&str> = CATALOGUE
        .iter()
        .map(|page| page.id)
        .chain(policy.entries().iter().map(|entry| &*entry.spec.id))
        .collect();
    let known = |id: &str| {
        let (page, entry) = (midrail::guardrails::builtin(id), policy.get(id));
        let first = page.and_then(|page| page.page.lines().skip(1).find(|line| !line.trim().is_empty()));
        let sentence = first.and_then(|line| line.split(". ").next()).unwrap_or_default();
        let description = entry.map(|entry| entry.spec.description.clone()).filter(|text| !text.is_empty());
        let summary = || entry.filter(|_| page.is_none()).and_then(|entry| entry.guardrail.summary());
        Known {
            id: id.to_owned(),
            name: page.map(|page| page.name.replace('_', " ")).unwrap_or_default(),
            about: description
                .or_else(summary)
                .unwrap_or_else(|| sentence.trim_end_matches('.').replace('`', "")),
            category: page.map(|page| page.category).or(entry.map(|entry| entry.spec.category)),
            page,
            entry,
        }
    };
    let mut all: Vec<Known<'_>> = ids.into_iter().map(known).collect();
    // Guardrails in force come first.
    all.sort_by_key(|one| one.entry.is_none());
    all
}
pub(crate) fn list(view: &View, (): ()) -> HandlerResult<Markup> {
    let policy = view.caller.project.engine().policy();
    let (log, behind) = stats::log_figures(&view.caller.project)?;
    let known = all(&policy);
    let in_force = known.iter().filter(|one| one.entry.is_some()).count();
    view.page(
        "Guardrails",
        "/guardrails",
        html! {
            div.page-head {
                h1 { "Guardrails" }
                span.muted { (in_force) " in force of " (known.len()) }
            }
            @if behind > 0 { p.notice { (count(behind)) " records are still being counted." } }
            (try_it())
            @for category in CATEGORIES {
                @let of: Vec<&Known<'_>> = known.iter().filter(|one| one.category == Some(category)).collect();
                @if !of.is_empty() {
                    h2.group { (category.as_str()) }
                    div.cards { @for one in of { (card(one, &log)) } }
                }
            }
        },
    )
}

fn state(entry: Option<&PolicyEntry>) -> Markup {
    html! {
        @match entry {
            Some(entry) if entry.spec.mode == Mode::Shadow => span.badge.shadow { "shadow" },
            Some(entry) if entry.spec.always_on => span.badge.st-approved { "always on" },
            Some(_) => span.badge.st-approved { "in force" },
            None => span.badge.fx-skipped { "off" },
        }
    }
}

fn card(one: &Known<'_>, log: &AuditStats) -> Markup {
    let figures = log.guardrails.get(&one.id);
    let at = format!("/guardrails/{}", widgets::escape(&one.id));
    html! {
        a.card.guard.off[one.entry.is_none()] href=(at) data-item data-href=(at) {
            div.guard-head { strong { (short_line(&one.id, 40)) } (state(one.entry)) }
            @if !one.name.is_empty() { span.guard-name { (short_line(&one.name, 60)) } }
            p.guard-about { (short_line(&one.about, 140)) }
            @if let Some(figures) = figures { (counters(figures)) }
        }
    }
}

fn counters(figures: &GuardrailStats) -> Markup {
    let query = figures.enforced.invocation_count + figures.shadow.invocation_count;
    let passed = figures.enforced.pass_count + figures.shadow.pass_count;
    html! {
        div.guard-figures {
            (charts::spectrum(&effects(figures)))
            span.num { b { (compact(query - passed)) } " of " (compact(query)) @if let Some(us) = figures.durations.average_us() { " · " (micros(us)) } }
        }
    }
}

fn effects(figures: &GuardrailStats) -> BTreeMap<midrail::Effect, u64> {
    use midrail::Effect::{Allow, Block, Contain, Escalate, Redact, Retry, Warn};
    let (own, shadow) = (&figures.enforced, &figures.shadow);
    BTreeMap::from([
        (Allow, own.pass_count + shadow.pass_count),
        (Warn, own.warn_count + shadow.warn_count),
        (Redact, own.redact_count + shadow.redact_count),
        (Contain, own.contain_count + shadow.contain_count),
        (Retry, own.retry_count + shadow.retry_count),
        (Escalate, own.escalate_count + shadow.escalate_count),
        (Block, own.block_count + shadow.block_count),
    ])
}

/// The form to try an event.
fn try_it() -> Markup {
    html! {
        details.card.try {
            summary { strong { "Try it" } span.muted { " Paste an event to see the decision. Nothing is recorded or run." } }
            form hx-post="/guardrails/try" hx-target="#tried" hx-swap="innerHTML" {
                label { span.label { "Event (JSON)" } textarea.mono name="event" rows="8" spellcheck="false" { (SAMPLE) } }
                div.actions { button.button type="submit" { "Decide" } a href="/v1/docs" { "Event reference" } }
            }
            div #tried aria-live="polite" {}
        }
    }
}

pub(crate) fn show(view: &View, Named(id): Named<String>) -> HandlerResult<Markup> {
    let policy = view.caller.project.engine().policy();
    let mut known = all(&policy);
    let Some(at) = known.iter().position(|one| one.id == id) else {
        return Err(Problem::not_found(format!("there is no guardrail `{}` here", short(&id)))
            .help("it may have been part of an earlier policy; the audit log still shows its decisions"));
    };
    let one = known.swap_remove(at);
    let (log, behind) = stats::log_figures(&view.caller.project)?;
    let figures = log.guardrails.get(&one.id);
    let source = view.caller.project.engine().policy_source();
    let settings =
        guardrails(&policy, &source).into_iter().find(|own| own.id == one.id).map(|own| own.settings);
    let settings = settings.filter(|settings| !settings.is_empty()).map(|own| widgets::json(&own.into()));
    let filter = AuditFilter {
        guardrail: Some(one.id.clone()),
        newest_first: true,
        limit: Some(RECENT),
        ..AuditFilter::default()
    };
    let recent = view.caller.project.store().entries(&filter)?;
    view.page(id.clone(), "/guardrails", html! {
        nav.crumbs { a href="/guardrails" { "Guardrails" } span { "/" } }
        div.page-head {
            h1 { (short_line(&one.id, 60)) @if !one.name.is_empty() { span.sub-title { (short_line(&one.name, 60)) } } }
            div.actions { (state(one.entry)) @if let Some(category) = one.category { span.chip { (category.as_str()) } } }
        }
        div.split {
            div.split-main {
                section.card {
                    @match one.page {
                        Some(page) => (markdown::page(page.page)),
                        None => p { (visible_text(&one.about)) @if one.about.is_empty() { span.muted { "This guardrail is defined in a pack and has no description." } } },
                    }
                }
                section.card.flush {
                    div.card-head { h2 { "Latest findings" } a href={ "/audit" (widgets::query(&[("guardrail", &one.id)])) } { "All" } }
                    @if recent.is_empty() { p.muted.pad { "No findings yet." } }
                    (record_view::rows(&recent, true, view.now))
                }
            }
            aside.split-side {
                @if let Some(entry) = one.entry { section.card { h2 { "Configuration" } (spec(entry)) @if let Some(settings) = settings { h3 { "Settings" } (settings) } } }
                @else { section.card { h2 { "Not enabled" } p { "No pack of this project uses it. To enable it, add to a pack:" } pre.code { code { "guardrails:\n  - use: " (one.id) } } } }
                section.card {
                    h2 { "Results" }
                    @if behind > 0 { p.notice { (count(behind)) " records are still being counted." } }
                    @match figures { Some(figures) => (numbers(figures, view.now)), None => p.muted { "Not evaluated yet." } }
                }
                @if let Some(figures) = figures.filter(|figures| figures.durations.count > 0) {
                    section.card {
                        h2 { "Duration" }
                        p.muted { "average " (micros(figures.durations.average_us().unwrap_or(0))) ", longest " (micros(figures.durations.max_us)) }
                        (charts::histogram(&figures.durations))
                    }
                }
            }
        }
    })
}

fn numbers(figures: &GuardrailStats, now: jiff::Timestamp) -> Markup {
    let (own, shadow) = (&figures.enforced, &figures.shadow);
    let query = own.invocation_count + shadow.invocation_count;
    html! {
        (charts::spectrum(&effects(figures)))
        dl.stacked.figures {
            div { dt { "Evaluated" } dd.num { (count(query)) } }
            @for (effect, number) in effects(figures) { @if number > 0 { div { dt { (badge(effect)) } dd.num { (count(number)) } } } }
            @if own.skipped_count > 0 { div { dt { "Skipped" } dd.num { (count(own.skipped_count)) } } }
            @if own.error_count + shadow.error_count > 0 { div { dt { "Failed" } dd.num.error { (count(own.error_count + shadow.error_count)) } } }
            @if let Some(last) = figures.last_triggered { div { dt { "Last finding" } dd { (widgets::ago(last, now)) } } }
        }
    }
}

fn spec(entry: &PolicyEntry) -> Markup {
    let spec = &entry.spec;
    let on: Vec<String> = spec.on.iter().map(|kind| record_view::kind(*kind)).collect();
    let tools = match (&spec.tools, entry.guardrail.tools()) {
        (Tools::Only(names), _) => names.join(", "),
        (Tools::All, Tools::Only(names)) => names.join(", "),
        (Tools::All, Tools::All) => "all".to_owned(),
    };
    let lifted = match &spec.bypass {
        Bypass::Never => "not possible".to_owned(),
        Bypass::Emergency if spec.effect == Some(Effect::Escalate) => {
            format!("{}, or an emergency", spec.approver)
        }
        Bypass::Emergency => "emergency override only".to_owned(),
        Bypass::By(role) => role.clone(),
    };
    html! {
        dl.stacked {
            div { dt { "Events" } dd { (short_line(&on.join(", "), 200)) } }
            div { dt { "Tools" } dd { (short_line(&tools, 200)) } }
            div { dt { "Strongest effect" } dd { (badge(spec.effect.unwrap_or_else(|| entry.guardrail.max_effect()))) } }
            div { dt { "Priority" } dd { (spec.priority) } }
            div { dt { "If it fails" } dd { (badge(spec.on_error.effect())) } }
            div { dt { "If a fact is missing" } dd { (badge(spec.on_missing.effect())) } }
            div { dt { "Escalates to" } dd { (short_line(&spec.approver, 60)) } }
            div { dt { "Bypass" } dd { (short_line(&lifted, 60)) } }
            @if let Some(risk) = spec.from_risk { div { dt { "From risk" } dd { (risk.as_str()) } } }
        }
    }
}

/// Decides a pasted event in isolation: without store, files, commands, scripts and external services.
pub(crate) fn try_event(view: &View, body: Bytes) -> HandlerResult<Markup> {
    let text = form_value(&body, "event").ok_or_else(|| Problem::malformed("the form has no event"))?;
    let event = wire::decode_strict(text.as_bytes()).map_err(crate::api::decide::problem)?;
    let (decision, left_out) = tried(&view.caller.project.engine().policy(), event)?;
    Ok(html! {
        div.tried {
            div.record-head { (badge(decision.effect)) @if let Some(by) = &decision.by { span { "by " (widgets::guardrail(by)) } } }
            @if record_view::has_agent_message(&decision) { div.agent-message { span.label { "Shown to the agent" } (record_view::agent_message(&decision)) } }
            (record_view::chain(&decision))
            p.muted {
                "Decided in a new session. Files, commands and repositories are treated as unknown."
                @if !left_out.is_empty() { " Not evaluated, because they call an external service or run a script: " (short_line(&left_out.join(", "), 300)) "." }
            }
        }
    })
}

/// The decision about an event, and the guardrails that were left out.
fn tried(policy: &Policy, event: Event) -> HandlerResult<(midrail::Decision, Vec<String>)> {
    let is_outside = |entry: &&PolicyEntry| entry.guardrail.external_request().is_some();
    let left_out: Vec<String> =
        policy.entries().iter().filter(is_outside).map(|entry| entry.spec.id.to_string()).collect();
    // A copy of the policy: its last guardrail is replaced by itself.
    let Some(last) = policy.entries().last() else {
        return Err(Problem::refused("the policy has no guardrails"));
    };
    let mut own = policy.with_entry(last.clone());
    for id in &left_out {
        own = own.without(id).unwrap_or(own);
    }
    // Without a source no notices are sent, and recorded files run no commands.
    let files = Arc::new(Files::Recorded(RecordedFiles::default()));
    let engine = Engine::builder(own, &PolicySource::default()).files(files).build()?;
    let mut decision = engine.try_decide(event)?;
    decision.audit = Default::default();
    Ok((decision, left_out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tried_event_leaves_no_record() {
        let load = midrail::Load { packs: vec!["midrail:default".into()], ..midrail::Load::default() };
        let policy = load.load().unwrap().policy;
        let event = wire::decode_strict(SAMPLE.as_bytes()).unwrap();
        let (decision, _) = tried(&policy, event).unwrap();
        assert_eq!(decision.effect, midrail::Effect::Block);
        assert!(decision.verdicts.len() > 1 && decision.audit.is_empty());
    }

    #[test]
    fn catalogue_and_policy_are_listed_together() {
        let load = midrail::Load { packs: vec!["midrail:default".into()], ..midrail::Load::default() };
        let policy = load.load().unwrap().policy;
        let known = all(&policy);
        assert!(known.len() >= CATALOGUE.len());
        assert!(known.iter().all(|one| !one.about.is_empty() || one.entry.is_some()));
        assert!(known.iter().any(|one| one.id == "safety-001" && one.entry.is_some()));
    }
}
