//! Deadlines of approvals: an urgent request moves on to the next authority, and one that is not answered or not used
//! expires. The first process that notices records it. A caller that waits polls the store, because any process may
//! write the answer.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use midrail_core::{Changes, Decision, Effect, Event, EventKind};
use midrail_store::{
    Approval, ApprovalChange, ApprovalFilter, ApprovalState, Approvals as ApprovalTable, Commit,
    DueTransition, NewNotice, Result, Slices, Store, StoreError,
};
use serde_json::{Map, Value, json};

use super::handle::Approvals;
use super::request::request_notice;
use crate::admin::event::{AdminEvent, NO_SESSION, notice};
use crate::error::{EngineError, EngineResult, retry_on_conflict};
use crate::session_slices::load_slice;

/// The most deadlines of one approval that are recorded at a time.
const MAX_STEPS: usize = 256;

/// The approvals of all sessions with a deadline or an overdue review that is not recorded yet.
pub fn due_approvals<S: ApprovalTable + Slices + ?Sized>(store: &S, now: Timestamp) -> Result<Vec<Approval>> {
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
) -> Result<Vec<Approval>> {
    let session = session.map(str::to_owned);
    let mut rows =
        store.approvals(&ApprovalFilter { state: Some(state), session, ..ApprovalFilter::default() })?;
    rows.retain(|approval| approval.due_transition(now).is_some());
    Ok(rows)
}

impl Approvals<'_> {
    /// Records all deadlines that have passed and all reviews that are overdue. Of several processes that try, one
    /// succeeds. Returns how many there were.
    pub fn settle_all(&self) -> EngineResult<usize> {
        self.settle_pending(None)
    }

    /// Records the deadlines of one session or of all, and overdue reviews. Every decision does this first.
    pub(crate) fn settle_pending(&self, session: Option<&str>) -> EngineResult<usize> {
        let store = &**self.engine.store();
        let due = due_in_state(store, ApprovalState::Pending, session, self.engine.now())?;
        let count = due.len();
        for approval in due {
            self.settled(approval)?;
        }
        Ok(count + self.settle_reviews(session.is_none())?)
    }

    /// Records approvals of a session that were not used in time.
    pub(crate) fn settle_lapsed(&self, session: &str) -> EngineResult {
        let store = &**self.engine.store();
        for approval in due_in_state(store, ApprovalState::Approved, Some(session), self.engine.now())? {
            self.settled(approval)?;
        }
        Ok(())
    }

    /// Records the deadlines of one approval, and returns it as it is now. A read-only store is not changed.
    pub fn settle(&self, id: &str) -> EngineResult<Approval> {
        let approval = self.get(id)?;
        self.settle_review(&approval)?;
        self.settled(approval)
    }

    fn settled(&self, mut approval: Approval) -> EngineResult<Approval> {
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
    ) -> EngineResult<Approval> {
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
    pub fn wait(&self, id: &str, timeout: Duration) -> EngineResult<Approval> {
        self.wait_while(id, Instant::now().checked_add(timeout), &["pending"])
    }

    /// Decides an event. If it is escalated, waits for the answer and decides again with it. Without an answer in time, the
    /// decision is the escalation: the same event is allowed later, once it is approved.
    pub fn decide_and_wait(&self, event: Event, timeout: Duration) -> Decision {
        self.try_decide_and_wait(event, timeout).unwrap_or_else(|error| self.engine.block_on_error(&error))
    }

    /// The same, or why the event could not be decided and recorded. The action must not happen then.
    pub fn try_decide_and_wait(&self, mut event: Event, timeout: Duration) -> EngineResult<Decision> {
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
    fn wait_while(&self, id: &str, end: Option<Instant>, statuses: &[&str]) -> EngineResult<Approval> {
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

/// The slice with the due dates of all open reviews, so that a decision need not search all approvals.
const OWED: &str = "shared/owed_reviews";

/// The most reviews in this slice. Others are found when approvals are settled.
const MAX_OWED: usize = 1_000;

/// How often a process reads this slice, unless a review is due sooner.
const LOOK_EVERY: SignedDuration = SignedDuration::from_secs(10);

/// The slice that marks an overdue review as recorded.
fn recorded_key(id: &str) -> String {
    format!("shared/overdue_review/{id}")
}

/// Adds the reviews that become due with these changes to a commit, and removes those that are filed.
pub(crate) fn note_reviews(
    store: &dyn Store,
    approvals: &[ApprovalChange],
    read: &mut Vec<(String, u64)>,
    changes: &mut Changes,
) -> Result<()> {
    if approvals.iter().all(|change| change.now.review.is_none()) {
        return Ok(());
    }
    let (mut owed, version) = owed(store)?;
    let before = owed.clone();
    for Approval { id, review, .. } in approvals.iter().map(|change| &change.now) {
        match review {
            Some(review) if !review.is_filed() && owed.len() < MAX_OWED => {
                owed.insert(id.clone(), review.due.to_string().into());
            }
            _ => drop(owed.remove(id)),
        }
    }
    if owed != before {
        read.push((OWED.to_owned(), version));
        keep(owed, changes);
    }
    Ok(())
}

/// The approvals whose review is overdue and not recorded as such.
fn overdue<S: ApprovalTable + Slices + ?Sized>(store: &S, now: Timestamp) -> Result<Vec<Approval>> {
    let mut rows = store.approvals(&ApprovalFilter { needs_review: true, ..ApprovalFilter::default() })?;
    rows.retain(|approval| is_overdue(approval, now));
    let keys: Vec<String> = rows.iter().map(|approval| recorded_key(&approval.id)).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let recorded = if keys.is_empty() { Vec::new() } else { store.load(NO_SESSION, &keys)? };
    let rows = rows.into_iter().zip(recorded).filter(|(_, recorded)| recorded.value.is_none());
    Ok(rows.map(|(approval, _)| approval).collect())
}

fn is_overdue(approval: &Approval, now: Timestamp) -> bool {
    approval.review.as_ref().is_some_and(|review| review.status_at(now) == "overdue")
}

fn owed<S: Slices + ?Sized>(store: &S) -> Result<(Map<String, Value>, u64)> {
    let slice = load_slice(store, NO_SESSION, OWED)?;
    let owed = match slice.value {
        Some(Value::Object(owed)) => owed,
        _ => Map::new(),
    };
    Ok((owed, slice.version))
}

fn keep(owed: Map<String, Value>, changes: &mut Changes) {
    if owed.is_empty() {
        changes.remove(OWED);
    } else {
        changes.set(OWED, owed);
    }
}

impl Approvals<'_> {
    /// Records overdue reviews: those of the slice, or of all approvals. Returns how many there were.
    fn settle_reviews(&self, all: bool) -> EngineResult<usize> {
        let now = self.engine.now();
        let mut check = self.engine.review_check.lock();
        if !all && check.is_some_and(|(last, next)| last <= now && now < next) {
            return Ok(0);
        }
        let (owed, _) = owed(&**self.engine.store())?;
        let due = |due: &Value| due.as_str().and_then(|due| due.parse().ok()).unwrap_or(now);
        let owed: Vec<(String, Timestamp)> = owed.into_iter().map(|(id, at)| (id, due(&at))).collect();
        // Reviews that other processes add meanwhile are not due that soon.
        let again = now.checked_add(LOOK_EVERY).unwrap_or(now);
        let first = owed.iter().map(|(_, due)| *due).filter(|due| *due > now).min();
        *check = Some((now, first.map_or(again, |first| first.min(again))));
        drop(check);
        let mut ids: BTreeSet<String> =
            owed.into_iter().filter(|(_, due)| *due <= now).map(|(id, _)| id).collect();
        if all {
            ids.extend(overdue(&**self.engine.store(), now)?.into_iter().map(|approval| approval.id));
        }
        let mut count = 0;
        for id in ids {
            if let Some(approval) = self.engine.store().approval(&id)? {
                count += usize::from(self.settle_review(&approval)?);
            }
        }
        Ok(count)
    }

    /// Records that a review is overdue, unless it is recorded already. A read-only store is not changed.
    fn settle_review(&self, approval: &Approval) -> EngineResult<bool> {
        if !is_overdue(approval, self.engine.now()) {
            return Ok(false);
        }
        let recorded = recorded_key(&approval.id);
        let settled = retry_on_conflict(|| {
            let (mut owed, owed_version) = owed(&**self.engine.store())?;
            let slice = load_slice(&**self.engine.store(), NO_SESSION, &recorded)?;
            if slice.value.is_some() {
                return Ok(false);
            }
            let mut event = AdminEvent::new("review_overdue").with("severity", "critical");
            if let Some(review) = &approval.review {
                event = event.with("due", review.due.to_string());
            }
            let mut commit = Commit {
                read: vec![(recorded.clone(), slice.version), (OWED.to_owned(), owed_version)],
                notices: self.overdue_notices(approval),
                ..self.engine.admin_commit(event.about(approval)?)
            };
            let metadata = &mut commit.record.to_mut().decision.metadata;
            metadata.insert("severity".to_owned(), "critical".into());
            commit.changes.set(recorded.as_str(), self.engine.now().to_string());
            if owed.remove(&approval.id).is_some() {
                keep(owed, &mut commit.changes);
            }
            self.engine.commit(&commit)?;
            Ok(true)
        });
        match settled {
            Err(EngineError::Contended | EngineError::Store(StoreError::ReadOnly { .. })) => Ok(false),
            settled => settled,
        }
    }

    /// The notices for supervisors and human operators, one for each role.
    fn overdue_notices(&self, approval: &Approval) -> Vec<NewNotice> {
        let policy = self.engine.policy();
        let authorities = policy.authorities();
        let roles: BTreeSet<&String> = authorities.supervisors.iter().chain(&authorities.humans).collect();
        let id = &approval.id;
        let action = approval.subject();
        let due = approval.review.as_ref().map(|review| format!("{:.0}", review.due)).unwrap_or_default();
        let message = format!(
            "the review of `{id}`, which allowed `{action}` in an emergency, was due at {due} and is overdue: file it \
             with `midrail approvals review {id} --as NAME --text \"…\"`"
        );
        let body = json!({"approval": approval});
        roles.into_iter().map(|role| notice(role, "approval", message.clone(), body.clone())).collect()
    }
}
