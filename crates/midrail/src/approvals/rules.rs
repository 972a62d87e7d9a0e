//! The rules that a request stands under: those of the policy that stopped the action. Whoever asks or answers cannot
//! bring others.

use jiff::SignedDuration;
use midrail_core::{Policy, Record};
use midrail_pack::PolicySource;
use midrail_store::{Approval, Entry, Filter, Store, StoreError};

use super::request::action_of;
use crate::redecide::recorded_policy;

/// The policy that made a recorded decision. `None`: there is no such record, or its policy cannot be made again.
pub fn policy_of_record(store: &dyn Store, seq: u64) -> Result<Option<(Policy, PolicySource)>, StoreError> {
    let Some(entry) = store.entry(seq)? else { return Ok(None) };
    let Ok(record) = entry.record() else { return Ok(None) };
    of(store, &record)
}

/// The policy that made the decision which a request is about. `None`: it is not known any more.
pub fn policy_of_approval(
    store: &dyn Store,
    approval: &Approval,
) -> Result<Option<(Policy, PolicySource)>, StoreError> {
    match record_of_approval(store, approval)?.map(|entry| entry.record()) {
        Some(Ok(record)) => of(store, &record),
        _ => Ok(None),
    }
}

/// The record that a request was made for. `None`: it cannot be told.
pub fn record_of_approval(store: &dyn Store, approval: &Approval) -> Result<Option<Entry>, StoreError> {
    if let Some(seq) = approval.seq {
        return store.entry(seq);
    }
    // An escalation is asked for by the record of its own moment.
    let filter = Filter {
        session: Some(approval.session.clone()),
        since: approval.created.checked_sub(SignedDuration::from_secs(1)).ok(),
        until: approval.created.checked_add(SignedDuration::from_secs(1)).ok(),
        ..Filter::default()
    };
    let mut first = None;
    for entry in store.entries(&filter)? {
        let Ok(record) = entry.record() else { continue };
        let is_asked_by = record.decision.verdicts.iter().any(|said| *said.guardrail == *approval.guardrail);
        if record.time != approval.created || !is_asked_by {
            continue;
        }
        // Several can have come at the same moment.
        let is_of_id = record.decision.approval.as_ref().is_some_and(|asked| asked.id == approval.id);
        if is_of_id || action_of(&record, &approval.guardrail) == approval.action {
            return Ok(Some(entry));
        }
        first.get_or_insert(entry);
    }
    Ok(first)
}

fn of(store: &dyn Store, record: &Record) -> Result<Option<(Policy, PolicySource)>, StoreError> {
    match recorded_policy(store, &record.decision.policy)? {
        Ok(found) => Ok(Some(found)),
        Err(why) => {
            log::warn!("{why}");
            Ok(None)
        }
    }
}
