//! The overview: decisions, open requests, alerts and health.

use jiff::Timestamp;
use maud::{Markup, html};
use midrail::Mode;
use midrail::admin::open_approvals;
use midrail::store::{Alert, Approval, ApprovalFilter, AuditStats};
use serde::Deserialize;

use super::charts;
use super::layout::View;
use super::stats::{self, RANGES, Range};
use super::unasked;
use super::widgets::{self, compact, count, micros, percent, short_line};
use crate::api::input::Query;
use crate::problem::HandlerResult;
use crate::timeline::Timeline;

/// Guardrails in a list of the busiest.
const MOST: usize = 6;

/// Alerts that are looked at.
const ALERTS: usize = 50;

#[derive(Deserialize, schemars::JsonSchema)]
pub(crate) struct PageQuery {
    range: Option<String>,
}

pub(crate) fn page(view: &View, Query(query): Query<PageQuery>) -> HandlerResult<Markup> {
    let range = stats::range(query.range.as_deref());
    let content = content(view, range)?;
    view.page("Overview", "/", html! {
        div.page-head {
            h1 { "Overview" }
            div.tabs role="group" aria-label="Time" {
                @for other in RANGES {
                    a href={ "/?range=" (other.word) } aria-current=[(other == range).then_some("true")] { (other.name) }
                }
            }
        }
        div #overview hx-get={ "/overview?range=" (range.word) } hx-trigger="refresh" hx-swap="innerHTML" { (content) }
    })
}

pub(crate) fn part(view: &View, Query(query): Query<PageQuery>) -> HandlerResult<Markup> {
    content(view, stats::range(query.range.as_deref()))
}

fn content(view: &View, range: Range) -> HandlerResult<Markup> {
    let (project, now) = (&view.caller.project, view.now);
    let store = project.store();
    let timeline = stats::timeline(project, range)?;
    let window = store.action_counts(timeline.since)?;
    let (log, behind) = stats::log_figures(project)?;
    let mut waiting = open_approvals(&**store, None, now)?;
    waiting.reverse();
    let owed = store.approvals(&ApprovalFilter {
        needs_review: true,
        limit: Some(100),
        ..ApprovalFilter::default()
    })?;
    let alerts: Vec<Alert> =
        store.alerts(ALERTS)?.into_iter().filter(|alert| alert.fired_at >= timeline.since).collect();
    let decisions: u64 = timeline.buckets.iter().map(|bucket| bucket.decisions).sum();
    let is_new = log.seq == 0;
    Ok(html! {
        (super::policy::drift_notice(project))
        @if is_new { (first_steps()) }
        div.tiles {
            (tile("Decisions", &compact(decisions), html! { "in " (range.name) }, None))
            (tile("Block rate", &percent(window.blocked, window.decisions), html! {
                (charts::meter(window.blocked, window.decisions, "fill-block"))
                (count(window.blocked)) " of " (count(window.decisions)) " actions blocked"
            }, Some("/audit?effect=block")))
            (tile("Waiting for a person", &count(widgets::whole(waiting.len())), html! {
                @match waiting.first() {
                    Some(first) => { "oldest " (widgets::ago(first.created, now)) },
                    None => { "no open requests" },
                }
            }, Some("/approvals")))
            (tile("Alerts", &count(widgets::whole(alerts.len())), html! { "in " (range.name) }, None))
        }
        (chart(&timeline, range))
        div.columns {
            div { (approvals(&waiting, &owed, now)) (slowest(&log)) (health(view, &log)?) }
            div { (alert_list(&alerts, range, now)) (unasked::card(&**store, timeline.since)?) (busiest(&log, behind)) }
        }
    })
}

fn first_steps() -> Markup {
    html! {
        section.card.first {
            h2 { "No decisions yet" }
            p { "Send a first event, or install hooks into a coding agent:" }
            pre.code { code {
                "curl -s -H 'Content-Type: application/json' \\\n  -d '{\"kind\":\"before_tool\",\"session\":\"s-1\",\"tool\":{\"name\":\"Bash\",\"args\":{\"command\":\"rm -rf ~\"}}}' \\\n  http://127.0.0.1:7420/v1/decide\n\nmidrail init        # install hooks into the coding agents on this machine"
            } }
            p.muted { "Decisions of every process that uses this project's store appear here immediately." }
        }
    }
}

fn tile(name: &str, value: &str, about: Markup, to: Option<&str>) -> Markup {
    let inner = html! { span.tile-name { (name) } span.tile-value { (value) } span.tile-about { (about) } };
    match to {
        Some(to) => html! { a.tile.card href=(to) { (inner) } },
        None => html! { div.tile.card { (inner) } },
    }
}

fn chart(timeline: &Timeline, range: Range) -> Markup {
    html! {
        section.card {
            div.card-head { h2 { "Decisions over time" } span.muted { "last " (range.name) ", by effect" } }
            @let sums = timeline.sums();
            @if sums.is_empty() {
                (widgets::empty("No decisions in this period", html! { p { "Choose a longer period. The page updates itself." } }))
            } @else {
                (charts::stacked(timeline))
                (charts::legend(&sums))
            }
        }
    }
}

fn approvals(waiting: &[Approval], owed: &[Approval], now: Timestamp) -> Markup {
    let overdue: Vec<&Approval> = owed
        .iter()
        .filter(|approval| approval.review.as_ref().is_some_and(|review| review.status_at(now) == "overdue"))
        .collect();
    html! {
        section.card {
            div.card-head { h2 { "Open approvals" } a href="/approvals" { "All" } }
            @if !overdue.is_empty() {
                a.notice.bad href="/approvals" { (widgets::many(widgets::whole(overdue.len()), "emergency review")) " overdue" }
            }
            @if waiting.is_empty() {
                p.muted { "No requests are waiting." }
            } @else {
                ul.rows {
                    @for approval in waiting.iter().take(5) {
                        li data-item data-href={ "/approvals/" (widgets::escape(&approval.id)) } {
                            a.row-main href={ "/approvals/" (widgets::escape(&approval.id)) } {
                                strong { (short_line(approval.subject(), 40)) } " "
                                span.mono { (short_line(&super::approvals::arguments(approval), 70)) }
                            }
                            span.row-side { @if let Some(end) = approval.deadline() { (widgets::countdown(end, now)) } }
                        }
                    }
                }
            }
        }
    }
}

fn alert_list(alerts: &[Alert], range: Range, now: Timestamp) -> Markup {
    html! {
        section.card {
            div.card-head { h2 { "Alerts" } span.muted { "last " (range.name) } }
            @if alerts.is_empty() {
                p.muted { "No alert was raised." }
            } @else {
                ul.rows {
                    @for alert in alerts.iter().take(6) {
                        li {
                            span.row-main { strong { (short_line(&alert.name.replace('_', " "), 40)) } " " span.muted { (short_line(alert.message.trim_start_matches(&alert.name).trim_start_matches(':'), 160)) } }
                            span.row-side { (widgets::ago(alert.fired_at, now)) }
                        }
                    }
                }
            }
        }
    }
}

/// A guardrail with its bar, and the text next to it.
struct Bar<'l> {
    id: &'l str,
    value: u64,
    title: String,
    text: Markup,
}

/// The guardrails with the highest values as bars.
fn bars(title: &str, about: &str, empty: &str, class: &str, mut bars: Vec<Bar<'_>>) -> Markup {
    bars.sort_by_key(|bar| std::cmp::Reverse(bar.value));
    let most = bars.first().map_or(0, |bar| bar.value);
    html! {
        section.card {
            div.card-head { h2 { (title) } span.muted { (about) ", all time" } }
            @if bars.is_empty() { p.muted { (empty) } }
            ul.bars {
                @for bar in bars.iter().take(MOST) {
                    li {
                        a.bars-name href={ "/guardrails/" (widgets::escape(bar.id)) } title=(midrail::guardrails::label(bar.id)) { (short_line(&midrail::guardrails::label(bar.id), 40)) }
                        (charts::meter(bar.value, most, class))
                        span.num title=(bar.title) { (bar.text) }
                    }
                }
            }
        }
    }
}

fn busiest(log: &AuditStats, behind: u64) -> Markup {
    let counts = log.guardrails.iter().map(|(id, figures)| (id, &figures.enforced));
    let rows = counts.filter(|(_, counts)| counts.invocation_count > 0).map(|(id, counts)| {
        let (all, findings) = (counts.invocation_count, counts.invocation_count - counts.pass_count);
        let title = format!("{} findings, evaluated {} times", count(findings), count(all));
        let text = html! { b { (compact(findings)) } span.muted { " / " (compact(all)) } };
        Bar { id, value: findings, title, text }
    });
    html! {
        (bars("Busiest guardrails", "findings", "No guardrail was evaluated yet.", "fill-block", rows.collect()))
        @if behind > 0 { p.notice { (count(behind)) " records are still being counted." } }
    }
}

fn slowest(log: &AuditStats) -> Markup {
    let rows = log.guardrails.iter().filter_map(|(id, figures)| {
        let average = figures.durations.average_us()?;
        let title = format!("longest {}", micros(figures.durations.max_us));
        Some(Bar { id, value: average, title, text: html! { (micros(average)) } })
    });
    bars("Slowest guardrails", "average", "No measurements yet.", "fill-accent", rows.collect())
}

fn health(view: &View, log: &AuditStats) -> HandlerResult<Markup> {
    let (project, now) = (&view.caller.project, view.now);
    let policy = project.engine().policy();
    let reloads = project.reloads();
    let head = project.store().head()?;
    let checkpoint = project.store().last_checkpoint()?;
    let up = i64::try_from(view.app.started.elapsed().as_secs()).unwrap_or(i64::MAX);
    Ok(html! {
        section.card {
            div.card-head { h2 { "Health" } span.muted { "version " (env!("CARGO_PKG_VERSION")) ", up " (widgets::span(jiff::SignedDuration::from_secs(up))) } }
            div.health {
                div {
                    span.dot.good {} strong { "Store" }
                    p {
                        @match &head {
                            Some(head) => { (count(head.seq)) " records, head " (widgets::hash(&head.hash)) },
                            None => { "empty and reachable" },
                        }
                    }
                    @if log.unreadable > 0 { p.error { (count(log.unreadable)) " records cannot be read: verify the log" } }
                }
                div {
                    span.dot.good {} strong { "Signed" }
                    p {
                        @match &checkpoint {
                            Some(checkpoint) => { "up to record " (count(checkpoint.seq)) ", " (widgets::ago_of(&checkpoint.time, now)) },
                            None => { "no checkpoint yet" },
                        }
                    }
                }
                div {
                    span class={ "dot " (if reloads.last_error.is_some() { "bad" } else { "good" }) } {} strong { "Policy" }
                    p {
                        (widgets::hash(policy.revision())) ", " (widgets::many(widgets::whole(policy.entries().len()), "guardrail"))
                        @if policy.mode() == Mode::Shadow { " " span.badge.shadow { "shadow" } }
                    }
                    @match &reloads.last_error {
                        Some(error) => { p.error { "its packs cannot be used: " (short_line(error, 200)) } },
                        None => { p.muted { (widgets::many(reloads.applied, "reload")) ", " (reloads.refused) " refused" } },
                    }
                }
            }
        }
    })
}
