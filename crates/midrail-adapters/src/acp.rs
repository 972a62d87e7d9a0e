//! The Agent Client Protocol: a proxy between an editor and an agent, as a state machine. It takes a line of one side and
//! returns lines for both sides. The caller runs processes, pipes and clocks.

mod agent;
mod answers;
mod call;
mod editor;
mod gate;
mod masks;
mod message;
mod session;
mod state;
mod stream;
#[cfg(test)]
mod tests;
mod text;

use midrail::Decision;
use serde_json::Value;

use self::message::{InvalidMessage, Line, Message};
use self::state::name;
use crate::relay::{Relay, RelayOutput, Side};
use crate::wire::WireError;

pub use self::state::{GRACE, NAME, Proxy, ProxyOptions};

impl Relay for Proxy {
    fn handle_line(&mut self, from: Side, line: &[u8], now: u64) -> RelayOutput {
        self.now = now;
        let mut out = RelayOutput::default();
        match message::read(line) {
            Ok(Line::Blank) => {}
            Ok(Line::Message(message)) => self.message(from, message, &mut out),
            Ok(Line::Batch { line, messages }) => self.batch(from, line, messages, &mut out),
            // INVARIANT: a line that cannot be read is not forwarded.
            Err(invalid) => reject(from, &invalid, &mut out),
        }
        out
    }

    fn reject_line(&mut self, from: Side, error: WireError) -> RelayOutput {
        let mut out = RelayOutput::default();
        reject(from, &error.into(), &mut out);
        out
    }

    /// Decides what is due: collected text, and calls that run without a permission request.
    fn tick(&mut self, now: u64) -> RelayOutput {
        self.now = now;
        let mut out = RelayOutput::default();
        for id in self.session_ids() {
            self.tick_session(&id, &mut out);
        }
        out
    }

    fn next_tick(&self) -> Option<u64> {
        self.sessions.values().filter_map(|session| session.next_tick()).min()
    }

    fn apply_answer(&mut self, number: u64, decision: Decision, now: u64) -> RelayOutput {
        self.now = now;
        let mut out = RelayOutput::default();
        if let Some(request) = self.held.remove(&number) {
            self.decided(request, decision, true, &mut out);
        }
        out
    }

    fn fail_request(&mut self, id: &Value, why: &str) -> RelayOutput {
        let mut out = RelayOutput::default();
        if self.open(Side::Client).remove(&message::key(id)).is_some() {
            out.send(Side::Client, &message::refusal(id, why, None));
        }
        out
    }

    fn is_idle(&mut self) -> bool {
        self.open(Side::Client).is_empty()
    }

    fn end(&mut self) -> RelayOutput {
        let mut out = RelayOutput::default();
        for id in self.session_ids() {
            self.finish_text(&id, &mut out);
            self.end_session(&id);
        }
        out
    }
}

impl Proxy {
    fn message(&mut self, from: Side, message: Message, out: &mut RelayOutput) {
        let Some(method) = message.method.clone() else { return self.answer(from, message, out) };
        if message.key().is_some_and(|key| !self.requests.can_open(from, &key)) {
            out.remarks.push(format!("{} reused the id of an open request; not forwarded", name(from)));
            return;
        }
        match from {
            Side::Client => self.editor_request(&method, message, out),
            Side::Server => self.agent_request(method, message, out),
        }
    }

    /// Decides the messages of a batch one by one. The line is forwarded unchanged if all of them are.
    fn batch(&mut self, from: Side, line: String, messages: Vec<Message>, out: &mut RelayOutput) {
        let lines: Vec<String> = messages.iter().map(|message| message.line.clone()).collect();
        for message in messages {
            self.message(from, message, out);
        }
        let forwarded = out.lines(from.other());
        if *forwarded == lines {
            *forwarded = vec![line];
        }
    }
}

fn reject(from: Side, invalid: &InvalidMessage, out: &mut RelayOutput) {
    out.remarks.push(format!("a message of {} was not forwarded: {}", name(from), invalid.reason));
    if let Some(answer) = invalid.answer() {
        out.send(from, &answer);
    }
}
