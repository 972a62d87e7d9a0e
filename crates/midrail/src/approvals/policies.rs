//! The policy that applies to a request: the one that stopped the action. Neither the requester nor the approver can
//! bring another.

use jiff::SignedDuration;
use midrail_core::{Policy, Record};
use midrail_pack::PolicySource;
use midrail_store::{Approval, AuditEntry, AuditFilter, Result, Store};

use super::request::action_digest_of;
use crate::stored_policy::{StoredPolicyError, stored_policy};

/// The policy of a recorded decision. `None`: there is no such record, or its policy cannot be compiled again.
pub fn policy_for_record(store: &dyn Store, seq: u64) -> Result<Option<(Policy, PolicySource)>> {
    let Some(entry) = store.entry(seq)? else { return Ok(None) };
    let Ok(record) = entry.record() else { return Ok(None) };
    recorded_policy(store, &record)
}

/// The policy of the decision that an approval is about. `None`: it is not known any more.
pub fn policy_for_approval(store: &dyn Store, approval: &Approval) -> Result<Option<(Policy, PolicySource)>> {
    match record_for_approval(store, approval)?.map(|entry| entry.record()) {
        Some(Ok(record)) => recorded_policy(store, &record),
        _ => Ok(None),
    }
}

/// The record that an approval was requested for. `None`: it cannot be determined.
pub fn record_for_approval(store: &dyn Store, approval: &Approval) -> Result<Option<AuditEntry>> {
    if let Some(seq) = approval.seq {
        return store.entry(seq);
    }
    // An escalation has the same time as its record.
    let filter = AuditFilter {
        session: Some(approval.session.clone()),
        since: approval.created.checked_sub(SignedDuration::from_secs(1)).ok(),
        until: approval.created.checked_add(SignedDuration::from_secs(1)).ok(),
        ..AuditFilter::default()
    };
    let mut first = None;
    for entry in store.entries(&filter)? {
        let Ok(record) = entry.record() else { continue };
        let mut verdicts = record.decision.verdicts.iter();
        let is_requester = verdicts.any(|verdict| *verdict.guardrail == *approval.guardrail);
        if record.time != approval.created || !is_requester {
            continue;
        }
        // Several records can have the same time.
        let has_id = record.decision.approval.as_ref().is_some_and(|request| request.id == approval.id);
        if has_id || action_digest_of(&record, &approval.guardrail) == approval.action {
            return Ok(Some(entry));
        }
        first.get_or_insert(entry);
    }
    Ok(first)
}

fn recorded_policy(store: &dyn Store, record: &Record) -> Result<Option<(Policy, PolicySource)>> {
    match stored_policy(store, &record.decision.policy) {
        Ok(found) => Ok(Some(found)),
        Err(StoredPolicyError::Store(error)) => Err(error),
        Err(error) => {
            log::warn!("{error}");
            Ok(None)
        }
    }
}
