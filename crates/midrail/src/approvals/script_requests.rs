//! Requests of scripts: their reason becomes the justification of the escalation, and their urgency its urgency.

use midrail_core::{ApprovalRequest, Fact, FactKey, HookAnswer, HookRequest, Record};
use midrail_store::{Approval, Urgency};

use super::handle::Approvals;
use super::request::BypassRequest;
use crate::error::EngineError;

/// The request of a script in a record, by the id of its guardrail.
pub(super) fn script_request<'r>(record: &'r Record, guardrail: &str) -> Option<&'r HookRequest> {
    record.facts.known.iter().find_map(|(key, fact)| match (key, fact) {
        (FactKey::Hook(call), Fact::Hook(end)) if *call.script == *guardrail => match &end.answer {
            HookAnswer::Refuse { request, .. } => request.as_ref(),
            HookAnswer::Pass | HookAnswer::Replace { .. } => None,
        },
        _ => None,
    })
}

fn urgency(request: &HookRequest) -> Urgency {
    request.urgency.parse().unwrap_or(Urgency::Normal)
}

/// The urgency of a guardrail's request in a record.
pub(crate) fn urgency_in_record(record: &Record, guardrail: &str) -> Urgency {
    script_request(record, guardrail).map(urgency).unwrap_or_default()
}

impl Approvals<'_> {
    /// Makes the escalations of a record as urgent as its scripts ask, by the rules for agents, and returns those that
    /// became more urgent. If that fails, they stay as they are until the call is tried again.
    pub(crate) fn apply_script_urgency(&self, record: &Record, seq: u64) -> Vec<Approval> {
        let mut raised = Vec::new();
        for request in &record.decision.requests {
            let Some(asked) = script_request(record, &request.guardrail) else { continue };
            match self.apply_urgency(asked, record, request, seq) {
                Ok(approval) => raised.extend(approval),
                Err(error) => {
                    log::warn!("the request `{}` does not become `{}`: {error}", request.id, asked.urgency);
                }
            }
        }
        raised
    }

    fn apply_urgency(
        &self,
        asked: &HookRequest,
        record: &Record,
        request: &ApprovalRequest,
        seq: u64,
    ) -> Result<Option<Approval>, EngineError> {
        let urgency = urgency(asked);
        let found = self.get(&request.id)?;
        if urgency == Urgency::Normal || found.urgency >= urgency {
            return Ok(None);
        }
        // The notice of a new request already states its urgency.
        let informed = (found.created == record.time).then_some(found.approver.as_str());
        let guardrail = &*request.guardrail;
        let bypass = BypassRequest {
            seq,
            guardrail: Some(guardrail.to_owned()),
            reason: asked.reason.clone(),
            urgency,
        };
        self.hasten(&bypass, record, guardrail, informed).map(Some)
    }
}
