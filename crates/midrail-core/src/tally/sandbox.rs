//! Calls that have to run in a sandbox.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Review, Tally};
use crate::effect::Effect;
use crate::hex;
use crate::inputs::Inputs;
use crate::sandbox::{
    Contained, DEFAULT_BOX, ID_LENGTH, SandboxGrant, SandboxNetwork, SandboxRequest, SandboxRules,
    sandbox_key,
};

impl Tally<'_> {
    /// A call that cannot be put into a sandbox here is sent back: the agent can start one itself.
    pub(super) fn apply_sandbox(&self, review: &mut Review<'_>) {
        if review.verdict.effect != Effect::Contain || self.inputs.can_contain() {
            return;
        }
        review.verdict.effect = Effect::Retry;
        let message = format!(
            "{} Run the command as `midrail run -- COMMAND`: in a sandbox that can change only this project and reaches no network.",
            review.verdict.reason
        );
        review.verdict.retry_message.get_or_insert(message);
    }

    /// Puts the call into one sandbox that permits what all guardrails permit that contain it. Returns the network that it reaches.
    pub(super) fn contain(&mut self) -> Option<SandboxNetwork> {
        if self.decision.effect != Effect::Contain {
            return None;
        }
        let requests = std::mem::take(&mut self.sandboxes);
        let rules = requests.into_iter().map(|request| match request {
            SandboxRequest::Box(name) => self.policy.sandbox(&name).unwrap_or_default(),
            SandboxRequest::Rules(rules) => *rules,
        });
        let rules = rules.reduce(|all, rules| all.and(&rules)).unwrap_or_default();
        let id = |command: &str| sandbox_id(self.inputs, &rules, command);
        let Some(Contained { args, digest, id }) = self.inputs.contained(id) else {
            // INVARIANT: a call that is not rewritten does not happen.
            self.decision.effect = Effect::Block;
            return None;
        };
        let network = rules.network;
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
        Some(network)
    }

    /// Keeps the sandbox that a verdict requests.
    pub(super) fn note_sandbox(&mut self, effect: Effect, request: Option<SandboxRequest>) {
        if effect == Effect::Contain {
            self.sandboxes.push(request.unwrap_or_else(|| DEFAULT_BOX.into()));
        }
    }
}

/// Distinguishes the sandboxes of calls. The same call has the same one if it is made again at the same time.
fn sandbox_id(inputs: &Inputs<'_>, rules: &SandboxRules, command: &str) -> String {
    let time = inputs.event.time.map(|time| time.to_string()).unwrap_or_default();
    let call = inputs.event.call_id().unwrap_or_default();
    // The digest of a call with a secret is keyed.
    let action = inputs.facts.action_digest.as_deref().unwrap_or(command);
    let parts = format!("sandbox\n{}\n{action}\n{time}\n{call}\n{rules:?}", inputs.session.id);
    hex::encode(&Sha256::digest(parts.as_bytes())).get(..ID_LENGTH).unwrap_or_default().to_owned()
}
