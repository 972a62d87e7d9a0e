//! Deadlines of approvals: an urgent request moves on to the next authority, and one that is not answered or not used
//! expires. The first process that notices records it. A caller that waits polls the store, because any process may
//! write the answer.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use midrail_core::{Decision, Effect, Event, EventKind};
use midrail_store::{
    Approval, ApprovalChange, ApprovalFilter, ApprovalState, Approvals as ApprovalTable, Commit,
    DueTransition, NewNotice, Slices, StoreError,
};
use serde_json::json;

use super::handle::Approvals;
use super::overdue_reviews::overdue;
use super::request::request_notice;
use crate::admin::event::{AdminEvent, notice};
use crate::error::EngineError;

/// The most deadlines of one approval that are recorded at a time.
const MAX_STEPS: usize = 256;

/// The approvals of all sessions with a deadline or an overdue review that is not recorded yet.
pub fn due_approvals<S: ApprovalTable + Slices + ?Sized>(
    store: &S,
    now: Timestamp,
) -> Result<Vec<Approval>, StoreError> {
    let mut due = due_in_state(store, ApprovalState::Pending, None, now)?;
    due.extend(due_in_state(store, ApprovalState::Approved, None, now)?);
    due.extend(overdue(store, now)?);
    Ok(due)
}

fn due_in_state<S: ApprovalTable + ?Sized>(
    store: &S,
    state: ApprovalState,
    session: Option<&str>,
    now: Timestamp,
) -> Result<Vec<Approval>, StoreError> {
    let session = session.map(str::to_owned);
    let mut rows =
        store.approvals(&ApprovalFilter { state: Some(state), session, ..ApprovalFilter::default() })?;
    rows.retain(|approval| approval.due_transition(now).is_some());
    Ok(rows)
}

impl Approvals<'_> {
    /// Records all deadlines that have passed and all reviews that are overdue. Of several processes that try, one
    /// succeeds. Returns how many there were.
    pub fn settle_all(&self) -> Result<usize, EngineError> {
        self.settle_pending(None)
    }

    /// Records the deadlines of one session or of all, and overdue reviews. Every decision does this first.
    pub(crate) fn settle_pending(&self, session: Option<&str>) -> Result<usize, EngineError> {
        let store = &**self.engine.store();
        let due = due_in_state(store, ApprovalState::Pending, session, self.engine.now())?;
        let count = due.len();
        for approval in due {
            self.settled(approval)?;
        }
        Ok(count + self.settle_reviews(session.is_none())?)
    }

    /// Records the deadlines of one approval, and returns it as it is now. A read-only store is not changed.
    pub fn settle(&self, id: &str) -> Result<Approval, EngineError> {
        let approval = self.get(id)?;
        self.settle_review(&approval)?;
        self.settled(approval)
    }

    fn settled(&self, mut approval: Approval) -> Result<Approval, EngineError> {
        let now = self.engine.now();
        for _ in 0..MAX_STEPS {
            let Some(due) = approval.due_transition(now) else { break };
            approval = match self.record_deadline(&approval, due, now) {
                Ok(settled) => settled,
                // Another process was first.
                Err(error) if error.is_contention() => self.get(&approval.id)?,
                Err(EngineError::Store(StoreError::ReadOnly { .. })) => break,
                Err(error) => return Err(error),
            };
        }
        Ok(approval)
    }

    fn record_deadline(
        &self,
        before: &Approval,
        due: DueTransition,
        now: Timestamp,
    ) -> Result<Approval, EngineError> {
        let expired = || {
            let expired = Approval { state: ApprovalState::Expired, ..before.clone() };
            ApprovalChange::update(before.state, expired)
        };
        let (name, kind, at, change) = match due {
            DueTransition::NextAuthority(at) => {
                ("approval_moved_on", EventKind::Administered, at, ApprovalChange::advance(before.clone()))
            }
            DueTransition::TimedOut(at) => ("approval_timed_out", EventKind::ApprovalDecided, at, expired()),
            DueTransition::Lapsed(at) => ("approval_lapsed", EventKind::Administered, at, expired()),
        };
        let after = change.now.clone();
        let mut event = AdminEvent::new(name).with_kind(kind).with("due", at.to_string());
        if let DueTransition::NextAuthority(_) = due {
            event = event.with("from", before.recorded_authority()).with("to", after.recorded_authority());
        }
        let notices = deadline_notices(&after, due, now);
        let own = self.engine.admin_commit(event.about(&after)?);
        self.engine.commit(&Commit { approvals: vec![change], notices, ..own })?;
        Ok(after)
    }
}

/// The notices about a deadline: to the next authority, or to the orchestrator once the request has ended.
fn deadline_notices(approval: &Approval, due: DueTransition, now: Timestamp) -> Vec<NewNotice> {
    let id = &approval.id;
    let action = approval.subject();
    let message = match due {
        DueTransition::NextAuthority(_) => {
            let role = approval.recorded_authority();
            // A process that notices late informs only the current authority.
            let is_current = approval.authority_at(now) == Some(role);
            return if is_current { vec![request_notice(approval, role)] } else { Vec::new() };
        }
        DueTransition::TimedOut(at) => {
            format!("`{id}` for `{action}` timed out at {at:.0} without an answer")
        }
        DueTransition::Lapsed(at) => {
            format!("`{id}` for `{action}` was approved, and not used until {at:.0}")
        }
    };
    vec![notice("orchestrator", "approval", message, json!({"approval": approval}))]
}

/// The interval between two reads of the store.
const INTERVAL: Duration = Duration::from_millis(150);

impl Approvals<'_> {
    /// Waits until a request is answered, grants itself or times out, at most for a time.
    pub fn wait(&self, id: &str, timeout: Duration) -> Result<Approval, EngineError> {
        self.wait_while(id, Instant::now().checked_add(timeout), &["pending"])
    }

    /// Decides an event. If it is escalated, waits for the answer and decides again with it. Without an answer in time, the
    /// decision is the escalation: the same event is allowed later, once it is approved.
    pub fn decide_and_wait(&self, event: Event, timeout: Duration) -> Decision {
        self.try_decide_and_wait(event, timeout).unwrap_or_else(|error| self.engine.block_on_error(&error))
    }

    /// The same, or why the event could not be decided and recorded. The action must not happen then.
    pub fn try_decide_and_wait(&self, mut event: Event, timeout: Duration) -> Result<Decision, EngineError> {
        let end = Instant::now().checked_add(timeout);
        let mut overridden = None;
        loop {
            let decision = self.engine.try_decide(event.clone())?;
            let id = match &decision.approval {
                Some(approval) if decision.effect == Effect::Escalate => approval.id.clone(),
                _ => return Ok(decision),
            };
            // An override that did not allow the action is not for this action: a person has to answer.
            let waiting: &[&str] =
                if overridden.as_ref() == Some(&id) { &["pending", "override"] } else { &["pending"] };
            let approval = self.wait_while(&id, end, waiting)?;
            let status = approval.status_at(self.engine.now());
            if waiting.contains(&status) {
                return Ok(decision);
            }
            if status == "override" {
                overridden = Some(id);
            }
            // The event is decided as of now: an answer may have come too late for its own time.
            event.time = None;
        }
    }

    /// Waits while an approval has one of these statuses. `end` is `None` if the timeout exceeds the clock.
    fn wait_while(&self, id: &str, end: Option<Instant>, statuses: &[&str]) -> Result<Approval, EngineError> {
        loop {
            let approval = self.settle(id)?;
            let left = end.map_or(INTERVAL, |end| end.saturating_duration_since(Instant::now()));
            if !statuses.contains(&approval.status_at(self.engine.now())) || left.is_zero() {
                return Ok(approval);
            }
            std::thread::sleep(INTERVAL.min(left));
        }
    }
}
