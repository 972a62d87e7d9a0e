//! Reviews that are owed after emergencies: which are to come, and those that nobody filed in time. Whoever looks first puts
//! the latter on record, once.

use std::collections::BTreeSet;
use std::sync::PoisonError;

use jiff::{SignedDuration, Timestamp};
use midrail_core::Changes;
use midrail_store::{
    Approval, ApprovalChange, ApprovalFilter, Approvals, Commit, NewNotice, Slices, Store, StoreError,
};
use serde_json::{Map, Value, json};

use crate::administer::{Act, NO_SESSION};
use crate::engine::{Engine, EngineError};

/// The slice that says which reviews are owed and until when, so that a decision need not look through all requests.
const OWED: &str = "shared/owed_reviews";

/// How many reviews it names. Those beyond are found by whoever looks at requests.
const MOST: usize = 1_000;

/// How often a process that decides looks at that list, unless it knows of a review that is due sooner.
const LOOK_EVERY: SignedDuration = SignedDuration::from_secs(10);

/// Tries against others who change the list of reviews at the same time.
const TRIES: usize = 8;

/// The slice that says that an overdue review is on record.
fn told_key(id: &str) -> String {
    format!("shared/overdue_review/{id}")
}

/// Notes the reviews that come to be owed by these changes, and those that are filed.
pub(crate) fn note(
    store: &dyn Store,
    approvals: &[ApprovalChange],
    read: &mut Vec<(String, u64)>,
    changes: &mut Changes,
) -> Result<(), StoreError> {
    if approvals.iter().all(|change| change.now.review.is_none()) {
        return Ok(());
    }
    let (mut owed, version) = owed(store)?;
    let before = owed.clone();
    for Approval { id, review, .. } in approvals.iter().map(|change| &change.now) {
        match review {
            Some(review) if !review.is_filed() && owed.len() < MOST => {
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

/// The requests whose review is overdue and not on record so yet.
pub(super) fn overdue<S: Approvals + Slices + ?Sized>(
    store: &S,
    now: Timestamp,
) -> Result<Vec<Approval>, StoreError> {
    let mut rows = store.approvals(&ApprovalFilter { needs_review: true, ..ApprovalFilter::default() })?;
    rows.retain(|approval| is_overdue(approval, now));
    let keys: Vec<String> = rows.iter().map(|approval| told_key(&approval.id)).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let told = if keys.is_empty() { Vec::new() } else { store.load(NO_SESSION, &keys)? };
    let rows = rows.into_iter().zip(told).filter(|(_, told)| told.value.is_none());
    Ok(rows.map(|(approval, _)| approval).collect())
}

fn is_overdue(approval: &Approval, now: Timestamp) -> bool {
    approval.review.as_ref().is_some_and(|review| review.status_at(now) == "overdue")
}

fn owed<S: Slices + ?Sized>(store: &S) -> Result<(Map<String, Value>, u64), StoreError> {
    let slice = store.load(NO_SESSION, &[OWED])?.into_iter().next().unwrap_or_default();
    let owed = match slice.value {
        Some(Value::Object(owed)) => owed,
        _ => Map::new(),
    };
    Ok((owed, slice.version))
}

fn keep(owed: Map<String, Value>, changes: &mut Changes) {
    match owed.is_empty() {
        true => changes.remove(OWED),
        false => changes.set(OWED, owed),
    }
}

impl Engine {
    /// Puts on record the reviews that are overdue: those that are noted, or where all are to be looked at, all. Answers
    /// how many there were.
    pub(super) fn settle_reviews(&self, all: bool) -> Result<usize, EngineError> {
        let now = self.now();
        let mut looked = self.reviews_looked_at.lock().unwrap_or_else(PoisonError::into_inner);
        if !all && looked.is_some_and(|(last, next)| last <= now && now < next) {
            return Ok(0);
        }
        let (owed, _) = owed(&**self.store())?;
        let due = |due: &Value| due.as_str().and_then(|due| due.parse().ok()).unwrap_or(now);
        let owed: Vec<(String, Timestamp)> = owed.into_iter().map(|(id, at)| (id, due(&at))).collect();
        // Those that others come to owe meanwhile are not due so soon.
        let again = now.checked_add(LOOK_EVERY).unwrap_or(now);
        let first = owed.iter().map(|(_, due)| *due).filter(|due| *due > now).min();
        *looked = Some((now, first.map_or(again, |first| first.min(again))));
        drop(looked);
        let mut ids: BTreeSet<String> =
            owed.into_iter().filter(|(_, due)| *due <= now).map(|(id, _)| id).collect();
        if all {
            ids.extend(overdue(&**self.store(), now)?.into_iter().map(|approval| approval.id));
        }
        let mut count = 0;
        for id in ids {
            if let Some(approval) = self.store().approval(&id)? {
                count += usize::from(self.settle_review(&approval)?);
            }
        }
        Ok(count)
    }

    /// Puts on record that a review is overdue, where it is and nobody has yet. A store that cannot be written is left as
    /// it is.
    pub(super) fn settle_review(&self, approval: &Approval) -> Result<bool, EngineError> {
        if !is_overdue(approval, self.now()) {
            return Ok(false);
        }
        let told = told_key(&approval.id);
        for _ in 0..TRIES {
            let (mut owed, owed_version) = owed(&**self.store())?;
            let slice = self.store().load(NO_SESSION, &[&told])?.into_iter().next().unwrap_or_default();
            if slice.value.is_some() {
                return Ok(false);
            }
            let mut act =
                Act::of("review_overdue").in_session(&approval.session).with("severity", "critical");
            if let Some(review) = &approval.review {
                act = act.with("due", review.due.to_string());
            }
            let mut record = self.administered(act.with("approval", serde_json::to_value(approval)?))?;
            record.decision.metadata.insert("severity".to_owned(), "critical".into());
            let mut commit = Commit {
                read: vec![(told.clone(), slice.version), (OWED.to_owned(), owed_version)],
                notices: self.overdue_notices(approval),
                ..Commit::new(&record)
            };
            commit.changes.set(told.as_str(), self.now().to_string());
            if owed.remove(&approval.id).is_some() {
                keep(owed, &mut commit.changes);
            }
            match self.commit(&commit) {
                Ok(()) => return Ok(true),
                // Somebody else was first, or another review was noted meanwhile.
                Err(EngineError::Store(StoreError::Conflict { .. })) => {}
                Err(EngineError::Store(StoreError::ReadOnly { .. })) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Supervisors and human operators are told, each role once.
    fn overdue_notices(&self, approval: &Approval) -> Vec<NewNotice> {
        let policy = self.policy();
        let authorities = policy.authorities();
        let roles: BTreeSet<&String> = authorities.supervisors.iter().chain(&authorities.humans).collect();
        let id = &approval.id;
        let action = approval.subject();
        let due = approval.review.as_ref().map(|review| format!("{:.0}", review.due)).unwrap_or_default();
        let message = format!(
            "the review of `{id}`, by which `{action}` passed in an emergency, was due at {due} and is overdue: file it \
             with `midrail approvals review {id} --as NAME --text \"…\"`"
        );
        let notice = |to: &String| NewNotice {
            to: to.clone(),
            kind: "approval".to_owned(),
            message: message.clone(),
            body: json!({"approval": approval}),
        };
        roles.into_iter().map(notice).collect()
    }
}
