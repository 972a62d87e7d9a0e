//! Messages of the client: calls are decided before the server receives them, and so are answers with data of the user.

use std::collections::VecDeque;

use midrail::{Decision, Effect, Event, EventKind};
use serde_json::Value;

use super::answers;
use super::events::{CALL, texts};
use super::state::{GatedRequest, OpenRequest, OpenState, Proxy, name};
use crate::host::Capabilities;
use crate::relay::{RelayOutput, Side};
use crate::rpc::Message;

/// The requests that are decided as calls.
const CALLS: &[&str] = &["tools/call", "resources/read", "prompts/get", "completion/complete"];

impl Proxy {
    pub(super) fn client_message(&mut self, method: &str, message: Message, out: &mut RelayOutput) {
        let (session, is_modern) = self.session_of(&message);
        self.learn_client(method, &message);
        let cancelled = (method == "notifications/cancelled").then(|| message.param("requestId")).flatten();
        if cancelled.is_some_and(|id| self.cancel(id, out)) {
            return;
        }
        if method == "tools/call" && message.text("name").is_none() {
            return self.reject_call(&message, out);
        }
        // INVARIANT: a call without an id is a call: some servers make it.
        let (message, is_answered) = match self.answered(&session, method, &message) {
            Ok(None) => (message, false),
            Ok(Some(asked)) => (asked, true),
            Err(refused) => {
                let answer = |id| answers::refusal(id, method, is_modern, &refused);
                return message.id.iter().for_each(|id| out.send(Side::Client, &answer(id)));
            }
        };
        let mut events: VecDeque<Event> = VecDeque::new();
        let mut call = None;
        if CALLS.contains(&method) {
            let made = self.call(method, &message);
            let can = Capabilities { ask: self.can_ask(method, &message, is_modern), ..CALL };
            events.push_back(self.before_tool(&session, method, &made, can));
            call = Some(made);
        }
        // The client repeats a request with what the server asked for.
        let answers = message.param("inputResponses").and_then(Value::as_object);
        for answer in answers.into_iter().flat_map(|answers| answers.values()) {
            events.push_back(self.elicited(&session, answer));
        }
        let progress = message.param("_meta").and_then(|meta| meta.get("progressToken")).cloned();
        let Message { id, line, .. } = message;
        let method = method.to_owned();
        self.gate(
            GatedRequest {
                from: Side::Client,
                stream: out.stream,
                id,
                method,
                session,
                is_modern,
                progress,
                line,
                events,
                call,
                is_answered,
            },
            out,
        );
    }

    fn learn_client(&mut self, method: &str, message: &Message) {
        let meta = |name: &str| message.param("_meta")?.get(name);
        let of_meta = || meta("io.modelcontextprotocol/clientInfo");
        let info = if method == "initialize" { message.param("clientInfo") } else { of_meta() };
        if let Some(name) = info.and_then(|info| info.get("name")?.as_str()) {
            self.client = Some(name.chars().take(100).collect());
        }
        if method == "initialize" {
            self.can_elicit = message.param("capabilities").is_some_and(|it| it.get("elicitation").is_some());
        }
    }

    /// The client answers a request of the server.
    pub(super) fn client_answer(&mut self, message: Message, out: &mut RelayOutput) {
        let key = message.key().unwrap_or_default();
        let Some(open) = self.open(Side::Server).remove(&key) else {
            return out
                .remarks
                .push(format!("{} answered an unknown request; not forwarded", name(Side::Client)));
        };
        let OpenRequest { stream, id, method, session, is_modern, state } = open;
        match state {
            OpenState::Question(request) => return self.user_answered(*request, &message, out),
            OpenState::Held => {
                // The client has not seen the request.
                let open = OpenRequest { stream, id, method, session, is_modern, state: OpenState::Held };
                self.open(Side::Server).insert(key, open);
                return;
            }
            OpenState::Forwarded(_) => {}
        }
        let event = match (method.as_str(), message.result()) {
            ("elicitation/create", Some(answer)) => Some(self.elicited(&session, answer)),
            ("sampling/createMessage", Some(answer)) => {
                let event = self.event(&session, EventKind::AfterModel, &method, Capabilities::BLOCK);
                Some(Event { text: Some(texts(answer.get("content"))), ..event })
            }
            _ => None,
        };
        let decision = event.map_or_else(Decision::default, |event| (self.decide)(event));
        if decision.effect < Effect::Retry && decision.content.is_none() {
            return out.to_server.push(message.line);
        }
        out.remarks.push(format!("the answer to {method} was not forwarded: {}", decision.reason));
        out.send(Side::Server, &answers::refusal(&id, &method, is_modern, &decision));
    }
}
