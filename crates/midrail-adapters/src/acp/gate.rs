//! Requests that are decided before they are forwarded: held for an approver, refused in the sender's format, or forwarded
//! as they came.

use midrail::{Decision, Effect};
use serde_json::{Map, Value, json};

use super::message::{self, Message};
use super::state::{GatedRequest, OpenRequest, Proxy, RequestKind, Turn};
use crate::messages;
use crate::relay::{PendingApproval, RelayOutput, Side};

impl Proxy {
    /// Decides the remaining events of a request, and forwards it.
    pub(super) fn gate(&mut self, request: GatedRequest, out: &mut RelayOutput) {
        self.track(&request, OpenRequest::Held);
        match request.events.front() {
            Some(event) => {
                let decision = (self.decide)(event.clone());
                self.decided(request, decision, false, out);
            }
            None => match vouched_answer(&request) {
                Some(answer) => {
                    self.untrack(&request);
                    out.answer(Side::Server, request.id.as_ref(), answer);
                }
                None => self.forward(request, out),
            },
        }
    }

    fn track(&mut self, request: &GatedRequest, open: OpenRequest) {
        if let Some(id) = &request.id {
            self.open(request.sender()).insert(message::key(id), open);
        }
    }

    /// Applies the decision about the first event of a request. `is_final`: no approver is waited for.
    pub(super) fn decided(
        &mut self,
        mut request: GatedRequest,
        decision: Decision,
        is_final: bool,
        out: &mut RelayOutput,
    ) {
        let host = request.events.front().and_then(|event| event.host.as_ref());
        let asks_user = host.is_some_and(|host| host.asks_user) && decision.approval.is_none();
        if let RequestKind::Permission { is_vouched, .. } = &mut request.kind {
            *is_vouched &= decision.vouched;
        }
        if decision.effect.allows() {
            request.notes.extend(messages::notes(&decision));
        } else if decision.effect != Effect::Escalate || is_final {
            return self.refuse(request, &decision, out);
        } else if decision.approval.is_some() {
            let Some(event) = request.events.front().cloned() else { return };
            let number = self.requests.next_number();
            let text = messages::refusal(&decision);
            out.show(&request.session, &format!("{text}\nIt continues once an approver has answered."));
            out.holds.push(PendingApproval { number, event });
            self.held.insert(number, request);
            return;
        } else if !asks_user {
            return self.refuse(request, &decision, out);
        } else if matches!(request.kind, RequestKind::Permission { .. }) {
            // The editor asks the user anyway, who sees the reason first.
            out.show(&request.session, &messages::refusal(&decision));
        } else {
            return self.ask_user(request, &decision, out);
        }
        request.events.pop_front();
        self.gate(request, out);
    }

    /// Asks the user in Midrail's name.
    fn ask_user(&mut self, request: GatedRequest, decision: &Decision, out: &mut RelayOutput) {
        let id = self.requests.own_id();
        let call = id.as_str().unwrap_or_default().to_owned();
        let (name, kind, path) = match &request.kind {
            RequestKind::Service { call, kind, .. } => {
                (call.name.as_str(), *kind, call.args.get("path").and_then(Value::as_str))
            }
            RequestKind::Prompt(_) | RequestKind::Permission { .. } => ("your prompt", "other", None),
        };
        let title = path.map_or_else(|| name.to_owned(), |path| format!("{name} {path}"));
        let reason = messages::refusal(decision);
        let question = json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": {
            "sessionId": request.session,
            "toolCall": {"toolCallId": call, "title": title, "kind": kind, "status": "pending",
                "content": [{"type": "content", "content": {"type": "text", "text": reason}}],
                "locations": path.map(|path| json!({"path": path})).into_iter().collect::<Vec<_>>()},
            "options": [{"optionId": "allow", "name": "Allow once", "kind": "allow_once"},
                {"optionId": "reject", "name": "Reject", "kind": "reject_once"}]}});
        out.send(Side::Client, &question);
        let request = Box::new(request);
        self.open(Side::Server).insert(message::key(&id), OpenRequest::Question { request, call });
    }

    /// The user has answered a question of Midrail.
    pub(super) fn user_answered(
        &mut self,
        mut request: GatedRequest,
        call: &str,
        answer: &Message,
        out: &mut RelayOutput,
    ) {
        let option = answer.result_field("outcome").and_then(|outcome| outcome.get("optionId"));
        let is_allowed = option.is_some_and(|option| option == "allow");
        let status = if is_allowed { "completed" } else { "failed" };
        let update = json!({"sessionUpdate": "tool_call_update", "toolCallId": call, "status": status});
        out.send(Side::Client, &message::update(&request.session, update));
        if is_allowed {
            request.events.pop_front();
            return self.gate(request, out);
        }
        let decision = Decision {
            effect: Effect::Block,
            by: Some("midrail".into()),
            reason: "the user rejected it".to_owned(),
            ..Decision::default()
        };
        self.refuse(request, &decision, out);
    }

    /// Answers the sender of a request that is not forwarded.
    fn refuse(&mut self, request: GatedRequest, decision: &Decision, out: &mut RelayOutput) {
        self.untrack(&request);
        let is_halt = decision.effect == Effect::Halt;
        let reason = if is_halt { messages::halt_message(decision) } else { messages::refusal(decision) };
        let (id, session) = (request.id.as_ref(), request.session.as_str());
        match &request.kind {
            RequestKind::Prompt(_) => {
                out.show(session, &reason);
                return out.answer(Side::Client, id, json!({"stopReason": "refusal"}));
            }
            RequestKind::Permission { options, title, .. } => {
                out.answer(Side::Server, id, rejection(options, &reason));
                let note = format!("About `{title}`: {reason}");
                let session = self.session(session);
                match decision.effect {
                    Effect::Retry => session.guidance.push(note),
                    _ => session.note(note),
                }
            }
            RequestKind::Service { .. } => out.refuse(id, &reason, Some(decision)),
        }
        if is_halt {
            self.stop_turn(session, &reason, decision, out);
        } else {
            out.show(session, &reason);
        }
    }

    fn untrack(&mut self, request: &GatedRequest) {
        if let Some(id) = &request.id {
            self.open(request.sender()).remove(&message::key(id));
        }
    }

    /// Forwards a request, unchanged unless there are notes for the agent.
    fn forward(&mut self, request: GatedRequest, out: &mut RelayOutput) {
        let (sender, id, mut line) = (request.sender(), request.id, request.line);
        let open = match request.kind {
            RequestKind::Prompt(fields) => {
                let session = self.session(&request.session);
                let notes: Vec<String> = session.take_notes().into_iter().chain(request.notes).collect();
                session.output.clear();
                session.guidance.clear();
                session.is_stopping = false;
                session.is_cancelled = false;
                if !notes.is_empty() {
                    line = with_notes(fields, &notes.join("\n")).unwrap_or(line);
                }
                let id = id.clone();
                OpenRequest::Prompt(Turn { session: request.session, id, guided: 0, result: None })
            }
            RequestKind::Permission { .. } => {
                self.session(&request.session).permissions += usize::from(id.is_some());
                OpenRequest::Permission { session: request.session }
            }
            RequestKind::Service { call, method, .. } => {
                OpenRequest::Service { session: request.session, call, method }
            }
        };
        if let Some(id) = id {
            self.open(sender).insert(message::key(&id), open);
        }
        out.lines(sender.other()).push(line);
    }

    /// Answers the held requests of a session that the editor has cancelled.
    pub(super) fn cancel_held(&mut self, session: &str, out: &mut RelayOutput) {
        for (_, request) in
            self.held.extract_if(.., |_, request| request.session == session).collect::<Vec<_>>()
        {
            self.untrack(&request);
            let id = request.id.as_ref();
            match request.kind {
                RequestKind::Prompt(_) => out.answer(Side::Client, id, json!({"stopReason": "cancelled"})),
                RequestKind::Permission { .. } => {
                    out.answer(Side::Server, id, json!({"outcome": {"outcome": "cancelled"}}));
                }
                RequestKind::Service { .. } => out.refuse(id, "the turn was cancelled", None),
            }
        }
    }
}

/// The answer that rejects a call once. If the agent offers no such option, the call is cancelled.
fn rejection(options: &[Value], reason: &str) -> Value {
    let mut options = options.iter();
    let reject = options.find(|option| option.get("kind").is_some_and(|kind| kind == "reject_once"));
    let outcome = match reject.and_then(|option| option.get("optionId")).filter(|id| id.is_string()) {
        Some(id) => json!({"outcome": "selected", "optionId": id}),
        None => json!({"outcome": "cancelled"}),
    };
    json!({"outcome": outcome, "_meta": {"midrail": {"reason": reason}}})
}

/// The answer that allows a call once, without a question to the user, if every decision about it vouches for it and the agent offers
/// such an option.
fn vouched_answer(request: &GatedRequest) -> Option<Value> {
    let RequestKind::Permission { options, is_vouched: true, .. } = &request.kind else { return None };
    let once = options.iter().find(|option| option.get("kind").is_some_and(|kind| kind == "allow_once"))?;
    let id = once.get("optionId").filter(|id| id.is_string())?;
    Some(json!({"outcome": {"outcome": "selected", "optionId": id}}))
}

/// A prompt with a text of Midrail at the end.
fn with_notes(mut fields: Map<String, Value>, notes: &str) -> Option<String> {
    let prompt = fields.get_mut("params")?.get_mut("prompt")?.as_array_mut()?;
    let text = format!("[From Midrail, which protects this session]\n{notes}");
    prompt.push(json!({"type": "text", "text": text}));
    Some(Value::Object(fields).to_string())
}
