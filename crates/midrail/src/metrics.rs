//! Metrics of guardrails in the text format of Prometheus, version 0.0.4.
//!
//! The figures come from the audit log, so that they are right however many processes decide.

use std::collections::BTreeMap;
use std::fmt::Write;

use jiff::Timestamp;
use midrail_core::{ApprovalKind, Category, Policy};
use midrail_guardrails::builtin;
use midrail_store::{
    ApprovalFilter, ApprovalState, Approvals, AuditStats, DURATION_BUCKETS_US, Durations, Result,
    VerdictCounts,
};

/// All categories, in the order of the chain.
const CATEGORIES: [Category; 5] =
    [Category::Safety, Category::Compliance, Category::Budget, Category::Scope, Category::Quality];

/// Requests to lift a guardrail, by guardrail and what became of them.
pub type Bypasses = BTreeMap<(String, &'static str), u64>;

/// Counts requests to lift a guardrail by outcome. The store keeps an unanswered request as pending until it is settled,
/// and an approval that was not used in time as expired.
pub fn bypasses<S: Approvals + ?Sized>(store: &S, now: Timestamp) -> Result<Bypasses> {
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

/// Reviews that are owed after emergencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reviews {
    /// Those that are not overdue yet.
    pub due: u64,
    /// Those that are.
    pub overdue: u64,
}

/// The reviews that are owed at a time.
pub fn reviews<S: Approvals + ?Sized>(store: &S, now: Timestamp) -> Result<Reviews> {
    let mut reviews = Reviews::default();
    let rows = store.approvals(&ApprovalFilter { needs_review: true, ..ApprovalFilter::default() })?;
    for review in rows.iter().filter_map(|approval| approval.review.as_ref()) {
        match review.status_at(now) {
            "overdue" => reviews.overdue += 1,
            _ => reviews.due += 1,
        }
    }
    Ok(reviews)
}

/// The category of each guardrail of a policy, by id.
pub fn categories(policy: &Policy) -> BTreeMap<String, &'static str> {
    let entries = policy.entries().iter();
    entries.map(|entry| (entry.spec.id.to_string(), entry.spec.category.as_str())).collect()
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
pub struct ProjectMetrics<'a> {
    /// Its name. `None`: there is only one project.
    pub project: Option<&'a str>,
    /// The figures of its audit log.
    pub figures: &'a AuditStats,
    /// The outcomes of requests to lift guardrails.
    pub bypasses: &'a Bypasses,
    /// Reviews that are owed after emergencies.
    pub reviews: Reviews,
    /// The category of each guardrail that is in force.
    pub categories: &'a BTreeMap<String, &'static str>,
}

impl ProjectMetrics<'_> {
    /// Labels, after that of the project.
    fn labels<'l>(&'l self, own: &[(&'l str, &'l str)]) -> Vec<(&'l str, &'l str)> {
        self.project.map(|project| ("project", project)).into_iter().chain(own.iter().copied()).collect()
    }
}

/// The metrics of guardrails, ready to be scraped.
pub fn guardrails(projects: &[ProjectMetrics<'_>]) -> String {
    let mut out = MetricsText::default();
    out.head(
        "guardrail_invocations_total",
        "counter",
        "How often a guardrail was asked, by what it said with consequences.",
    );
    for measured in projects {
        for (id, figures) in &measured.figures.guardrails {
            for (result, count) in results(&figures.enforced) {
                let labels = measured.labels(&[("guardrail_id", id), ("result", result)]);
                out.sample("guardrail_invocations_total", &labels, &count.to_string());
            }
        }
    }
    out.head("guardrail_duration_ms", "histogram", "How long a guardrail took, in milliseconds.");
    for measured in projects {
        for (id, figures) in &measured.figures.guardrails {
            out.durations(
                "guardrail_duration_ms",
                &measured.labels(&[("guardrail_id", id)]),
                &figures.durations,
            );
        }
    }
    out.head("guardrail_blocks_total", "counter", "How often guardrails of a category blocked.");
    for measured in projects {
        let mut blocks: BTreeMap<&str, u64> =
            CATEGORIES.into_iter().map(|category| (category.as_str(), 0)).collect();
        let blocked =
            measured.figures.guardrails.iter().filter(|(_, figures)| figures.enforced.block_count > 0);
        for (id, figures) in blocked {
            *blocks.entry(category(id, measured.categories)).or_default() += figures.enforced.block_count;
        }
        for (category, count) in blocks {
            let labels = measured.labels(&[("category", category)]);
            out.sample("guardrail_blocks_total", &labels, &count.to_string());
        }
    }
    out.head(
        "bypass_requests_total",
        "counter",
        "Requests to lift a guardrail, by what became of them; pending ones have no outcome yet.",
    );
    for measured in projects {
        for ((id, outcome), count) in measured.bypasses {
            let labels = measured.labels(&[("guardrail_id", id), ("outcome", outcome)]);
            out.sample("bypass_requests_total", &labels, &count.to_string());
        }
    }
    out.head(
        "emergency_reviews",
        "gauge",
        "Reviews that are owed after emergencies, by whether they are overdue.",
    );
    for measured in projects {
        for (status, count) in [("due", measured.reviews.due), ("overdue", measured.reviews.overdue)] {
            out.sample("emergency_reviews", &measured.labels(&[("status", status)]), &count.to_string());
        }
    }
    out.0
}

fn results(counts: &VerdictCounts) -> [(&'static str, u64); 6] {
    [
        ("pass", counts.pass_count),
        ("warn", counts.warn_count),
        ("redact", counts.redact_count),
        ("retry", counts.retry_count),
        ("escalate", counts.escalate_count),
        ("block", counts.block_count),
    ]
}

/// A text in the format of Prometheus. Writing to a string does not fail.
#[derive(Debug, Default)]
pub struct MetricsText(pub String);

impl MetricsText {
    /// What a metric is.
    pub fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// One figure.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: &str) {
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let _ = if labels.is_empty() {
            writeln!(self.0, "{name} {value}")
        } else {
            writeln!(self.0, "{name}{{{}}} {value}", labels.join(","))
        };
    }

    /// How long something took, as a histogram in milliseconds.
    pub fn durations(&mut self, name: &str, labels: &[(&str, &str)], durations: &Durations) {
        let mut sum = 0;
        let bounds = DURATION_BUCKETS_US.iter().map(|bound| millis(*bound)).chain(["+Inf".to_owned()]);
        for (bound, count) in bounds.zip(durations.buckets) {
            sum += count;
            let labels: Vec<_> = labels.iter().copied().chain([("le", bound.as_str())]).collect();
            self.sample(&format!("{name}_bucket"), &labels, &sum.to_string());
        }
        self.sample(&format!("{name}_sum"), labels, &millis(durations.total_us));
        self.sample(&format!("{name}_count"), labels, &durations.count.to_string());
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
