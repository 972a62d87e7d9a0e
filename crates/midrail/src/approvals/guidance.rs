//! What an agent that was stopped is told about asking a person.

use midrail_core::{Decision, Effect, EventKind, approval_key};
use midrail_store::{Approval, Urgency};
use serde_json::Value;

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
            let then = match row.as_ref().and_then(|row| row.event) {
                Some(EventKind::BeforeStop) => "you may then stop once with what is missing now",
                _ => "the very same call then passes once",
            };
            let itself = match row.and_then(|row| row.override_at) {
                Some(at) => format!(
                    " With no answer it passes by itself from {at:.0} on, where the action is one that stops harm."
                ),
                None => String::new(),
            };
            return Some(format!(
                "A person (`{role}`) has to approve this with `midrail approvals approve {id} --as NAME`; {then}.\
                 {first}{itself}{why}"
            ));
        }
        if decision.effect != Effect::Block {
            return None;
        }
        let policy = self.policy();
        let spec = &policy.get(decision.by.as_deref()?)?.spec;
        let autonomy = decision.autonomy.unwrap_or_default();
        let of = |urgency| approver(spec, urgency, autonomy, policy.authorities()).ok();
        let (ask, role) = match of(Urgency::Normal) {
            Some(role) => (ask, role),
            // Without the rule for emergencies it is not worth an agent's while to look for one.
            None => {
                policy.authorities().emergency.as_ref()?;
                (format!("{ask} --urgency emergency"), of(Urgency::Emergency)?)
            }
        };
        match self.waiting(seq, &spec.id) {
            Ok(Some(waiting)) => Some(format!(
                "Your request `{}` waits for a person (`{}`). Repeat the very same call once it is approved; `midrail \
                 approvals wait {}` tells when.",
                waiting.id,
                waiting.authority_at(self.now()).unwrap_or(&waiting.approver),
                waiting.id
            )),
            _ => Some(format!(
                "If there is no other way, ask a person (`{role}`) to let this one call pass: `{ask}`. Once it is \
                 approved, repeat the very same call."
            )),
        }
    }

    /// The request for what a record stopped, where one waits already.
    fn waiting(&self, seq: u64, guardrail: &str) -> Result<Option<Approval>, EngineError> {
        let Some(entry) = self.store().entry(seq)? else { return Ok(None) };
        let record = entry.record()?;
        let key = approval_key(guardrail, &action_of(&record, guardrail));
        let slice = self.store().load(&record.session, &[&key])?.into_iter().next().unwrap_or_default();
        let Some(id) = slice.value.as_ref().and_then(|held| held.get("id")).and_then(Value::as_str) else {
            return Ok(None);
        };
        let now = self.now();
        Ok(self.store().approval(id)?.filter(|approval| approval.authority_at(now).is_some()))
    }
}
