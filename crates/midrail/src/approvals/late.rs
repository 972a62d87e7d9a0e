//! Requests about late answers: the approver is shown the event that was judged, not the one that came next.

use midrail_core::{ABOUT_EVENT, HOLDS, LATE_ANSWERS, Record, late_answer_digest};
use midrail_store::Approval;
use serde_json::Value;

/// Added to the reason of such a request, unless the guardrail's own reason contains it.
const EARLIER: &str = "an earlier event of this run";

/// Whether a request of a record is about an earlier event than the recorded one.
pub fn is_about_earlier_event(record: &Record, approval: &Approval) -> bool {
    let answers = record.slices.get(LATE_ANSWERS).and_then(Option::as_ref).and_then(Value::as_array);
    let is_about = |answer: &Value| late_answer_digest(&record.session, answer) == approval.action;
    hold(record, approval).is_some() || answers.is_some_and(|answers| answers.iter().any(is_about))
}

/// The request with the event that was judged, if that is an earlier one.
pub(super) fn with_judged_event(record: &Record, approval: Approval) -> Approval {
    let Some(hold) = hold(record, &approval) else { return approval };
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let mut reason = text(hold, "reason").unwrap_or_else(|| approval.reason.clone());
    if !reason.contains(EARLIER) {
        reason = format!("{reason} (about {EARLIER})");
    }
    let about = hold.get(ABOUT_EVENT).unwrap_or(&Value::Null);
    let says = text(about, "says").unwrap_or_default();
    let kind = text(about, "kind").filter(|kind| kind != "before_tool");
    Approval {
        reason,
        tool: text(about, "tool"),
        summary: match kind {
            Some(kind) => format!("{kind}: {says}"),
            None => says,
        },
        requested_by: text(about, "agent").or_else(|| approval.requested_by.clone()),
        ..approval
    }
}

/// The hold on the run because of the late answer, before or after the record.
fn hold<'r>(record: &'r Record, approval: &Approval) -> Option<&'r Value> {
    let changed = record.decision.changes.0.get(HOLDS).and_then(Option::as_ref);
    let holds = changed.or_else(|| record.slices.get(HOLDS)?.as_ref())?;
    let has = |hold: &Value, name: &str, value: &str| hold.get(name).and_then(Value::as_str) == Some(value);
    holds
        .as_array()?
        .iter()
        .find(|hold| has(hold, "guardrail", &approval.guardrail) && has(hold, "action", &approval.action))
}
