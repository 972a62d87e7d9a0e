//! The figures in the text format of Prometheus, version 0.0.4.

use std::collections::BTreeMap;
use std::fmt::Write;

use midrail::store::{Counts, DURATION_BUCKETS_US, Durations};

use super::{CATEGORIES, Counted, category};

/// The metrics, ready to be scraped.
pub(super) fn text(counted: &Counted, categories: &BTreeMap<String, &'static str>) -> String {
    let mut out = Text(String::new());
    let guardrails = &counted.figures.guardrails;
    out.head(
        "guardrail_invocations_total",
        "counter",
        "How often a guardrail was asked, by what it said with consequences.",
    );
    for (id, figures) in guardrails {
        for (result, count) in results(&figures.enforced) {
            let labels = [("guardrail_id", id.as_str()), ("result", result)];
            out.sample("guardrail_invocations_total", &labels, &count.to_string());
        }
    }
    out.head("guardrail_duration_ms", "histogram", "How long a guardrail took, in milliseconds.");
    for (id, figures) in guardrails {
        out.histogram("guardrail_duration_ms", id, &figures.durations);
    }
    out.head("guardrail_blocks_total", "counter", "How often guardrails of a category blocked.");
    let mut blocks: BTreeMap<&str, u64> =
        CATEGORIES.into_iter().map(|category| (category.word(), 0)).collect();
    for (id, figures) in guardrails.iter().filter(|(_, figures)| figures.enforced.block_count > 0) {
        *blocks.entry(category(id, categories)).or_default() += figures.enforced.block_count;
    }
    for (category, count) in blocks {
        out.sample("guardrail_blocks_total", &[("category", category)], &count.to_string());
    }
    out.head(
        "bypass_requests_total",
        "counter",
        "Requests to lift a guardrail, by what became of them; pending ones have no outcome yet.",
    );
    for ((id, outcome), count) in &counted.bypasses {
        let labels = [("guardrail_id", id.as_str()), ("outcome", outcome.word())];
        out.sample("bypass_requests_total", &labels, &count.to_string());
    }
    out.0
}

fn results(counts: &Counts) -> [(&'static str, u64); 6] {
    [
        ("pass", counts.pass_count),
        ("warn", counts.warn_count),
        ("redact", counts.redact_count),
        ("retry", counts.retry_count),
        ("escalate", counts.escalate_count),
        ("block", counts.block_count),
    ]
}

/// Text in the making. Writing to a string does not fail.
struct Text(String);

impl Text {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: &str) {
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let _ = writeln!(self.0, "{name}{{{}}} {value}", labels.join(","));
    }

    fn histogram(&mut self, name: &str, id: &str, durations: &Durations) {
        let mut sum = 0;
        let bounds = DURATION_BUCKETS_US.iter().map(|bound| millis(*bound)).chain(["+Inf".to_owned()]);
        for (bound, count) in bounds.zip(durations.buckets) {
            sum += count;
            let labels = [("guardrail_id", id), ("le", bound.as_str())];
            self.sample(&format!("{name}_bucket"), &labels, &sum.to_string());
        }
        let label = [("guardrail_id", id)];
        self.sample(&format!("{name}_sum"), &label, &millis(durations.total_us));
        self.sample(&format!("{name}_count"), &label, &durations.count.to_string());
    }
}

/// Microseconds as milliseconds, to the last digit.
fn millis(micros: u64) -> String {
    let text = format!("{}.{:03}", micros / 1_000, micros % 1_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_are_exact_and_short() {
        assert_eq!([0, 10, 1_000, 1_234, 500_000].map(millis), ["0", "0.01", "1", "1.234", "500"]);
    }

    #[test]
    fn labels_cannot_break_out() {
        assert_eq!(escaped("a\"} 1\n\\"), r#"a\"} 1\n\\"#);
    }
}
