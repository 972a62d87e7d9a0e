//! Guardrails: the catalogue with its pages, what they did, and a place to try them.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use maud::{Markup, html};
use midrail::pack::PolicySource;
use midrail::store::{Figures, Filter, GuardrailFigures};
use midrail::{
    Bypass, CATALOGUE, Category, Effect, Engine, Entry, Event, Files, Mode, Page, Past, Policy, Tools,
};
use midrail_doors::wire;

use super::charts;
use super::figures;
use super::layout::{Frame, Tab};
use super::look::{self, badge, compact, count, line, micros, shown};
use super::markdown;
use super::telling;
use crate::access::{Caller, unescaped};
use crate::api::policy::view::guardrails;
use crate::app::App;
use crate::problem::{Outcome, Problem};
use crate::project::short;
use crate::work::blocking;

/// Decisions of a guardrail that its page shows.
const RECENT: usize = 10;

/// An event to begin with.
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
    category: Category,
    page: Option<&'static Page>,
    entry: Option<&'p Entry>,
}

fn all(policy: &Policy) -> Vec<Known<'_>> {
    let mut known: BTreeMap<String, Known<'_>> = BTreeMap::new();
    for page in CATALOGUE {
        let first = page.page.lines().skip(1).find(|line| !line.trim().is_empty()).unwrap_or_default();
        let about = first.split(". ").next().unwrap_or_default().trim_end_matches('.').replace('`', "");
        let one = Known {
            id: page.id.to_owned(),
            name: page.name.replace('_', " "),
            about,
            category: page.category,
            page: Some(page),
            entry: None,
        };
        known.insert(page.id.to_owned(), one);
    }
    for entry in policy.entries() {
        let spec = &entry.spec;
        let id = spec.id.to_string();
        let one = known.entry(id.clone()).or_insert_with(|| Known {
            id,
            name: String::new(),
            about: String::new(),
            category: spec.category,
            page: midrail::page(&spec.id),
            entry: None,
        });
        one.entry = Some(entry);
        if one.page.is_none() || !spec.description.is_empty() {
            let told = Some(spec.description.clone()).filter(|text| !text.is_empty());
            one.about =
                told.or_else(|| entry.guardrail.summary()).unwrap_or_else(|| std::mem::take(&mut one.about));
        }
    }
    // What is in force comes first.
    let mut known: Vec<Known<'_>> = known.into_values().collect();
    known.sort_by_key(|one| one.entry.is_none());
    known
}

const CATEGORIES: [Category; 5] =
    [Category::Safety, Category::Compliance, Category::Budget, Category::Scope, Category::Quality];

pub(crate) async fn list(State(app): State<App>, caller: Caller) -> Outcome<Markup> {
    blocking(move || {
        let frame = Frame::of(&app, &caller, "Guardrails", Tab::Guardrails)?;
        let policy = caller.project().engine().policy();
        let (log, behind) = figures::of_log(caller.project())?;
        let known = all(&policy);
        let in_force = known.iter().filter(|one| one.entry.is_some()).count();
        Ok(frame.page(html! {
            div.page-head {
                h1 { "Guardrails" }
                span.muted { (in_force) " in force of " (known.len()) }
            }
            @if behind > 0 { p.notice { (count(behind)) " records are still being counted." } }
            (try_it())
            @for category in CATEGORIES {
                @let of: Vec<&Known<'_>> = known.iter().filter(|one| one.category == category).collect();
                @if !of.is_empty() {
                    h2.group { (category.word()) }
                    div.cards { @for one in of { (card(one, &log)) } }
                }
            }
        }))
    })
    .await
}

fn state(entry: Option<&Entry>) -> Markup {
    html! {
        @match entry {
            Some(entry) if entry.spec.mode == Mode::Shadow => span.badge.shadow { "shadow" },
            Some(entry) if entry.spec.always_on => span.badge.st-approved { "always on" },
            Some(_) => span.badge.st-approved { "in force" },
            None => span.badge.fx-skipped { "off" },
        }
    }
}

fn card(one: &Known<'_>, log: &Figures) -> Markup {
    let figures = log.guardrails.get(&one.id);
    let at = format!("/guardrails/{}", look::part(&one.id));
    html! {
        a.card.guard.off[one.entry.is_none()] href=(at) data-item data-href=(at) {
            div.guard-head { strong { (line(&one.id, 40)) } (state(one.entry)) }
            @if !one.name.is_empty() { span.guard-name { (line(&one.name, 60)) } }
            p.guard-about { (line(&one.about, 140)) }
            @if let Some(figures) = figures { (counters(figures)) }
        }
    }
}

fn counters(figures: &GuardrailFigures) -> Markup {
    let asked = figures.enforced.invocation_count + figures.shadow.invocation_count;
    let passed = figures.enforced.pass_count + figures.shadow.pass_count;
    html! {
        div.guard-figures {
            (charts::spectrum(&effects(figures)))
            span.num { b { (compact(asked - passed)) } " of " (compact(asked)) @if let Some(us) = figures.durations.average_us() { " · " (micros(us)) } }
        }
    }
}

fn effects(figures: &GuardrailFigures) -> BTreeMap<midrail::Effect, u64> {
    use midrail::Effect::{Allow, Block, Escalate, Redact, Retry, Warn};
    let (own, shadow) = (&figures.enforced, &figures.shadow);
    BTreeMap::from([
        (Allow, own.pass_count + shadow.pass_count),
        (Warn, own.warn_count + shadow.warn_count),
        (Redact, own.redact_count + shadow.redact_count),
        (Retry, own.retry_count + shadow.retry_count),
        (Escalate, own.escalate_count + shadow.escalate_count),
        (Block, own.block_count + shadow.block_count),
    ])
}

/// Where an event is tried.
fn try_it() -> Markup {
    html! {
        details.card.try {
            summary { strong { "Try it" } span.muted { " Paste an event and see the chain. Nothing is recorded, and nothing is run." } }
            form hx-post="/guardrails/try" hx-target="#tried" hx-swap="innerHTML" {
                label { span.label { "The event as JSON" } textarea.mono name="event" rows="8" spellcheck="false" { (SAMPLE) } }
                div.actions { button.button type="submit" { "Decide" } a href="/v1/docs" { "What an event can say" } }
            }
            div #tried aria-live="polite" {}
        }
    }
}

pub(crate) async fn show(State(app): State<App>, caller: Caller, Path(id): Path<String>) -> Outcome<Markup> {
    blocking(move || {
        let frame = Frame::of(&app, &caller, id.clone(), Tab::Guardrails)?;
        let policy = caller.project().engine().policy();
        let mut known = all(&policy);
        let Some(at) = known.iter().position(|one| one.id == id) else {
            return Err(Problem::not_found(format!("there is no guardrail `{}` here", short(&id)))
                .help("it may have been part of an earlier policy; the audit log still shows its decisions"));
        };
        let one = known.swap_remove(at);
        let (log, behind) = figures::of_log(caller.project())?;
        let figures = log.guardrails.get(&one.id);
        let source = caller.project().engine().policy_source();
        let view = guardrails(&policy, &source).into_iter().find(|view| view.id == one.id);
        let settings = view.filter(|view| !view.settings.is_empty());
        let settings = settings.map(|view| look::json(&serde_json::Value::Object(view.settings)));
        let filter = Filter { guardrail: Some(one.id.clone()), newest_first: true, limit: Some(RECENT), ..Filter::default() };
        let recent = caller.project().store().entries(&filter)?;
        Ok(frame.page(html! {
            nav.crumbs { a href="/guardrails" { "Guardrails" } span { "/" } }
            div.page-head {
                h1 { (line(&one.id, 60)) @if !one.name.is_empty() { span.sub-title { (line(&one.name, 60)) } } }
                div.actions { (state(one.entry)) span.chip { (one.category.word()) } }
            }
            div.split {
                div.split-main {
                    section.card {
                        @match one.page {
                            Some(page) => (markdown::page(page.page)),
                            None => p { (shown(&one.about)) @if one.about.is_empty() { span.muted { "A guardrail of a pack here. Its pack says nothing more about it." } } },
                        }
                    }
                    section.card.flush {
                        div.card-head { h2 { "Its latest objections" } a href={ "/audit" (look::query(&[("guardrail", &one.id)])) } { "All" } }
                        @if recent.is_empty() { p.muted.pad { "It has not objected to anything yet." } }
                        div.scroll { table.list { tbody { @for entry in &recent { (telling::row(entry, true, frame.now)) } } } }
                    }
                }
                aside.split-side {
                    @if let Some(entry) = one.entry { section.card { h2 { "As it is in force" } (spec(entry)) @if let Some(settings) = settings { h3 { "Settings" } (settings) } } }
                    @else { section.card { h2 { "Off here" } p { "No pack of this project uses it. A pack that does says:" } pre.code { code { "guardrails:\n  - use: " (one.id) } } } }
                    section.card {
                        h2 { "What it said" }
                        @if behind > 0 { p.notice { (count(behind)) " records are still being counted." } }
                        @match figures { Some(figures) => (numbers(figures, frame.now)), None => p.muted { "It was not asked yet." } }
                    }
                    @if let Some(figures) = figures.filter(|figures| figures.durations.count > 0) {
                        section.card {
                            h2 { "How long it took" }
                            p.muted { "average " (micros(figures.durations.average_us().unwrap_or(0))) ", longest " (micros(figures.durations.max_us)) }
                            (charts::histogram(&figures.durations))
                        }
                    }
                }
            }
        }))
    })
    .await
}

fn numbers(figures: &GuardrailFigures, now: jiff::Timestamp) -> Markup {
    let (own, shadow) = (&figures.enforced, &figures.shadow);
    let asked = own.invocation_count + shadow.invocation_count;
    html! {
        (charts::spectrum(&effects(figures)))
        dl.stacked.figures {
            div { dt { "Asked" } dd.num { (count(asked)) } }
            @for (effect, number) in effects(figures) { @if number > 0 { div { dt { (badge(effect)) } dd.num { (count(number)) } } } }
            @if own.skipped_count > 0 { div { dt { "Skipped" } dd.num { (count(own.skipped_count)) } } }
            @if own.error_count + shadow.error_count > 0 { div { dt { "Failed" } dd.num.error { (count(own.error_count + shadow.error_count)) } } }
            @if let Some(last) = figures.last_triggered { div { dt { "Last objection" } dd { (look::ago(last, now)) } } }
        }
    }
}

fn spec(entry: &Entry) -> Markup {
    let spec = &entry.spec;
    let on: Vec<String> = spec.on.iter().map(|kind| telling::kind(*kind)).collect();
    let tools = match (&spec.tools, entry.guardrail.tools()) {
        (Tools::Only(names), _) => names.join(", "),
        (Tools::All, Tools::Only(names)) => names.join(", "),
        (Tools::All, Tools::All) => "all".to_owned(),
    };
    let lifted = match &spec.bypass {
        Bypass::Never => "nobody".to_owned(),
        Bypass::Emergency if spec.effect == Some(Effect::Escalate) => {
            format!("{}, or an emergency", spec.approver)
        }
        Bypass::Emergency => "an emergency alone".to_owned(),
        Bypass::By(role) => role.clone(),
    };
    html! {
        dl.stacked {
            div { dt { "Asked about" } dd { (line(&on.join(", "), 200)) } }
            div { dt { "Tools" } dd { (line(&tools, 200)) } }
            div { dt { "Strongest effect" } dd { (badge(spec.effect.unwrap_or_else(|| entry.guardrail.ceiling()))) } }
            div { dt { "Priority" } dd { (spec.priority) } }
            div { dt { "If it fails" } dd { (badge(spec.on_error.effect())) } }
            div { dt { "If it lacks a fact" } dd { (badge(spec.on_missing.effect())) } }
            div { dt { "Escalates to" } dd { (line(&spec.approver, 60)) } }
            div { dt { "Lifted by" } dd { (line(&lifted, 60)) } }
            @if let Some(risk) = spec.from_risk { div { dt { "From risk" } dd { (risk.word()) } } }
        }
    }
}

/// Decides an event that somebody pasted, apart from everything: no store, no file, no command, no script, nobody outside.
pub(crate) async fn try_event(caller: Caller, body: Bytes) -> Outcome<Markup> {
    blocking(move || {
        let text = String::from_utf8_lossy(&body);
        let text = text.split('&').find_map(|pair| pair.strip_prefix("event=")).map(unescaped);
        let text = text.ok_or_else(|| Problem::malformed("there is no event"))?;
        let event = wire::decode_strictly(text.as_bytes()).map_err(crate::api::decide::problem)?;
        let (decision, left_out) = tried(&caller.project().engine().policy(), event)?;
        Ok(html! {
            div.tried {
                div.record-head { (badge(decision.effect)) @if let Some(by) = &decision.by { span { "by " a href={ "/guardrails/" (look::part(by)) } { (line(by, 60)) } } } }
                @if telling::was_told(&decision) { div.told { span.label { "The agent would see" } (telling::told(&decision)) } }
                (telling::chain(&decision))
                p.muted {
                    "Decided in a session without a past. Files, commands and repositories are taken as not known."
                    @if !left_out.is_empty() { " Not asked, because they ask somebody outside or run a script: " (line(&left_out.join(", "), 300)) "." }
                }
            }
        })
    })
    .await
}

/// The decision about an event, and the guardrails that were left out.
fn tried(policy: &Policy, event: Event) -> Outcome<(midrail::Decision, Vec<String>)> {
    let is_outside = |entry: &&Entry| entry.guardrail.outside().is_some();
    let left_out: Vec<String> =
        policy.entries().iter().filter(is_outside).map(|entry| entry.spec.id.to_string()).collect();
    // A copy of the policy: its last guardrail put in its own place.
    let Some(last) = policy.entries().last() else {
        return Err(Problem::refused("the policy has no guardrails"));
    };
    let mut own = policy.with(last.clone());
    for id in &left_out {
        own = own.without(id).unwrap_or(own);
    }
    // Without a source nobody is told of anything, and the past is a file system on which nothing is run.
    let files = Arc::new(Files::Past(Past::default()));
    let engine = Engine::builder(own, &PolicySource::default()).files(files).build()?;
    let mut decision = engine.try_decide(event)?;
    decision.audit = Default::default();
    Ok((decision, left_out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_tried_apart_from_everything() {
        let load = midrail::Load { packs: vec!["midrail:default".into()], ..midrail::Load::default() };
        let policy = load.load().unwrap().policy;
        let event = wire::decode_strictly(SAMPLE.as_bytes()).unwrap();
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
