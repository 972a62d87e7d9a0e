//! The figures of a store: decisions, open requests, reviews, alerts. They are counted by the store, not from records
//! in memory.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use midrail_core::{Pause, quarantine_key};
use midrail_store::{
    ActionCounts, Alert, ApprovalCount, ApprovalFilter, AuditStats, MAX_PAGE, Result, Store,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::admin::approvals::open_approvals;
use crate::admin::event::NO_SESSION;
use crate::admin::pauses::pauses_at;

/// The most alerts that come with the figures.
const ALERTS: usize = 10;

/// The figures of a project.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Stats {
    /// When they were counted.
    pub now: Timestamp,
    /// The start of the period. Absent: the first record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Decisions by effect, and the verdicts and durations of each guardrail.
    pub figures: AuditStats,
    /// Actions of the last five minutes, hour and day.
    pub windows: Windows,
    /// Requests to people by guardrail, kind and state.
    pub approvals: Vec<ApprovalCount>,
    /// Requests that wait for an answer.
    pub open_approvals: usize,
    /// Reviews that are due after emergencies.
    pub reviews_owed: usize,
    /// The reviews that are overdue.
    pub reviews_overdue: usize,
    /// The latest alerts.
    pub alerts: Vec<Alert>,
    /// Agents in quarantine.
    pub quarantined: usize,
    /// The pauses in force.
    pub paused: Vec<Pause>,
    /// Notices that wait for their webhook or command.
    pub undelivered: usize,
    /// Small counters.
    pub counters: BTreeMap<String, u64>,
}

/// Actions of the last while, and how many of them were blocked.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Windows {
    /// The last five minutes.
    pub five_minutes: ActionCounts,
    /// The last hour.
    pub hour: ActionCounts,
    /// The last day.
    pub day: ActionCounts,
}

impl Stats {
    /// Counts all decisions, or those since a time.
    pub fn load(store: &dyn Store, since: Option<Timestamp>, now: Timestamp) -> Result<Self> {
        let figures = match since {
            Some(since) => store.audit_stats_since(since)?,
            None => store.audit_stats()?,
        };
        let ago = |seconds| now.checked_sub(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MIN);
        let reviews = store.approvals(&ApprovalFilter { needs_review: true, ..ApprovalFilter::default() })?;
        let overdue = reviews.iter().filter_map(|approval| approval.review.as_ref());
        let mut alerts = store.alerts(ALERTS)?;
        alerts.retain(|alert| since.is_none_or(|since| alert.fired_at >= since));
        let mut undelivered = BTreeSet::new();
        for channel in ["webhook", "command"] {
            undelivered.extend(store.pending_deliveries(channel, MAX_PAGE)?.iter().map(|it| it.notice.id));
        }
        Ok(Stats {
            now,
            since,
            figures,
            windows: Windows {
                five_minutes: store.action_counts(ago(300))?,
                hour: store.action_counts(ago(3_600))?,
                day: store.action_counts(ago(86_400))?,
            },
            approvals: store.approval_counts()?,
            open_approvals: open_approvals(store, None, now)?.len(),
            reviews_owed: reviews.len(),
            reviews_overdue: overdue.filter(|review| review.status_at(now) == "overdue").count(),
            alerts,
            quarantined: store.load_prefix(NO_SESSION, &quarantine_key(""))?.len(),
            paused: pauses_at(store, now)?,
            undelivered: undelivered.len(),
            counters: store.counters()?,
        })
    }
}
