//! A proxy between two programs that exchange lines, as a state machine: it takes a line of one side and returns lines for both.
//! The caller runs processes, pipes and clocks.

use std::collections::BTreeMap;

use midrail::{Decision, Event};
use serde_json::{Value, json};

use crate::rpc;
use crate::wire::WireError;

/// A proxy for one protocol. Times are in milliseconds since a fixed moment.
pub trait Relay {
    /// Takes a line of one side.
    fn handle_line(&mut self, from: Side, line: &[u8], now: u64) -> RelayOutput;

    /// Answers a line of one side that could not be read completely. It is not forwarded.
    fn reject_line(&mut self, from: Side, error: WireError) -> RelayOutput;

    /// Does what is due.
    fn tick(&mut self, now: u64) -> RelayOutput;

    /// When [`Relay::tick`] is due.
    fn next_tick(&self) -> Option<u64>;

    /// Applies the decision about a [`PendingApproval`] after the answer of an approver, or after a timeout. Ignores an
    /// approval that is no longer pending.
    fn apply_answer(&mut self, number: u64, decision: Decision, now: u64) -> RelayOutput;

    /// Answers a request of the client that the server does not answer.
    fn fail_request(&mut self, id: &Value, why: &str) -> RelayOutput;

    /// Whether no request of the client waits for its answer.
    fn is_idle(&mut self) -> bool;

    /// Ends all sessions, because one side is gone.
    fn end(&mut self) -> RelayOutput;
}

/// A side of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The program that started the connection: an editor, an MCP client.
    Client,
    /// The program behind the proxy: an agent, an MCP server.
    Server,
}

impl Side {
    pub(crate) fn other(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }
}

/// A channel between client and proxy. Pipes have one, and HTTP has one per request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stream(pub u64);

/// What to do after a line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RelayOutput {
    /// The stream of these lines. That of the line that caused them, unless they are in `elsewhere`.
    pub stream: Stream,
    /// Lines for the client, without line ends.
    pub to_client: Vec<String>,
    /// Lines for the server, without line ends.
    pub to_server: Vec<String>,
    /// Messages for standard error.
    pub remarks: Vec<String>,
    /// Events that wait for an approver: see [`Relay::apply_answer`].
    pub holds: Vec<PendingApproval>,
    /// The client gets no more lines on this stream, although its request has no answer.
    pub is_cancelled: bool,
    /// What to do on other streams.
    pub elsewhere: BTreeMap<Stream, RelayOutput>,
}

impl RelayOutput {
    /// The output for a line that came on a stream.
    pub(crate) fn new(stream: Stream) -> Self {
        RelayOutput { stream, ..RelayOutput::default() }
    }

    /// The output for a stream.
    pub(crate) fn on(&mut self, stream: Stream) -> &mut RelayOutput {
        if self.stream == stream {
            return self;
        }
        self.elsewhere.entry(stream).or_insert_with(|| RelayOutput::new(stream))
    }

    pub(crate) fn lines(&mut self, to: Side) -> &mut Vec<String> {
        match to {
            Side::Client => &mut self.to_client,
            Side::Server => &mut self.to_server,
        }
    }

    pub(crate) fn send(&mut self, to: Side, value: &Value) {
        self.lines(to).push(value.to_string());
    }

    /// Answers a request with a result.
    pub(crate) fn answer(&mut self, to: Side, id: Option<&Value>, result: Value) {
        if let Some(id) = id {
            self.send(to, &json!({"jsonrpc": "2.0", "id": id, "result": result}));
        }
    }
}

/// An event that waits for an approver.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingApproval {
    /// Its number, for [`Relay::apply_answer`].
    pub number: u64,
    /// The event to decide again with the answer.
    pub event: Event,
}

/// The most open requests of one side.
pub(crate) const MAX_OPEN: usize = 4096;

/// The requests of both sides that have no answer yet, by id, and the numbers that the proxy uses for its own.
pub(crate) struct OpenRequests<R> {
    client: BTreeMap<String, R>,
    server: BTreeMap<String, R>,
    number: u64,
    nonce: String,
}

impl<R> OpenRequests<R> {
    /// No requests. `nonce`: a text that no other proxy has.
    pub(crate) fn new(nonce: &str) -> Self {
        let (client, server) = (BTreeMap::new(), BTreeMap::new());
        OpenRequests { client, server, number: 0, nonce: nonce.to_owned() }
    }

    /// Those of a sender.
    pub(crate) fn of(&mut self, sender: Side) -> &mut BTreeMap<String, R> {
        match sender {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// Whether a sender may use an id for a new request.
    pub(crate) fn can_open(&mut self, sender: Side, key: &str) -> bool {
        let open = self.of(sender);
        !open.contains_key(key) && open.len() < MAX_OPEN
    }

    /// A number that was not used before.
    pub(crate) fn next_number(&mut self) -> u64 {
        self.number = self.number.saturating_add(1);
        self.number
    }

    /// An id for a request of Midrail that no open request has.
    pub(crate) fn own_id(&mut self) -> Value {
        loop {
            let number = self.next_number();
            let id = json!(format!("midrail-{}-{number}", self.nonce));
            let key = rpc::key(&id);
            if !self.client.contains_key(&key) && !self.server.contains_key(&key) {
                return id;
            }
        }
    }
}

/// Decides events. It never fails: an event that cannot be decided is blocked.
pub type Decide = Box<dyn Fn(Event) -> Decision + Send>;
