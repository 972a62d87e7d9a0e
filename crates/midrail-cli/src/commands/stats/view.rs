//! The figures as a table for people, and as JSON.

use midrail::Effect;
use midrail::admin::Stats;
use midrail::core::duration::micros;
use midrail::guardrails::label;
use midrail::metrics::Bypasses;
use midrail::store::{Durations, GuardrailStats, VerdictCounts};
use serde_json::{Value, json};

use crate::commands::pause;
use crate::error::without_nulls;
use crate::output::{Output, short};
use crate::paint::{Style, effect_style};
use crate::table::{Cell, Table, cell, styled};
use crate::time;

/// The characters of a histogram, from the lowest to the highest.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

type Column = (&'static str, fn(&VerdictCounts) -> u64, Option<Effect>);

/// The columns of counts, and whether they are shown when empty.
const COLUMNS: [(bool, Column); 8] = [
    (true, ("evaluated", |counts| counts.invocation_count, None)),
    (true, ("pass", |counts| counts.pass_count, None)),
    (true, ("warn", |counts| counts.warn_count, Some(Effect::Warn))),
    (false, ("redact", |counts| counts.redact_count, Some(Effect::Redact))),
    (false, ("retry", |counts| counts.retry_count, Some(Effect::Retry))),
    (true, ("escalate", |counts| counts.escalate_count, Some(Effect::Escalate))),
    (true, ("block", |counts| counts.block_count, Some(Effect::Block))),
    (true, ("errors", |counts| counts.error_count, Some(Effect::Block))),
];

/// For people.
pub(super) fn lines(stats: &Stats, output: &Output) -> Vec<String> {
    let paint = output.paint();
    let mut lines = totals(stats, output);
    let table = guardrails(stats);
    if !table.is_empty() {
        lines.push(String::new());
        lines.extend(table.lines(paint, 0, output.width()));
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
    let paint = output.paint();
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
    let decisions = if figures.decisions == 1 { "decision" } else { "decisions" };
    let mut lines = vec![format!("{} {decisions}{since}{colon}{}", figures.decisions, effects.join(", "))];
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
pub(super) fn json(stats: &Stats, bypasses: &Bypasses) -> Value {
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
            let mut row = json!(figures);
            if let Some(fields) = row.as_object_mut() {
                fields.insert("guardrail".to_owned(), json!(id));
                let average = figures.durations.average_us();
                let average =
                    average.map(|micros| std::time::Duration::from_micros(micros).as_secs_f64() * 1e3);
                fields.insert("avg_duration_ms".to_owned(), json!(average));
            }
            without_nulls(row)
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
