//! Calls about which no person needs to be asked.
//!
//! A guardrail that knows such a call supplies grounds, and every other guardrail can withhold them: any objection does, a failure, a
//! value that is missing, and an objection in shadow mode. So adding a guardrail never makes a decision vouch for more.

use crate::decision::{Decision, Mode};
use crate::effect::Effect;
use crate::event::EventKind;
use crate::grounds::Grounds;
use crate::inputs::Inputs;
use crate::sandbox::SandboxNetwork;
use crate::spec::Spec;
use crate::verdict::Verdict;

/// The grounds for one event, and whether they are withheld.
#[derive(Default)]
pub(super) struct Vouching {
    grounds: Vec<Grounds>,
    is_withheld: bool,
}

impl Vouching {
    /// Adds what a verdict supplies or withholds. `has_failed`: the guardrail failed.
    pub(super) fn add(&mut self, spec: &Spec, verdict: &mut Verdict, has_failed: bool) {
        let grounds = verdict.grounds.take();
        let is_box = verdict.effect == Effect::Contain && verdict.sandbox.is_some();
        let objects = verdict.effect != Effect::Allow && !is_box;
        let has_reason = verdict.effect == Effect::Allow && !verdict.reason.is_empty();
        let has_consequence = !verdict.effects.is_empty() || !verdict.notices.is_empty();
        if objects || has_reason || has_consequence || has_failed || verdict.not_checked || verdict.timed_out
        {
            self.is_withheld = true;
        } else if spec.mode == Mode::Enforce {
            self.grounds.extend(grounds);
        }
    }

    /// Sets whether the decision vouches for the call. `network`: what the sandbox of a contained call reaches.
    pub(super) fn apply(self, inputs: &Inputs<'_>, network: Option<SandboxNetwork>, decision: &mut Decision) {
        let event = inputs.event;
        let is_clear = match decision.effect {
            Effect::Allow => decision.content.is_none(),
            Effect::Contain => network.is_some(),
            _ => false,
        };
        let takes_vouches = event.host.as_ref().is_none_or(|host| host.takes_vouches);
        let is_enforced = decision.mode == Mode::Enforce && decision.would.is_none();
        if self.is_withheld
            || !is_clear
            || !is_enforced
            || !takes_vouches
            || event.kind != EventKind::BeforeTool
            || inputs.is_incomplete.get()
        {
            return;
        }
        let counts = |grounds: &Grounds| {
            grounds.sandbox.is_none_or(|most| network.is_some_and(|network| network <= most))
        };
        if let Some(grounds) = self.grounds.into_iter().find(counts) {
            decision.vouched = true;
            decision.grounds = Some(grounds.reason);
        }
    }
}
