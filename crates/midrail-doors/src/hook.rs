//! The walk of one hook call: bytes of a host into events, decisions into the host's answer.

use midrail::{Decision, Effect, Event, EventKind, Host};
use serde_json::{Map, Value};

use crate::host::{Answer, Door, Moment, Payload};
use crate::hosts;
use crate::wire::{self, MAX_EVENT, WireError};

/// One call of a hook.
pub struct Hook {
    door: &'static dyn Door,
    moment: Option<&'static Moment>,
    /// What the host calls the moment.
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
    /// Neither the command line nor the payload says which moment this is.
    #[error("neither the command line nor what {host} sent says which event this is")]
    NoMoment {
        /// The host.
        host: &'static str,
    },
    /// The command line and the payload name two moments.
    #[error("the command line says that this is {named}, and what {host} sent says {told}")]
    TwoMoments {
        /// The host.
        host: &'static str,
        /// The moment on the command line.
        named: String,
        /// The moment in the payload.
        told: String,
    },
    /// The payload lacks something that this moment has.
    #[error("what {host} sent at {moment} cannot be read: {what}")]
    Unreadable {
        /// The host.
        host: &'static str,
        /// The moment.
        moment: String,
        /// What is wrong.
        what: String,
    },
}

impl Hook {
    /// Reads what a host sent. `named` is the moment as the command line has it, which goes before the payload's word:
    /// whoever registered the hook wrote it.
    pub fn read(door: &'static dyn Door, named: Option<&str>, bytes: &[u8]) -> Result<Self, HookError> {
        let payload = Payload(object(bytes)?);
        let told = door.moment_in(&payload);
        let name = match (named, told) {
            // What is known of the two counts: a slip of the pen would let everything pass.
            (Some(named), Some(told)) if moment(door, named).is_none() && moment(door, told).is_some() => {
                told
            }
            (Some(named), Some(told)) if is_other(door, named, told) => {
                return Err(HookError::TwoMoments {
                    host: door.title(),
                    named: named.to_owned(),
                    told: told.to_owned(),
                });
            }
            (Some(name), _) | (None, Some(name)) => name,
            (None, None) => return Err(HookError::NoMoment { host: door.title() }),
        };
        let name = name.to_owned();
        Ok(Hook { door, moment: moment(door, &name), name, payload })
    }

    /// The events that have to pass, the host's own first.
    pub fn events(&self) -> Result<Vec<Event>, HookError> {
        let kind = self.moment.map_or(EventKind::Observed, |moment| moment.kind);
        let can = self.moment.map(|moment| moment.can).unwrap_or_default();
        let host = Host {
            name: self.door.name().to_owned(),
            lacks: can.lacks(),
            asks: can.ask,
            event: Some(self.name.clone()),
            ..Host::default()
        };
        let mut event = Event { host: Some(host.clone()), ..Event::new(kind) };
        let unknown = Moment { name: "", kind, can };
        let moment = self.moment.unwrap_or(&unknown);
        let decoded = self.door.decode(moment, &self.payload, &mut event);
        decoded.map_err(|what| HookError::Unreadable {
            host: self.door.title(),
            moment: self.name.clone(),
            what,
        })?;
        if event.kind == EventKind::SessionStart && event.source.is_none() {
            event.source = self.payload.owned("source");
        }
        if event.kind == EventKind::Observed {
            event.extra.insert("payload".to_owned(), Value::Object(self.payload.0.clone()));
        }
        let mut events = vec![event];
        for beside in self.door.beside(moment, &self.payload) {
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
    pub fn answer(&self, decisions: Vec<Decision>) -> Answer {
        let Some(moment) = self.moment else { return self.door.pass() };
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
        self.door.encode(moment, &self.payload, &decision)
    }

    /// The answer where no decision could be made.
    pub fn refuse(&self, why: &str) -> Answer {
        let is_stop = self.moment.is_some_and(|moment| moment.kind == EventKind::BeforeStop);
        if is_stop && self.door.is_sent_back(&self.payload) {
            // Once is enough: an agent that is sent back to work whenever Midrail fails would never end.
            return Answer::remark(why);
        }
        match self.moment {
            // The tool has run: only an answer in the host's own words keeps its result from the model.
            Some(moment) if moment.kind == EventKind::AfterTool && moment.can.block => {
                let withheld = Decision {
                    effect: Effect::Block,
                    by: Some("midrail".into()),
                    reason: format!("the result could not be looked at: {why}"),
                    ..Decision::default()
                };
                self.door.encode(moment, &self.payload, &withheld)
            }
            moment => refused(self.door, moment, why),
        }
    }
}

/// The answer where not even what the host sent could be read, or time is up.
pub fn refusal(door: &'static dyn Door, named: Option<&str>, why: &str) -> Answer {
    let moment = named.and_then(|name| moment(door, name));
    if moment.is_some_and(|moment| moment.kind == EventKind::BeforeStop) {
        // Whether the agent was sent back before is not known, and some hosts would send it back for ever.
        return Answer::remark(&format!("Midrail could not look whether the work is complete: {why}"));
    }
    refused(door, moment, why)
}

fn refused(door: &'static dyn Door, moment: Option<&'static Moment>, why: &str) -> Answer {
    door.refuse(moment, &format!("Midrail could not decide this, so it does not happen: {why}"))
}

/// The door of a host.
pub fn door(name: &str) -> Option<&'static dyn Door> {
    hosts::ALL.iter().copied().find(|door| door.name() == name)
}

fn moment(door: &'static dyn Door, name: &str) -> Option<&'static Moment> {
    door.moments().iter().find(|moment| moment.name == name)
}

/// Whether two names are those of two moments that both are known.
fn is_other(door: &'static dyn Door, named: &str, told: &str) -> bool {
    named != told && moment(door, named).is_some() && moment(door, told).is_some()
}

/// One JSON object, in which nothing is said twice, within the limits of size and depth.
fn object(bytes: &[u8]) -> Result<Map<String, Value>, WireError> {
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_EVENT {
        return Err(WireError::TooLarge);
    }
    wire::object(bytes)
}

/// Whether an agent begins with an event, and is to be told its limits.
pub fn is_beginning(event: &Event) -> bool {
    let named = event.host.as_ref().and_then(|host| host.event.as_deref()).unwrap_or_default();
    event.kind == EventKind::SessionStart || named.eq_ignore_ascii_case("subagentstart")
}
