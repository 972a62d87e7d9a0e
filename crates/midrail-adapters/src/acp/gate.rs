//! What has to be decided before it passes: held where a person has to answer, refused in the words that its sender
//! understands, and passed on as it came.

use std::collections::VecDeque;

use midrail::{Decision, Effect, Event, ToolCall};
use serde_json::{Map, Value, json};

use super::message::{self, Message};
use super::session::{Asked, Turn};
use super::{PendingApproval, Proxy, ProxyOutput, Side};
use crate::messages;

/// A request that waits to be passed on.
pub(super) struct Gate {
    pub(super) session: String,
    pub(super) id: Option<Value>,
    /// The request as it came.
    pub(super) line: String,
    pub(super) what: What,
    /// What has to pass, in this order.
    pub(super) events: VecDeque<Event>,
    /// What the agent is told beside it.
    pub(super) notes: Vec<String>,
}

/// What kind of request.
pub(super) enum What {
    /// `session/prompt`
    Prompt(Map<String, Value>),
    /// `session/request_permission`
    Permission { options: Vec<Value>, title: String },
    /// Something that the editor does for the agent.
    Service { call: ToolCall, kind: &'static str, method: String },
}

impl What {
    fn sender(&self) -> Side {
        match self {
            What::Prompt(_) => Side::Editor,
            What::Permission { .. } | What::Service { .. } => Side::Agent,
        }
    }
}

/// A request that the editor has to answer.
pub(super) enum Wanted {
    Permission {
        session: String,
    },
    /// Its answer is judged as the result of a call.
    Service {
        session: String,
        call: ToolCall,
        method: String,
    },
    /// We asked the person ourselves. With the call under which the person sees it.
    Ours {
        gate: Box<Gate>,
        call: String,
    },
    /// It is held, and has not reached the editor.
    Held,
    Other,
}

impl Proxy {
    /// Decides what is left to decide, and passes the request on.
    pub(super) fn gate(&mut self, gate: Gate, out: &mut ProxyOutput) {
        self.mark_held(&gate);
        match gate.events.front() {
            Some(event) => {
                let decision = (self.decide)(event.clone());
                self.decided(gate, decision, false, out);
            }
            None => self.pass(gate, out),
        }
    }

    /// The first event of a gate was decided. `is_final`: nobody is waited for any longer.
    pub(super) fn decided(
        &mut self,
        mut gate: Gate,
        decision: Decision,
        is_final: bool,
        out: &mut ProxyOutput,
    ) {
        if decision.effect.allows() {
            gate.notes.extend(messages::notes(&decision));
        } else if decision.effect == Effect::Escalate && decision.approval.is_some() && !is_final {
            let Some(event) = gate.events.front().cloned() else { return };
            let number = self.next_number();
            let text = format!("{}\nIt goes on once an approver has answered.", messages::refusal(&decision));
            out.send(Side::Editor, &message::says(&gate.session, &text));
            out.holds.push(PendingApproval { number, event });
            self.held.insert(number, gate);
            return;
        } else if decision.effect == Effect::Escalate
            && decision.approval.is_none()
            && asks(&gate)
            && !is_final
        {
            match gate.what {
                // The editor asks its person anyway. The person is told what there is to think about.
                What::Permission { .. } => {
                    let why = messages::refusal(&decision);
                    out.send(Side::Editor, &message::says(&gate.session, &why));
                }
                What::Prompt(_) | What::Service { .. } => return self.ask(gate, &decision, out),
            }
        } else {
            return self.refuse(gate, &decision, out);
        }
        gate.events.pop_front();
        self.gate(gate, out);
    }

    /// Asks the person before the editor in our own name.
    fn ask(&mut self, gate: Gate, decision: &Decision, out: &mut ProxyOutput) {
        let id = self.own_id();
        let shown = id.as_str().unwrap_or_default().to_owned();
        let (name, kind, path) = match &gate.what {
            What::Service { call, kind, .. } => {
                (call.name.as_str(), *kind, call.args.get("path").and_then(Value::as_str))
            }
            What::Prompt(_) | What::Permission { .. } => ("your prompt", "other", None),
        };
        let title = path.map_or_else(|| name.to_owned(), |path| format!("{name} {path}"));
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": {
            "sessionId": gate.session,
            "toolCall": {"toolCallId": shown, "title": title, "kind": kind, "status": "pending",
                "content": [{"type": "content", "content": {"type": "text", "text": messages::refusal(decision)}}],
                "locations": path.map(|path| json!({"path": path})).into_iter().collect::<Vec<_>>()},
            "options": [{"optionId": "allow", "name": "Allow once", "kind": "allow_once"},
                {"optionId": "reject", "name": "Reject", "kind": "reject_once"}]}});
        out.send(Side::Editor, &request);
        self.of_agent.insert(message::key(&id), Wanted::Ours { gate: Box::new(gate), call: shown });
    }

    /// The person answered what we asked.
    pub(super) fn person_answered(
        &mut self,
        mut gate: Gate,
        call: &str,
        answer: &Message,
        out: &mut ProxyOutput,
    ) {
        let outcome = answer.result().and_then(|result| result.get("outcome"));
        let option = outcome.and_then(|outcome| outcome.get("optionId")).and_then(Value::as_str);
        let is_allowed = option == Some("allow");
        let update = json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": gate.session,
            "update": {"sessionUpdate": "tool_call_update", "toolCallId": call,
                "status": if is_allowed { "completed" } else { "failed" }}}});
        out.send(Side::Editor, &update);
        if is_allowed {
            gate.events.pop_front();
            return self.gate(gate, out);
        }
        let decision = Decision {
            effect: Effect::Block,
            by: Some("midrail".into()),
            reason: "the person was asked, and said no".to_owned(),
            ..Decision::default()
        };
        self.refuse(gate, &decision, out);
    }

    /// The request does not reach the other side; its sender is answered.
    pub(super) fn refuse(&mut self, gate: Gate, decision: &Decision, out: &mut ProxyOutput) {
        self.forget_held(&gate);
        let is_halt = decision.effect == Effect::Halt;
        let why = if is_halt { messages::halt_message(decision) } else { messages::refusal(decision) };
        let (id, session) = (gate.id.as_ref(), gate.session.as_str());
        match &gate.what {
            What::Prompt(_) => {
                out.send(Side::Editor, &message::says(session, &why));
                if let Some(id) = id {
                    out.send(Side::Editor, &message::answer(id, json!({"stopReason": "refusal"})));
                }
                return;
            }
            What::Permission { options, title } => {
                if let Some(id) = id {
                    out.send(Side::Agent, &message::answer(id, rejection(options, &why)));
                }
                let told = format!("About `{title}`: {why}");
                let known = self.session(session);
                match decision.effect {
                    Effect::Retry => known.guidance.push(told),
                    _ => known.tell(told),
                }
            }
            What::Service { .. } => {
                if let Some(id) = id {
                    out.send(Side::Agent, &message::refusal(id, &why, Some(decision)));
                }
            }
        }
        match is_halt {
            true => self.stop_turn(session, &why, decision, out),
            false => out.send(Side::Editor, &message::says(session, &why)),
        }
    }

    /// The request passes on, as it came where nothing is to be told beside it.
    fn pass(&mut self, gate: Gate, out: &mut ProxyOutput) {
        let key = gate.id.as_ref().map(message::key);
        match gate.what {
            What::Prompt(fields) => {
                let session = self.session(&gate.session);
                let notes: Vec<String> = session.take_told().into_iter().chain(gate.notes).collect();
                session.said.clear();
                session.guidance.clear();
                session.is_stopping = false;
                session.is_cancelled = false;
                let turn = Turn { session: gate.session, id: gate.id, tells: 0, result: None };
                if let Some(key) = key {
                    self.of_editor.insert(key, Asked::Prompt(turn));
                }
                let line = if notes.is_empty() { None } else { with_notes(fields, &notes.join("\n")) };
                out.line(Side::Agent, line.unwrap_or(gate.line));
            }
            What::Permission { .. } => {
                if let Some(key) = key {
                    self.session(&gate.session).asked += 1;
                    self.of_agent.insert(key, Wanted::Permission { session: gate.session });
                }
                out.line(Side::Editor, gate.line);
            }
            What::Service { call, method, .. } => {
                if let Some(key) = key {
                    self.of_agent.insert(key, Wanted::Service { session: gate.session, call, method });
                }
                out.line(Side::Editor, gate.line);
            }
        }
    }

    /// The editor cancelled: what is held for a session is not waited for.
    pub(super) fn drop_held(&mut self, session: &str, out: &mut ProxyOutput) {
        let numbers: Vec<u64> =
            self.held.iter().filter(|(_, gate)| gate.session == session).map(|(number, _)| *number).collect();
        for gate in numbers.iter().filter_map(|number| self.held.remove(number)).collect::<Vec<_>>() {
            self.forget_held(&gate);
            let Some(id) = &gate.id else { continue };
            match gate.what {
                What::Prompt(_) => {
                    out.send(Side::Editor, &message::answer(id, json!({"stopReason": "cancelled"})))
                }
                What::Permission { .. } => {
                    out.send(Side::Agent, &message::answer(id, json!({"outcome": {"outcome": "cancelled"}})));
                }
                What::Service { .. } => {
                    out.send(Side::Agent, &message::refusal(id, "the turn was cancelled", None));
                }
            }
        }
    }

    fn mark_held(&mut self, gate: &Gate) {
        let Some(key) = gate.id.as_ref().map(message::key) else { return };
        match gate.what.sender() {
            Side::Editor => drop(self.of_editor.insert(key, Asked::Held)),
            Side::Agent => drop(self.of_agent.insert(key, Wanted::Held)),
        }
    }

    fn forget_held(&mut self, gate: &Gate) {
        let Some(key) = gate.id.as_ref().map(message::key) else { return };
        match gate.what.sender() {
            Side::Editor => drop(self.of_editor.remove(&key)),
            Side::Agent => drop(self.of_agent.remove(&key)),
        }
    }
}

/// Whether the person before the editor may decide.
fn asks(gate: &Gate) -> bool {
    let host = gate.events.front().and_then(|event| event.host.as_ref());
    host.is_some_and(|host| host.asks_user)
}

/// The answer that rejects a call this once. Where the agent offers none, the call is cancelled.
fn rejection(options: &[Value], why: &str) -> Value {
    let text = |option: &Value, key: &str| option.get(key).and_then(Value::as_str).map(str::to_owned);
    let reject = options.iter().find(|option| text(option, "kind").as_deref() == Some("reject_once"));
    let outcome = match reject.and_then(|option| text(option, "optionId")) {
        Some(id) => json!({"outcome": "selected", "optionId": id}),
        None => json!({"outcome": "cancelled"}),
    };
    json!({"outcome": outcome, "_meta": {"midrail": {"reason": why}}})
}

/// A prompt with a text of ours behind it.
fn with_notes(mut fields: Map<String, Value>, notes: &str) -> Option<String> {
    let prompt = fields.get_mut("params")?.get_mut("prompt")?.as_array_mut()?;
    prompt
        .push(json!({"type": "text", "text": format!("[From Midrail, which guards this session]\n{notes}")}));
    Some(Value::Object(fields).to_string())
}
