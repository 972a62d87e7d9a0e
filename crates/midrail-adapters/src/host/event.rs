//! The events for which a host calls hooks, and what it can do with the answer.

use midrail::core::HostLimit;
use midrail::{Decision, EventKind};
use serde_json::{Map, Value};

/// An event for which a host calls a hook.
#[derive(Debug, Clone, Copy)]
pub struct HookEvent {
    /// The host's name for it.
    pub name: &'static str,
    /// Midrail's name for it.
    pub kind: EventKind,
    /// What the host can do with the answer.
    pub capabilities: Capabilities,
    /// How `midrail init` registers it, if it does.
    pub(crate) registration: Option<Registration>,
}

/// How a hook is registered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Registration {
    pub(crate) on_failure: OnFailure,
    /// How long the host waits for an answer.
    pub(crate) seconds: u32,
}

/// What happens if the hook program gives no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnFailure {
    /// The prompt or call is blocked.
    Block,
    /// The same, for hosts that block a prompt only for an answer in JSON.
    BlockByJson,
    /// The result is withheld if the host can do so.
    Withhold,
    /// The agent continues: a failing program must not keep it at work for ever.
    Allow,
}

/// An event that is not registered.
pub(crate) const fn hook_event(name: &'static str, kind: EventKind, capabilities: Capabilities) -> HookEvent {
    HookEvent { name, kind, capabilities, registration: None }
}

impl HookEvent {
    /// Registered with the timeout and the failure answer of its kind: a person may have to approve a call, a script may
    /// examine a result for ten minutes, and tests may run before a stop.
    pub(crate) const fn register(mut self) -> Self {
        let (on_failure, seconds) = match self.kind {
            EventKind::BeforeModel => (OnFailure::Block, 60),
            EventKind::BeforeTool => (OnFailure::Block, 330),
            EventKind::AfterTool => (OnFailure::Withhold, 660),
            EventKind::BeforeStop => (OnFailure::Allow, 600),
            _ => (OnFailure::Allow, 60),
        };
        self.registration = Some(Registration { on_failure, seconds });
        self
    }

    pub(crate) const fn on_failure(mut self, on_failure: OnFailure) -> Self {
        if let Some(registration) = &mut self.registration {
            registration.on_failure = on_failure;
        }
        self
    }

    pub(crate) const fn within(mut self, seconds: u32) -> Self {
        if let Some(registration) = &mut self.registration {
            registration.seconds = seconds;
        }
        self
    }
}

/// The arguments with which a call has to be made, if guardrails changed them and the host can do so.
pub(crate) fn modified_args(hook_event: &HookEvent, decision: &Decision) -> Option<Map<String, Value>> {
    let can_change = hook_event.kind == EventKind::BeforeTool && hook_event.capabilities.redact;
    let content = decision.content.as_ref().filter(|_| can_change && decision.effect.allows())?;
    serde_json::from_str(content).ok()
}

/// What a host can do with an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Block a call or prompt, withhold a result, or make the agent continue.
    pub block: bool,
    /// Ask its user.
    pub ask: bool,
    /// Replace a text, or the arguments of a call.
    pub redact: bool,
    /// Give the agent notes with an answer that allows.
    pub notes: bool,
    /// End the run.
    pub halt: bool,
    /// Make a call about which it would ask its user, without asking.
    pub vouch: bool,
}

impl Capabilities {
    /// None: the host only reports.
    pub const NONE: Capabilities =
        Capabilities { block: false, ask: false, redact: false, notes: false, halt: false, vouch: false };
    /// Only blocking.
    pub const BLOCK: Capabilities = Capabilities { block: true, ..Capabilities::NONE };
    /// Only notes.
    pub const NOTES: Capabilities = Capabilities { notes: true, ..Capabilities::NONE };

    /// What the host cannot do.
    pub fn limits(self) -> Vec<HostLimit> {
        let all = [
            (self.notes, HostLimit::Notes),
            (self.redact, HostLimit::Redact),
            (self.block, HostLimit::Block),
            (self.halt, HostLimit::Halt),
        ];
        all.into_iter().filter(|(can, _)| !can).map(|(_, limit)| limit).collect()
    }
}
