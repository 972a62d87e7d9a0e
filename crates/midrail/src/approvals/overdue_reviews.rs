//! Reviews that are due after emergency overrides. The first process that notices an overdue one records it, once.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use midrail_core::Changes;
use midrail_store::{
    Approval, ApprovalChange, ApprovalFilter, Approvals as ApprovalTable, Commit, NewNotice, Slices, Store,
    StoreError,
};
use serde_json::{Map, Value, json};

use super::handle::Approvals;
use crate::admin::event::{AdminEvent, NO_SESSION, notice};
use crate::error::{EngineError, retry_on_conflict};
use crate::session_slices::load_slice;

/// The slice with the due dates of all open reviews, so that a decision need not search all approvals.
const OWED: &str = "shared/owed_reviews";

/// The most reviews in this slice. Others are found when approvals are settled.
const MOST: usize = 1_000;

/// How often a process reads this slice, unless a review is due sooner.
const LOOK_EVERY: SignedDuration = SignedDuration::from_secs(10);

/// The slice that marks an overdue review as recorded.
fn recorded_key(id: &str) -> String {
    format!("shared/overdue_review/{id}")
}

/// Adds the reviews that become due with these changes to a commit, and removes those that are filed.
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

/// The approvals whose review is overdue and not recorded as such.
pub(super) fn overdue<S: ApprovalTable + Slices + ?Sized>(
    store: &S,
    now: Timestamp,
) -> Result<Vec<Approval>, StoreError> {
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

fn owed<S: Slices + ?Sized>(store: &S) -> Result<(Map<String, Value>, u64), StoreError> {
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
    pub(super) fn settle_reviews(&self, all: bool) -> Result<usize, EngineError> {
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
    pub(super) fn settle_review(&self, approval: &Approval) -> Result<bool, EngineError> {
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
