//! What is kept in mind of one session, and what the agent owes the editor.

use std::collections::BTreeMap;

use midrail::{Event, EventKind, Host};
use serde_json::{Value, json};

use super::call::Shown;
use super::masks::Masks;
use super::text::Text;
use super::{MAX_OPEN, NAME, Proxy};
use crate::host::Capabilities;
use crate::messages;

/// The most calls of one session that are kept in mind.
pub(super) const MAX_SHOWN: usize = 1024;
/// The most reasons that wait for the next prompt.
const MAX_TOLD: usize = 32;
/// How much of what the agent said is kept as its output.
const MAX_SAID: usize = 256 << 10;

/// One session.
#[derive(Default)]
pub(super) struct Session {
    pub(super) cwd: Option<String>,
    pub(super) shown: BTreeMap<String, Shown>,
    /// The text that the agent is telling.
    pub(super) text: Option<Text>,
    /// What the agent said in this turn.
    pub(super) said: String,
    /// What the agent is told with the next prompt.
    told: Vec<String>,
    /// What the agent is told when it ends its turn.
    pub(super) guidance: Vec<String>,
    /// The agent was told to cancel.
    pub(super) is_stopping: bool,
    /// The run has ended: nothing more of what the agent says is shown.
    pub(super) is_halted: bool,
    /// The editor cancelled.
    pub(super) is_cancelled: bool,
    /// The agent tells what was before.
    pub(super) is_loading: bool,
    /// What was replaced in files that the agent read.
    pub(super) masks: Masks,
    is_begun: bool,
    /// How many requests for permission wait for the person.
    pub(super) asked: usize,
}

/// A request that the agent has to answer.
pub(super) enum Asked {
    /// It begins a session, or goes on with one.
    Begin {
        cwd: Option<String>,
        session: Option<String>,
    },
    Prompt(Turn),
    Initialize,
    /// It is held, and has not reached the agent.
    Held,
    Other,
}

/// A prompt of the editor, until it is answered.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    pub(super) session: String,
    /// The editor's own id, whatever our prompts were called since.
    pub(super) id: Option<Value>,
    /// How often the agent was told about calls that it should try otherwise.
    pub(super) tells: u8,
    /// The last answer of the agent, where it was sent back to work.
    pub(super) result: Option<Value>,
}

impl Session {
    /// The agent is told with the next prompt.
    pub(super) fn tell(&mut self, text: String) {
        if self.told.len() < MAX_TOLD && !self.told.contains(&text) {
            self.told.push(text);
        }
    }

    pub(super) fn take_told(&mut self) -> Vec<String> {
        std::mem::take(&mut self.told)
    }

    pub(super) fn say(&mut self, text: &str) {
        if self.said.len().saturating_add(text.len()) <= MAX_SAID {
            self.said.push_str(text);
        }
    }

    /// When something of it is due.
    pub(super) fn next_tick(&self) -> Option<u64> {
        let calls = self.shown.values().filter(|shown| !shown.is_judged).filter_map(|shown| shown.due);
        calls.chain(self.text.as_ref().and_then(|text| text.due)).min()
    }
}

impl Proxy {
    pub(super) fn session(&mut self, id: &str) -> &mut Session {
        if !self.sessions.contains_key(id) && self.sessions.len() >= MAX_OPEN {
            self.sessions.pop_first();
        }
        self.sessions.entry(id.to_owned()).or_default()
    }

    /// An event of a session.
    pub(super) fn event(&self, session: &str, kind: EventKind, moment: &str, can: Capabilities) -> Event {
        let known = self.sessions.get(session);
        let mut host = Host {
            name: NAME.to_owned(),
            limits: can.limits(),
            asks_user: can.ask,
            event: Some(moment.to_owned()),
            ..Host::default()
        };
        host.extra.extend(self.agent.iter().map(|name| ("agent".to_owned(), json!(name))));
        Event {
            session: Some(session.to_owned()),
            cwd: known.and_then(|session| session.cwd.clone()).or_else(|| self.options.cwd.clone()),
            host: Some(host),
            ..Event::new(kind)
        }
    }

    /// A session has begun, in a folder.
    pub(super) fn session_begun(&mut self, id: &str, cwd: Option<String>, source: &str) {
        let session = self.session(id);
        if cwd.is_some() {
            session.cwd = cwd;
        }
        session.is_loading = false;
        if std::mem::replace(&mut session.is_begun, true) {
            return;
        }
        let can = Capabilities { notes: true, ..Capabilities::NONE };
        let begins = self.event(id, EventKind::SessionStart, "session/new", can);
        let decision = (self.decide)(Event { source: Some(source.to_owned()), ..begins });
        if let Some(notes) = messages::notes(&decision) {
            self.session(id).tell(notes);
        }
    }

    pub(super) fn session_ended(&mut self, id: &str) {
        let is_begun = self.sessions.get(id).is_some_and(|session| session.is_begun);
        if is_begun {
            (self.decide)(self.event(id, EventKind::SessionEnd, "end", Capabilities::NONE));
        }
        self.sessions.remove(id);
    }
}
