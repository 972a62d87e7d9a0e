//! Scripts that ask a person: what they say for a call goes into its escalation, and makes that as urgent as they say.

use midrail_core::{ApprovalRequest, Fact, FactKey, HookAnswer, HookRequest, Record};
use midrail_store::{Approval, Urgency};

use super::request::Ask;
use crate::engine::{Engine, EngineError};

/// What the script that a guardrail is asks of a person in a record.
pub(super) fn asked<'r>(record: &'r Record, guardrail: &str) -> Option<&'r HookRequest> {
    record.facts.known.iter().find_map(|(key, fact)| match (key, fact) {
        (FactKey::Hook(call), Fact::Hook(end)) if *call.script == *guardrail => match &end.answer {
            HookAnswer::Refuse { request, .. } => request.as_ref(),
            HookAnswer::Pass | HookAnswer::Replace { .. } => None,
        },
        _ => None,
    })
}

/// How urgent a script says that it is.
pub(super) fn urgency(asked: &HookRequest) -> Urgency {
    asked.urgency.parse().unwrap_or(Urgency::Normal)
}

/// How urgent the request of a guardrail is in a record, by what its script says.
pub(crate) fn urgency_of(record: &Record, guardrail: &str) -> Urgency {
    asked(record, guardrail).map(urgency).unwrap_or_default()
}

impl Engine {
    /// Makes the escalations of a record as urgent as its scripts ask for, by the same rules that hold for an agent that
    /// asks, and answers those that became so. Where that cannot be done they wait as any other, and the next try of the
    /// call asks for it again.
    pub(crate) fn hasten_for_scripts(&self, record: &Record, seq: u64) -> Vec<Approval> {
        let mut hastened = Vec::new();
        for request in &record.decision.requests {
            let Some(asked) = asked(record, &request.guardrail) else { continue };
            match self.hasten_for(asked, record, request, seq) {
                Ok(approval) => hastened.extend(approval),
                Err(error) => log::warn!("`{}` is not asked for as `{}`: {error}", request.id, asked.urgency),
            }
        }
        hastened
    }

    fn hasten_for(
        &self,
        asked: &HookRequest,
        record: &Record,
        request: &ApprovalRequest,
        seq: u64,
    ) -> Result<Option<Approval>, EngineError> {
        let urgency = urgency(asked);
        let found = self.approval(&request.id)?;
        if urgency == Urgency::Normal || found.urgency >= urgency {
            return Ok(None);
        }
        // The notice of a new request says already how urgent it is.
        let told = (found.created == record.time).then_some(found.approver.as_str());
        let guardrail = &*request.guardrail;
        let ask = Ask { seq, guardrail: Some(guardrail.to_owned()), reason: asked.reason.clone(), urgency };
        self.hasten(&ask, record, guardrail, told).map(Some)
    }
}
