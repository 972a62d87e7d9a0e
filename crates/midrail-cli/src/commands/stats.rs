//! `midrail stats`: figures of guardrails.

use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use midrail::Effect;
use midrail::admin::Stats;
use midrail::core::duration::micros;
use midrail::guardrails::label;
use midrail::metrics::{self, ProjectMetrics};
use midrail::store::{Durations, GuardrailStats, VerdictCounts};
use serde_json::{Value, json};

use crate::admin_args;
use crate::clock;
use crate::commands::pause;
use crate::error::{CliResult, count, with_fields, without_nulls};
use crate::exit::Exit;
use crate::input::{PackArgs, StoreArgs};
use crate::output::{Output, short};
use crate::paint::{Style, effect_style};
use crate::table::{Cell, Table, cell, styled};
use crate::time;

/// How often `--watch` refreshes.
const INTERVAL: Duration = Duration::from_secs(1);

/// Show guardrail statistics: evaluations, effects and durations.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Refresh every second until interrupted
    #[arg(long, conflicts_with = "prometheus")]
    watch: bool,
    /// Print metrics in the Prometheus text format
    #[arg(long, conflicts_with_all = ["since", "json"])]
    prometheus: bool,
    /// Only decisions since this time: 2026-11-15T10:00:00Z, 2026-11-15, or a duration ago such as 2h
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    since: Option<Timestamp>,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    packs: PackArgs,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    let store = admin_args::open_for_reading(&args.store)?;
    // Packs that cannot be read are ignored.
    let loaded = args.packs.here().load().ok();
    loop {
        admin_args::settle(&args.store, &*store, clock::now())?;
        let policy = loaded.as_ref().map(|loaded| &loaded.policy);
        let measured = ProjectMetrics::load(&*store, policy, args.since, clock::now())?;
        if args.prometheus {
            output.text(&metrics::guardrails(&[measured]))?;
        } else if output.is_json {
            output.json(&as_json(&measured))?;
        } else {
            if args.watch && output.is_terminal {
                // Clear the screen.
                output.text("\x1b[H\x1b[2J")?;
            }
            output.lines(lines(&measured.stats, output))?;
        }
        if !args.watch {
            return Ok(Exit::Good);
        }
        output.flush()?;
        thread::sleep(INTERVAL);
    }
}

/// The characters of a histogram, from the lowest to the highest.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

type Column = (&'static str, fn(&VerdictCounts) -> u64, Option<Effect>);

/// The columns of counts, and whether they are shown when empty.
const COLUMNS: [(bool, Column); 9] = [
    (true, ("evaluated", |counts| counts.invocation_count, None)),
    (true, ("pass", |counts| counts.pass_count, None)),
    (true, ("warn", |counts| counts.warn_count, Some(Effect::Warn))),
    (false, ("redact", |counts| counts.redact_count, Some(Effect::Redact))),
    (false, ("contain", |counts| counts.contain_count, Some(Effect::Contain))),
    (false, ("retry", |counts| counts.retry_count, Some(Effect::Retry))),
    (true, ("escalate", |counts| counts.escalate_count, Some(Effect::Escalate))),
    (true, ("block", |counts| counts.block_count, Some(Effect::Block))),
    (true, ("errors", |counts| counts.error_count, Some(Effect::Block))),
];

/// For people.
fn lines(stats: &Stats, output: &Output) -> Vec<String> {
    let paint = output.paint;
    let mut lines = totals(stats, output);
    let table = guardrails(stats);
    if !table.is_empty() {
        lines.push(String::new());
        lines.extend(table.lines(paint, 0, output.width));
        lines.push(paint.style(Style::Dim, "took: up to 10 50 100 500 µs, 1 5 10 50 100 500 ms, and more"));
    }
    if !stats.alerts.is_empty() {
        lines.push(String::new());
        lines.push(paint.style(Style::Strong, "alerts"));
        for alert in &stats.alerts {
            let time = paint.style(Style::Dim, time::date_time(alert.fired_at));
            lines.push(format!("  {time}  {}", paint.style(Style::Caution, short(&alert.message, 200))));
        }
    }
    if !stats.counters.is_empty() {
        lines.push(String::new());
        lines.push(paint.style(Style::Strong, "counters"));
        for (name, count) in &stats.counters {
            lines.push(format!("  {:<24}  {count}", short(&name.replace('_', " "), 60)));
        }
    }
    lines
}

/// Decisions by effect, and open requests.
fn totals(stats: &Stats, output: &Output) -> Vec<String> {
    let paint = output.paint;
    let figures = &stats.figures;
    let effects: Vec<String> = figures
        .effects
        .iter()
        .map(|(effect, count)| paint.style(effect_style(*effect), format!("{count} {effect}")))
        .collect();
    let since = stats.since.map(|since| format!(" since {}", time::date_time(since))).unwrap_or_default();
    let of = |noun: &str, number: usize| (number > 0).then(|| format!("{noun} {number}"));
    let waiting: Vec<String> = [
        of("open approvals", stats.open_approvals),
        of("reviews due", stats.reviews_owed),
        of("quarantined agents", stats.quarantined),
        of("notices to deliver", stats.undelivered),
        of("unreadable records", usize::try_from(figures.unreadable).unwrap_or(usize::MAX)),
    ]
    .into_iter()
    .flatten()
    .collect();
    let colon = if effects.is_empty() { "" } else { ": " };
    let decisions = count(figures.decisions, "decision");
    let mut lines = vec![format!("{decisions}{since}{colon}{}", effects.join(", "))];
    if !waiting.is_empty() {
        lines.push(paint.style(Style::Caution, waiting.join(", ")));
    }
    lines.extend(stats.paused.iter().map(|paused| pause::line(paused, stats.now, output)));
    lines
}

fn guardrails(stats: &Stats) -> Table {
    let all = || stats.figures.guardrails.iter();
    let is_used =
        |column: &Column| all().any(|(_, it)| (column.1)(&it.enforced) + (column.1)(&it.shadow) > 0);
    let columns: Vec<Column> = COLUMNS
        .into_iter()
        .filter(|(is_usual, column)| *is_usual || is_used(column))
        .map(|(_, column)| column)
        .collect();
    let counts = columns.iter().map(|(head, ..)| *head);
    let last = ["average", "took", "last triggered"];
    let heads = ["guardrail"].into_iter().chain(counts).chain(last).collect();
    let mut rows = Vec::new();
    for (id, figures) in all() {
        let GuardrailStats { enforced, shadow, durations, last_triggered } = figures;
        if !enforced.is_empty() || shadow.is_empty() {
            let last = last_triggered.map(time::date_time).unwrap_or_default();
            rows.push(row(short(&label(id), 60).into_owned(), enforced, &columns, durations, last));
        }
        if !shadow.is_empty() {
            let name = format!("{} (shadow)", short(&label(id), 60));
            let own = if enforced.is_empty() { *durations } else { Durations::default() };
            rows.push(row(name, shadow, &columns, &own, String::new()));
        }
    }
    Table { heads, rows }
}

fn row(
    name: String,
    counts: &VerdictCounts,
    columns: &[Column],
    durations: &Durations,
    last: String,
) -> Vec<Cell> {
    let mut row = vec![cell(name)];
    for (_, count, effect) in columns {
        let count = count(counts);
        row.push(match effect {
            Some(effect) if count > 0 => styled(count.to_string(), effect_style(*effect)),
            _ => cell(count.to_string()),
        });
    }
    row.push(cell(durations.average_us().map(micros).unwrap_or_default()));
    row.push(cell(bars(durations)));
    row.push(styled(last, Style::Dim));
    row
}

/// A histogram of durations, one character per bucket.
fn bars(durations: &Durations) -> String {
    let most = durations.buckets.iter().copied().max().unwrap_or(0);
    if most == 0 {
        return String::new();
    }
    let bar = |count: &u64| {
        // A count above zero is always visible.
        let height = count.saturating_mul(7).div_ceil(most);
        let height = usize::try_from(height).unwrap_or(7);
        BARS.get(height).copied().unwrap_or('█')
    };
    durations.buckets.iter().map(bar).collect()
}

/// For programs.
fn as_json(ProjectMetrics { stats, bypasses, .. }: &ProjectMetrics) -> Value {
    let figures = &stats.figures;
    let bypasses: Vec<Value> = bypasses
        .iter()
        .map(|((guardrail, outcome), count)| {
            json!({"guardrail": guardrail, "outcome": outcome, "count": count})
        })
        .collect();
    let guardrails: Vec<Value> = figures
        .guardrails
        .iter()
        .map(|(id, figures)| {
            let average = figures.durations.average_us();
            let average = average.map(|micros| Duration::from_micros(micros).as_secs_f64() * 1e3);
            without_nulls(with_fields(figures, json!({"guardrail": id, "avg_duration_ms": average})))
        })
        .collect();
    without_nulls(json!({
        "time": stats.now, "since": stats.since, "through_seq": figures.seq, "decisions": figures.decisions,
        "effects": figures.effects, "would": figures.would, "unreadable": figures.unreadable,
        "guardrails": guardrails, "bypass_requests": bypasses, "open_approvals": stats.open_approvals,
        "reviews_owed": stats.reviews_owed, "quarantined": stats.quarantined, "undelivered": stats.undelivered,
        "paused": (!stats.paused.is_empty()).then_some(&stats.paused), "alerts": stats.alerts, "counters": stats.counters,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_show_every_count() {
        let mut durations = Durations::default();
        assert_eq!(bars(&durations), "");
        durations.buckets = [700, 1, 350, 0, 0, 0, 0, 0, 0, 0, u64::MAX / 8];
        assert_eq!(bars(&durations), "▂▂▂▁▁▁▁▁▁▁█");
        durations.buckets = [700, 1, 350, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(bars(&durations), "█▂▅▁▁▁▁▁▁▁▁");
    }
}
