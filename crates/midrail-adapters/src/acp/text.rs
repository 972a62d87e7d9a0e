//! What the agent says, chunk by chunk: judged as one text, and passed on as far as it may. Lines pass as they came where
//! nothing of them is held back or replaced.

use std::collections::VecDeque;

use midrail::{Decision, Effect, Event, EventKind};
use serde_json::{Map, Value, json};

use super::message::Message;
use super::{Proxy, ProxyOutput, Side, message};
use crate::host::Capabilities;
use crate::messages;

/// Chunks are decided together once there are so many bytes of them: each decision is a record.
const ENOUGH: usize = 2048;
/// How long they are collected, in milliseconds.
const PATIENCE: u64 = 250;

const CHUNK: Capabilities = Capabilities { block: true, ask: false, redact: true, notes: false, halt: true };

/// A text that is being told.
pub(super) struct Text {
    /// The name of the stream.
    stream: String,
    /// Whether it is the agent's message, its thoughts, and which of them.
    pub(super) of: (String, Option<Value>),
    /// Chunks that have not passed on, in full or in part.
    pieces: VecDeque<Piece>,
    /// What is not decided yet.
    collected: String,
    /// Something was replaced: from then on it is told in our lines.
    is_rewritten: bool,
    /// Something of it was decided.
    is_begun: bool,
    /// It was stopped, and nothing more of it passes on.
    is_over: bool,
    /// The last chunk, as the form of ours.
    form: Option<Value>,
    pub(super) due: Option<u64>,
}

struct Piece {
    text: String,
    /// Absent where a part of it has passed on.
    line: Option<String>,
}

/// Whether updates of a kind are what the agent says.
pub(super) fn is_chunk(kind: &str) -> bool {
    matches!(kind, "agent_message_chunk" | "agent_thought_chunk")
}

/// The text of a chunk, and which text it is a part of.
pub(super) fn chunk(update: &Map<String, Value>) -> Option<(&str, (String, Option<Value>))> {
    let kind = update.get("sessionUpdate")?.as_str()?;
    if !is_chunk(kind) {
        return None;
    }
    let text = update.get("content")?.get("text")?.as_str()?;
    Some((text, (kind.to_owned(), update.get("messageId").cloned())))
}

impl Text {
    fn passing(&mut self, content: &str, last: bool) -> Vec<String> {
        let mut lines = Vec::new();
        let mut rest = content;
        while !self.is_rewritten {
            let Some(piece) = self.pieces.front_mut() else { break };
            if let Some(after) = rest.strip_prefix(piece.text.as_str()) {
                rest = after;
                let piece = self.pieces.pop_front();
                lines.extend(piece.and_then(|piece| piece.line.or_else(|| self.own(&piece.text))));
            } else if let Some(left) = piece.text.strip_prefix(rest) {
                if !rest.is_empty() {
                    piece.text = left.to_owned();
                    piece.line = None;
                    lines.extend(self.own(rest));
                    rest = "";
                }
                break;
            } else {
                self.is_rewritten = true;
            }
        }
        if !rest.is_empty() {
            // INVARIANT: nothing passes on but what was decided.
            self.is_rewritten = true;
            lines.extend(self.own(rest));
        }
        if self.is_rewritten || last {
            self.pieces.clear();
        }
        lines
    }

    /// A line of our own, in the form of the agent's.
    fn own(&self, text: &str) -> Option<String> {
        if text.is_empty() {
            return None;
        }
        let mut form = self.form.clone()?;
        let update = form.get_mut("params")?.get_mut("update")?;
        let update = update.as_object_mut()?;
        update.remove("_meta");
        update.insert("content".to_owned(), json!({"type": "text", "text": text}));
        Some(form.to_string())
    }
}

impl Proxy {
    /// Takes a chunk of text.
    pub(super) fn text_chunk(&mut self, id: &str, message: Message, out: &mut ProxyOutput) {
        let update = message.params().and_then(|params| params.get("update")).and_then(Value::as_object);
        let Some((text, of)) = update.and_then(chunk) else {
            // Something else than text: an image, say.
            self.finish_text(id, out);
            out.line(Side::Editor, message.line);
            return;
        };
        let text = text.to_owned();
        if self.session(id).is_halted {
            return;
        }
        if self.session(id).text.as_ref().is_some_and(|told| told.of != of) {
            self.finish_text(id, out);
        }
        let (due, number) = (self.now.saturating_add(PATIENCE), self.next_number());
        let stream = format!("acp-{}-{number}", self.options.nonce);
        let session = self.session(id);
        let told = session.text.get_or_insert_with(|| Text {
            stream,
            of: of.clone(),
            pieces: VecDeque::new(),
            collected: String::new(),
            is_rewritten: false,
            is_begun: false,
            is_over: false,
            form: None,
            due: None,
        });
        if told.is_over {
            return;
        }
        told.form = Some(Value::Object(message.fields));
        told.collected.push_str(&text);
        told.pieces.push_back(Piece { text: text.clone(), line: Some(message.line) });
        told.due.get_or_insert(due);
        let is_enough = told.collected.len() >= ENOUGH;
        if of.0 == "agent_message_chunk" {
            session.say(&text);
        }
        if is_enough {
            self.decide_text(id, false, out);
        }
    }

    /// What was collected is decided, however little it is.
    pub(super) fn flush_text(&mut self, id: &str, out: &mut ProxyOutput) {
        let is_open =
            |text: &super::text::Text| !text.is_over && !text.pieces.is_empty() && text.due.is_some();
        if self.sessions.get(id).and_then(|session| session.text.as_ref()).is_some_and(is_open) {
            self.decide_text(id, false, out);
        }
    }

    /// The text is over: the rest of it is decided, and nothing is held back any more.
    pub(super) fn finish_text(&mut self, id: &str, out: &mut ProxyOutput) {
        let is_open = self.sessions.get(id).and_then(|session| session.text.as_ref());
        if is_open.is_some_and(|text| !text.is_over) {
            self.decide_text(id, true, out);
        }
        if let Some(session) = self.sessions.get_mut(id) {
            session.text = None;
        }
    }

    fn decide_text(&mut self, id: &str, last: bool, out: &mut ProxyOutput) {
        let base = self.event(id, EventKind::ModelChunk, "session/update", CHUNK);
        let Some(told) = self.sessions.get_mut(id).and_then(|session| session.text.as_mut()) else { return };
        told.due = None;
        if told.collected.is_empty() && !(last && told.is_begun) {
            // Nothing was said: there is nothing to decide.
            if !told.is_begun {
                out.to_editor.extend(told.passing("", last));
            }
            return;
        }
        told.is_begun = true;
        let decision = (self.decide)(Event {
            text: Some(std::mem::take(&mut told.collected)),
            stream: Some(told.stream.clone()),
            last: Some(last),
            ..base
        });
        if decision.effect.allows() {
            out.to_editor.extend(told.passing(decision.content.as_deref().unwrap_or_default(), last));
            return;
        }
        told.is_over = true;
        told.pieces.clear();
        self.text_stopped(id, &decision, out);
    }

    fn text_stopped(&mut self, id: &str, decision: &Decision, out: &mut ProxyOutput) {
        if decision.effect == Effect::Halt {
            return self.stop_turn(id, &messages::halt_message(decision), decision, out);
        }
        let why = messages::refusal(decision);
        out.send(Side::Editor, &message::says(id, &why));
        self.session(id).tell(why);
    }
}
