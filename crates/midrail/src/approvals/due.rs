//! Deadlines of approvals: an urgent request moves on to the next authority, and one that is not answered or not used
//! expires. The first process that notices records it.

use jiff::Timestamp;
use midrail_core::EventKind;
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

    /// Records the deadlines of one session, and the overdue reviews of all. Every decision does this first.
    pub(crate) fn settle_session(&self, session: &str) -> Result<usize, EngineError> {
        self.settle_pending(Some(session))
    }

    fn settle_pending(&self, session: Option<&str>) -> Result<usize, EngineError> {
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
        let record = self.engine.admin_record(event.about(&after)?);
        let notices = deadline_notices(&after, due, now);
        self.engine.commit(&Commit { approvals: vec![change], notices, ..Commit::new(&record) })?;
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
