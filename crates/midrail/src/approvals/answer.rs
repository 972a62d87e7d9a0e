//! A person answers, or files the review that is owed after an emergency.

use jiff::SignedDuration;
use midrail_core::{EventKind, STARTED, above, approval_key};
use midrail_store::{Approval, ApprovalChange, ApprovalState, Commit, NewNotice, Review, StoreError};
use serde_json::json;

use super::overdue::note;
use super::{held, not_allowed, record_of_approval, refused, seal, senseless};
use crate::administer::Act;
use crate::engine::{Engine, EngineError};
use crate::people::Person;

/// Tries against others who change the same request at the same time.
const TRIES: usize = 8;

/// Letters that a review has at least.
const SHORTEST_REVIEW: usize = 20;

impl Engine {
    /// A person's answer to a request. It holds for exactly that action, once, and is recorded as an event of its own. A
    /// no to what is approved and not used yet takes the approval back.
    pub fn answer(
        &self,
        id: &str,
        approve: bool,
        by: &Person,
        note: Option<&str>,
    ) -> Result<Approval, EngineError> {
        for _ in 0..TRIES {
            if let Some(answered) = self.try_answer(id, approve, by, note)? {
                return Ok(answered);
            }
        }
        Err(EngineError::Contended)
    }

    /// The same. `None`: it moved on to another authority meanwhile.
    fn try_answer(
        &self,
        id: &str,
        approve: bool,
        by: &Person,
        note: Option<&str>,
    ) -> Result<Option<Approval>, EngineError> {
        let approval = self.settle_request(id)?;
        let now = self.now();
        let takes_back = !approve && approval.status_at(now) == "approved";
        let authority = match approval.authority_at(now) {
            Some(authority) => authority.to_owned(),
            None if takes_back => approval.authority_on_record().to_owned(),
            None => {
                let status = approval.status_at(now);
                return Err(refused(format!("the approval `{id}` is {status}, and waits for no answer")));
            }
        };
        if let Some(who) = self.is_behind(&approval, by)? {
            return Err(not_allowed(format!("{who} asked for the approval `{id}`, and cannot answer it")));
        }
        let policy = self.policy();
        let authorities = policy.authorities();
        let Some(role) = by.role_for(&authority, authorities) else {
            return Err(not_allowed(format!(
                "the approval `{id}` is for the role `{authority}`, and `{}` answers as {}",
                by.name(),
                by.roles().join(", ")
            )));
        };
        if takes_back {
            return self.take_back(&approval, by, Some(role), note);
        }
        let state = if approve { ApprovalState::Approved } else { ApprovalState::Denied };
        // Whoever was let pass has as long to act as there was to answer.
        let usable = approval.expires.map(|expires| {
            let given = match approval.timeout_s.and_then(|seconds| i64::try_from(seconds).ok()) {
                Some(seconds) => SignedDuration::from_secs(seconds),
                None => expires.duration_since(approval.created),
            };
            now.checked_add(given).unwrap_or(expires)
        });
        let mut decided = Approval {
            state,
            decided_by: Some(by.name().to_owned()),
            decided_role: Some(role.to_owned()),
            decided_at: Some(now),
            note: note.map(|note| self.masked_text(note)).transpose()?,
            expires: if approve { usable } else { approval.expires },
            ..approval.clone()
        };
        decided.seal = approve.then(|| seal(&decided, self.fingerprint_key()));
        let act =
            Act::of("approval_decided").in_session(&decided.session).of_kind(EventKind::ApprovalDecided);
        let record = self.administered(act.with("approval", serde_json::to_value(&decided)?))?;
        let mut commit = Commit {
            approvals: vec![ApprovalChange::from(ApprovalState::Pending, decided.clone())],
            notices: vec![told(&decided, state.word(), by)],
            ..Commit::new(&record)
        };
        commit.changes.set(approval_key(&decided.guardrail, &decided.action), held(&decided));
        match self.commit(&commit) {
            Ok(()) => Ok(Some(decided)),
            // Somebody else was first, and theirs holds.
            Err(EngineError::Store(StoreError::Conflict { .. })) => {
                let now = self.approval(id)?;
                let status = now.status_at(self.now());
                // A no holds, whoever was first to say yes.
                if now.authority_at(self.now()).is_some() || (!approve && status == "approved") {
                    return Ok(None);
                }
                let who = now.decided_by.unwrap_or_default();
                Err(refused(format!(
                    "the approval `{id}` is {status} by now ({who}), and waits for no answer"
                )))
            }
            Err(error) => Err(error),
        }
    }

    /// Files the review that is owed for an action that an emergency let pass.
    pub fn review(&self, id: &str, by: &Person, text: &str) -> Result<Approval, EngineError> {
        let approval = self.approval(id)?;
        let Some(review) = approval.review.as_ref().filter(|review| !review.is_filed()) else {
            return Err(refused(format!("no review is owed for the approval `{id}`")));
        };
        if text.chars().filter(|c| c.is_alphanumeric()).count() < SHORTEST_REVIEW {
            return Err(senseless(
                "say what happened, whether it was right, and what follows from it".to_owned(),
            ));
        }
        let policy = self.policy();
        let authorities = policy.authorities();
        let is_able =
            |role: &String| authorities.supervisors.contains(role) || authorities.humans.contains(role);
        let mut able: Vec<&str> = Vec::new();
        for role in authorities.supervisors.iter().chain(&authorities.humans) {
            if !able.contains(&role.as_str()) {
                able.push(role);
            }
        }
        let cannot = |why: String| {
            let (name, able) = (by.name(), able.join(" or "));
            not_allowed(format!(
                "`{name}` cannot review what `{id}` let pass: {why}; it takes the role {able}"
            ))
        };
        if let Some(who) = self.is_behind(&approval, by)? {
            return Err(cannot(format!("{who} asked for it, and another person has to look at it")));
        }
        if !by.roles().iter().any(is_able) {
            return Err(cannot(format!("they answer as {}", by.roles().join(", "))));
        }
        let now = self.now();
        let filed = Review {
            filed_by: Some(by.name().to_owned()),
            filed_at: Some(now),
            text: Some(self.masked_text(text)?),
            ..review.clone()
        };
        let reviewed = Approval { review: Some(filed), ..approval.clone() };
        let act = Act::of("approval_reviewed").in_session(&reviewed.session);
        let record = self.administered(act.with("approval", serde_json::to_value(&reviewed)?))?;
        let mut commit = Commit {
            approvals: vec![ApprovalChange::from(approval.state, reviewed.clone())],
            notices: vec![told(&reviewed, "reviewed", by)],
            ..Commit::new(&record)
        };
        for _ in 0..TRIES {
            (commit.read, commit.changes) = Default::default();
            note(&**self.store(), &commit.approvals, &mut commit.read, &mut commit.changes)?;
            match self.commit(&commit) {
                Ok(()) => return Ok(reviewed),
                // Another review was noted meanwhile, or somebody filed this one.
                Err(EngineError::Store(StoreError::Conflict { .. })) if self.approval(id)?.needs_review() => {
                }
                Err(error) => return Err(error),
            }
        }
        Err(EngineError::Contended)
    }

    /// Whoever asked for a request in somebody's place, in words: they themselves, or a sub-agent of theirs. `None`:
    /// others did.
    fn is_behind(&self, approval: &Approval, by: &Person) -> Result<Option<String>, EngineError> {
        // Names of agents are what their hosts say, in whatever case.
        let is_theirs = |name: &str| name.trim().to_lowercase() == by.name().trim().to_lowercase();
        if approval.requested_by.as_deref().is_some_and(is_theirs) {
            return Ok(Some(format!("`{}`", by.name())));
        }
        let record = record_of_approval(&**self.store(), approval)?.and_then(|entry| entry.record().ok());
        let Some(parent) = record.and_then(|record| record.event.parent) else { return Ok(None) };
        let started = self.store().load(&approval.session, &[STARTED])?.into_iter().next();
        let started = started.and_then(|slice| slice.value);
        let is_below = above(started.as_ref(), parent.trim()).iter().any(|name| is_theirs(name));
        Ok(is_below.then(|| format!("a sub-agent of `{}`", by.name())))
    }

    /// A request, by its name.
    pub fn approval(&self, id: &str) -> Result<Approval, EngineError> {
        self.store().approval(id)?.ok_or_else(|| refused(format!("there is no approval `{id}`")))
    }
}

pub(super) fn told(approval: &Approval, what: &str, by: &Person) -> NewNotice {
    let action = approval.subject();
    NewNotice {
        to: "orchestrator".to_owned(),
        kind: "approval".to_owned(),
        message: format!("`{}` for `{action}` was {what} by {}", approval.id, by.name()),
        body: json!({"approval": approval}),
    }
}
