//! The state of the proxy: sessions, open requests, and requests that wait for approvers.

use std::collections::{BTreeMap, VecDeque};

use midrail::core::Host;
use midrail::{Decision, Event, EventKind, ToolCall};
use serde_json::{Map, Value, json};

use super::message;
use super::session::Session;
use crate::host::Capabilities;
use crate::relay::{Decide, MAX_OPEN, OpenRequests, RelayOutput, Side};

/// The name of this host in events and records.
pub const NAME: &str = "acp";

/// How long a call that the agent shows may lack a permission request before it counts as running, in milliseconds. Agents
/// show a call first and ask a moment later.
pub const GRACE: u64 = 700;

/// The name of a side in messages.
pub(super) fn name(side: Side) -> &'static str {
    match side {
        Side::Client => "the editor",
        Side::Server => "the agent",
    }
}

impl RelayOutput {
    /// Shows the user a text where the agent's messages are.
    pub(super) fn show(&mut self, session: &str, text: &str) {
        self.send(Side::Client, &message::shown_text(session, text));
    }

    /// Answers a request of the agent with an error.
    pub(super) fn refuse(&mut self, id: Option<&Value>, text: &str, decision: Option<&Decision>) {
        if let Some(id) = id {
            self.send(Side::Server, &message::refusal(id, text, decision));
        }
    }
}

/// The options of a proxy.
#[derive(Debug, Clone, Default)]
pub struct ProxyOptions {
    /// The folder of sessions that do not name theirs.
    pub cwd: Option<String>,
    /// Hides options that allow something permanently, so that the agent keeps asking.
    pub keep_asking: bool,
    /// A text that no other proxy has, for ids and streams.
    pub nonce: String,
}

/// The proxy.
pub struct Proxy {
    pub(super) decide: Decide,
    pub(super) options: ProxyOptions,
    pub(super) now: u64,
    /// The agent's name.
    pub(super) agent: Option<String>,
    pub(super) sessions: BTreeMap<String, Session>,
    pub(super) requests: OpenRequests<OpenRequest>,
    /// Requests that wait for approvers, by number.
    pub(super) held: BTreeMap<u64, GatedRequest>,
    /// The commands of the editor's terminals.
    pub(super) terminals: BTreeMap<String, ToolCall>,
}

/// A request that has no answer yet.
pub(super) enum OpenRequest {
    /// The editor starts or resumes a session.
    Start {
        cwd: Option<String>,
        session: Option<String>,
    },
    Prompt(Turn),
    Initialize,
    /// The agent asks the user.
    Permission {
        session: String,
    },
    /// The editor does something for the agent. The answer is decided as the result of a call.
    Service {
        session: String,
        call: ToolCall,
        method: String,
    },
    /// Midrail asks the user about a request, and shows it as a call.
    Question {
        request: Box<GatedRequest>,
        call: String,
    },
    /// It was not forwarded yet.
    Held,
    Other,
}

/// A prompt of the editor, until it is answered.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    pub(super) session: String,
    /// The editor's id. Later prompts of Midrail have other ids.
    pub(super) id: Option<Value>,
    /// How often Midrail gave guidance about calls.
    pub(super) guided: u8,
    /// The last result of the agent, if it had to continue.
    pub(super) result: Option<Value>,
}

/// A request that is decided before it is forwarded.
pub(super) struct GatedRequest {
    pub(super) session: String,
    pub(super) id: Option<Value>,
    /// The request as it came.
    pub(super) line: String,
    pub(super) kind: RequestKind,
    /// The events that must be allowed, in this order.
    pub(super) events: VecDeque<Event>,
    /// Notes for the agent.
    pub(super) notes: Vec<String>,
}

/// The kind of a gated request.
pub(super) enum RequestKind {
    /// `session/prompt`
    Prompt(Map<String, Value>),
    /// `session/request_permission`
    Permission {
        options: Vec<Value>,
        title: String,
        /// Whether every decision so far vouches for the call, so that the user is not asked.
        is_vouched: bool,
    },
    /// Something that the editor does for the agent.
    Service { call: ToolCall, kind: &'static str, method: String },
}

impl GatedRequest {
    pub(super) fn sender(&self) -> Side {
        match self.kind {
            RequestKind::Prompt(_) => Side::Client,
            RequestKind::Permission { .. } | RequestKind::Service { .. } => Side::Server,
        }
    }
}

impl Proxy {
    /// A proxy without sessions.
    pub fn new(options: ProxyOptions, decide: Decide) -> Self {
        Proxy {
            decide,
            requests: OpenRequests::new(&options.nonce),
            options,
            now: 0,
            agent: None,
            sessions: BTreeMap::new(),
            held: BTreeMap::new(),
            terminals: BTreeMap::new(),
        }
    }

    /// The open requests of a sender.
    pub(super) fn open(&mut self, sender: Side) -> &mut BTreeMap<String, OpenRequest> {
        self.requests.of(sender)
    }

    pub(super) fn session_ids(&self) -> Vec<String> {
        self.sessions.keys().cloned().collect()
    }

    pub(super) fn session(&mut self, id: &str) -> &mut Session {
        if !self.sessions.contains_key(id) && self.sessions.len() >= MAX_OPEN {
            self.sessions.pop_first();
        }
        self.sessions.entry(id.to_owned()).or_default()
    }

    /// An event of a session.
    pub(super) fn event(&self, session: &str, kind: EventKind, method: &str, can: Capabilities) -> Event {
        let known = self.sessions.get(session);
        let mut host = Host {
            name: NAME.to_owned(),
            limits: can.limits(),
            asks_user: can.ask,
            takes_vouches: can.vouch,
            event: Some(method.to_owned()),
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
}
