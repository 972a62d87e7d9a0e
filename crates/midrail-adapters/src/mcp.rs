//! The Model Context Protocol: a proxy between a client and a server, as a state machine. It judges what the server offers, every call
//! and every result, in both eras of the protocol: with `initialize` and sessions, and without.

mod accepted;
mod answers;
mod client;
mod definitions;
mod events;
mod gate;
pub mod http;
mod identity;
mod questions;
mod sealed_questions;
mod server;
mod splice;
mod state;
#[cfg(test)]
mod tests;

use midrail::Decision;
use serde_json::Value;

pub use self::definitions::definition;
pub use self::identity::{address_server, program_server};
pub use self::sealed_questions::SealedQuestions;
pub use self::state::{CountWaiting, KnownSessions, Proxy, ProxyOptions};
use self::state::{OpenRequest, OpenState};

use crate::relay::{Relay, RelayOutput, Side, Stream};
use crate::rpc::{self, InvalidMessage, Line, Message};
use crate::wire::WireError;

impl Relay for Proxy {
    fn handle_line(&mut self, from: Side, line: &[u8], now: u64) -> RelayOutput {
        self.handle_on(Stream::default(), from, line, now)
    }

    fn reject_line(&mut self, from: Side, error: WireError) -> RelayOutput {
        self.reject_on(Stream::default(), from, error)
    }

    fn tick(&mut self, now: u64) -> RelayOutput {
        self.now = now;
        let mut out = RelayOutput::default();
        self.report_progress(&mut out);
        self.announce_accepted(&mut out);
        out
    }

    fn next_tick(&self) -> Option<u64> {
        let reports = self.held.values().filter_map(|held| held.next_progress);
        reports.chain(self.next_pin_check()).min()
    }

    fn apply_answer(&mut self, number: u64, decision: Decision, now: u64) -> RelayOutput {
        self.now = now;
        let mut out = RelayOutput::default();
        if let Some(held) = self.held.remove(&number) {
            self.decided(held.request, decision, true, &mut out);
        }
        out
    }

    fn fail_request(&mut self, id: &Value, why: &str) -> RelayOutput {
        let mut out = RelayOutput::default();
        if let Some(open) = self.open(Side::Client).remove(&rpc::key(id)) {
            self.fail(&open, why, out.on(open.stream));
        }
        out
    }

    fn is_idle(&mut self) -> bool {
        self.open(Side::Client).is_empty()
    }

    fn end(&mut self) -> RelayOutput {
        let mut out = RelayOutput::default();
        self.fail_held_requests(&mut out);
        self.fail_open_requests("the MCP server has ended", |_| true, &mut out);
        self.end_sessions();
        out
    }
}

impl Proxy {
    /// [`Relay::handle_line`] for a line of one of several streams.
    pub fn handle_on(&mut self, stream: Stream, from: Side, line: &[u8], now: u64) -> RelayOutput {
        self.now = now;
        let mut out = RelayOutput::new(stream);
        match rpc::read(line) {
            Ok(Line::Blank) => {}
            Ok(Line::Message(message)) => self.message(from, message, &mut out),
            Ok(Line::Batch { messages, .. }) => {
                for message in messages {
                    self.message(from, message, &mut out);
                }
            }
            // INVARIANT: a line that cannot be read is not forwarded.
            Err(invalid) => self.reject(from, Some(line), &invalid, &mut out),
        }
        out
    }

    /// [`Relay::reject_line`] for a line of one of several streams.
    pub fn reject_on(&mut self, stream: Stream, from: Side, error: WireError) -> RelayOutput {
        let mut out = RelayOutput::new(stream);
        self.reject(from, None, &error.into(), &mut out);
        out
    }

    /// Answers the requests that the server received on a stream, which brings no answers any longer.
    pub fn fail_stream(&mut self, stream: Stream, why: &str) -> RelayOutput {
        let mut out = RelayOutput::new(stream);
        self.fail_open_requests(why, |open| open.stream == stream, &mut out);
        out
    }

    /// Drops the requests of a stream whose client is gone. A held request is not forwarded any longer. `is_resumable`: the client
    /// may still receive the answers of the server on another stream.
    pub fn drop_stream(&mut self, stream: Stream, is_resumable: bool) {
        self.held.retain(|_, held| held.request.stream != stream);
        let is_kept = |open: &OpenRequest| {
            open.stream != stream || is_resumable && matches!(open.state, OpenState::Forwarded(_))
        };
        for side in [Side::Client, Side::Server] {
            self.open(side).retain(|_, open| is_kept(open));
        }
    }

    /// Whether the server has received a request that came on a stream, and has not answered it.
    pub fn is_waiting_for_server(&mut self, stream: Stream) -> bool {
        let mut open = self.open(Side::Client).values().filter(|open| open.stream == stream);
        open.any(|open| matches!(open.state, OpenState::Forwarded(_)))
    }

    /// Whether a request of the client has no answer yet that came on a stream.
    pub fn is_open(&mut self, stream: Stream) -> bool {
        self.open(Side::Client).values().any(|open| open.stream == stream)
    }

    fn message(&mut self, from: Side, message: Message, out: &mut RelayOutput) {
        let Some(method) = message.method.clone() else {
            return match from {
                Side::Client => self.client_answer(message, out),
                Side::Server => self.server_answer(message, out),
            };
        };
        if message.key().is_some_and(|key| !self.requests.can_open(from, &key)) {
            out.remarks
                .push(format!("{} reused the id of an open request; not forwarded", state::name(from)));
            return;
        }
        match from {
            Side::Client => self.client_message(&method, message, out),
            Side::Server => self.server_message(&method, message, out),
        }
    }

    fn reject(&mut self, from: Side, line: Option<&[u8]>, invalid: &InvalidMessage, out: &mut RelayOutput) {
        out.remarks.push(format!("a message of {} was not forwarded: {}", state::name(from), invalid.reason));
        if from == Side::Client {
            return out.to_client.extend(invalid.answer().map(|answer| answer.to_string()));
        }
        // The client may be waiting for this answer. Of a line that is too large, the id is not known.
        let why = format!("the answer of the MCP server was not forwarded: {}", invalid.reason);
        let stream = out.stream;
        let Some(line) = line else {
            return self.fail_open_requests(&why, |open| open.stream == stream, out);
        };
        let key = state::answered_id(line);
        if let Some(open) = key.and_then(|key| self.open(Side::Client).remove(&key)) {
            self.fail(&open, &why, out);
        }
    }
}
