//! The policy: its layers, its summary, its revisions, and the shadow report.

use std::collections::BTreeSet;

use maud::{Markup, html};
use midrail::pack::PolicySource;
use midrail::shadow::{ShadowQuery, ShadowReport, shadow_report};
use midrail::store::AuditFilter;
use midrail::{Mode, Policy, Store, summary};
use serde::Deserialize;

use super::context;
use super::layout::{View, problem_part};
use super::record_view;
use super::widgets::{self, badge, count, short_line, visible_text};
use crate::access::Caller;
use crate::api::input::{Named, Query};
use crate::api::policy::made;
use crate::api::policy::view::{GuardrailView, difference, guardrails};
use crate::problem::HandlerResult;
use crate::project::Project;

/// The latest records that are searched for revisions.
const SEARCHED: usize = 1_000;

/// The latest records of a shadow report.
const SHADOWED: u64 = 5_000;

#[derive(Deserialize, schemars::JsonSchema)]
pub(crate) struct PageQuery {
    from: Option<String>,
    to: Option<String>,
}

pub(crate) fn page(view: &View, Query(query): Query<PageQuery>) -> HandlerResult<Markup> {
    let project = &view.caller.project;
    let policy = project.engine().policy();
    let reloads = project.reloads();
    let (since, _) = project.membership.since();
    let revisions = revisions(&**project.store(), &policy)?;
    let sentences = summary::sentences(&policy);
    view.page("Policy", "/policy", html! {
        div.page-head {
            h1 { "Policy" }
            div.actions {
                @if policy.mode() == Mode::Shadow { span.badge.shadow { "shadow" } } @else { span.badge.st-approved { "enforced" } }
                (widgets::hash(policy.revision()))
            }
        }
        @match &reloads.last_error {
            Some(error) => div.notice.bad role="alert" { strong { "The current pack files are invalid." } " The previous policy stays in force." pre.code { code { (visible_text(error)) } } },
            None => p.muted { "In force since " (widgets::ago(since, view.now)) ". Reloads since the service started: " (widgets::many(reloads.applied, "reload")) " applied, " (reloads.refused) " rejected." },
        }
        (drift_notice(project))
        (instances(project, view.now))
        section.card {
            h2 { "Summary" }
            @if sentences.is_empty() { p.muted { "The policy only has the built-in guardrails." } }
            ul.sentences { @for sentence in &sentences { li { (visible_text(sentence)) } } }
        }
        (layers(&policy, &project.engine().policy_source()))
        (compare(&view.caller, &policy, &revisions, &query)?)
        section.card {
            div.card-head { h2 { "Shadow report" } span.muted { "the latest " (count(SHADOWED)) " records" } }
            p { "What guardrails in shadow mode would have done if they were enforced." }
            div #shadow { button.button.quiet type="button" hx-get="/policy/shadow" hx-target="#shadow" hx-swap="innerHTML" data-busy="Reading…" { "Create report" } }
        }
    })
}

/// The warning that other running instances enforce another policy. Empty: all of them enforce the same one.
pub(crate) fn drift_notice(project: &Project) -> Markup {
    let drifted = project.membership.drifted(project.engine().policy().revision());
    html! {
        @if !drifted.is_empty() { div.notice.bad role="alert" {
            strong { (widgets::many(widgets::whole(drifted.len()), "running instance")) " of this service enforce another policy." }
            " Until they are restarted with the same packs, the same call may be decided differently: "
            @for (at, other) in drifted.iter().enumerate() { @if at > 0 { ", " } (short_line(&other.address, 60)) }
            ". " a href="/policy#instances" { "Compare" }
        } }
    }
}

/// The running instances with their policies.
fn instances(project: &Project, now: jiff::Timestamp) -> Markup {
    let running = project.membership.running();
    let own = project.engine().policy();
    html! {
        @if !running.is_empty() { section.card #instances {
            h2 { "Running instances" }
            div.scroll { table.list.compact {
                thead { tr { th { "address" } th { "policy" } th { "started" } } }
                tbody { @for instance in &running { tr {
                    td { (short_line(&instance.address, 60)) }
                    td { (widgets::hash(&instance.revision)) @if *instance.revision != **own.revision() { " " a href={ "/policy" (widgets::query(&[("from", own.revision()), ("to", &instance.revision)])) "#revisions" } { "differs" } } }
                    td { (widgets::ago(instance.started, now)) }
                } } }
            } }
        } }
    }
}

/// The packs with their guardrails.
fn layers(policy: &Policy, source: &PolicySource) -> Markup {
    let views = guardrails(policy, source);
    let of = |path: Option<&str>| -> Vec<&GuardrailView> {
        views.iter().filter(|view| view.pack.as_deref() == path).collect()
    };
    html! {
        section.card {
            h2 { "Layers" }
            p.muted { "All layers apply. A lower layer can add and tighten guardrails; it cannot loosen what a higher layer locks." }
            ol.layers {
                @for layered in &source.0 {
                    li {
                        div.layer-head {
                            span.chip { (layered.layer.as_str()) }
                            strong { (short_line(&layered.pack.pack, 60)) }
                            @if let Some(version) = &layered.pack.version { span.muted { (short_line(&version.0.to_string(), 20)) } }
                            @if layered.pack.lock { span.badge.fx-skipped { "locked" } }
                            @if layered.pack.mode == Some(Mode::Shadow) { span.badge.shadow { "shadow" } }
                            code.layer-path { (short_line(&layered.path, 120)) }
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
        @if views.is_empty() { p.muted { "No guardrails of its own." } }
        @else {
            div.scroll { table.list.compact.layer {
                tbody { @for view in views {
                    tr {
                        td { (widgets::guardrail(&view.id)) }
                        td.num.muted { (view.priority) }
                        td { (badge(view.effect)) @if view.mode == Mode::Shadow { " " span.badge.shadow { "shadow" } } }
                        td.muted { (short_line(&view.on.iter().map(|kind| record_view::kind(*kind)).collect::<Vec<_>>().join(", "), 80)) }
                    }
                } }
            } }
        }
    }
}

/// The revisions that the latest records were decided with, the latest first, with the last record of each.
fn revisions(store: &dyn Store, policy: &Policy) -> HandlerResult<Vec<(String, u64)>> {
    #[derive(Deserialize)]
    struct Outline {
        decision: Decided,
    }
    #[derive(Deserialize)]
    struct Decided {
        #[serde(default)]
        policy: String,
    }
    let (mut found, mut seen): (Vec<(String, u64)>, BTreeSet<String>) = Default::default();
    let page = store.entries(&AuditFilter {
        newest_first: true,
        limit: Some(SEARCHED),
        ..AuditFilter::default()
    })?;
    for entry in page {
        let Ok(Outline { decision: Decided { policy: revision } }) = serde_json::from_str(&entry.body) else {
            continue;
        };
        // Administrative records may have a policy that was not stored, because it decided nothing.
        if !revision.is_empty()
            && seen.insert(revision.clone())
            && (*revision == **policy.revision() || store.policy(&revision)?.is_some())
        {
            found.push((revision, entry.seq));
        }
    }
    if !found.iter().any(|(known, _)| **known == **policy.revision()) {
        found.insert(0, (policy.revision().to_string(), 0));
    }
    Ok(found)
}

fn compare(
    caller: &Caller,
    policy: &Policy,
    revisions: &[(String, u64)],
    query: &PageQuery,
) -> HandlerResult<Markup> {
    let latest = revisions.first().map(|(revision, _)| revision.clone()).unwrap_or_default();
    let before = revisions.get(1).map(|(revision, _)| revision.clone()).unwrap_or_default();
    let from = query.from.clone().filter(|from| !from.is_empty()).unwrap_or(before);
    let to = query.to.clone().filter(|to| !to.is_empty()).unwrap_or(latest);
    let differs = query.from.is_some() && from != to;
    let difference =
        || render_difference(caller, &from, &to).unwrap_or_else(|problem| problem_part(&problem));
    let found = differs.then(difference);
    Ok(html! {
        section.card #revisions {
            div.card-head { h2 { "Revisions" } span.muted { "used by the latest " (count(widgets::whole(SEARCHED))) " records" } }
            @if revisions.len() < 2 && query.from.is_none() { p.muted { "There is one revision: " (widgets::hash(policy.revision())) ". After a pack changes, you can compare revisions here." } }
            @else {
                form.filters method="get" action="/policy#revisions" {
                    @for (name, title, chosen) in [("from", "From", &from), ("to", "To", &to)] {
                        label { span.label { (title) } select name=(name) {
                            @for (revision, seq) in revisions { option value=(revision) selected[revision == chosen] { (short_line(revision.strip_prefix("sha256:").unwrap_or(revision), 12)) @if *revision == **policy.revision() { " (in force)" } @else { " (up to " (seq) ")" } } }
                            @if !revisions.iter().any(|(revision, _)| revision == chosen) { option value=(chosen) selected { (short_line(chosen, 24)) } }
                        } }
                    }
                    button.button type="submit" { "Compare" }
                }
                @if let Some(found) = found { (found) }
            }
        }
    })
}

fn render_difference(caller: &Caller, from: &str, to: &str) -> HandlerResult<Markup> {
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
            @if is_same { p.muted { "No guardrail was added, removed or changed. The pack files may still differ:" } }
            @for (views, class, word) in [(&found.added, "new", "added"), (&found.removed, "gone", "removed")] {
                @for view in views {
                    p { span class={ "badge " (class) } { (word) } " " (widgets::guardrail(&view.id)) " " (badge(view.effect)) }
                }
            }
            @for changed in &found.changed {
                p { span.badge.fx-warn { "changed" } " " (widgets::guardrail(&changed.id)) }
                div.scroll { table.list.compact { tbody { @for (name, field) in &changed.fields {
                    tr { th { (short_line(name, 60)) } td.gone { (short_line(&value(&field.from), 200)) } td.new { (short_line(&value(&field.to), 200)) } }
                } } } }
            }
            details.raw { summary { "Pack files, line by line" } (context::diff(&text(&old_source), &text(&new_source))) }
        }
    })
}

/// One stored revision.
pub(crate) fn revision(view: &View, Named(revision): Named<String>) -> HandlerResult<Markup> {
    let (policy, source) = made(&view.caller, &revision)?;
    let now = view.caller.project.engine().policy();
    let is_in_force = **now.revision() == *revision;
    view.page("Policy", "/policy", html! {
        nav.crumbs { a href="/policy" { "Policy" } span { "/" } }
        div.page-head {
            h1.mono { (widgets::hash(&revision)) }
            div.actions {
                @if is_in_force { span.badge.st-approved { "in force" } }
                @else { a.button.quiet href={ "/policy" (widgets::query(&[("from", &revision), ("to", now.revision())])) "#revisions" } { "Compare with the policy in force" } }
            }
        }
        section.card { h2 { "Summary" } ul.sentences { @for sentence in summary::sentences(&policy) { li { (visible_text(&sentence)) } } } }
        section.card { h2 { "Guardrails" } (entries(&guardrails(&policy, &source).iter().collect::<Vec<_>>())) }
        section.card { details.raw { summary { "Pack files" } (widgets::json(&serde_json::to_value(&source.0).unwrap_or_default())) } }
    })
}

pub(crate) fn shadow(view: &View, (): ()) -> HandlerResult<Markup> {
    let store = view.caller.project.store();
    let head = store.head()?.map_or(0, |head| head.seq);
    // Only the latest records are read, because the log may be long.
    let first = store.entry(head.saturating_sub(SHADOWED).max(1))?;
    let query =
        ShadowQuery { since: first.map(|entry| entry.labels.time), examples: 3, ..ShadowQuery::default() };
    let report = shadow_report(&**store, &query, &mut |_| {})?;
    Ok(render_report(&report, view.caller.project.engine().now()))
}

fn render_report(report: &ShadowReport, now: jiff::Timestamp) -> Markup {
    html! {
        @if report.guardrails.is_empty() {
            (widgets::empty("No guardrail is in shadow mode", html! { p { "Set " code { "mode: shadow" } " for a guardrail or a pack to evaluate and record it without enforcing it. This report then shows what it would have blocked." } }))
        } @else {
            p { (count(report.decisions)) " decisions, " strong { (count(report.stricter)) } " of them would have been stricter." }
            @for one in &report.guardrails {
                div.shadowed {
                    p { a href={ "/guardrails/" (widgets::escape(&one.guardrail)) } { strong { (short_line(&one.guardrail, 60)) } } " evaluated " (count(one.asked)) ", findings " (count(one.objections())) ", would have blocked " strong { (count(one.stopped)) } " in " (widgets::many(one.sessions, "session")) }
                    p { @for (effect, number) in &one.effects { (badge(*effect)) " " (count(*number)) " " } }
                    ul.rows { @for example in &one.examples { li {
                        span.row-main { a href={ "/audit/" (example.seq) } { (short_line(&example.what, 40)) } " " span.muted { (short_line(&example.reason, 160)) } }
                        span.row-side { (widgets::ago(example.time, now)) }
                    } } }
                }
            }
        }
    }
}
