//! Requests about what came too late to hold its own event: a person is shown the event that was judged, and not the one
//! that happened to come next.

use midrail_core::{ABOUT, HELD, LATE, Record, late_action};
use midrail_store::Approval;
use serde_json::Value;

/// Said of such a request, where the guardrail's own words do not.
const EARLIER: &str = "an earlier event of this run";

/// Whether a request that a record made is about an earlier event than the one on record.
pub fn is_late(record: &Record, approval: &Approval) -> bool {
    let heard = record.slices.get(LATE).and_then(Option::as_ref).and_then(Value::as_array);
    let is_of = |answer: &Value| late_action(&record.session, answer) == approval.action;
    row(record, approval).is_some() || heard.is_some_and(|answers| answers.iter().any(is_of))
}

/// The request with what was judged in place of the event that heard of it, where that is another.
pub(super) fn as_it_was(record: &Record, asked: Approval) -> Approval {
    let Some(row) = row(record, &asked) else { return asked };
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let mut reason = text(row, "reason").unwrap_or_else(|| asked.reason.clone());
    if !reason.contains(EARLIER) {
        reason = format!("{reason} (about {EARLIER})");
    }
    // Of what was asked before events were told with answers, only that it is late is known.
    let about = row.get(ABOUT).unwrap_or(&Value::Null);
    let says = text(about, "says").unwrap_or_default();
    let kind = text(about, "kind").filter(|kind| kind != "before_tool");
    Approval {
        reason,
        tool: text(about, "tool"),
        summary: match kind {
            Some(kind) => format!("{kind}: {says}"),
            None => says,
        },
        requested_by: text(about, "agent").or_else(|| asked.requested_by.clone()),
        ..asked
    }
}

/// What holds the run because of it, as it is or becomes with the record.
fn row<'r>(record: &'r Record, approval: &Approval) -> Option<&'r Value> {
    let becomes = record.decision.changes.0.get(HELD).and_then(Option::as_ref);
    let held = becomes.or_else(|| record.slices.get(HELD)?.as_ref())?;
    let is = |row: &Value, name: &str, wanted: &str| row.get(name).and_then(Value::as_str) == Some(wanted);
    held.as_array()?
        .iter()
        .find(|row| is(row, "guardrail", &approval.guardrail) && is(row, "action", &approval.action))
}
