//! The walk of one hook call: bytes of a host into events, decisions into the host's answer.

use midrail::core::Host;
use midrail::{Decision, Effect, Event, EventKind};
use serde_json::{Map, Value};

use crate::host::{Adapter, HookEvent, HookOutput, Payload};
use crate::hosts;
use crate::wire::{self, MAX_EVENT_BYTES, WireError};

/// One call of a hook.
pub struct Hook {
    adapter: &'static dyn Adapter,
    hook_event: Option<&'static HookEvent>,
    /// What the host calls the hook_event.
    name: String,
    payload: Payload,
}

/// Why a call cannot be answered as it should.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HookError {
    /// What the host sent is no JSON object, or too much.
    #[error(transparent)]
    Payload(#[from] WireError),
    /// Neither the command line nor the payload says which hook_event this is.
    #[error("neither the command line nor what {host} sent says which event this is")]
    NoMoment {
        /// The host.
        host: &'static str,
    },
    /// The command line and the payload name two hook_events.
    #[error("the command line says that this is {named}, and what {host} sent says {told}")]
    TwoMoments {
        /// The host.
        host: &'static str,
        /// The hook_event on the command line.
        named: String,
        /// The hook_event in the payload.
        told: String,
    },
    /// The payload lacks something that this hook_event has.
    #[error("what {host} sent at {hook_event} cannot be read: {what}")]
    Unreadable {
        /// The host.
        host: &'static str,
        /// The hook_event.
        hook_event: String,
        /// What is wrong.
        what: String,
    },
}

impl Hook {
    /// Reads what a host sent. `named` is the hook_event as the command line has it, which goes before the payload's word:
    /// whoever registered the hook wrote it.
    pub fn read(adapter: &'static dyn Adapter, named: Option<&str>, bytes: &[u8]) -> Result<Self, HookError> {
        let payload = Payload(object(bytes)?);
        let told = adapter.hook_event_name(&payload);
        let name = match (named, told) {
            // What is known of the two counts: a slip of the pen would let everything pass.
            (Some(named), Some(told))
                if hook_event(adapter, named).is_none() && hook_event(adapter, told).is_some() =>
            {
                told
            }
            (Some(named), Some(told)) if is_other(adapter, named, told) => {
                return Err(HookError::TwoMoments {
                    host: adapter.title(),
                    named: named.to_owned(),
                    told: told.to_owned(),
                });
            }
            (Some(name), _) | (None, Some(name)) => name,
            (None, None) => return Err(HookError::NoMoment { host: adapter.title() }),
        };
        let name = name.to_owned();
        Ok(Hook { adapter, hook_event: hook_event(adapter, &name), name, payload })
    }

    /// The events that have to pass, the host's own first.
    pub fn events(&self) -> Result<Vec<Event>, HookError> {
        let kind = self.hook_event.map_or(EventKind::Observed, |hook_event| hook_event.kind);
        let can = self.hook_event.map(|hook_event| hook_event.capabilities).unwrap_or_default();
        let host = Host {
            name: self.adapter.name().to_owned(),
            limits: can.lacks(),
            asks_user: can.ask,
            event: Some(self.name.clone()),
            ..Host::default()
        };
        let mut event = Event { host: Some(host.clone()), ..Event::new(kind) };
        let unknown = HookEvent { name: "", kind, capabilities: can };
        let hook_event = self.hook_event.unwrap_or(&unknown);
        let decoded = self.adapter.decode(hook_event, &self.payload, &mut event);
        decoded.map_err(|what| HookError::Unreadable {
            host: self.adapter.title(),
            hook_event: self.name.clone(),
            what,
        })?;
        if event.kind == EventKind::SessionStart && event.source.is_none() {
            event.source = self.payload.owned("source");
        }
        if event.kind == EventKind::Observed {
            event.extra.insert("payload".to_owned(), Value::Object(self.payload.0.clone()));
        }
        let mut events = vec![event];
        for beside in self.adapter.implied_events(hook_event, &self.payload) {
            let Some(first) = events.first() else { break };
            events.push(Event {
                session: first.session.clone(),
                cwd: first.cwd.clone(),
                agent: first.agent.clone(),
                parent: first.parent.clone(),
                prompt: first.prompt.clone(),
                host: Some(host.clone()),
                ..beside
            });
        }
        Ok(events)
    }

    /// The answer to what was decided: of several decisions the strongest speaks, and all of them are heard.
    pub fn answer(&self, decisions: Vec<Decision>) -> HookOutput {
        let Some(hook_event) = self.hook_event else { return self.adapter.allow() };
        let mut strongest: Option<Decision> = None;
        let mut feedback = Vec::new();
        for decision in decisions {
            if strongest.as_ref().is_none_or(|other| decision.effect > other.effect) {
                feedback.extend(strongest.replace(decision).map(|weaker| weaker.feedback));
            } else {
                feedback.push(decision.feedback);
            }
        }
        let Some(mut decision) = strongest else { return self.refuse("nothing was decided") };
        decision.feedback.extend(feedback.into_iter().flatten());
        self.adapter.encode(hook_event, &self.payload, &decision)
    }

    /// The answer where no decision could be made.
    pub fn refuse(&self, why: &str) -> HookOutput {
        let is_stop = self.hook_event.is_some_and(|hook_event| hook_event.kind == EventKind::BeforeStop);
        if is_stop && self.adapter.is_continuation(&self.payload) {
            // Once is enough: an agent that is sent back to work whenever Midrail fails would never end.
            return HookOutput::remark(why);
        }
        match self.hook_event {
            // The tool has run: only an answer in the host's own words keeps its result from the model.
            Some(hook_event) if hook_event.kind == EventKind::AfterTool && hook_event.capabilities.block => {
                let withheld = Decision {
                    effect: Effect::Block,
                    by: Some("midrail".into()),
                    reason: format!("the result could not be looked at: {why}"),
                    ..Decision::default()
                };
                self.adapter.encode(hook_event, &self.payload, &withheld)
            }
            hook_event => refused(self.adapter, hook_event, why),
        }
    }
}

/// The answer where not even what the host sent could be read, or time is up.
pub fn refusal(adapter: &'static dyn Adapter, named: Option<&str>, why: &str) -> HookOutput {
    let hook_event = named.and_then(|name| hook_event(adapter, name));
    if hook_event.is_some_and(|hook_event| hook_event.kind == EventKind::BeforeStop) {
        // Whether the agent was sent back before is not known, and some hosts would send it back for ever.
        return HookOutput::remark(&format!("Midrail could not look whether the work is complete: {why}"));
    }
    refused(adapter, hook_event, why)
}

fn refused(adapter: &'static dyn Adapter, hook_event: Option<&'static HookEvent>, why: &str) -> HookOutput {
    adapter.refuse(hook_event, &format!("Midrail could not decide this, so it does not happen: {why}"))
}

/// The adapter of a host.
pub fn adapter(name: &str) -> Option<&'static dyn Adapter> {
    hosts::ALL.iter().copied().find(|adapter| adapter.name() == name)
}

fn hook_event(adapter: &'static dyn Adapter, name: &str) -> Option<&'static HookEvent> {
    adapter.hook_events().iter().find(|hook_event| hook_event.name == name)
}

/// Whether two names are those of two hook_events that both are known.
fn is_other(adapter: &'static dyn Adapter, named: &str, told: &str) -> bool {
    named != told && hook_event(adapter, named).is_some() && hook_event(adapter, told).is_some()
}

/// One JSON object, in which nothing is said twice, within the limits of size and depth.
fn object(bytes: &[u8]) -> Result<Map<String, Value>, WireError> {
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_EVENT_BYTES {
        return Err(WireError::TooLarge);
    }
    wire::object(bytes)
}

/// Whether an agent begins with an event, and is to be told its limits.
pub fn is_beginning(event: &Event) -> bool {
    let named = event.host.as_ref().and_then(|host| host.event.as_deref()).unwrap_or_default();
    event.kind == EventKind::SessionStart || named.eq_ignore_ascii_case("subagentstart")
}
