//! What the log of a project comes to, for the API and the console. Everything here goes by counts that the store makes,
//! and not by records in memory.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use midrail::core::Pause;
use midrail::store::ApprovalState;
use midrail::store::{ActionCounts, Alert, ApprovalCount, ApprovalFilter, AuditStats, MAX_PAGE};
use midrail::{Effect, Store};
use schemars::JsonSchema;
use serde::Serialize;

use crate::problem::{HandlerResult, Problem};
use crate::project::Project;

/// Alerts that come with the figures.
const ALERTS: usize = 10;

/// Parts that a timeline can have.
pub(crate) const MOST_PARTS: usize = 500;

/// What a project comes to.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Stats {
    /// When it was counted.
    pub(crate) now: Timestamp,
    /// Since when. Absent: from the first record on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<Timestamp>,
    /// Decisions by effect, and what each guardrail said and how long it took.
    pub(crate) figures: AuditStats,
    /// Actions of the last five minutes, hour and day.
    pub(crate) windows: Windows,
    /// Requests to people by guardrail, kind and state.
    pub(crate) approvals: Vec<ApprovalCount>,
    /// Requests that wait for an answer.
    pub(crate) open_approvals: usize,
    /// Reviews that are owed after emergencies.
    pub(crate) reviews_owed: usize,
    /// Those of them that are overdue.
    pub(crate) reviews_overdue: usize,
    /// The latest alerts.
    pub(crate) alerts: Vec<Alert>,
    /// Agents that are kept from further work.
    pub(crate) quarantined: usize,
    /// The pauses in force.
    pub(crate) paused: Vec<Pause>,
    /// Notices that wait for their webhook or command.
    pub(crate) undelivered: usize,
    /// Small counters.
    pub(crate) counters: BTreeMap<String, u64>,
}

/// Actions of the last while, and how many of them were stopped.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Windows {
    /// The last five minutes.
    pub(crate) five_minutes: ActionCounts,
    /// The last hour.
    pub(crate) hour: ActionCounts,
    /// The last day.
    pub(crate) day: ActionCounts,
}

/// What a project comes to, in all or since a time.
pub(crate) fn stats(project: &Project, since: Option<Timestamp>) -> HandlerResult<Stats> {
    let (engine, store) = (project.engine(), project.store());
    let now = engine.now();
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
        open_approvals: open_approvals(&**store, now)?,
        reviews_owed: reviews.len(),
        reviews_overdue: overdue.filter(|review| review.status_at(now) == "overdue").count(),
        alerts,
        quarantined: engine.admin().quarantined()?.len(),
        paused: engine.admin().pauses()?,
        undelivered: undelivered.len(),
        counters: store.counters()?,
    })
}

/// Requests that wait for an answer. One page is counted: there are hardly more.
pub(crate) fn open_approvals(store: &dyn Store, now: Timestamp) -> HandlerResult<usize> {
    let pending = ApprovalFilter { state: Some(ApprovalState::Pending), ..ApprovalFilter::default() };
    let pending = store.approvals(&pending)?;
    Ok(pending.iter().filter(|approval| approval.authority_at(now).is_some()).count())
}

/// Decisions over time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Timeline {
    /// When it begins.
    pub(crate) since: Timestamp,
    /// When it ends.
    pub(crate) until: Timestamp,
    /// Its equal parts, the oldest first.
    pub(crate) buckets: Vec<Bucket>,
}

/// A part of a timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Bucket {
    /// When it begins.
    pub(crate) from: Timestamp,
    /// How many events were decided in it.
    pub(crate) decisions: u64,
    /// The same by effect.
    pub(crate) effects: BTreeMap<Effect, u64>,
}

/// Decisions between two times in so many equal parts, by effect.
pub(crate) fn timeline(
    store: &dyn Store,
    since: Timestamp,
    until: Timestamp,
    parts: usize,
) -> HandlerResult<Timeline> {
    if !(1..=MOST_PARTS).contains(&parts) {
        return Err(Problem::malformed(format!("`buckets` is 1 to {MOST_PARTS}")));
    }
    if until <= since {
        return Err(Problem::malformed("`until` has to be after `since`"));
    }
    let whole = until.as_microsecond().saturating_sub(since.as_microsecond());
    // As the store has it: whole microseconds, rounded up.
    let step =
        whole.saturating_sub(1).checked_div(i64::try_from(parts).unwrap_or(1)).unwrap_or(0).saturating_add(1);
    let from = |part: usize| {
        let offset = step.saturating_mul(i64::try_from(part).unwrap_or(0));
        Timestamp::from_microsecond(since.as_microsecond().saturating_add(offset)).unwrap_or(until)
    };
    let counted = store.timeline(since, until, parts)?;
    let bucket = |(part, effects): (usize, BTreeMap<Effect, u64>)| Bucket {
        from: from(part),
        decisions: effects.values().sum(),
        effects,
    };
    Ok(Timeline { since, until, buckets: counted.into_iter().enumerate().map(bucket).collect() })
}
