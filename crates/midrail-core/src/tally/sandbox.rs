//! Calls that have to run in a sandbox.

use serde_json::Value;

use super::{Review, Tally};
use crate::action_digest::current_action_digest;
use crate::effect::Effect;
use crate::hex;
use crate::inputs::Inputs;
use crate::sandbox::{Contained, DEFAULT_BOX, SandboxGrant, SandboxRules, sandbox_key};
use sha2::{Digest, Sha256};

impl Tally<'_> {
    /// A call that cannot be put into a sandbox here is sent back: the agent can start one itself.
    pub(super) fn apply_sandbox(&self, review: &mut Review<'_>) {
        if review.verdict.effect != Effect::Contain || self.inputs.contained("").is_some() {
            return;
        }
        review.verdict.effect = Effect::Retry;
        let message = format!(
            "{} Run the command as `midrail run -- COMMAND`: in a sandbox that can change only this project and reaches no network.",
            review.verdict.reason
        );
        review.verdict.retry_message.get_or_insert(message);
    }

    /// Puts the call into one sandbox that permits what all guardrails permit that contain it.
    pub(super) fn contain(&mut self) {
        if self.decision.effect != Effect::Contain {
            return;
        }
        let boxes = std::mem::take(&mut self.boxes);
        let rules = boxes.iter().map(|name| self.policy.sandbox(name).unwrap_or_default());
        let rules = rules.reduce(|all, rules| all.and(&rules)).unwrap_or_default();
        let id = sandbox_id(self.inputs, &rules);
        let Some(Contained { args, digest }) = self.inputs.contained(&id) else { return };
        let grant = SandboxGrant {
            command: digest,
            root: self.inputs.facts.root.clone(),
            session: self.inputs.session.id.clone(),
            rules,
            time: self.inputs.event.time.map(|time| time.to_string()).unwrap_or_default(),
        };
        // A grant has only texts and numbers, which are always JSON.
        let grant = serde_json::to_value(&grant).unwrap_or_default();
        self.decision.changes.set(sandbox_key(&id), grant);
        self.decision.content = Some(Value::Object(args).to_string());
        self.decision.sandbox = Some(id);
    }

    /// Keeps the box that a verdict names.
    pub(super) fn note_box(&mut self, effect: Effect, name: Option<String>) {
        if effect == Effect::Contain {
            self.boxes.push(name.unwrap_or_else(|| DEFAULT_BOX.to_owned()));
        }
    }
}

/// Distinguishes the sandboxes of calls: also those of the same call that is made again.
fn sandbox_id(inputs: &Inputs<'_>, rules: &SandboxRules) -> String {
    let action = current_action_digest(inputs);
    let time = inputs.event.time.map(|time| time.to_string()).unwrap_or_default();
    let call = inputs.event.call_id().unwrap_or_default();
    let whole = Sha256::digest(format!("sandbox\n{action}\n{time}\n{call}\n{rules:?}").as_bytes());
    hex::encode(&whole).get(..16).unwrap_or_default().to_owned()
}
