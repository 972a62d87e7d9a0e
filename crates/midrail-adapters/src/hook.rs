//! One hook call: decodes the payload of a host into events, and encodes decisions as the host's answer.

use midrail::core::Host;
use midrail::{Decision, Effect, Event, EventKind};
use serde_json::Value;

use crate::host::{
    Capabilities, DecodeError, HookEvent, HookOutput, HostSpec, Payload, hook_event, modified_args,
};
use crate::wire::{self, WireError};

/// A hook call.
pub struct Hook {
    host: &'static HostSpec,
    hook_event: Option<&'static HookEvent>,
    /// The host's name for the event.
    name: String,
    payload: Payload,
}

/// Why a hook call cannot be decoded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HookError {
    /// The payload is not a JSON object, or too large.
    #[error(transparent)]
    Payload(#[from] WireError),
    /// Neither the command line nor the payload names the event.
    #[error("neither the command line nor the payload of {host} names the event")]
    NoEvent {
        /// The host.
        host: &'static str,
    },
    /// The command line and the payload name different events.
    #[error("the command line names the event {named}, and the payload of {host} names {sent}")]
    ConflictingEvents {
        /// The host.
        host: &'static str,
        /// The event on the command line.
        named: String,
        /// The event in the payload.
        sent: String,
    },
    /// The payload lacks something that the event needs.
    #[error("the payload of {host} for {hook_event} cannot be decoded: {source}")]
    Decode {
        /// The host.
        host: &'static str,
        /// The event.
        hook_event: String,
        /// What is wrong.
        source: DecodeError,
    },
}

impl Hook {
    /// Reads a payload. `named` is the event on the command line. It takes precedence over the payload, because the
    /// registration of the hook determines it.
    pub fn read(host: &'static HostSpec, named: Option<&str>, bytes: &[u8]) -> Result<Self, HookError> {
        let payload = Payload(wire::object(bytes)?);
        let known = |name: &str| host.hook_event(name);
        let name = match (named, payload.text("hook_event_name")) {
            (Some(named), Some(sent)) => match (known(named), known(sent)) {
                // A typing error in a registration must not allow everything.
                (None, Some(_)) => sent,
                (Some(_), Some(_)) if named != sent => {
                    let (named, sent) = (named.to_owned(), sent.to_owned());
                    return Err(HookError::ConflictingEvents { host: host.title, named, sent });
                }
                _ => named,
            },
            (Some(name), None) | (None, Some(name)) => name,
            (None, None) => return Err(HookError::NoEvent { host: host.title }),
        };
        let name = name.to_owned();
        let hook_event = known(&name).map(|hook_event| host.adapter.variant(hook_event, &payload));
        Ok(Hook { host, hook_event, name, payload })
    }

    /// The events to decide. The first one is the host's event; the others are reads of attached files.
    pub fn events(&self) -> Result<Vec<Event>, HookError> {
        let unknown = hook_event("", EventKind::Observed, Capabilities::NONE);
        let hook_event = self.hook_event.unwrap_or(&unknown);
        let host = Host {
            name: self.host.name.to_owned(),
            limits: hook_event.capabilities.limits(),
            asks_user: hook_event.capabilities.ask,
            event: Some(self.name.clone()),
            ..Host::default()
        };
        let mut event = Event { host: Some(host.clone()), ..Event::new(hook_event.kind) };
        self.host.adapter.decode(hook_event, &self.payload, &mut event).map_err(|source| {
            HookError::Decode { host: self.host.title, hook_event: self.name.clone(), source }
        })?;
        if hook_event.capabilities.vouch && may_vouch(&event) {
            event.host.iter_mut().for_each(|host| host.takes_vouches = true);
        }
        if event.kind == EventKind::SessionStart && event.source.is_none() {
            event.source = self.payload.owned("source");
        }
        if event.kind == EventKind::Observed {
            event.extra.insert("payload".to_owned(), Value::Object(self.payload.0.clone()));
        }
        let attachments = match event.kind {
            EventKind::BeforeModel => self.host.adapter.attachments(&self.payload),
            _ => Vec::new(),
        };
        let attachment = |read: Event| Event {
            session: event.session.clone(),
            cwd: event.cwd.clone(),
            agent: event.agent.clone(),
            parent: event.parent.clone(),
            prompt: event.prompt.clone(),
            host: Some(host.clone()),
            ..read
        };
        let attachments: Vec<Event> = attachments.into_iter().map(attachment).collect();
        Ok(std::iter::once(event).chain(attachments).collect())
    }

    /// The answer for some decisions: the strongest one, with the feedback of all.
    pub fn answer(&self, decisions: Vec<Decision>) -> HookOutput {
        let Some(hook_event) = self.hook_event else { return self.host.adapter.allow() };
        let mut strongest: Option<Decision> = None;
        let mut feedback = Vec::new();
        let is_vouched = decisions.iter().all(|decision| decision.vouched);
        for decision in decisions {
            if strongest.as_ref().is_none_or(|other| decision.effect > other.effect) {
                feedback.extend(strongest.replace(decision).map(|weaker| weaker.feedback));
            } else {
                feedback.push(decision.feedback);
            }
        }
        let Some(mut decision) = strongest else { return self.refuse("there is no decision") };
        decision.feedback.extend(feedback.into_iter().flatten());
        decision.vouched = is_vouched;
        let is_changed = hook_event.kind == EventKind::BeforeTool && decision.effect.allows();
        if is_changed && decision.content.is_some() && modified_args(hook_event, &decision).is_none() {
            // The call as the agent wrote it is not allowed.
            return self.refuse("the arguments of this call were changed, and this program cannot use them");
        }
        self.host.adapter.encode(hook_event, &self.payload, &decision)
    }

    /// The answer if no decision could be made.
    pub fn refuse(&self, reason: &str) -> HookOutput {
        match self.hook_event {
            // Only once: an agent that must continue whenever Midrail fails would never end.
            Some(hook_event)
                if hook_event.kind == EventKind::BeforeStop
                    && self.host.adapter.is_continuation(&self.payload) =>
            {
                HookOutput::remark(reason)
            }
            // The tool has run: only an answer in the host's own format withholds its result.
            Some(hook_event) if hook_event.kind == EventKind::AfterTool && hook_event.capabilities.block => {
                let withheld = Decision {
                    effect: Effect::Block,
                    by: Some("midrail".into()),
                    reason: format!("the result could not be checked: {reason}"),
                    ..Decision::default()
                };
                self.host.adapter.encode(hook_event, &self.payload, &withheld)
            }
            hook_event => refuse_event(self.host, hook_event, reason),
        }
    }
}

/// The answer if the payload cannot be read.
pub fn refusal(host: &'static HostSpec, named: Option<&str>, reason: &str) -> HookOutput {
    let hook_event = named.and_then(|named| host.hook_event(named));
    if hook_event.is_some_and(|hook_event| hook_event.kind == EventKind::BeforeStop) {
        // It is unknown whether a hook has already made the agent continue; some hosts would repeat it for ever.
        return HookOutput::remark(&format!(
            "Midrail could not check whether the work is complete: {reason}"
        ));
    }
    refuse_event(host, hook_event, reason)
}

fn refuse_event(host: &HostSpec, hook_event: Option<&HookEvent>, reason: &str) -> HookOutput {
    host.adapter.refuse(hook_event, &format!("Midrail could not decide this, so it is blocked: {reason}"))
}

/// Arguments with which an agent asks its host to make a call outside the host's own sandbox.
const WITHOUT_SANDBOX: &[&str] = &[
    "dangerouslyDisableSandbox",
    "dangerously_disable_sandbox",
    "requires_full_access",
    "sandbox_permissions",
    "with_escalated_permissions",
];

/// Whether the host may skip its question about a call. It never may while it only plans, nor about a call that leaves its sandbox.
fn may_vouch(event: &Event) -> bool {
    let mode = event.extra.get("permission_mode").and_then(Value::as_str);
    let is_unset =
        |value: &Value| matches!(value, Value::Null | Value::Bool(false)) || value == "use_default";
    let leaves_sandbox = event.tool.as_ref().is_some_and(|tool| {
        WITHOUT_SANDBOX.iter().any(|name| tool.args.get(*name).is_some_and(|value| !is_unset(value)))
    });
    let plans = mode.is_some_and(|mode| mode.to_ascii_lowercase().contains("plan"));
    !plans && !leaves_sandbox
}

/// Whether an agent starts with an event, so that it gets its limits.
pub fn is_agent_start(event: &Event) -> bool {
    let name = event.host.as_ref().and_then(|host| host.event.as_deref()).unwrap_or_default();
    event.kind == EventKind::SessionStart || name.eq_ignore_ascii_case("subagentstart")
}
