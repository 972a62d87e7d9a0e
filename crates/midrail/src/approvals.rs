//! Requests to people: what a decision asks for, and what comes of an answer.

use jiff::Timestamp;
use midrail_core::{Event, EventKind, Record, approval_key};
use midrail_store::{Approval, ApprovalChange, ApprovalState, Commit, Store};
use serde_json::{Value, json};

use crate::engine::{Engine, EngineError};

/// Characters of the arguments that an approver is shown in short.
const MAX_SUMMARY: usize = 2_000;

/// The rows that a decision adds or changes: requests that are new, and answers that were used or came too late.
///
/// An answer that the session holds and the record of approvals does not is no answer.
pub(crate) fn changes(store: &dyn Store, record: &Record) -> Result<Vec<ApprovalChange>, EngineError> {
    let mut changes = Vec::new();
    for request in &record.decision.requests {
        if store.approval(&request.id)?.is_some() {
            continue;
        }
        let event = &record.event;
        let args =
            event.tool.as_ref().map(|tool| Value::Object(tool.args.clone()).to_string()).unwrap_or_default();
        changes.push(ApprovalChange::ask(Approval {
            id: request.id.clone(),
            kind: request.kind,
            state: ApprovalState::Pending,
            session: record.session.clone(),
            task: event.task.as_ref().and_then(|task| task.id.clone()),
            guardrail: request.guardrail.to_string(),
            action: request.action.clone(),
            requested_by: event.agent.as_ref().and_then(|agent| agent.id.clone()),
            reason: record.decision.reason.clone(),
            tool: event.tool_name().map(str::to_owned),
            summary: args.chars().take(MAX_SUMMARY).collect(),
            approver: request.approver.clone(),
            created: record.time,
            expires: request.expires,
            decided_by: None,
            decided_at: None,
            note: None,
            used_at: None,
        }));
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
        let approval = store.approval(id)?;
        let is_approved = approval.as_ref().is_some_and(|approval| approval.state == ApprovalState::Approved);
        if text("state") == Some("approved") && record.decision.effect.goes_on() && !is_approved {
            return Err(EngineError::Approval(format!("the approval `{id}` was never given, or is used up")));
        }
        let Some(approval) = approval else { continue };
        let used = record.decision.effect.goes_on() && is_approved;
        let state = if used { ApprovalState::Used } else { ApprovalState::Expired };
        let used_at = used.then_some(record.time);
        changes.push(ApprovalChange::from(approval.state, Approval { state, used_at, ..approval }));
    }
    Ok(changes)
}

impl Engine {
    /// A person's answer to a request. It holds for exactly that action, once, and is recorded as an event of its own.
    pub fn answer(
        &self,
        id: &str,
        approve: bool,
        by: &str,
        note: Option<&str>,
    ) -> Result<Approval, EngineError> {
        let store = self.store();
        let unknown = || EngineError::Approval(format!("there is no approval `{id}`"));
        let approval = store.approval(id)?.ok_or_else(unknown)?;
        let now = self.now();
        if approval.state != ApprovalState::Pending {
            let word = approval.state.word();
            return Err(EngineError::Approval(format!(
                "the approval `{id}` is {word}, and waits for no answer"
            )));
        }
        if approval.expires.is_some_and(|expires| now >= expires) {
            return Err(EngineError::Approval(format!(
                "the approval `{id}` timed out before it was answered"
            )));
        }
        if approval.requested_by.as_deref() == Some(by) {
            return Err(EngineError::Approval(format!(
                "`{by}` asked for the approval `{id}`, and cannot answer it"
            )));
        }
        let state = if approve { ApprovalState::Approved } else { ApprovalState::Denied };
        let decided = Approval {
            state,
            decided_by: Some(by.to_owned()),
            decided_at: Some(now),
            note: note.map(str::to_owned),
            ..approval.clone()
        };
        self.record_answer(&decided, now)?;
        Ok(decided)
    }

    fn record_answer(&self, decided: &Approval, now: Timestamp) -> Result<(), EngineError> {
        let mut event = Event::new(EventKind::ApprovalDecided).in_session(&*decided.session);
        event.time = Some(now);
        event.extra.insert("approval".to_owned(), serde_json::to_value(decided)?);
        let key = approval_key(&decided.guardrail, &decided.action);
        let held = json!({
            "id": decided.id, "state": decided.state, "by": decided.decided_by,
            "expires": decided.expires.map(|time| time.to_string()),
        });
        let mut decision =
            midrail_core::Decision { policy: self.policy().revision().clone(), ..Default::default() };
        decision.changes.set(key, held);
        let record = Record {
            time: now,
            session: decided.session.clone(),
            event,
            slices: Default::default(),
            facts: Default::default(),
            decision,
            denied: None,
        };
        let commit = Commit {
            changes: record.decision.changes.clone(),
            approvals: vec![ApprovalChange::from(ApprovalState::Pending, decided.clone())],
            ..Commit::new(&record)
        };
        self.store().commit(&commit)?;
        Ok(())
    }
}
