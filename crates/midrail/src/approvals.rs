//! Requests to people: what a decision asks for, and what comes of an answer.

mod answer;
mod chance;
mod due;
mod guidance;
mod late;
pub(crate) mod overdue;
mod reasons;
mod request;
mod rules;
mod scripted;
mod take_back;
mod wait;

pub use due::due_requests;
pub use late::is_late;
pub(crate) use reasons::substantive;
pub use request::Ask;
pub use rules::{policy_of_approval, policy_of_record, record_of_approval};
pub(crate) use scripted::urgency_of;

use jiff::{SignedDuration, Timestamp};
use midrail_core::{Decision, EMERGENCY_OVERRIDE, Event, EventKind, Policy, Record, Severity, hex};
use midrail_detect::secrets;
use midrail_store::{Approval, ApprovalChange, ApprovalState, Review, Store};
use serde_json::{Value, json};

use crate::engine::{Engine, EngineError};

/// Characters of the arguments that an approver is shown in short.
const MAX_SUMMARY: usize = 2_000;

/// The rows that a decision adds or changes: requests that are new, and answers that were used or came too late.
///
/// An answer that the session holds and the record of approvals does not is no answer.
pub(crate) fn changes(
    store: &dyn Store,
    policy: &Policy,
    store_key: &[u8],
    record: &Record,
) -> Result<Vec<ApprovalChange>, EngineError> {
    let mut changes = Vec::new();
    for request in &record.decision.requests {
        if store.approval(&request.id)?.is_some() {
            continue;
        }
        let event = &record.event;
        let asked = Approval {
            id: request.id.clone(),
            kind: request.kind,
            state: ApprovalState::Pending,
            session: record.session.clone(),
            task: event.task.as_ref().and_then(|task| task.id.clone()),
            guardrail: request.guardrail.to_string(),
            action: request.action.clone(),
            requested_by: event.agent.as_ref().and_then(|agent| agent.id.clone()),
            reason: record.decision.reason.clone(),
            justification: scripted::asked(record, &request.guardrail).map(|asked| asked.reason.clone()),
            tool: event.tool_name().map(str::to_owned),
            event: kind_of(event),
            summary: short_arguments(event),
            approver: request.approver.clone(),
            created: record.time,
            expires: request.expires,
            ..Approval::default()
        };
        changes.push(ApprovalChange::ask(late::as_it_was(record, asked)));
    }
    let gone = record
        .decision
        .changes
        .0
        .iter()
        .filter(|(key, value)| value.is_none() && key.starts_with("approval/"));
    for (key, _) in gone {
        let held = record.slices.get(key).and_then(Option::as_ref);
        let text = |name: &str| held.and_then(|held| held.get(name)).and_then(Value::as_str);
        let Some(id) = text("id") else { continue };
        let goes_on = record.decision.effect.goes_on();
        let Some(approval) = store.approval(id)? else {
            match goes_on {
                true => return Err(refused(format!("the approval `{id}` was never given"))),
                false => continue,
            }
        };
        let is_override = text("state") == Some("pending")
            && goes_on
            && record.decision.effects.iter().any(|effect| effect == EMERGENCY_OVERRIDE);
        let is_approved = approval.state == ApprovalState::Approved;
        if is_override && approval.state != ApprovalState::Pending {
            // The event's own time may lie before the end of a request that is over.
            return Err(refused(format!(
                "the approval `{id}` is {} by now",
                approval.status_at(record.time)
            )));
        }
        if text("state") == Some("approved") && goes_on && !is_approved {
            return Err(refused(format!("the approval `{id}` was never given, or is used up")));
        }
        if !matches!(approval.state, ApprovalState::Pending | ApprovalState::Approved) {
            // It is over already, and stays on record as it ended.
            continue;
        }
        if text("state") == Some("approved") && goes_on && approval.seal != Some(seal(&approval, store_key)) {
            return Err(refused(format!("the answer to `{id}` was written by nobody who may answer")));
        }
        let (was, now) = (approval.state, record.time);
        if is_override && !approval.overrides_at(now) {
            return Err(refused(format!("the approval `{id}` grants nothing by itself")));
        }
        // Requests that wait since before this was kept do not say so.
        if is_override
            && chance::denied_before(store, &approval.session, &approval.guardrail, &approval.action)?
                .is_some()
        {
            return Err(refused(format!("the approval `{id}` is about what a person has denied")));
        }
        let after = if is_override {
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
        } else if goes_on && is_approved {
            Approval { state: ApprovalState::Used, used_at: Some(now), ..approval }
        } else {
            Approval { state: ApprovalState::Expired, ..approval }
        };
        changes.push(ApprovalChange::from(was, after));
    }
    Ok(changes)
}

/// What seals an answer: its request, what was answered, by whom and when.
pub(crate) fn seal(approval: &Approval, key: &[u8]) -> String {
    let text = json!([
        "approval",
        approval.id,
        approval.guardrail,
        approval.action,
        approval.session,
        approval.decided_by,
        approval.decided_role,
        approval.decided_at,
        approval.expires,
    ]);
    secrets::fingerprint(&text.to_string(), key)
}

/// Whether a decision asks under the name of a request that is over: the same action came again at the same moment.
pub(crate) fn has_used_name(store: &dyn Store, decision: &Decision) -> Result<bool, EngineError> {
    for request in &decision.requests {
        let found = store.approval(&request.id)?;
        if found.is_some_and(|row| !matches!(row.state, ApprovalState::Pending | ApprovalState::Approved)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A request as the session holds it, for the law.
pub(crate) fn held(approval: &Approval) -> Value {
    let time = |time: Option<Timestamp>| time.map(|time| time.to_string());
    json!({
        "id": approval.id, "kind": approval.kind, "state": approval.state, "urgency": approval.urgency,
        "by": approval.decided_by, "role": approval.decided_role, "expires": time(approval.expires),
        "override_at": time(approval.override_at), "denied_before": approval.denied_before,
        "taken_back": approval.taken_back.is_some(),
    })
}

/// What an event is, where that is no call of a tool.
fn kind_of(event: &Event) -> Option<EventKind> {
    (event.tool.is_none() || event.kind == EventKind::OnError).then_some(event.kind)
}

/// The arguments of a call in short, as an approver is shown them.
fn short_arguments(event: &Event) -> String {
    let args = event.tool.as_ref().map(|tool| Value::Object(tool.args.clone()).to_string());
    args.unwrap_or_default().chars().take(MAX_SUMMARY).collect()
}

/// A text as a sentence that another one can follow.
pub(crate) fn sentence(text: &str) -> String {
    let text = text.trim_end();
    let is_ended = text.is_empty() || text.ends_with(['.', '!', '?', '…', ':', ';', '。', '"', ')']);
    if is_ended { text.to_owned() } else { format!("{text}.") }
}

fn refused(why: String) -> EngineError {
    EngineError::Approval(why)
}

fn not_allowed(why: String) -> EngineError {
    EngineError::NotAllowed(why)
}

fn senseless(why: String) -> EngineError {
    EngineError::Senseless(why)
}

impl Engine {
    /// A name for a request that no other has.
    fn new_id(&self) -> Result<String, EngineError> {
        let mut bytes = [0_u8; 8];
        getrandom::fill(&mut bytes).map_err(|error| refused(format!("no name could be made: {error}")))?;
        Ok(hex(&bytes))
    }
}
