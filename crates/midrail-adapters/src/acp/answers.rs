//! Answers of both sides, and the start and end of sessions and turns.

use midrail::{Decision, Effect, Event, EventKind};
use serde_json::{Value, json};

use super::message::{self, Message};
use super::state::{GRACE, OpenRequest, Proxy, Turn};
use crate::host::Capabilities;
use crate::messages;
use crate::relay::{RelayOutput, Side};

const STOP: Capabilities = Capabilities { notes: true, halt: true, ..Capabilities::BLOCK };

/// How often in one turn Midrail gives guidance about calls.
const MAX_GUIDANCE: u8 = 3;

impl Proxy {
    /// One side answers a request of the other.
    pub(super) fn answer(&mut self, from: Side, message: Message, out: &mut RelayOutput) {
        let key = message.key().unwrap_or_default();
        let open = self.open(from.other());
        match open.remove(&key) {
            None => {
                out.remarks
                    .push(format!("{} answered an unknown request; not forwarded", super::state::name(from)));
                return;
            }
            // This side has not seen the request.
            Some(OpenRequest::Held) => {
                open.insert(key, OpenRequest::Held);
                return;
            }
            Some(OpenRequest::Question { request, call }) => {
                return self.user_answered(*request, &call, &message, out);
            }
            Some(OpenRequest::Service { session, call, method }) => {
                return self.service_result(&session, call, &method, message, out);
            }
            Some(OpenRequest::Prompt(turn)) => return self.end_turn(turn, message, out),
            Some(OpenRequest::Permission { session }) => {
                let (now, session) = (self.now, self.session(&session));
                session.permissions = session.permissions.saturating_sub(1);
                // The time of calls that waited for this one starts now.
                for call in session.calls.values_mut().filter(|call| call.due.is_some()) {
                    call.due = Some(now.saturating_add(GRACE));
                }
            }
            Some(OpenRequest::Initialize) => {
                let name = message.result_field("agentInfo").and_then(|info| info.get("name")?.as_str());
                self.agent = name.map(|name| name.chars().take(200).collect());
            }
            Some(OpenRequest::Start { cwd, session }) => {
                // The editor names a session only to resume it.
                let source = if session.is_some() { "resume" } else { "new" };
                let id = message.result_field("sessionId").and_then(Value::as_str).map(str::to_owned);
                if let Some(id) = id.or(session) {
                    self.finish_text(&id, out);
                    if message.result().is_some() {
                        self.start_session(&id, cwd, source);
                    }
                    self.session(&id).is_loading = false;
                }
            }
            Some(OpenRequest::Other) => {}
        }
        out.lines(from.other()).push(message.line);
    }

    fn start_session(&mut self, id: &str, cwd: Option<String>, source: &str) {
        let session = self.session(id);
        if cwd.is_some() {
            session.cwd = cwd;
        }
        if std::mem::replace(&mut session.has_started, true) {
            return;
        }
        let start = self.event(id, EventKind::SessionStart, "session/new", Capabilities::NOTES);
        let decision = (self.decide)(Event { source: Some(source.to_owned()), ..start });
        if let Some(notes) = messages::notes(&decision) {
            self.session(id).note(notes);
        }
    }

    pub(super) fn end_session(&mut self, id: &str) {
        if self.sessions.get(id).is_some_and(|session| session.has_started) {
            (self.decide)(self.event(id, EventKind::SessionEnd, "end", Capabilities::NONE));
        }
        self.sessions.remove(id);
    }

    /// Cancels the turn of a session, and shows the user why.
    pub(super) fn stop_turn(&mut self, id: &str, reason: &str, decision: &Decision, out: &mut RelayOutput) {
        self.finish_text(id, out);
        out.show(id, reason);
        let is_halt = decision.effect == Effect::Halt;
        let session = self.session(id);
        session.note(reason.to_owned());
        session.is_halted |= is_halt;
        if !std::mem::replace(&mut session.is_stopping, true) {
            let cancel = json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": id}});
            out.send(Side::Server, &cancel);
        }
        let done = if is_halt { "halted" } else { "cancelled" };
        out.remarks.push(format!("the turn was {done}: {}", reason.lines().next().unwrap_or_default()));
    }

    /// The agent has answered a prompt. If it may not stop yet, it must continue.
    fn end_turn(&mut self, mut turn: Turn, message: Message, out: &mut RelayOutput) {
        let id = turn.session.clone();
        self.finish_text(&id, out);
        let result = message.result().cloned();
        let reason = message.result_field("stopReason").and_then(Value::as_str);
        let session = self.session(&id);
        let is_free = !session.is_stopping && !session.is_cancelled && reason == Some("end_turn");
        let guidance = std::mem::take(&mut session.guidance);
        if is_free && !guidance.is_empty() && turn.guided < MAX_GUIDANCE {
            turn.guided = turn.guided.saturating_add(1);
            turn.result = result;
            return self.continue_turn(turn, &guidance.join("\n"), out);
        }
        if is_free {
            let mut event = self.event(&id, EventKind::BeforeStop, "session/prompt", STOP);
            event.output = Some(json!(self.session(&id).output));
            event.stop_reason = reason.map(str::to_owned);
            let decision = (self.decide)(event);
            // An agent that must continue whenever Midrail fails would never end.
            let is_failure = decision.by.as_deref() == Some("midrail") && decision.verdicts.is_empty();
            if is_failure && turn.result.is_some() {
                out.show(&id, &messages::refusal(&decision));
            } else if decision.effect == Effect::Halt {
                self.session(&id).is_halted = true;
                out.show(&id, &messages::halt_message(&decision));
            } else if !decision.effect.allows() {
                turn.result = result;
                return self.continue_turn(turn, &messages::refusal(&decision), out);
            } else if let Some(notes) = messages::notes(&decision) {
                self.session(&id).note(notes);
            }
        }
        if turn.id.as_ref() == message.id.as_ref() {
            return out.to_client.push(message.line);
        }
        // An error of a prompt of Midrail is not one of the editor's prompt, which has a result.
        match result.or(turn.result) {
            Some(result) => out.answer(Side::Client, turn.id.as_ref(), result),
            None => {
                if let Some(id) = &turn.id {
                    let error = message.fields.get("error").cloned().unwrap_or_default();
                    out.send(Side::Client, &json!({"jsonrpc": "2.0", "id": id, "error": error}));
                }
            }
        }
    }

    /// Sends the agent a prompt of Midrail. The editor keeps waiting.
    fn continue_turn(&mut self, turn: Turn, guidance: &str, out: &mut RelayOutput) {
        let id = self.requests.own_id();
        let session = self.session(&turn.session);
        let notes = session.take_notes();
        session.output.clear();
        let text = std::iter::once(guidance.to_owned()).chain(notes).collect::<Vec<_>>().join("\n");
        out.show(&turn.session, &format!("Midrail made the agent continue:\n{guidance}"));
        let params = json!({"sessionId": turn.session, "prompt": [{"type": "text", "text": text}]});
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "session/prompt", "params": params});
        out.send(Side::Server, &request);
        self.open(Side::Client).insert(message::key(&id), OpenRequest::Prompt(turn));
    }
}
