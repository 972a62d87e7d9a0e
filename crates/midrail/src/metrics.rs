//! Metrics of guardrails in the text format of Prometheus, version 0.0.4.
//!
//! The figures come from the audit log, so that they are right however many processes decide.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};

use jiff::Timestamp;
use midrail_core::{ApprovalKind, Category, Policy};
use midrail_guardrails::builtin;
use midrail_store::{
    ApprovalFilter, ApprovalState, DURATION_BUCKETS_US, Durations, Result, Store, VerdictCounts,
};

use crate::admin::Stats;

/// All categories, in the order of the chain.
pub const CATEGORIES: [Category; 5] =
    [Category::Safety, Category::Compliance, Category::Budget, Category::Scope, Category::Quality];

/// Requests to lift a guardrail, by guardrail and what became of them.
pub type Bypasses = BTreeMap<(String, &'static str), u64>;

/// Counts requests to lift a guardrail by outcome. The store keeps an unanswered request as pending until it is settled,
/// and an approval that was not used in time as expired.
fn bypasses(store: &dyn Store, now: Timestamp) -> Result<Bypasses> {
    let mut counts = Bypasses::new();
    for row in store.approval_counts()?.into_iter().filter(|row| row.kind == ApprovalKind::Bypass) {
        let outcome = match row.state {
            ApprovalState::Pending => "pending",
            ApprovalState::Approved | ApprovalState::Used => "approved",
            ApprovalState::Denied => "denied",
            ApprovalState::Expired => "timed_out",
        };
        *counts.entry((row.guardrail, outcome)).or_default() += row.count;
    }
    let mut moved = |guardrail: &str, from: &'static str, to: &'static str| {
        if let Some(count) = counts.get_mut(&(guardrail.to_owned(), from))
            && *count > 0
        {
            *count -= 1;
            *counts.entry((guardrail.to_owned(), to)).or_default() += 1;
        }
    };
    let of_state = |state| {
        let kind = Some(ApprovalKind::Bypass);
        store.approvals(&ApprovalFilter { kind, state: Some(state), ..ApprovalFilter::default() })
    };
    for approval in of_state(ApprovalState::Pending)? {
        if approval.status_at(now) == "timed out" {
            moved(&approval.guardrail, "pending", "timed_out");
        }
    }
    for approval in of_state(ApprovalState::Expired)?.iter().filter(|it| it.decided_by.is_some()) {
        moved(&approval.guardrail, "timed_out", "approved");
    }
    counts.retain(|_, count| *count > 0);
    Ok(counts)
}

/// The category of a guardrail: from the packs, the catalogue, or its name.
fn category(id: &str, known: &BTreeMap<String, &'static str>) -> &'static str {
    let by_name = || {
        let word = id.strip_prefix("custom-")?.split('-').next()?;
        CATEGORIES.into_iter().map(Category::as_str).find(|name| *name == word)
    };
    let by_catalogue = || builtin(id).map(|page| page.category.as_str());
    known.get(id).copied().or_else(by_catalogue).or_else(by_name).unwrap_or("unknown")
}

/// The figures of one project.
pub struct ProjectMetrics {
    /// Its name. `None`: there is only one project.
    pub project: Option<String>,
    /// Its decisions, requests and reviews.
    pub stats: Stats,
    /// The outcomes of requests to lift guardrails.
    pub bypasses: Bypasses,
    /// The category of each guardrail that is in force, by id.
    categories: BTreeMap<String, &'static str>,
}

impl ProjectMetrics {
    /// Counts all decisions of a store, or those since a time. The policy in force has the categories.
    pub fn load(
        store: &dyn Store,
        policy: Option<&Policy>,
        since: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<Self> {
        let entries = policy.into_iter().flat_map(Policy::entries);
        Ok(ProjectMetrics {
            project: None,
            stats: Stats::load(store, since, now)?,
            bypasses: bypasses(store, now)?,
            categories: entries
                .map(|entry| (entry.spec.id.to_string(), entry.spec.category.as_str()))
                .collect(),
        })
    }

    /// Labels, after that of the project.
    pub fn labels<'l>(&'l self, own: &[(&'l str, &'l str)]) -> Labels<'l> {
        let project = self.project.as_deref().map(|project| ("project", project));
        project.into_iter().chain(own.iter().copied()).collect()
    }

    /// How often guardrails of each category blocked.
    fn blocks(&self) -> BTreeMap<&'static str, u64> {
        let mut blocks: BTreeMap<_, _> = CATEGORIES.map(|category| (category.as_str(), 0)).into();
        for (id, figures) in &self.stats.figures.guardrails {
            if figures.enforced.block_count > 0 {
                *blocks.entry(category(id, &self.categories)).or_default() += figures.enforced.block_count;
            }
        }
        blocks
    }
}

/// The metrics of guardrails, ready to be scraped.
pub fn guardrails(projects: &[ProjectMetrics]) -> String {
    let mut out = MetricsText::default();
    let all = || {
        projects.iter().flat_map(|measured| {
            measured.stats.figures.guardrails.iter().map(move |(id, figures)| (measured, id, figures))
        })
    };
    let invocations = all().flat_map(|(measured, id, figures)| {
        results(&figures.enforced)
            .map(|(result, count)| (measured.labels(&[("guardrail_id", id), ("result", result)]), count))
    });
    out.family(
        "guardrail_invocations_total",
        "counter",
        "How often a guardrail was asked, by what it said with consequences.",
        invocations,
    );
    out.head("guardrail_duration_ms", "histogram", "How long a guardrail took, in milliseconds.");
    for (measured, id, figures) in all() {
        out.durations("guardrail_duration_ms", &measured.labels(&[("guardrail_id", id)]), &figures.durations);
    }
    let blocks = projects.iter().flat_map(|measured| {
        let labelled = |(category, count)| (measured.labels(&[("category", category)]), count);
        measured.blocks().into_iter().map(labelled)
    });
    out.family("guardrail_blocks_total", "counter", "How often guardrails of a category blocked.", blocks);
    let bypasses = projects.iter().flat_map(|measured| {
        measured.bypasses.iter().map(|((id, outcome), count)| {
            (measured.labels(&[("guardrail_id", id), ("outcome", outcome)]), count)
        })
    });
    out.family(
        "bypass_requests_total",
        "counter",
        "Requests to lift a guardrail, by what became of them; pending ones have no outcome yet.",
        bypasses,
    );
    let reviews = projects.iter().flat_map(|measured| {
        let Stats { reviews_owed, reviews_overdue, .. } = measured.stats;
        [("due", reviews_owed - reviews_overdue), ("overdue", reviews_overdue)]
            .map(|(status, count)| (measured.labels(&[("status", status)]), count))
    });
    out.family(
        "emergency_reviews",
        "gauge",
        "Reviews that are owed after emergencies, by whether they are overdue.",
        reviews,
    );
    out.0
}

fn results(counts: &VerdictCounts) -> [(&'static str, u64); 7] {
    [
        ("pass", counts.pass_count),
        ("warn", counts.warn_count),
        ("redact", counts.redact_count),
        ("contain", counts.contain_count),
        ("retry", counts.retry_count),
        ("escalate", counts.escalate_count),
        ("block", counts.block_count),
    ]
}

/// The labels of a figure, with their values.
pub type Labels<'l> = Vec<(&'l str, &'l str)>;

/// A text in the format of Prometheus. Writing to a string does not fail.
#[derive(Debug, Default)]
pub struct MetricsText(pub String);

impl MetricsText {
    /// What a metric is.
    pub fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// A metric with its figures.
    pub fn family<'l, V: Display>(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Labels<'l>, V)>,
    ) {
        self.head(name, kind, help);
        for (labels, value) in samples {
            self.sample(name, &labels, value);
        }
    }

    /// One figure.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let _ = if labels.is_empty() {
            writeln!(self.0, "{name} {value}")
        } else {
            writeln!(self.0, "{name}{{{}}} {value}", labels.join(","))
        };
    }

    /// How long something took, as a histogram in milliseconds.
    fn durations(&mut self, name: &str, labels: &[(&str, &str)], durations: &Durations) {
        let bounds = DURATION_BUCKETS_US.map(millis);
        let bounds = bounds.iter().map(String::as_str);
        self.histogram(name, labels, bounds, &durations.buckets, &millis(durations.total_us));
    }

    /// A histogram. The last bucket has no bound.
    pub fn histogram<'b>(
        &mut self,
        name: &str,
        labels: &[(&str, &str)],
        bounds: impl Iterator<Item = &'b str>,
        buckets: &[u64],
        total: &str,
    ) {
        let mut sum = 0;
        for (bound, count) in bounds.chain(["+Inf"]).zip(buckets) {
            sum += count;
            let labels: Vec<_> = labels.iter().copied().chain([("le", bound)]).collect();
            self.sample(&format!("{name}_bucket"), &labels, sum);
        }
        self.sample(&format!("{name}_sum"), labels, total);
        self.sample(&format!("{name}_count"), labels, sum);
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
