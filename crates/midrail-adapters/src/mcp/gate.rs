//! Messages that are decided before they are forwarded: held for an approver, refused, or forwarded.

use midrail::{Decision, Effect};
use serde_json::Value;

use super::answers;
use super::splice::{Edits, Span};
use super::state::{GatedRequest, OpenRequest, OpenState, Proxy};
use crate::relay::{RelayOutput, Side};
use crate::rpc;

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
        let is_open = decision.effect == Effect::Escalate && !is_final && request.id.is_some();
        if is_open && decision.approval.is_some() {
            return self.hold(request, answers::reason(&decision), out);
        }
        // The answer of the user is for the call itself, and not for what follows it.
        let is_answered = std::mem::take(&mut request.is_answered) && is_open && asks_user;
        if is_open && asks_user && !is_answered {
            return self.ask_user(request, &decision, out);
        }
        if !decision.effect.allows() && !is_answered {
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
