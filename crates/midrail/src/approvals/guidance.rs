//! What an agent that was stopped is told about asking a person.

use midrail_core::{ApprovalRequest, Decision, Effect, EventKind, Recovery, approval_key};
use midrail_store::{Approval, Urgency};
use serde_json::Value;

use super::chance::denied_before;
use super::request::{action_of, approver};
use super::sentence;
use crate::engine::{Engine, EngineError};

impl Engine {
    /// A decision whose advice ends with how to ask for what it stopped.
    pub fn with_how_to_ask(&self, mut decision: Decision) -> Decision {
        if let Some(ask) = self.how_to_ask(&decision) {
            decision.advice = Some(match decision.advice {
                Some(advice) => format!("{} {ask}", sentence(&advice)),
                None => ask,
            });
        }
        decision
    }

    /// How to ask for what a decision stopped, in words for the agent. `None`: there is no one to ask.
    pub fn how_to_ask(&self, decision: &Decision) -> Option<String> {
        let seq = decision.audit.0.as_ref()?.seq;
        let ask = format!("midrail approvals request --decision {seq} --reason \"…\"");
        if let Some(approval) = decision.approval.as_ref().filter(|_| decision.effect == Effect::Escalate) {
            return Some(self.how_to_approve(decision, approval, &ask));
        }
        if decision.effect != Effect::Block {
            return None;
        }
        let policy = self.policy();
        let spec = &policy.get(decision.by.as_deref()?)?.spec;
        let autonomy = decision.autonomy.unwrap_or_default();
        let of = |urgency| approver(spec, urgency, autonomy, policy.authorities()).ok();
        let normal = of(Urgency::Normal);
        let is_emergency = normal.is_none();
        let (ask, role) = match normal {
            Some(role) => (ask, role),
            // Without the rule for emergencies it is not worth an agent's while to look for one.
            None => {
                policy.authorities().emergency.as_ref()?;
                (format!("{ask} --urgency emergency"), of(Urgency::Emergency)?)
            }
        };
        let (found, denied) = self.asked_for(seq, &spec.id).unwrap_or_default();
        let waiting = found.filter(|found| found.authority_at(self.now()).is_some());
        Some(match (waiting, denied) {
            (Some(waiting), _) => format!(
                "Your request `{}` waits for a person (`{}`). Repeat the very same call once it is approved; `midrail \
                 approvals wait {}` tells when.",
                waiting.id,
                waiting.authority_at(self.now()).unwrap_or(&waiting.approver),
                waiting.id
            ),
            (None, Some(denied)) if is_emergency => format!(
                "A person has said no to this call (`{denied}`), and no emergency undoes that: do something else, or \
                 tell whoever gave you the task."
            ),
            (None, Some(denied)) => format!(
                "A person has said no to this call (`{denied}`): do something else. Where there is something that they \
                 did not know, say it: `{ask}`. Only a person (`{role}`) can let it pass."
            ),
            (None, None) => format!(
                "If there is no other way, ask a person (`{role}`) to let this one call pass: `{ask}`. Once it is \
                 approved, repeat the very same call."
            ),
        })
    }

    /// How people approve what a decision asks them, and what comes of it.
    fn how_to_approve(&self, decision: &Decision, approval: &ApprovalRequest, ask: &str) -> String {
        let (id, role) = (&approval.id, &approval.approver);
        // A store that cannot be asked is told of elsewhere.
        let first = match self.has_approvers() {
            Ok(false) => format!(
                " Nobody has a key yet: a person gets one with `midrail approver add NAME --role {role}`."
            ),
            _ => String::new(),
        };
        let row = self.store().approval(id).ok().flatten();
        let why = match row.as_ref().is_some_and(|row| row.justification.is_some()) {
            true => String::new(),
            false => format!(" Tell them what it is needed for: `{ask}`."),
        };
        let itself = match row.as_ref().and_then(|row| row.override_at) {
            Some(at) => format!(" With no answer it passes by itself from {at:.0} on."),
            None => String::new(),
        };
        let others = decision.requests.iter().filter(|other| other.id != *id).map(|other| {
            let ApprovalRequest { id, approver, guardrail, .. } = other;
            format!(
                ", and a person (`{approver}`) what `{guardrail}` asks with `midrail approvals approve {id} --as NAME`"
            )
        });
        let others: String = others.collect();
        let then = match row.as_ref().and_then(|row| row.event) {
            Some(EventKind::OnError) => {
                let own = |row: &Approval| format!("session:{}", row.session);
                let actor = row.as_ref().map(|row| row.requested_by.clone().unwrap_or_else(|| own(row)));
                let lift = match actor.filter(|_| decision.recovery == Some(Recovery::Quarantine)) {
                    Some(actor) => format!(
                        " The agent does nothing more until a person lets it: `midrail quarantine lift {actor} --reason \
                         \"…\" --as NAME`."
                    ),
                    None => String::new(),
                };
                return format!(
                    "A person (`{role}`) has to look at this error, and says so with `midrail approvals approve {id} --as \
                     NAME`{others}. No call passes by that.{lift}{first}{why}"
                );
            }
            Some(EventKind::BeforeStop) => "you may then stop once with what is missing now",
            _ => "the very same call then passes once",
        };
        format!(
            "A person (`{role}`) has to approve this with `midrail approvals approve {id} --as NAME`{others}; {then}.\
             {first}{itself}{why}"
        )
    }

    /// The request about what a record stopped that the session holds, and the one that a person has denied.
    fn asked_for(
        &self,
        seq: u64,
        guardrail: &str,
    ) -> Result<(Option<Approval>, Option<String>), EngineError> {
        let Some(entry) = self.store().entry(seq)? else { return Ok((None, None)) };
        let record = entry.record()?;
        let action = action_of(&record, guardrail);
        let denied = denied_before(&**self.store(), &record.session, guardrail, &action)?;
        let key = approval_key(guardrail, &action);
        let slice = self.store().load(&record.session, &[&key])?.into_iter().next().unwrap_or_default();
        let found = match slice.value.as_ref().and_then(|held| held.get("id")).and_then(Value::as_str) {
            Some(id) => self.store().approval(id)?,
            None => None,
        };
        Ok((found, denied))
    }
}
