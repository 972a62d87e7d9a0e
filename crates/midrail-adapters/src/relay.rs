//! A proxy between two programs that exchange lines, as a state machine: it takes a line of one side and returns lines for both.
//! The caller runs processes, pipes and clocks.

use midrail::{Decision, Event};
use serde_json::{Value, json};

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

/// What to do after a line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RelayOutput {
    /// Lines for the client, without line ends.
    pub to_client: Vec<String>,
    /// Lines for the server, without line ends.
    pub to_server: Vec<String>,
    /// Messages for standard error.
    pub remarks: Vec<String>,
    /// Events that wait for an approver: see [`Relay::apply_answer`].
    pub holds: Vec<PendingApproval>,
}

impl RelayOutput {
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

/// Decides events. It never fails: an event that cannot be decided is blocked.
pub type Decide = Box<dyn Fn(Event) -> Decision + Send>;
