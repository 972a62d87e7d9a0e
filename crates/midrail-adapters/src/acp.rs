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

use self::message::{InvalidMessage, Line, Message};
use crate::wire::WireError;

pub use self::state::{Decide, GRACE, NAME, PendingApproval, Proxy, ProxyOptions, ProxyOutput, Side};

impl Proxy {
    /// Takes a line of one side. `now` is in milliseconds since a fixed time.
    pub fn handle_line(&mut self, from: Side, line: &[u8], now: u64) -> ProxyOutput {
        self.now = now;
        let mut out = ProxyOutput::default();
        match message::read(line) {
            Ok(Line::Blank) => {}
            Ok(Line::Message(message)) => self.message(from, message, &mut out),
            Ok(Line::Batch { line, messages }) => self.batch(from, line, messages, &mut out),
            // INVARIANT: a line that cannot be read is not forwarded.
            Err(invalid) => reject(from, &invalid, &mut out),
        }
        out
    }

    /// Answers a line of one side that could not be read completely. It is not forwarded.
    pub fn reject_line(&self, from: Side, error: WireError) -> ProxyOutput {
        let mut out = ProxyOutput::default();
        reject(from, &error.into(), &mut out);
        out
    }

    /// Decides what is due: collected text, and calls that run without a permission request.
    pub fn tick(&mut self, now: u64) -> ProxyOutput {
        self.now = now;
        let mut out = ProxyOutput::default();
        for id in self.session_ids() {
            self.tick_session(&id, &mut out);
        }
        out
    }

    /// When [`Proxy::tick`] is due.
    pub fn next_tick(&self) -> Option<u64> {
        self.sessions.values().filter_map(|session| session.next_tick()).min()
    }

    /// Applies the decision about a [`PendingApproval`] after the answer of an approver, or after a timeout. Ignores an
    /// approval that is no longer pending.
    pub fn apply_answer(&mut self, number: u64, decision: midrail::Decision, now: u64) -> ProxyOutput {
        self.now = now;
        let mut out = ProxyOutput::default();
        if let Some(request) = self.held.remove(&number) {
            self.decided(request, decision, true, &mut out);
        }
        out
    }

    /// Ends all sessions, because one side is gone.
    pub fn end(&mut self) -> ProxyOutput {
        let mut out = ProxyOutput::default();
        for id in self.session_ids() {
            self.finish_text(&id, &mut out);
            self.end_session(&id);
        }
        out
    }

    fn message(&mut self, from: Side, message: Message, out: &mut ProxyOutput) {
        let Some(method) = message.method.clone() else { return self.answer(from, message, out) };
        if message.key().is_some_and(|key| !self.can_open(from, &key)) {
            out.remarks.push(format!("{} reused the id of an open request; not forwarded", from.name()));
            return;
        }
        match from {
            Side::Editor => self.editor_request(&method, message, out),
            Side::Agent => self.agent_request(method, message, out),
        }
    }

    /// Decides the messages of a batch one by one. The line is forwarded unchanged if all of them are.
    fn batch(&mut self, from: Side, line: String, messages: Vec<Message>, out: &mut ProxyOutput) {
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

fn reject(from: Side, invalid: &InvalidMessage, out: &mut ProxyOutput) {
    out.remarks.push(format!("a message of {} was not forwarded: {}", from.name(), invalid.reason));
    if let Some(answer) = invalid.answer() {
        out.send(from, &answer);
    }
}
