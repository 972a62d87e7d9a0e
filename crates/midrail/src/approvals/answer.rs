//! Answers of people, their revocation, and the reviews that are due after an emergency.

use jiff::SignedDuration;
use midrail_core::{EventKind, SUB_AGENT_PARENTS, ancestors};
use midrail_store::{Approval, ApprovalChange, ApprovalFilter, ApprovalState, Commit, NewNotice, Review};
use serde_json::json;

use super::due::note_reviews;
use super::handle::{Approvals, seal};
use super::policies::record_for_approval;
use crate::admin::event::{AdminEvent, Person, notice};
use crate::error::{EngineError, EngineResult, retry_on_conflict};
use crate::session_slices::load_slice;

/// The most attempts against other processes that change the same approval.
const MAX_TRIES: usize = 8;

/// The fewest letters of a review.
const MIN_REVIEW: usize = 20;

impl Approvals<'_> {
    /// Answers a request on behalf of a person. The answer applies to exactly this action, once, and is recorded as an event
    /// of its own. Denying an approval that is not used yet revokes it.
    pub fn answer(&self, id: &str, approve: bool, by: &Person, note: Option<&str>) -> EngineResult<Approval> {
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
    ) -> EngineResult<Option<Approval>> {
        let approval = self.settle(id)?;
        let now = self.engine.now();
        let is_revoked = !approve && approval.status_at(now) == "approved";
        let authority = match approval.authority_at(now) {
            Some(authority) => authority.to_owned(),
            None if is_revoked => approval.recorded_authority().to_owned(),
            None => {
                let status = approval.status_at(now);
                let why = format!("the approval `{id}` is {status} and cannot be answered");
                return Err(EngineError::conflict(why));
            }
        };
        if let Some(requester) = self.own_request(&approval, by)? {
            let why = format!("{requester} requested the approval `{id}`, and cannot answer it");
            return Err(EngineError::not_allowed(why));
        }
        let policy = self.engine.policy();
        let Some(role) = by.role_for(&authority, policy.authorities()) else {
            return Err(EngineError::not_allowed(format!(
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
            note: note.map(|note| self.engine.masked_text(note.trim())),
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
            decided.seal = Some(seal(&decided, &self.engine.fingerprint_key));
        }
        let event = AdminEvent::new("approval_decided").with_kind(EventKind::ApprovalDecided);
        let notices = vec![answer_notice(&decided, state.as_str(), by)];
        let change = ApprovalChange::update(ApprovalState::Pending, decided);
        match self.write(event, change, None, notices) {
            Err(error) if error.is_contention() => self.check_conflict(id, approve),
            written => written.map(Some),
        }
    }

    /// Another process changed the approval first. `None`: this answer can be tried again.
    fn check_conflict(&self, id: &str, approve: bool) -> EngineResult<Option<Approval>> {
        let current = self.get(id)?;
        let now = self.engine.now();
        let status = current.status_at(now);
        // A denial also holds after an approval.
        if current.authority_at(now).is_some() || (!approve && status == "approved") {
            return Ok(None);
        }
        let by = current.decided_by.unwrap_or_default();
        Err(EngineError::conflict(format!(
            "the approval `{id}` is now {status} ({by}) and cannot be answered"
        )))
    }

    /// Files the review that is due after an emergency override.
    pub fn review(&self, id: &str, by: &Person, text: &str) -> EngineResult<Approval> {
        let approval = self.get(id)?;
        let Some(review) = approval.review.as_ref().filter(|review| !review.is_filed()) else {
            return Err(EngineError::conflict(format!("no review is due for the approval `{id}`")));
        };
        if text.chars().filter(|c| c.is_alphanumeric()).count() < MIN_REVIEW {
            return Err(EngineError::invalid(
                "say what happened, whether it was right, and what follows from it",
            ));
        }
        self.check_reviewer(&approval, by)?;
        let filed = Review {
            filed_by: Some(by.name().to_owned()),
            filed_at: Some(self.engine.now()),
            text: Some(self.engine.masked_text(text.trim())),
            ..review.clone()
        };
        let reviewed = Approval { review: Some(filed), ..approval.clone() };
        let mut commit = Commit {
            approvals: vec![ApprovalChange::update(approval.state, reviewed.clone())],
            notices: vec![answer_notice(&reviewed, "reviewed", by)],
            ..self.engine.admin_commit(AdminEvent::new("approval_reviewed").about(&reviewed)?)
        };
        retry_on_conflict(|| {
            // After a conflict, another person may have filed the review.
            if !self.get(id)?.needs_review() {
                return Err(EngineError::conflict(format!("no review is due for the approval `{id}`")));
            }
            (commit.read, commit.changes) = Default::default();
            note_reviews(&**self.engine.store(), &commit.approvals, &mut commit.read, &mut commit.changes)?;
            self.engine.commit(&commit)
        })?;
        Ok(reviewed)
    }

    fn check_reviewer(&self, approval: &Approval, by: &Person) -> EngineResult {
        let policy = self.engine.policy();
        let authorities = policy.authorities();
        let mut able: Vec<&str> = authorities.supervisors.iter().map(String::as_str).collect();
        let humans = authorities.humans.iter().map(String::as_str);
        able.extend(humans.filter(|role| !authorities.supervisors.iter().any(|other| other == role)));
        let why = match self.own_request(approval, by)? {
            Some(requester) => format!("{requester} requested it, and another person has to review it"),
            None if by.roles().iter().any(|role| able.contains(&role.as_str())) => return Ok(()),
            None => format!("`{}` answers as {}", by.name(), by.roles().join(", ")),
        };
        Err(EngineError::not_allowed(format!(
            "`{}` cannot review the emergency override `{}`: {why}; the role {} is required",
            by.name(),
            approval.id,
            able.join(" or ")
        )))
    }

    /// The requester, if a person or one of their sub-agents made the request. `None`: others did.
    fn own_request(&self, approval: &Approval, by: &Person) -> EngineResult<Option<String>> {
        // Hosts name agents in any case.
        let is_own = |name: &str| name.trim().to_lowercase() == by.name().trim().to_lowercase();
        if approval.requested_by.as_deref().is_some_and(is_own) {
            return Ok(Some(format!("`{}`", by.name())));
        }
        let store = self.engine.store();
        let record = record_for_approval(&**store, approval)?.and_then(|entry| entry.record().ok());
        let Some(parent) = record.and_then(|record| record.event.parent) else { return Ok(None) };
        let parents = load_slice(&**store, &approval.session, SUB_AGENT_PARENTS)?.value;
        let is_below = ancestors(parents.as_ref(), parent.trim()).iter().any(|name| is_own(name));
        Ok(is_below.then(|| format!("a sub-agent of `{}`", by.name())))
    }
}

/// The notice about an answer.
pub(super) fn answer_notice(approval: &Approval, answer: &str, by: &Person) -> NewNotice {
    let message = format!("`{}` for `{}` was {answer} by {}", approval.id, approval.subject(), by.name());
    notice("orchestrator", "approval", message, json!({"approval": approval}))
}

impl Approvals<'_> {
    /// Revokes an approval. `None`: it was used, revoked or expired meanwhile.
    pub(super) fn revoke(
        &self,
        approved: &Approval,
        by: &Person,
        role: Option<&str>,
        note: Option<&str>,
    ) -> EngineResult<Option<Approval>> {
        let revoked = Approval {
            state: ApprovalState::Denied,
            decided_by: Some(by.name().to_owned()),
            decided_role: role.map(str::to_owned),
            decided_at: Some(self.engine.now()),
            note: note.map(|note| self.engine.masked_text(note.trim())),
            taken_back: Some(approved.revoked_answer()),
            seal: None,
            ..approved.clone()
        };
        let event = AdminEvent::new("approval_taken_back").with_kind(EventKind::ApprovalDecided);
        let notices = vec![answer_notice(&revoked, "taken back", by)];
        match self.write(event, ApprovalChange::update(ApprovalState::Approved, revoked), None, notices) {
            Err(error) if error.is_contention() => Ok(None),
            written => written.map(Some),
        }
    }

    /// Revokes all unused approvals of an approver, and returns how many there were.
    pub(crate) fn revoke_all(&self, name: &str, by: &Person) -> EngineResult<usize> {
        let mut filter = ApprovalFilter { state: Some(ApprovalState::Approved), ..ApprovalFilter::default() };
        let mut count = 0;
        loop {
            let rows = self.engine.store().approvals(&filter)?;
            let is_full = rows.len() >= filter.page();
            filter.after = rows.last().map(|row| (row.created, row.id.clone()));
            let now = self.engine.now();
            let is_unused =
                |row: &&Approval| row.decided_by.as_deref() == Some(name) && row.status_at(now) == "approved";
            for row in rows.iter().filter(is_unused) {
                let note = format!("`{name}` is no approver any more");
                count += usize::from(self.revoke(row, by, None, Some(&note))?.is_some());
            }
            if !is_full {
                return Ok(count);
            }
        }
    }
}
