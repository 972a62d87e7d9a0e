//! What time does to requests: an urgent one moves on to the next authority, and one that nobody answers or uses is
//! over. Whoever looks first puts it on record.

use jiff::Timestamp;
use midrail_core::EventKind;
use midrail_store::{
    Approval, ApprovalChange, ApprovalFilter, ApprovalState, Approvals, Commit, Due, NewNotice, Slices,
    StoreError,
};
use serde_json::json;

use super::overdue::overdue;
use super::request::asks;
use crate::administer::Act;
use crate::engine::{Engine, EngineError};

/// Steps that one request is brought forward by at a time. Each one is there to be taken, by this process or another.
const MAX_STEPS: usize = 256;

/// The requests of all sessions that time has changed and that are not on record so yet: also those whose review is
/// overdue.
pub fn due_requests<S: Approvals + Slices + ?Sized>(
    store: &S,
    now: Timestamp,
) -> Result<Vec<Approval>, StoreError> {
    let mut due = of_state(store, ApprovalState::Pending, None, now)?;
    due.extend(of_state(store, ApprovalState::Approved, None, now)?);
    due.extend(overdue(store, now)?);
    Ok(due)
}

fn of_state<S: Approvals + ?Sized>(
    store: &S,
    state: ApprovalState,
    session: Option<&str>,
    now: Timestamp,
) -> Result<Vec<Approval>, StoreError> {
    let session = session.map(str::to_owned);
    let mut rows =
        store.approvals(&ApprovalFilter { state: Some(state), session, ..ApprovalFilter::default() })?;
    rows.retain(|approval| approval.due_at(now).is_some());
    Ok(rows)
}

impl Engine {
    /// Puts on record what time has made of the requests that wait, of one session or of all, and which reviews are
    /// overdue, of whatever session. Of all processes that try, one does. Answers how many there were.
    ///
    /// Every decision does so for its session.
    pub fn settle_requests(&self, session: Option<&str>) -> Result<usize, EngineError> {
        let due = of_state(&**self.store(), ApprovalState::Pending, session, self.now())?;
        let count = due.len();
        for approval in due {
            self.settled(approval)?;
        }
        Ok(count + self.settle_reviews(session.is_none())?)
    }

    /// Puts on record what time has made of one request, and answers how it stands. A store that cannot be written is
    /// left as it is.
    pub fn settle_request(&self, id: &str) -> Result<Approval, EngineError> {
        let approval = self.approval(id)?;
        self.settle_review(&approval)?;
        self.settled(approval)
    }

    pub(super) fn settled(&self, mut approval: Approval) -> Result<Approval, EngineError> {
        let now = self.now();
        for _ in 0..MAX_STEPS {
            let Some(due) = approval.due_at(now) else { break };
            approval = match self.settle(&approval, due, now) {
                Ok(settled) => settled,
                // Somebody else was first.
                Err(EngineError::Store(StoreError::Conflict { .. })) => self.approval(&approval.id)?,
                Err(EngineError::Store(StoreError::ReadOnly { .. })) => break,
                Err(error) => return Err(error),
            };
        }
        Ok(approval)
    }

    fn settle(&self, was: &Approval, due: Due, now: Timestamp) -> Result<Approval, EngineError> {
        let over =
            || ApprovalChange::from(was.state, Approval { state: ApprovalState::Expired, ..was.clone() });
        let (what, kind, at, change) = match due {
            Due::MovesOn(at) => {
                ("approval_moved_on", EventKind::Administered, at, ApprovalChange::move_on(was.clone()))
            }
            Due::TimesOut(at) => ("approval_timed_out", EventKind::ApprovalDecided, at, over()),
            Due::Lapses(at) => ("approval_lapsed", EventKind::Administered, at, over()),
        };
        let next = change.now.clone();
        let mut act = Act::of(what).in_session(&next.session).of_kind(kind).with("due", at.to_string());
        if let Due::MovesOn(_) = due {
            act = act.with("from", was.authority_on_record()).with("to", next.authority_on_record());
        }
        let record = self.administered(act.with("approval", serde_json::to_value(&next)?))?;
        let notices = told(&next, due, now);
        self.commit(&Commit { approvals: vec![change], notices, ..Commit::new(&record) })?;
        Ok(next)
    }
}

/// Who is told: the authority that has it now, and whoever runs the agents once it is over.
fn told(approval: &Approval, due: Due, now: Timestamp) -> Vec<NewNotice> {
    let id = &approval.id;
    let action = approval.subject();
    let message = match due {
        Due::MovesOn(_) => {
            let role = approval.authority_on_record();
            // Who looks late tells only the one whose turn it still is.
            let is_theirs = approval.authority_at(now) == Some(role);
            return if is_theirs { vec![asks(approval, role)] } else { Vec::new() };
        }
        Due::TimesOut(at) => format!("`{id}` for `{action}` timed out at {at:.0}: nobody answered"),
        Due::Lapses(at) => format!("`{id}` for `{action}` was approved, and not used until {at:.0}"),
    };
    vec![NewNotice {
        to: "orchestrator".to_owned(),
        kind: "approval".to_owned(),
        message,
        body: json!({"approval": approval}),
    }]
}
