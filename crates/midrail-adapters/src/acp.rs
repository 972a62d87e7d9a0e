//! The Agent Client Protocol: a proxy between an editor and an agent, as a state machine. A line of one side comes in,
//! lines for both sides come out. Processes, pipes and clocks belong to who drives it.

mod agent;
mod call;
mod editor;
mod gate;
mod masks;
mod message;
mod session;
mod text;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use midrail::{Decision, Effect, Event};
use serde_json::{Value, json};

use self::gate::{Gate, Wanted};
use self::message::{Message, Read, Refused};
use self::session::{Asked, Session};
use crate::wire::WireError;

/// The name of this host in events and records.
pub const NAME: &str = "acp";

/// How long a call that an agent shows may stay without a request for permission before it counts as running, in
/// milliseconds. Agents show a call first and ask a moment later.
pub const GRACE: u64 = 700;

/// The most requests that may be open in one direction, and the most sessions that are kept in mind.
const MAX_OPEN: usize = 4096;

/// One of the two that the proxy stands between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The editor, with a person before it.
    Editor,
    /// The agent.
    Agent,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Side::Editor => "the editor",
            Side::Agent => "the agent",
        }
    }
}

/// What is to be done after a line came in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProxyOutput {
    /// Lines for the editor, without line ends.
    pub to_editor: Vec<String>,
    /// Lines for the agent, without line ends.
    pub to_agent: Vec<String>,
    /// What people are told on standard error.
    pub remarks: Vec<String>,
    /// Events that wait for a person's answer: see [`Proxy::apply_answer`].
    pub holds: Vec<PendingApproval>,
}

impl ProxyOutput {
    fn line(&mut self, to: Side, line: String) {
        match to {
            Side::Editor => self.to_editor.push(line),
            Side::Agent => self.to_agent.push(line),
        }
    }

    fn send(&mut self, to: Side, value: &Value) {
        self.line(to, value.to_string());
    }
}

/// An event that waits for the answer of an approver.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingApproval {
    /// Its number, by which the answer is told.
    pub number: u64,
    /// The event, to be decided with the answer.
    pub event: Event,
}

/// What a proxy has to know from the start.
#[derive(Debug, Clone, Default)]
pub struct ProxyOptions {
    /// The folder of sessions that do not tell theirs.
    pub cwd: Option<String>,
    /// ProxyOptions that allow something for good are not shown to the person, so that the agent goes on asking.
    pub keep_asking: bool,
    /// A word that no other proxy has: ids and streams of this one carry it.
    pub nonce: String,
}

/// How events are decided. It never fails: what cannot be decided is refused.
pub type Decide = Box<dyn Fn(Event) -> Decision + Send>;

/// The proxy.
pub struct Proxy {
    decide: Decide,
    options: ProxyOptions,
    /// Milliseconds since some moment.
    now: u64,
    /// Numbers of holds, ids and streams.
    number: u64,
    /// The agent's own name.
    agent: Option<String>,
    sessions: BTreeMap<String, Session>,
    /// Requests that the agent has to answer, by id.
    of_editor: BTreeMap<String, Asked>,
    /// Requests that the editor has to answer, by id.
    of_agent: BTreeMap<String, Wanted>,
    /// What waits for approvers, by number.
    held: BTreeMap<u64, Gate>,
    /// The commands that run in the editor's terminals.
    terminals: BTreeMap<String, midrail::ToolCall>,
}

impl Proxy {
    /// A proxy before anything was said.
    pub fn new(options: ProxyOptions, decide: Decide) -> Self {
        Proxy {
            decide,
            options,
            now: 0,
            number: 0,
            agent: None,
            sessions: BTreeMap::new(),
            of_editor: BTreeMap::new(),
            of_agent: BTreeMap::new(),
            held: BTreeMap::new(),
            terminals: BTreeMap::new(),
        }
    }

    /// Takes a line of one side, `now` milliseconds after some moment that stays the same.
    pub fn handle_line(&mut self, from: Side, line: &[u8], now: u64) -> ProxyOutput {
        self.now = now;
        let mut out = ProxyOutput::default();
        match message::read(line) {
            Ok(Read::Blank) => {}
            Ok(Read::One(message)) => self.message(from, message, &mut out),
            Ok(Read::Batch { line, messages }) => self.batch(from, line, messages, &mut out),
            // INVARIANT: what cannot be read is not passed on.
            Err(refused) => return unread(from, &refused),
        }
        out
    }

    /// Answers a line of one side that could not be read in full, and is not passed on.
    pub fn reject_line(&self, from: Side, error: WireError) -> ProxyOutput {
        unread(from, &error.into())
    }

    /// What is due now: text that was collected, and calls that nobody was asked about.
    pub fn tick(&mut self, now: u64) -> ProxyOutput {
        self.now = now;
        let mut out = ProxyOutput::default();
        let ids: Vec<String> = self.sessions.keys().cloned().collect();
        for id in ids {
            self.tick_session(&id, &mut out);
        }
        out
    }

    /// When [`Proxy::tick`] is due, in the same milliseconds.
    pub fn next_tick(&self) -> Option<u64> {
        self.sessions.values().filter_map(Session::next_tick).min()
    }

    /// An approver has answered, or nobody has in time: `decision` is what became of the event of a [`PendingApproval`]. A hold
    /// that is no longer waited for is passed over.
    pub fn apply_answer(&mut self, number: u64, decision: Decision, now: u64) -> ProxyOutput {
        self.now = now;
        let mut out = ProxyOutput::default();
        if let Some(gate) = self.held.remove(&number) {
            self.decided(gate, decision, true, &mut out);
        }
        out
    }

    /// One side is gone: the sessions end.
    pub fn end(&mut self) -> ProxyOutput {
        let mut out = ProxyOutput::default();
        let ids: Vec<String> = self.sessions.keys().cloned().collect();
        for id in ids {
            self.finish_text(&id, &mut out);
            self.session_ended(&id);
        }
        out
    }

    fn message(&mut self, from: Side, message: Message, out: &mut ProxyOutput) {
        match from {
            Side::Editor => self.hear_editor(message, out),
            Side::Agent => self.hear_agent(message, out),
        }
    }

    /// Several messages in one line are judged one by one. The line passes as it is where all of them do.
    fn batch(&mut self, from: Side, line: String, messages: Vec<Message>, out: &mut ProxyOutput) {
        let whole: Vec<String> = messages.iter().map(|message| message.line.clone()).collect();
        for message in messages {
            self.message(from, message, out);
        }
        let passed = match from {
            Side::Editor => &mut out.to_agent,
            Side::Agent => &mut out.to_editor,
        };
        if *passed == whole {
            *passed = vec![line];
        }
    }

    fn next_number(&mut self) -> u64 {
        self.number = self.number.saturating_add(1);
        self.number
    }

    /// An id for a request of our own, which no open request has.
    fn own_id(&mut self) -> Value {
        loop {
            let number = self.next_number();
            let id = json!(format!("midrail-{}-{number}", self.options.nonce));
            let key = message::key(&id);
            if !self.of_editor.contains_key(&key) && !self.of_agent.contains_key(&key) {
                return id;
            }
        }
    }

    /// Ends what the agent does in a session: it is told to cancel, and the person is told why.
    fn stop_turn(&mut self, id: &str, why: &str, decision: &Decision, out: &mut ProxyOutput) {
        self.finish_text(id, out);
        out.send(Side::Editor, &message::says(id, why));
        let session = self.session(id);
        session.tell(why.to_owned());
        session.is_halted |= decision.effect == Effect::Halt;
        if !session.is_stopping {
            session.is_stopping = true;
            let cancel = json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": id}});
            out.send(Side::Agent, &cancel);
        }
        let verb = if decision.effect == Effect::Halt { "halted" } else { "cancelled" };
        out.remarks.push(format!("the turn was {verb}: {}", why.lines().next().unwrap_or_default()));
    }
}

fn unread(from: Side, refused: &Refused) -> ProxyOutput {
    let mut out = ProxyOutput::default();
    out.remarks.push(format!("what {} sent is not passed on: {}", from.name(), refused.what));
    if let Some(answer) = refused.answer() {
        out.send(from, &answer);
    }
    out
}
