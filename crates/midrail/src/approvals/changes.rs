//! The approvals that a decision creates, uses or expires.

use jiff::SignedDuration;
use midrail_core::{ApprovalRequest, Decision, EMERGENCY_OVERRIDE, Policy, Record, Severity};
use midrail_store::{Approval, ApprovalChange, ApprovalState, Review, Store, StoreError};
use serde_json::Value;

use super::handle::{request_about, seal, with_judged_event};
use super::request::{denied_before, script_request};
use crate::error::{EngineError, EngineResult};
use crate::session_slices::load_slice;

/// The changes of approvals that a decision causes: new requests, and answers that it used or that came too late.
///
/// An answer that only the session has, and not the table of approvals, is refused.
pub(crate) fn changes(
    store: &dyn Store,
    policy: &Policy,
    store_key: &[u8],
    record: &Record,
) -> EngineResult<Vec<ApprovalChange>> {
    let mut changes = Vec::new();
    for request in &record.decision.requests {
        if store.approval(&request.id)?.is_none() {
            changes.push(ApprovalChange::create(with_judged_event(record, new_approval(record, request))));
        }
    }
    let removed = record.decision.changes.0.iter();
    let removed = removed.filter(|(key, value)| value.is_none() && key.starts_with("approval/"));
    for (key, _) in removed {
        let slice = record.slices.get(key).and_then(Option::as_ref);
        let text = |name: &str| slice.and_then(|slice| slice.get(name)).and_then(Value::as_str);
        if let Some(id) = text("id") {
            changes.extend(end_approval(store, policy, store_key, record, (key, id, text("state")))?);
        }
    }
    Ok(changes)
}

fn new_approval(record: &Record, request: &ApprovalRequest) -> Approval {
    Approval {
        id: request.id.clone(),
        kind: request.kind,
        justification: script_request(record, &request.guardrail).map(|request| request.reason.clone()),
        approver: request.approver.clone(),
        created: record.time,
        expires: request.expires,
        ..request_about(record, &request.guardrail, request.action.clone())
    }
}

/// The end of an approval whose slice the decision removed: its key, and the id and the state that the session had.
fn end_approval(
    store: &dyn Store,
    policy: &Policy,
    store_key: &[u8],
    record: &Record,
    (key, id, slice_state): (&str, &str, Option<&str>),
) -> EngineResult<Option<ApprovalChange>> {
    let is_allowed = record.decision.effect.allows();
    let Some(approval) = store.approval(id)? else {
        let error = EngineError::conflict(format!("the approval `{id}` was never given"));
        return if is_allowed { Err(error) } else { Ok(None) };
    };
    let (state, now) = (approval.state, record.time);
    let uses_answer = is_allowed && slice_state == Some("approved");
    let is_override = is_allowed
        && slice_state == Some("pending")
        && record.decision.effects.iter().any(|effect| effect == EMERGENCY_OVERRIDE);
    let is_spent =
        (uses_answer && state != ApprovalState::Approved) || (is_override && state != ApprovalState::Pending);
    if is_spent && load_slice(store, &record.session, key)?.value != record.slices.get(key).cloned().flatten()
    {
        // Another call used it after the session was read: decide again with what is left.
        return Err(StoreError::Conflict { what: format!("the approval `{id}`") }.into());
    }
    if is_override && state != ApprovalState::Pending {
        // The event's own time may be before the end of a request that has ended.
        return Err(EngineError::conflict(format!("the approval `{id}` is now {}", approval.status_at(now))));
    }
    if uses_answer && state != ApprovalState::Approved {
        return Err(EngineError::conflict(format!("the approval `{id}` was never given, or is used up")));
    }
    if !matches!(state, ApprovalState::Pending | ApprovalState::Approved) {
        return Ok(None);
    }
    if uses_answer && approval.seal != Some(seal(&approval, store_key)) {
        return Err(EngineError::conflict(format!("the answer to `{id}` was not written by an approver")));
    }
    if is_override && !approval.overrides_at(now) {
        return Err(EngineError::conflict(format!("the approval `{id}` does not grant itself")));
    }
    // Requests from before the field `denied_before` do not name the denial.
    if is_override
        && denied_before(store, &approval.session, &approval.guardrail, &approval.action)?.is_some()
    {
        return Err(EngineError::conflict(format!(
            "the approval `{id}` is about an action that a person denied"
        )));
    }
    let ended = if is_override {
        let within = policy.authorities().emergency.as_ref().map_or(0, |rule| rule.review_within_s);
        let due = now.checked_add(SignedDuration::from_secs(i64::from(within))).unwrap_or(now);
        Approval {
            state: ApprovalState::Used,
            severity: Some(Severity::Critical),
            decided_by: Some("emergency override".to_owned()),
            decided_at: Some(now),
            used_at: Some(now),
            review: Some(Review::due(due)),
            ..approval
        }
    } else if is_allowed && state == ApprovalState::Approved {
        Approval { state: ApprovalState::Used, used_at: Some(now), ..approval }
    } else {
        Approval { state: ApprovalState::Expired, ..approval }
    };
    Ok(Some(ApprovalChange::update(state, ended)))
}

/// Whether a decision makes a request with the id of one that has ended: the same action at the same time.
pub(crate) fn has_used_name(store: &dyn Store, decision: &Decision) -> EngineResult<bool> {
    for request in &decision.requests {
        let found = store.approval(&request.id)?;
        if found.is_some_and(|row| !matches!(row.state, ApprovalState::Pending | ApprovalState::Approved)) {
            return Ok(true);
        }
    }
    Ok(false)
}
