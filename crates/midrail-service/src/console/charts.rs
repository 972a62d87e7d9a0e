//! Charts as SVG, with classes for the colours of the style sheet.

use std::collections::BTreeMap;

use maud::{Markup, html};
use midrail::Effect;
use midrail::store::Durations;

use super::widgets::{compact, count, exact, float, micros, whole};
use crate::timeline::{Bucket, Timeline};

/// Width and height of the drawing. It is stretched to its place.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 200.0;

/// Decisions over time, stacked by effect.
pub(crate) fn stacked(Timeline { since, until, buckets }: &Timeline) -> Markup {
    let top = nice(buckets.iter().map(|bucket| bucket.decisions).max().unwrap_or(0));
    let step = WIDTH / float(whole(buckets.len()).max(1));
    let (since, until) = (*since, *until);
    let clock = if until.duration_since(since).as_hours() > 48 { "%a %d %H:%M" } else { "%H:%M" };
    let ticks = [0_i32, 1, 2, 3, 4].map(|quarter| {
        let at = since.checked_add(until.duration_since(since) / 4 * quarter).unwrap_or(since);
        at.strftime(clock).to_string()
    });
    html! {
        figure.chart {
            div.chart-y aria-hidden="true" { @for share in [top, top / 2, 0] { span { (compact(share)) } } }
            svg.plot viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" role="img" aria-label="Decisions over time, by effect" {
                @for y in [1.0, HEIGHT / 2.0, HEIGHT - 0.5] { line.grid x1="0" x2=(WIDTH) y1=(y) y2=(y) {} }
                @for (at, bucket) in (0_u32..).zip(buckets) {
                    g.bar {
                        title { (title(bucket)) }
                        rect.hit x=(round(f64::from(at) * step)) y="0" width=(round(step)) height=(HEIGHT) {}
                        @for (effect, y, height) in segments(&bucket.effects, top) {
                            rect class={ "fill-" (effect.as_str()) } x=(round(f64::from(at) * step + step * 0.1))
                                y=(round(y)) width=(round(step * 0.8)) height=(round(height)) {}
                        }
                    }
                }
            }
            div.chart-x aria-hidden="true" { @for tick in ticks { span { (tick) } } }
        }
    }
}

/// The legend: each effect with its count.
pub(crate) fn legend(sums: &BTreeMap<Effect, u64>) -> Markup {
    html! {
        ul.legend {
            @for effect in Effect::LADDER {
                @let number = sums.get(&effect).copied().unwrap_or(0);
                li.zero[number == 0] { span class={ "key fill-" (effect.as_str()) } {} (effect.as_str()) " " b { (count(number)) } }
            }
        }
    }
}

/// A bar that shows a share.
pub(crate) fn meter(part: u64, all: u64, class: &str) -> Markup {
    let width = if all == 0 { 0.0 } else { 100.0 * float(part) / float(all) };
    let width = if part > 0 { width.max(1.5) } else { width };
    html! {
        svg.meter viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
            rect.track width="100" height="8" rx="0" {}
            rect class=(class) width=(round(width)) height="8" {}
        }
    }
}

/// A share of all effects, as one bar.
pub(crate) fn spectrum(sums: &BTreeMap<Effect, u64>) -> Markup {
    let all: u64 = sums.values().sum();
    let mut at = 0.0;
    let mut parts = Vec::new();
    for effect in Effect::LADDER {
        let share = 100.0 * float(sums.get(&effect).copied().unwrap_or(0)) / float(all.max(1));
        parts.push((effect, at, share));
        at += share;
    }
    html! {
        svg.meter.spectrum viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
            rect.track width="100" height="8" {}
            @for (effect, x, share) in parts {
                @if share > 0.0 { rect class={ "fill-" (effect.as_str()) } x=(round(x)) width=(round(share)) height="8" {} }
            }
        }
    }
}

/// How long something took, as a histogram.
pub(crate) fn histogram(durations: &Durations) -> Markup {
    let bounds = midrail::store::DURATION_BUCKETS_US;
    let labels = bounds
        .iter()
        .map(|bound| format!("≤ {}", micros(*bound)))
        .chain([format!("> {}", micros(bounds.last().copied().unwrap_or(0)))]);
    let top = durations.buckets.iter().copied().max().unwrap_or(0).max(1);
    html! {
        ul.histogram {
            @for (label, number) in labels.zip(durations.buckets) {
                li.zero[number == 0] {
                    span.histogram-label { (label) }
                    (meter(number, top, "fill-accent"))
                    span.num { (count(number)) }
                }
            }
        }
    }
}

fn title(Bucket { from, decisions, effects }: &Bucket) -> String {
    let counts: Vec<String> = effects.iter().map(|(effect, number)| format!("{effect} {number}")).collect();
    match counts.as_slice() {
        [] => format!("{}\nnothing", exact(*from)),
        counts => format!("{}\n{decisions} decisions: {}", exact(*from), counts.join(", ")),
    }
}

/// The pieces of one bar from the bottom up: effect, upper edge and height.
fn segments(part: &BTreeMap<Effect, u64>, top: u64) -> Vec<(Effect, f64, f64)> {
    let mut y = HEIGHT;
    let mut found = Vec::new();
    for (effect, number) in part {
        // A count above zero is always visible.
        let height = (HEIGHT * float(*number) / float(top.max(1))).max(if *number > 0 { 2.0 } else { 0.0 });
        y -= height;
        found.push((*effect, y.max(0.0), height));
    }
    found
}

/// The next round number for the end of an axis.
fn nice(number: u64) -> u64 {
    let mut unit = 1_u64;
    loop {
        for step in [2, 4, 6, 10] {
            let end = unit.saturating_mul(step);
            if end >= number || end == u64::MAX {
                return end;
            }
        }
        unit = unit.saturating_mul(10);
    }
}

fn round(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers() {
        let ends: Vec<u64> = [0, 1, 3, 5, 7, 11, 99, 100, 101, 2_500].map(nice).into();
        assert_eq!(ends, [2, 2, 4, 6, 10, 20, 100, 100, 200, 4_000]);
        assert_eq!(nice(u64::MAX), u64::MAX);
    }

    #[test]
    fn bars_fill_the_chart() {
        let part = BTreeMap::from([(Effect::Allow, 60), (Effect::Block, 40)]);
        let [(Effect::Allow, low, tall), (Effect::Block, high, short)] = segments(&part, 100)[..] else {
            panic!()
        };
        assert_eq!((low, tall, high, short), (80.0, 120.0, 0.0, 80.0));
        let since = jiff::Timestamp::UNIX_EPOCH;
        let until = since + jiff::SignedDuration::from_hours(1);
        let buckets = vec![Bucket { from: since, decisions: 100, effects: part }];
        let drawn = stacked(&Timeline { since, until, buckets }).into_string();
        assert!(drawn.contains("fill-block") && drawn.contains("100 decisions"), "{drawn}");
        assert!(!drawn.contains("style="), "{drawn}");
    }
}
