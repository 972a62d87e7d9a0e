//! Advice for an agent that was stopped: how to request an approval.

use midrail_core::{ApprovalRequest, Decision, Effect, EventKind, Recovery};
use midrail_store::{Approval, Urgency};

use super::handle::{Approvals, sentence};
use super::request::{action_digest_of, approver, denied_before};
use crate::error::EngineResult;

impl Approvals<'_> {
    /// The decision, with advice on how to request what it stopped.
    pub fn with_guidance(&self, mut decision: Decision) -> Decision {
        if let Some(guidance) = self.guidance(&decision) {
            decision.advice = Some(match decision.advice {
                Some(advice) => format!("{} {guidance}", sentence(&advice)),
                None => guidance,
            });
        }
        decision
    }

    /// How an agent can request what a decision stopped. `None`: it cannot.
    pub fn guidance(&self, decision: &Decision) -> Option<String> {
        let seq = decision.audit.0.as_ref()?.seq;
        let command = format!("midrail approvals request --decision {seq} --reason \"…\"");
        if let Some(approval) = decision.approval.as_ref().filter(|_| decision.effect == Effect::Escalate) {
            return Some(self.escalation_guidance(decision, approval, &command));
        }
        if decision.effect != Effect::Block {
            return None;
        }
        let policy = self.engine.policy();
        let spec = &policy.get(decision.by.as_deref()?)?.spec;
        let autonomy = decision.autonomy.unwrap_or_default();
        let role_for = |urgency| approver(spec, urgency, autonomy, policy.authorities()).ok();
        let normal = role_for(Urgency::Normal);
        let is_emergency = normal.is_none();
        let (command, role) = match normal {
            Some(role) => (command, role),
            None => {
                policy.authorities().emergency.as_ref()?;
                (format!("{command} --urgency emergency"), role_for(Urgency::Emergency)?)
            }
        };
        let (request, denied) = self.requests_about(seq, &spec.id).unwrap_or_default();
        let now = self.engine.now();
        let pending = request.filter(|request| request.authority_at(now).is_some());
        Some(match (pending, denied) {
            (Some(pending), _) => format!(
                "Your request `{id}` waits for a person (`{role}`). Repeat the same call once it is approved; `midrail \
                 approvals wait {id}` waits for the answer.",
                id = pending.id,
                role = pending.authority_at(now).unwrap_or(&pending.approver),
            ),
            (None, Some(denied)) if is_emergency => format!(
                "A person denied this call (`{denied}`), and an emergency does not override that: do something else, or \
                 report it to the user who gave you the task."
            ),
            (None, Some(denied)) => format!(
                "A person denied this call (`{denied}`): do something else. If there is something that they did not \
                 know, add it to a new request: `{command}`. Only a person (`{role}`) can allow it."
            ),
            (None, None) => format!(
                "If there is no other way, ask a person (`{role}`) to allow this one call: `{command}`. Once it is \
                 approved, repeat the same call."
            ),
        })
    }

    /// How a person approves an escalation, and what happens then.
    fn escalation_guidance(&self, decision: &Decision, approval: &ApprovalRequest, command: &str) -> String {
        let (id, role) = (&approval.id, &approval.approver);
        let first = match self.engine.admin().has_approvers() {
            Ok(false) => {
                format!(" There is no approver yet: add one with `midrail approver add NAME --role {role}`.")
            }
            _ => String::new(),
        };
        let row = self.engine.store().approval(id).ok().flatten();
        let why = if row.as_ref().is_some_and(|row| row.justification.is_some()) {
            String::new()
        } else {
            format!(" Say what it is needed for: `{command}`.")
        };
        let itself = match row.as_ref().and_then(|row| row.override_at) {
            Some(at) => format!(" Without an answer it passes by itself from {at:.0} on."),
            None => String::new(),
        };
        let others = decision.requests.iter().filter(|other| other.id != *id).map(|other| {
            let ApprovalRequest { id, approver, guardrail, .. } = other;
            format!(
                ", and a person (`{approver}`) the request of `{guardrail}` with `midrail approvals approve {id} --as NAME`"
            )
        });
        let others: String = others.collect();
        let then = match row.as_ref().and_then(|row| row.event) {
            Some(EventKind::OnError) => {
                let session = |row: &Approval| format!("session:{}", row.session);
                let actor = row.as_ref().map(|row| row.requested_by.clone().unwrap_or_else(|| session(row)));
                let lift = match actor.filter(|_| decision.recovery == Some(Recovery::Quarantine)) {
                    Some(actor) => format!(
                        " The agent is stopped until a person lifts its quarantine: `midrail quarantine lift {actor} \
                         --reason \"…\" --as NAME`."
                    ),
                    None => String::new(),
                };
                return format!(
                    "A person (`{role}`) has to look at this error, and confirms it with `midrail approvals approve {id} \
                     --as NAME`{others}. This allows no call.{lift}{first}{why}"
                );
            }
            Some(EventKind::BeforeStop) => "you may then stop once with what is missing now",
            _ => "the same call then passes once",
        };
        format!(
            "A person (`{role}`) has to approve this with `midrail approvals approve {id} --as NAME`{others}; {then}.\
             {first}{itself}{why}"
        )
    }

    /// The request about a stopped action that the session holds, and the id of the one that a person denied.
    fn requests_about(&self, seq: u64, guardrail: &str) -> EngineResult<(Option<Approval>, Option<String>)> {
        let store = &**self.engine.store();
        let Some(entry) = store.entry(seq)? else { return Ok((None, None)) };
        let record = entry.record()?;
        let action = action_digest_of(&record, guardrail);
        let denied = denied_before(store, &record.session, guardrail, &action)?;
        Ok((self.held(&record.session, guardrail, &action)?.0, denied))
    }
}
