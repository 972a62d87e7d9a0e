//! Answers of people, and the reviews that are due after an emergency.

use jiff::SignedDuration;
use midrail_core::{EventKind, SUB_AGENT_PARENTS, ancestors, approval_key};
use midrail_store::{Approval, ApprovalChange, ApprovalState, Commit, NewNotice, Review, StoreError};
use serde_json::json;

use super::common::{approval_slice, invalid, not_allowed, refused, seal};
use super::handle::Approvals;
use super::overdue_reviews::note;
use super::policies::record_for_approval;
use crate::admin::event::AdminEvent;
use crate::admin::person::Person;
use crate::error::EngineError;

/// The most attempts against other processes that change the same approval.
const MAX_TRIES: usize = 8;

/// The fewest letters of a review.
const MIN_REVIEW: usize = 20;

impl Approvals<'_> {
    /// Answers a request on behalf of a person. The answer applies to exactly this action, once, and is recorded as an event
    /// of its own. Denying an approval that is not used yet revokes it.
    pub fn answer(
        &self,
        id: &str,
        approve: bool,
        by: &Person,
        note: Option<&str>,
    ) -> Result<Approval, EngineError> {
        for _ in 0..MAX_TRIES {
            if let Some(answered) = self.try_answer(id, approve, by, note)? {
                return Ok(answered);
            }
        }
        Err(EngineError::Contended)
    }

    /// Answers a request. `None`: it moved on to another authority meanwhile.
    fn try_answer(
        &self,
        id: &str,
        approve: bool,
        by: &Person,
        note: Option<&str>,
    ) -> Result<Option<Approval>, EngineError> {
        let approval = self.settle(id)?;
        let now = self.engine.now();
        let is_revoked = !approve && approval.status_at(now) == "approved";
        let authority = match approval.authority_at(now) {
            Some(authority) => authority.to_owned(),
            None if is_revoked => approval.recorded_authority().to_owned(),
            None => {
                let status = approval.status_at(now);
                return Err(refused(format!("the approval `{id}` is {status} and cannot be answered")));
            }
        };
        if let Some(requester) = self.own_request(&approval, by)? {
            return Err(not_allowed(format!(
                "{requester} requested the approval `{id}`, and cannot answer it"
            )));
        }
        let policy = self.engine.policy();
        let Some(role) = by.role_for(&authority, policy.authorities()) else {
            return Err(not_allowed(format!(
                "the approval `{id}` is for the role `{authority}`, and `{}` answers as {}",
                by.name(),
                by.roles().join(", ")
            )));
        };
        if is_revoked {
            return self.revoke(&approval, by, Some(role), note);
        }
        let state = if approve { ApprovalState::Approved } else { ApprovalState::Denied };
        let mut decided = Approval {
            state,
            decided_by: Some(by.name().to_owned()),
            decided_role: Some(role.to_owned()),
            decided_at: Some(now),
            note: note.map(|note| self.engine.masked_text(note)).transpose()?,
            ..approval.clone()
        };
        if approve {
            decided.expires = approval.expires.map(|expires| {
                // The agent has as long to act as the approver had to answer.
                let given = match approval.timeout_s.and_then(|seconds| i64::try_from(seconds).ok()) {
                    Some(seconds) => SignedDuration::from_secs(seconds),
                    None => expires.duration_since(approval.created),
                };
                now.checked_add(given).unwrap_or(expires)
            });
            decided.seal = Some(seal(&decided, self.engine.fingerprint_key()));
        }
        let act = AdminEvent::new("approval_decided")
            .in_session(&decided.session)
            .with_kind(EventKind::ApprovalDecided);
        let record = self.engine.admin_record(act.with("approval", serde_json::to_value(&decided)?));
        let mut commit = Commit {
            approvals: vec![ApprovalChange::update(ApprovalState::Pending, decided.clone())],
            notices: vec![notice(&decided, state.as_str(), by)],
            ..Commit::new(&record)
        };
        commit.changes.set(approval_key(&decided.guardrail, &decided.action), approval_slice(&decided));
        match self.engine.commit(&commit) {
            Ok(()) => Ok(Some(decided)),
            Err(EngineError::Store(StoreError::Conflict { .. })) => self.check_conflict(id, approve),
            Err(error) => Err(error),
        }
    }

    /// Another process changed the approval first. `None`: this answer can be tried again.
    fn check_conflict(&self, id: &str, approve: bool) -> Result<Option<Approval>, EngineError> {
        let current = self.get(id)?;
        let now = self.engine.now();
        let status = current.status_at(now);
        // A denial also holds after an approval.
        if current.authority_at(now).is_some() || (!approve && status == "approved") {
            return Ok(None);
        }
        let by = current.decided_by.unwrap_or_default();
        Err(refused(format!("the approval `{id}` is now {status} ({by}) and cannot be answered")))
    }

    /// Files the review that is due after an emergency override.
    pub fn review(&self, id: &str, by: &Person, text: &str) -> Result<Approval, EngineError> {
        let approval = self.get(id)?;
        let Some(review) = approval.review.as_ref().filter(|review| !review.is_filed()) else {
            return Err(refused(format!("no review is due for the approval `{id}`")));
        };
        if text.chars().filter(|c| c.is_alphanumeric()).count() < MIN_REVIEW {
            return Err(invalid(
                "say what happened, whether it was right, and what follows from it".to_owned(),
            ));
        }
        self.check_reviewer(&approval, by)?;
        let filed = Review {
            filed_by: Some(by.name().to_owned()),
            filed_at: Some(self.engine.now()),
            text: Some(self.engine.masked_text(text)?),
            ..review.clone()
        };
        let reviewed = Approval { review: Some(filed), ..approval.clone() };
        let act = AdminEvent::new("approval_reviewed").in_session(&reviewed.session);
        let record = self.engine.admin_record(act.with("approval", serde_json::to_value(&reviewed)?));
        let mut commit = Commit {
            approvals: vec![ApprovalChange::update(approval.state, reviewed.clone())],
            notices: vec![notice(&reviewed, "reviewed", by)],
            ..Commit::new(&record)
        };
        for _ in 0..MAX_TRIES {
            (commit.read, commit.changes) = Default::default();
            note(&**self.engine.store(), &commit.approvals, &mut commit.read, &mut commit.changes)?;
            match self.engine.commit(&commit) {
                Ok(()) => return Ok(reviewed),
                // Another review was noted meanwhile, or another person filed this one.
                Err(EngineError::Store(StoreError::Conflict { .. })) if self.get(id)?.needs_review() => {}
                Err(error) => return Err(error),
            }
        }
        Err(EngineError::Contended)
    }

    fn check_reviewer(&self, approval: &Approval, by: &Person) -> Result<(), EngineError> {
        let policy = self.engine.policy();
        let authorities = policy.authorities();
        let mut able: Vec<&String> = Vec::new();
        for role in authorities.supervisors.iter().chain(&authorities.humans) {
            if !able.contains(&role) {
                able.push(role);
            }
        }
        let why = match self.own_request(approval, by)? {
            Some(requester) => format!("{requester} requested it, and another person has to review it"),
            None if by.roles().iter().any(|role| able.contains(&role)) => return Ok(()),
            None => format!("`{}` answers as {}", by.name(), by.roles().join(", ")),
        };
        let able: Vec<&str> = able.into_iter().map(String::as_str).collect();
        Err(not_allowed(format!(
            "`{}` cannot review the emergency override `{}`: {why}; the role {} is required",
            by.name(),
            approval.id,
            able.join(" or ")
        )))
    }

    /// The requester, if a person or one of their sub-agents made the request. `None`: others did.
    fn own_request(&self, approval: &Approval, by: &Person) -> Result<Option<String>, EngineError> {
        // Hosts name agents in any case.
        let is_own = |name: &str| name.trim().to_lowercase() == by.name().trim().to_lowercase();
        if approval.requested_by.as_deref().is_some_and(is_own) {
            return Ok(Some(format!("`{}`", by.name())));
        }
        let store = self.engine.store();
        let record = record_for_approval(&**store, approval)?.and_then(|entry| entry.record().ok());
        let Some(parent) = record.and_then(|record| record.event.parent) else { return Ok(None) };
        let parents = store.load(&approval.session, &[SUB_AGENT_PARENTS])?.into_iter().next();
        let parents = parents.and_then(|slice| slice.value);
        let is_below = ancestors(parents.as_ref(), parent.trim()).iter().any(|name| is_own(name));
        Ok(is_below.then(|| format!("a sub-agent of `{}`", by.name())))
    }
}

/// The notice about an answer.
pub(super) fn notice(approval: &Approval, answer: &str, by: &Person) -> NewNotice {
    let action = approval.subject();
    NewNotice {
        to: "orchestrator".to_owned(),
        kind: "approval".to_owned(),
        message: format!("`{}` for `{action}` was {answer} by {}", approval.id, by.name()),
        body: json!({"approval": approval}),
    }
}
