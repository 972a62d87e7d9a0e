//! Messages that are decided before they are forwarded: held for an approver, put to the client's user, refused, or forwarded.

use midrail::{Decision, Effect};
use serde_json::{Value, json};

use super::answers;
use super::splice::{Edits, Span};
use super::state::{GatedRequest, OpenRequest, OpenState, Proxy};
use crate::relay::{RelayOutput, Side};
use crate::rpc::{self, Message};

impl Proxy {
    /// Decides the remaining events of a message, and forwards it.
    pub(super) fn gate(&mut self, request: GatedRequest, out: &mut RelayOutput) {
        let out = out.on(request.stream);
        self.track(&request, OpenState::Held);
        match request.events.front() {
            Some(event) => {
                let decision = (self.decide)(event.clone());
                self.decided(request, decision, false, out);
            }
            None => self.forward(request, out),
        }
    }

    fn track(&mut self, request: &GatedRequest, state: OpenState) {
        if let Some(id) = &request.id {
            let open = OpenRequest {
                stream: request.stream,
                id: id.clone(),
                method: request.method.clone(),
                session: request.session.clone(),
                is_modern: request.is_modern,
                state,
            };
            self.open(request.from).insert(rpc::key(id), open);
        }
    }

    /// Applies the decision about the first event of a message. `is_final`: no approver is waited for.
    pub(super) fn decided(
        &mut self,
        mut request: GatedRequest,
        decision: Decision,
        is_final: bool,
        out: &mut RelayOutput,
    ) {
        let out = out.on(request.stream);
        let host = request.events.front().and_then(|event| event.host.as_ref());
        let asks_user = host.is_some_and(|host| host.asks_user);
        if decision.effect == Effect::Escalate && !is_final && request.id.is_some() {
            if decision.approval.is_some() {
                return self.hold(request, answers::reason(&decision), out);
            }
            if asks_user {
                return self.ask_user(request, &decision, out);
            }
        }
        if !decision.effect.allows() {
            return self.refuse(&request, &decision, out);
        }
        if let Some(content) = &decision.content {
            match with_arguments(&request, content) {
                Some(line) => request.line = line,
                // INVARIANT: a call that was changed is forwarded with the changes, or not at all.
                None => return self.refuse(&request, &decision, out),
            }
        }
        request.events.pop_front();
        self.gate(request, out);
    }

    fn forward(&mut self, request: GatedRequest, out: &mut RelayOutput) {
        self.track(&request, OpenState::Forwarded(request.call.clone()));
        out.lines(request.from.other()).push(request.line);
    }

    /// Asks the user of the client in Midrail's name.
    fn ask_user(&mut self, request: GatedRequest, decision: &Decision, out: &mut RelayOutput) {
        let id = self.requests.own_id();
        let call = request.events.front().and_then(|event| event.tool.as_ref());
        let args = call.map(|call| Value::Object(call.args.clone()).to_string()).unwrap_or_default();
        let args: String = args.chars().take(MAX_SHOWN).collect();
        let name = call.map_or("", |call| call.name.as_str());
        let message = format!("{}\n\n{name} {args}", answers::reason(decision));
        let schema = json!({"type": "object", "required": ["allow"], "properties": {"allow": {"type": "boolean",
            "title": "Allow this call once"}}});
        let params = json!({"message": message, "requestedSchema": schema});
        let question = json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params});
        out.send(Side::Client, &question);
        let open = OpenRequest {
            stream: request.stream,
            id: id.clone(),
            method: "elicitation/create".to_owned(),
            session: request.session.clone(),
            is_modern: request.is_modern,
            state: OpenState::Question(Box::new(request)),
        };
        self.open(Side::Server).insert(rpc::key(&id), open);
    }

    /// The user has answered a question of Midrail.
    pub(super) fn user_answered(
        &mut self,
        mut request: GatedRequest,
        answer: &Message,
        out: &mut RelayOutput,
    ) {
        let is_accepted = answer.result_field("action").is_some_and(|action| action == "accept");
        let is_allowed = answer.result().and_then(|result| result.pointer("/content/allow"));
        if is_accepted && is_allowed == Some(&Value::Bool(true)) {
            request.events.pop_front();
            return self.gate(request, out);
        }
        let decision = Decision {
            effect: Effect::Block,
            by: Some("midrail".into()),
            reason: "the user did not allow it".to_owned(),
            ..Decision::default()
        };
        self.refuse(&request, &decision, out);
    }

    /// The client does not wait for an answer any longer. Returns whether the server never saw the request.
    pub(super) fn cancel(&mut self, id: &Value, out: &mut RelayOutput) -> bool {
        let key = rpc::key(id);
        let is_it = |request: &GatedRequest| request.id.as_ref().is_some_and(|id| rpc::key(id) == key);
        let held = self.held.extract_if(.., |_, held| is_it(&held.request)).count();
        let is_asked =
            |open: &OpenRequest| matches!(&open.state, OpenState::Question(request) if is_it(request));
        let asked = self.open(Side::Server).extract_if(.., |_, open| is_asked(open)).count();
        if let Some(open) = self.open(Side::Client).remove(&key) {
            out.on(open.stream).is_cancelled = true;
        }
        held + asked > 0
    }
}

/// How much of the arguments a question shows.
const MAX_SHOWN: usize = 2_000;

/// The line of a message with other arguments.
fn with_arguments(request: &GatedRequest, content: &str) -> Option<String> {
    let line = &request.line;
    let new: Value = serde_json::from_str(content).ok()?;
    let old = Value::Object(request.events.front()?.tool.as_ref()?.args.clone());
    let params = Span::of(line)?;
    let params = params.member(line, "params")?;
    let mut edits = Edits::default();
    match request.method.as_str() {
        "tools/call" => params.member(line, "arguments")?.changes(line, &old, &new, &mut edits),
        _ => {
            for (name, new) in new.as_object()? {
                params.member(line, name)?.changes(line, old.get(name)?, new, &mut edits);
            }
        }
    }
    Some(edits.apply(line))
}
