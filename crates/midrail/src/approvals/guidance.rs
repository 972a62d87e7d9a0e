//! What an agent that was stopped is told about asking a person.

use midrail_core::{Decision, Effect, approval_key};
use midrail_store::{Approval, Urgency};
use serde_json::Value;

use super::request::{action_of, approver};
use crate::engine::{Engine, EngineError};

impl Engine {
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
            return Some(format!(
                "A person (`{role}`) has to approve this with `midrail approvals approve {id} --as NAME`; the very same \
                 call then passes once.{first} Tell them what it is needed for: `{ask}`."
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
