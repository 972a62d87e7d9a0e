//! The agent's text, chunk by chunk: decided as one stream, and forwarded as far as it is allowed.

use midrail::{Effect, Event, EventKind};
use serde_json::Value;

use super::message::Message;
use super::state::Proxy;
use super::stream::{TextStream, chunk};
use crate::host::Capabilities;
use crate::messages;
use crate::relay::RelayOutput;

/// How many bytes of chunks are decided together. Each decision is a record.
const ENOUGH: usize = 2048;
/// How long chunks are collected, in milliseconds.
const MAX_DELAY: u64 = 250;

const CHUNK: Capabilities = Capabilities { redact: true, halt: true, ..Capabilities::BLOCK };

impl Proxy {
    /// Adds a chunk.
    pub(super) fn text_chunk(&mut self, id: &str, message: Message, out: &mut RelayOutput) {
        let update = message.param("update").and_then(Value::as_object);
        let Some((text, key)) = update.and_then(chunk) else {
            // Not text: an image, for example.
            self.finish_text(id, out);
            return out.to_client.push(message.line);
        };
        if self.session(id).is_halted {
            return;
        }
        if self.session(id).text.as_ref().is_some_and(|stream| stream.key != key) {
            self.finish_text(id, out);
        }
        let (due, number) = (self.now.saturating_add(MAX_DELAY), self.requests.next_number());
        let name = format!("acp-{}-{number}", self.options.nonce);
        let session = self.session(id);
        let is_message = key.0 == "agent_message_chunk";
        let stream = session.text.get_or_insert_with(|| TextStream::new(name, key));
        if stream.is_blocked {
            return;
        }
        stream.add(&text, message.line, Value::Object(message.fields));
        stream.due.get_or_insert(due);
        let is_enough = stream.collected.len() >= ENOUGH;
        if is_message {
            session.add_output(&text);
        }
        if is_enough {
            self.decide_text(id, false, out);
        }
    }

    /// Decides the collected text.
    pub(super) fn flush_text(&mut self, id: &str, out: &mut RelayOutput) {
        let stream = self.sessions.get(id).and_then(|session| session.text.as_ref());
        if stream.is_some_and(|stream| stream.is_due()) {
            self.decide_text(id, false, out);
        }
    }

    /// Decides the rest of a text. Nothing is held back any more.
    pub(super) fn finish_text(&mut self, id: &str, out: &mut RelayOutput) {
        let stream = self.sessions.get(id).and_then(|session| session.text.as_ref());
        if stream.is_some_and(|stream| !stream.is_blocked) {
            self.decide_text(id, true, out);
        }
        if let Some(session) = self.sessions.get_mut(id) {
            session.text = None;
        }
    }

    fn decide_text(&mut self, id: &str, last: bool, out: &mut RelayOutput) {
        let event = self.event(id, EventKind::ModelChunk, "session/update", CHUNK);
        let Some(stream) = self.sessions.get_mut(id).and_then(|session| session.text.as_mut()) else {
            return;
        };
        stream.due = None;
        if stream.collected.is_empty() && !(last && stream.is_begun) {
            if !stream.is_begun {
                out.to_client.extend(stream.forward("", last));
            }
            return;
        }
        stream.is_begun = true;
        let decision = (self.decide)(Event {
            text: Some(std::mem::take(&mut stream.collected)),
            stream: Some(stream.name.clone()),
            last: Some(last),
            ..event
        });
        if decision.effect.allows() {
            let content = decision.content.as_deref().unwrap_or_default();
            return out.to_client.extend(stream.forward(content, last));
        }
        stream.block();
        if decision.effect == Effect::Halt {
            return self.stop_turn(id, &messages::halt_message(&decision), &decision, out);
        }
        let reason = messages::refusal(&decision);
        out.show(id, &reason);
        self.session(id).note(reason);
    }
}
