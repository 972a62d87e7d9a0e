//! Scripts that ask a person: what they say for a call goes into its escalation, and makes that as urgent as they say.

use midrail_core::{Fact, FactKey, HookAnswer, HookRequest, Record};
use midrail_store::Urgency;

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

impl Engine {
    /// Makes the escalations of a record as urgent as its scripts ask for, by the same rules that hold for an agent that
    /// asks. Where that cannot be done they wait as any other, and the next try of the call asks for it again.
    pub(crate) fn hasten_for_scripts(&self, record: &Record, seq: u64) {
        for request in &record.decision.requests {
            let Some(asked) = asked(record, &request.guardrail) else { continue };
            if let Err(error) = self.hasten_for(asked, &request.id, &request.guardrail, seq) {
                log::warn!("`{}` is not asked for as `{}`: {error}", request.id, asked.urgency);
            }
        }
    }

    fn hasten_for(
        &self,
        asked: &HookRequest,
        id: &str,
        guardrail: &str,
        seq: u64,
    ) -> Result<(), EngineError> {
        let urgency = asked.urgency.parse().unwrap_or(Urgency::Normal);
        if urgency == Urgency::Normal || self.approval(id)?.urgency >= urgency {
            return Ok(());
        }
        let ask = Ask { seq, guardrail: Some(guardrail.to_owned()), reason: asked.reason.clone(), urgency };
        self.request(&ask).map(drop)
    }
}
