//! The policy: its layers, what it comes to, how it changed, and what shadow mode would have done.

use axum::extract::{Path, State};
use maud::{Markup, html};
use midrail::pack::PolicySource;
use midrail::shadow::{ShadowQuery, ShadowReport, shadow_report};
use midrail::store::Filter;
use midrail::{Mode, Policy, Store, summary};
use serde::Deserialize;

use super::context;
use super::layout::{Frame, Tab, problem_part};
use super::look::{self, badge, count, line, shown};
use super::telling;
use crate::access::Caller;
use crate::api::input::Query;
use crate::api::policy::diff::difference;
use crate::api::policy::made;
use crate::api::policy::view::{GuardrailView, guardrails};
use crate::app::App;
use crate::problem::Outcome;
use crate::work::blocking;

/// Records in which revisions are looked for.
const LOOKED_AT: usize = 1_000;

/// Records that a shadow report looks at.
const SHADOWED: u64 = 5_000;

#[derive(Deserialize)]
pub(crate) struct Asked {
    from: Option<String>,
    to: Option<String>,
}

pub(crate) async fn page(
    State(app): State<App>,
    caller: Caller,
    Query(asked): Query<Asked>,
) -> Outcome<Markup> {
    blocking(move || {
        let frame = Frame::of(&app, &caller, "Policy", Tab::Policy)?;
        let project = caller.project();
        let policy = project.engine().policy();
        let reloads = project.reloads();
        let (since, _) = project.standing().since();
        let revisions = revisions(&**project.store(), &policy)?;
        let sentences = summary::sentences(&policy);
        Ok(frame.page(html! {
            div.page-head {
                h1 { "Policy" }
                div.actions {
                    @if policy.mode() == Mode::Shadow { span.badge.shadow { "shadow" } } @else { span.badge.st-approved { "enforced" } }
                    (look::hash(policy.revision()))
                }
            }
            @match &reloads.last_error {
                Some(error) => div.notice.bad role="alert" { strong { "The packs as they are now cannot be used." } " The policy before stays in force." pre.code { code { (shown(error)) } } },
                None => p.muted { "In force since " (look::ago(since, frame.now)) ", in step with its files: " (look::many(reloads.applied, "reload")) " applied, " (reloads.refused) " refused since the service began." },
            }
            section.card {
                h2 { "In plain words" }
                @if sentences.is_empty() { p.muted { "No guardrail limits what agents do beyond the usual care." } }
                ul.sentences { @for sentence in &sentences { li { (shown(sentence)) } } }
            }
            (layers(&policy, &project.engine().policy_source()))
            (compare(&caller, &policy, &revisions, &asked)?)
            section.card {
                div.card-head { h2 { "Shadow report" } span.muted { "the latest " (count(SHADOWED)) " records" } }
                p { "What guardrails in shadow mode would have done, had they been enforced." }
                div #shadow { button.button.quiet type="button" hx-get="/policy/shadow" hx-target="#shadow" hx-swap="innerHTML" data-busy="Reading…" { "Make the report" } }
            }
        }))
    })
    .await
}

/// The packs, with the guardrails that each brings.
fn layers(policy: &Policy, source: &PolicySource) -> Markup {
    let views = guardrails(policy, source);
    let of = |path: Option<&str>| -> Vec<&GuardrailView> {
        views.iter().filter(|view| view.pack.as_deref() == path).collect()
    };
    html! {
        section.card {
            h2 { "Layers" }
            p.muted { "All of them apply. A lower layer adds and tightens; it cannot loosen what a higher one locks." }
            ol.layers {
                @for layered in &source.0 {
                    li {
                        div.layer-head {
                            span.chip { (layered.layer.word()) }
                            strong { (line(&layered.pack.pack, 60)) }
                            @if let Some(version) = &layered.pack.version { span.muted { (line(&version.0.to_string(), 20)) } }
                            @if layered.pack.lock { span.badge.fx-skipped { "locked" } }
                            @if layered.pack.mode == Some(Mode::Shadow) { span.badge.shadow { "shadow" } }
                            code.layer-path { (line(&layered.path, 120)) }
                        }
                        (entries(&of(Some(&layered.path))))
                    }
                }
                li {
                    div.layer-head { span.chip { "built in" } strong { "always on" } span.muted { "in every policy" } }
                    (entries(&of(None)))
                }
            }
        }
    }
}

fn entries(views: &[&GuardrailView]) -> Markup {
    html! {
        @if views.is_empty() { p.muted { "No guardrail of its own." } }
        @else {
            div.scroll { table.list.compact.layer {
                tbody { @for view in views {
                    tr {
                        td { a href={ "/guardrails/" (look::part(&view.id)) } { (line(&view.id, 50)) } }
                        td.num.muted { (view.priority) }
                        td { (badge(view.effect)) @if view.mode == Mode::Shadow { " " span.badge.shadow { "shadow" } } }
                        td.muted { (line(&view.on.iter().map(|kind| telling::kind(*kind)).collect::<Vec<_>>().join(", "), 80)) }
                    }
                } }
            } }
        }
    }
}

/// The revisions that the latest records were decided with, the latest first, with the last record of each.
fn revisions(store: &dyn Store, policy: &Policy) -> Outcome<Vec<(String, u64)>> {
    #[derive(Deserialize)]
    struct Outline {
        decision: Decided,
    }
    #[derive(Deserialize)]
    struct Decided {
        #[serde(default)]
        policy: String,
    }
    let mut found: Vec<(String, u64)> = Vec::new();
    let page = store.entries(&Filter { newest_first: true, limit: Some(LOOKED_AT), ..Filter::default() })?;
    for entry in page {
        let Ok(Outline { decision: Decided { policy } }) = serde_json::from_str(&entry.body) else {
            continue;
        };
        if !policy.is_empty() && !found.iter().any(|(known, _)| *known == policy) {
            found.push((policy, entry.seq));
        }
    }
    // What a person did under a policy that decided nothing is on record, and the policy is not.
    let mut kept = Vec::new();
    for (revision, seq) in found {
        if *revision == **policy.revision() || store.policy(&revision)?.is_some() {
            kept.push((revision, seq));
        }
    }
    let mut found = kept;
    if !found.iter().any(|(known, _)| **known == **policy.revision()) {
        found.insert(0, (policy.revision().to_string(), 0));
    }
    Ok(found)
}

fn compare(caller: &Caller, policy: &Policy, revisions: &[(String, u64)], asked: &Asked) -> Outcome<Markup> {
    let latest = revisions.first().map(|(revision, _)| revision.clone()).unwrap_or_default();
    let before = revisions.get(1).map(|(revision, _)| revision.clone()).unwrap_or_default();
    let from = asked.from.clone().filter(|from| !from.is_empty()).unwrap_or(before);
    let to = asked.to.clone().filter(|to| !to.is_empty()).unwrap_or(latest);
    let differs = asked.from.is_some() && from != to;
    let found = differs.then(|| told_difference(caller, &from, &to)).map(|found| {
        found.unwrap_or_else(|problem| problem_part(problem.title, &problem.detail, problem.help.as_deref()))
    });
    Ok(html! {
        section.card #revisions {
            div.card-head { h2 { "Revisions" } span.muted { "that the latest " (count(look::whole(LOOKED_AT))) " records were decided with" } }
            @if revisions.len() < 2 && asked.from.is_none() { p.muted { "Only one: " (look::hash(policy.revision())) ". Change a pack, and what changed can be compared here." } }
            @else {
                form.filters method="get" action="/policy#revisions" {
                    @for (name, title, chosen) in [("from", "From", &from), ("to", "To", &to)] {
                        label { span.label { (title) } select name=(name) {
                            @for (revision, seq) in revisions { option value=(revision) selected[revision == chosen] { (line(revision.strip_prefix("sha256:").unwrap_or(revision), 12)) @if *revision == **policy.revision() { " (in force)" } @else { " (up to " (seq) ")" } } }
                            @if !revisions.iter().any(|(revision, _)| revision == chosen) { option value=(chosen) selected { (line(chosen, 24)) } }
                        } }
                    }
                    button.button type="submit" { "Compare" }
                }
                @if let Some(found) = found { (found) }
            }
        }
    })
}

fn told_difference(caller: &Caller, from: &str, to: &str) -> Outcome<Markup> {
    let ((old, old_source), (new, new_source)) = (made(caller, from)?, made(caller, to)?);
    let before = (from.to_owned(), guardrails(&old, &old_source));
    let found = difference(before, (to.to_owned(), guardrails(&new, &new_source)));
    let text = |source: &PolicySource| serde_json::to_string_pretty(&source.0).unwrap_or_default();
    let is_same = found.added.is_empty() && found.removed.is_empty() && found.changed.is_empty();
    let value = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Null => "–".to_owned(),
        other => other.to_string(),
    };
    Ok(html! {
        div.difference {
            @if is_same { p.muted { "No guardrail was added, removed or changed. The packs may say something else all the same:" } }
            @for (views, class, word) in [(&found.added, "new", "added"), (&found.removed, "gone", "removed")] {
                @for view in views {
                    p { span class={ "badge " (class) } { (word) } " " a href={ "/guardrails/" (look::part(&view.id)) } { (line(&view.id, 60)) } " " (badge(view.effect)) }
                }
            }
            @for changed in &found.changed {
                p { span.badge.fx-warn { "changed" } " " a href={ "/guardrails/" (look::part(&changed.id)) } { (line(&changed.id, 60)) } }
                div.scroll { table.list.compact { tbody { @for (name, field) in &changed.fields {
                    tr { th { (line(name, 60)) } td.gone { (line(&value(&field.from), 200)) } td.new { (line(&value(&field.to), 200)) } }
                } } } }
            }
            details.raw { summary { "The packs, line by line" } (context::diff(&text(&old_source), &text(&new_source))) }
        }
    })
}

/// One revision, as it was kept.
pub(crate) async fn revision(
    State(app): State<App>,
    caller: Caller,
    Path(revision): Path<String>,
) -> Outcome<Markup> {
    blocking(move || {
        let frame = Frame::of(&app, &caller, "Policy", Tab::Policy)?;
        let (policy, source) = made(&caller, &revision)?;
        let now = caller.project().engine().policy();
        let is_in_force = **now.revision() == *revision;
        Ok(frame.page(html! {
            nav.crumbs { a href="/policy" { "Policy" } span { "/" } }
            div.page-head {
                h1.mono { (look::hash(&revision)) }
                div.actions {
                    @if is_in_force { span.badge.st-approved { "in force" } }
                    @else { a.button.quiet href={ "/policy" (look::query(&[("from", &revision), ("to", now.revision())])) "#revisions" } { "Compare with the one in force" } }
                }
            }
            section.card { h2 { "In plain words" } ul.sentences { @for sentence in summary::sentences(&policy) { li { (shown(&sentence)) } } } }
            section.card { h2 { "Guardrails" } (entries(&guardrails(&policy, &source).iter().collect::<Vec<_>>())) }
            section.card { details.raw { summary { "Its packs, as they were kept" } (look::json(&serde_json::to_value(&source.0).unwrap_or_default())) } }
        }))
    })
    .await
}

pub(crate) async fn shadow(caller: Caller) -> Outcome<Markup> {
    blocking(move || {
        let store = caller.project().store();
        let head = store.head()?.map_or(0, |head| head.seq);
        // From the time of the first record that is looked at, so that a long log is not read as a whole.
        let first = store.entry(head.saturating_sub(SHADOWED).max(1))?;
        let query = ShadowQuery {
            since: first.map(|entry| entry.labels.time),
            examples: 3,
            ..ShadowQuery::default()
        };
        let report = shadow_report(&**store, &query, &mut |_| {})?;
        Ok(told(&report, caller.project().engine().now()))
    })
    .await
}

fn told(report: &ShadowReport, now: jiff::Timestamp) -> Markup {
    html! {
        @if report.guardrails.is_empty() {
            (look::empty("No guardrail is in shadow mode", html! { p { "Set " code { "mode: shadow" } " for a guardrail or a pack: it is asked and recorded, and stops nothing. This report then tells whether to enforce it." } }))
        } @else {
            p { (count(report.decisions)) " decisions, " strong { (count(report.stricter)) } " of them would have been stricter." }
            @for one in &report.guardrails {
                div.shadowed {
                    p { a href={ "/guardrails/" (look::part(&one.guardrail)) } { strong { (line(&one.guardrail, 60)) } } " asked " (count(one.asked)) ", objected " (count(one.objections())) ", would have stopped " strong { (count(one.stopped)) } " in " (look::many(one.sessions, "session")) }
                    p { @for (effect, number) in &one.effects { (badge(*effect)) " " (count(*number)) " " } }
                    ul.rows { @for example in &one.examples { li {
                        span.row-main { a href={ "/audit/" (example.seq) } { (line(&example.what, 40)) } " " span.muted { (line(&example.reason, 160)) } }
                        span.row-side { (look::ago(example.time, now)) }
                    } } }
                }
            }
        }
    }
}
