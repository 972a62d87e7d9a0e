//! The figures that `midrail stats` shows.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use midrail::Store;
use midrail::core::Pause;
use midrail::metrics::{self, Bypasses};
use midrail::store::ApprovalState;
use midrail::store::{Alert, ApprovalFilter, AuditStats, MAX_PAGE};

use crate::clock;
use crate::error::CliError;

/// The most alerts shown.
const ALERTS: usize = 10;

/// All that is shown.
pub(super) struct StatsSummary {
    pub(super) now: Timestamp,
    pub(super) since: Option<Timestamp>,
    pub(super) figures: AuditStats,
    /// Requests to lift a guardrail, by guardrail and outcome.
    pub(super) bypasses: Bypasses,
    /// Requests that wait for an answer.
    pub(super) open: usize,
    /// Reviews that are owed after emergencies.
    pub(super) reviews: usize,
    pub(super) alerts: Vec<Alert>,
    pub(super) quarantined: usize,
    /// The pauses in force.
    pub(super) paused: Vec<Pause>,
    /// Notices that wait for their webhook or command.
    pub(super) undelivered: usize,
    pub(super) counters: BTreeMap<String, u64>,
}

impl StatsSummary {
    pub(super) fn load(store: &dyn Store, since: Option<Timestamp>) -> Result<Self, CliError> {
        let now = clock::now();
        let figures = match since {
            Some(since) => store.audit_stats_since(since)?,
            None => store.audit_stats()?,
        };
        let pending =
            store.approvals(&ApprovalFilter { state: Some(ApprovalState::Pending), ..Default::default() })?;
        let waits = |status: &str| matches!(status, "pending" | "override");
        let reviews = store.approvals(&ApprovalFilter { needs_review: true, ..Default::default() })?;
        let mut alerts = store.alerts(ALERTS)?;
        alerts.retain(|alert| since.is_none_or(|since| alert.fired_at >= since));
        let mut undelivered = BTreeSet::new();
        for channel in ["webhook", "command"] {
            undelivered.extend(store.pending_deliveries(channel, MAX_PAGE)?.iter().map(|it| it.notice.id));
        }
        Ok(StatsSummary {
            now,
            since,
            figures,
            bypasses: metrics::bypasses(store, now)?,
            open: pending.iter().filter(|approval| waits(approval.status_at(now))).count(),
            reviews: reviews.len(),
            alerts,
            quarantined: store.load_prefix("", "shared/quarantine/")?.len(),
            paused: midrail::admin::pauses_at(store, now)?,
            undelivered: undelivered.len(),
            counters: store.counters()?,
        })
    }
}
