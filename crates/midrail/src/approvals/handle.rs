//! The handle through which approvals are requested, answered and awaited, and the values that its operations share.

use jiff::Timestamp;
use midrail_core::{
    ABOUT_EVENT, Event, EventKind, HOLDS, LATE_ANSWERS, Record, approval_key, late_answer_digest,
};
use midrail_scan::secrets;
use midrail_store::{Approval, ApprovalChange, Commit, NewNotice};
use serde_json::{Value, json};

use super::waiting::Waiting;
use crate::admin::event::AdminEvent;
use crate::engine::Engine;
use crate::error::{EngineError, EngineResult};
use crate::session_slices::load_slice;

/// The approvals of an engine. See [`Engine::approvals`].
#[derive(Clone, Copy)]
pub struct Approvals<'e> {
    pub(super) engine: &'e Engine,
}

impl Engine {
    /// The approvals: requests to people and their answers.
    pub fn approvals(&self) -> Approvals<'_> {
        Approvals { engine: self }
    }
}

impl Approvals<'_> {
    /// An approval by its id.
    pub fn get(&self, id: &str) -> EngineResult<Approval> {
        let approval = self.engine.store().approval(id)?;
        approval.ok_or_else(|| EngineError::conflict(format!("there is no approval `{id}`")))
    }

    /// The request about an action that a session holds, and the version of its slice.
    pub(super) fn held(
        &self,
        session: &str,
        guardrail: &str,
        action: &str,
    ) -> EngineResult<(Option<Approval>, u64)> {
        let store = &**self.engine.store();
        let slice = load_slice(store, session, &approval_key(guardrail, action))?;
        let id = slice.value.as_ref().and_then(|value| value.get("id")?.as_str());
        let approval = id.map(|id| store.approval(id)).transpose()?;
        Ok((approval.flatten(), slice.version))
    }

    /// Records a change of an approval, and sets the slice that `decide` reads, if it still has a version.
    pub(super) fn write(
        &self,
        event: AdminEvent,
        change: ApprovalChange,
        version: Option<u64>,
        notices: Vec<NewNotice>,
    ) -> EngineResult<Approval> {
        self.write_among(event, change, version, notices, &Waiting::default())
    }

    /// The same for a new request, while others wait.
    pub(super) fn write_among(
        &self,
        event: AdminEvent,
        change: ApprovalChange,
        version: Option<u64>,
        notices: Vec<NewNotice>,
        waiting: &Waiting,
    ) -> EngineResult<Approval> {
        let approval = change.now.clone();
        let key = approval_key(&approval.guardrail, &approval.action);
        let read = version.map(|version| (key.clone(), version)).into_iter().collect();
        let own = self.engine.admin_commit(event.about(&approval)?);
        let mut commit = Commit { read, approvals: vec![change], notices, ..own };
        waiting.guard(&approval.id, &mut commit.read, &mut commit.changes);
        commit.changes.set(key, approval_slice(&approval));
        self.engine.commit(&commit)?;
        Ok(approval)
    }
}

/// The most characters of the arguments that an approver is shown.
const MAX_SUMMARY: usize = 2_000;

/// A keyed digest of an answer: its request, the answer, the person and the time.
pub(super) fn seal(approval: &Approval, key: &[u8]) -> String {
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

/// The slice of an approval that `decide` reads.
pub(super) fn approval_slice(approval: &Approval) -> Value {
    let time = |time: Option<Timestamp>| time.map(|time| time.to_string());
    json!({
        "id": approval.id, "kind": approval.kind, "state": approval.state, "urgency": approval.urgency,
        "by": approval.decided_by, "role": approval.decided_role, "expires": time(approval.expires),
        "override_at": time(approval.override_at), "denied_before": approval.denied_before,
        "taken_back": approval.taken_back.is_some(),
    })
}

/// A request about what a guardrail stopped in a record, without its approvers and deadlines.
pub(super) fn request_about(record: &Record, guardrail: &str, action: String) -> Approval {
    let event = &record.event;
    let mut verdicts = record.decision.verdicts.iter();
    let own = verdicts.find(|verdict| *verdict.guardrail == *guardrail && !verdict.reason.is_empty());
    Approval {
        session: record.session.clone(),
        task: event.task.as_ref().and_then(|task| task.id.clone()),
        guardrail: guardrail.to_owned(),
        action,
        requested_by: event.agent.as_ref().and_then(|agent| agent.id.clone()),
        reason: own.map_or(&record.decision.reason, |own| &own.reason).clone(),
        tool: event.tool_name().map(str::to_owned),
        event: (event.tool.is_none() || event.kind == EventKind::OnError).then_some(event.kind),
        summary: short_arguments(event),
        ..Approval::default()
    }
}

/// The arguments of a call as an approver is shown them.
fn short_arguments(event: &Event) -> String {
    let args = event.tool.as_ref().map(|tool| Value::Object(tool.args.clone()).to_string());
    args.unwrap_or_default().chars().take(MAX_SUMMARY).collect()
}

/// A text that ends like a sentence, so that another one can follow.
pub(crate) fn sentence(text: &str) -> String {
    let text = text.trim_end();
    let is_ended = text.is_empty() || text.ends_with(['.', '!', '?', '…', ':', ';', '。', '"', ')']);
    if is_ended { text.to_owned() } else { format!("{text}.") }
}

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
