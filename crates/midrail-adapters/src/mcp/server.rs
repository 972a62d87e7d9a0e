//! Messages of the server: definitions and results are judged before the client receives them, and so are its requests.

use midrail::{Decision, Effect, Event, EventKind, ToolCall};
use serde_json::{Value, json};

use super::definitions;
use super::events::{CALL, has_text};
use super::splice::{Edits, Span};
use super::state::{GatedRequest, OpenRequest, OpenState, Proxy, name};
use super::{answers, splice};
use crate::messages;
use crate::relay::{RelayOutput, Side};
use crate::rpc::Message;

/// The most bytes of the texts of the definitions in one list, which are judged and recorded.
const MAX_TEXTS: usize = 4 << 20;

impl Proxy {
    /// The server sends a request or a notification.
    pub(super) fn server_message(&mut self, method: &str, mut message: Message, out: &mut RelayOutput) {
        let (session, is_modern) = self.session_of_server(&message);
        let params = message.fields.get("params").cloned().unwrap_or_default();
        if has_text(&params) && !self.unasked.take(self.now) {
            return too_many(method, message.id.as_ref(), out);
        }
        let Some(id) = message.id.clone() else { return self.notification(method, &session, message, out) };
        let events = match method {
            "sampling/createMessage" => self.sampling(&session, &params).into(),
            "elicitation/create" => [self.elicitation(&session, &params)].into(),
            // Midrail does not know who reads it.
            _ if has_text(&params) => {
                let call = ToolCall::new(self.tool_name(method), json!({}));
                let decision = (self.decide)(self.after_tool(&session, method, call, true, &params));
                let Some(line) = judged(&message, "params", &params, &decision) else {
                    out.remarks.push(format!("{method} was not forwarded: {}", decision.reason));
                    return out.send(Side::Server, &answers::refusal(&id, method, is_modern, &decision));
                };
                message.line = line;
                Default::default()
            }
            _ => Default::default(),
        };
        let (method, line) = (method.to_owned(), message.line);
        let id = Some(id);
        self.gate(
            GatedRequest {
                from: Side::Server,
                stream: out.stream,
                id,
                method,
                session,
                is_modern,
                progress: None,
                line,
                events,
                call: None,
                is_answered: false,
            },
            out,
        );
    }

    /// The session of a message of the server: that of the client, which is the only one if there are no open requests.
    fn session_of_server(&mut self, message: &Message) -> (String, bool) {
        match self.sessions.last() {
            Some(session) => (session.clone(), false),
            None => self.session_of(message),
        }
    }

    /// Texts in notifications reach the model of some clients.
    fn notification(&mut self, method: &str, session: &str, message: Message, out: &mut RelayOutput) {
        let params = message.fields.get("params").cloned().unwrap_or_default();
        if !has_text(&params) {
            return out.to_client.push(message.line);
        }
        let call = ToolCall::new(self.tool_name(method), json!({}));
        let decision = (self.decide)(self.after_tool(session, method, call, true, &params));
        match judged(&message, "params", &params, &decision) {
            Some(line) => out.to_client.push(line),
            None => out.remarks.push(format!("{method} was not forwarded: {}", decision.reason)),
        }
    }

    /// The server answers a request of the client.
    pub(super) fn server_answer(&mut self, message: Message, out: &mut RelayOutput) {
        let key = message.key().unwrap_or_default();
        let open = self.open(Side::Client).remove(&key);
        match open {
            Some(OpenRequest {
                stream,
                state: OpenState::Forwarded(call),
                id,
                method,
                session,
                is_modern,
            }) => {
                let open =
                    OpenRequest { stream, id, method, session, is_modern, state: OpenState::Forwarded(None) };
                self.forwarded_answer(&open, call, message, out);
            }
            Some(unseen) => {
                // The server has not seen the request.
                self.open(Side::Client).insert(key, unseen);
                out.remarks
                    .push(format!("{} answered a request that it did not receive", name(Side::Server)));
            }
            None => {
                out.remarks.push(format!("{} answered an unknown request; not forwarded", name(Side::Server)))
            }
        }
    }

    fn forwarded_answer(
        &mut self,
        open: &OpenRequest,
        call: Option<ToolCall>,
        message: Message,
        out: &mut RelayOutput,
    ) {
        let (member, content) = match (message.fields.get("result"), message.fields.get("error")) {
            (Some(_), Some(_)) => {
                return self.fail(open, "the server answered with a result and an error", out);
            }
            (Some(result), None) => ("result", result.clone()),
            (None, error) => ("error", error.cloned().unwrap_or_default()),
        };
        if let Some(refused) = self.refused_input(open, &content) {
            return out
                .send(Side::Client, &answers::refusal(&open.id, &open.method, open.is_modern, &refused));
        }
        if member == "result" && definitions::is_list(&open.method) {
            return self.list(open, &content, message, out);
        }
        if !has_text(&content) {
            return out.to_client.push(message.line);
        }
        let call = call.unwrap_or_else(|| ToolCall::new(self.tool_name(&open.method), json!({})));
        let is_error = member == "error" || content.get("isError") == Some(&Value::Bool(true));
        let decision = (self.decide)(self.after_tool(&open.session, &open.method, call, !is_error, &content));
        match judged(&message, member, &content, &decision) {
            Some(line) => out.to_client.push(line),
            None => out.send(Side::Client, &withheld(open, &decision)),
        }
    }

    /// The refusal of a request of the server inside a result (`input_required`), if there is one.
    fn refused_input(&self, open: &OpenRequest, result: &Value) -> Option<Decision> {
        let requests = result.get("inputRequests").filter(|requests| !requests.is_null())?;
        let Some(requests) = requests.as_object() else {
            let reason = "the server asks for input in a form that Midrail does not know".to_owned();
            let by = Some("midrail".into());
            return Some(Decision { effect: Effect::Block, by, reason, ..Decision::default() });
        };
        let events = requests.values().flat_map(|request| {
            let params = request.get("params").cloned().unwrap_or_default();
            match request.get("method").and_then(Value::as_str) {
                Some("sampling/createMessage") => self.sampling(&open.session, &params).to_vec(),
                Some("elicitation/create") => vec![self.elicitation(&open.session, &params)],
                _ => Vec::new(),
            }
        });
        events.map(|event| (self.decide)(event)).find(|decision| !decision.effect.allows())
    }

    /// Judges definitions, and removes those that are withheld.
    fn list(&mut self, open: &OpenRequest, result: &Value, message: Message, out: &mut RelayOutput) {
        let Some(tools) = definitions::offered(&open.method, result) else {
            return self.fail(open, "the server sent something else than a list", out);
        };
        if tools.is_empty() {
            return out.to_client.push(message.line);
        }
        if tools.iter().map(|tool| tool.text.len()).sum::<usize>() > MAX_TEXTS {
            return self.fail(open, "the definitions have more than 4 MB of text", out);
        }
        let all: Vec<String> = tools.iter().map(|tool| tool.name.clone()).collect();
        let event = self.event(&open.session, EventKind::ToolsOffered, &open.method, CALL);
        let decision = (self.decide)(Event { tools: Some(tools), ..event });
        let passed = match (decision.effect, &decision.content) {
            (effect, _) if !effect.allows() => Some(Vec::new()),
            (_, None) => return out.to_client.push(message.line),
            (_, Some(content)) => serde_json::from_str::<Vec<String>>(content).ok(),
        };
        let passed = passed.unwrap_or_default();
        self.note_withheld(&open.method, open.is_modern);
        out.remarks.push(format!(
            "{} of {} definitions are withheld: {}",
            all.len() - passed.len().min(all.len()),
            all.len(),
            decision.reason
        ));
        match definitions::without_withheld(&message.line, &open.method, result, &passed) {
            Some(line) => out.to_client.push(line),
            None => self.fail(open, "the definitions could not be judged", out),
        }
    }
}

/// Drops a message of a server that sends too many.
fn too_many(method: &str, id: Option<&Value>, out: &mut RelayOutput) {
    let why = "the server sends too many messages without a request for them";
    out.remarks.push(format!("{method} was not forwarded: {why}"));
    if let Some(id) = id {
        let error = json!({"code": answers::REFUSED, "message": format!("Midrail: {why}")});
        out.send(Side::Server, &json!({"jsonrpc": "2.0", "id": id, "error": error}));
    }
}

/// The answer in place of a result that is withheld.
fn withheld(open: &OpenRequest, decision: &Decision) -> Value {
    if open.method == "tools/call" && decision.effect != Effect::Halt {
        let result = answers::failed_call(&messages::withheld_result(decision), open.is_modern);
        return json!({"jsonrpc": "2.0", "id": open.id, "result": result});
    }
    answers::refusal(&open.id, &open.method, open.is_modern, decision)
}

/// The line of a message whose result, error or parameters were decided. `None`: they are withheld.
fn judged(message: &Message, member: &str, old: &Value, decision: &Decision) -> Option<String> {
    if !decision.effect.allows() {
        return None;
    }
    let line = &message.line;
    let notes = messages::notes(decision).filter(|_| member == "result");
    if decision.content.is_none() && notes.is_none() {
        return Some(line.clone());
    }
    let root = Span::of(line)?;
    let span = root.member(line, member)?;
    let mut edits = Edits::default();
    if let Some(content) = &decision.content {
        let new = replaced(old, content);
        span.changes(line, old, &new, &mut edits);
        let changed = edits.apply(line);
        return match notes {
            Some(notes) => Some(with_notes(&changed, &notes).unwrap_or(changed)),
            None => Some(changed),
        };
    }
    with_notes(line, &notes.unwrap_or_default()).or_else(|| Some(line.clone()))
}

/// The value that a decision passes on. A text that replaces a whole result becomes its only content.
fn replaced(old: &Value, content: &str) -> Value {
    match serde_json::from_str::<Value>(content) {
        Ok(new) if new.is_object() == old.is_object() && new.is_array() == old.is_array() => new,
        _ if old.get("content").is_some_and(Value::is_array) => {
            let mut new = json!({"content": [{"type": "text", "text": content}]});
            for kept in ["isError", "resultType"] {
                if let (Some(value), Some(new)) = (old.get(kept), new.as_object_mut()) {
                    new.insert(kept.to_owned(), value.clone());
                }
            }
            new
        }
        _ => crate::shape::emptied(old, content),
    }
}

/// A line with a text of Midrail at the end of the content.
fn with_notes(line: &str, notes: &str) -> Option<String> {
    let root = Span::of(line)?;
    let content = root.member(line, "result")?.member(line, "content")?;
    let text = format!("[From Midrail, which protects this session]\n{notes}");
    let mut edits = splice::Edits::default();
    line.get(content.range.clone())?.starts_with('[').then_some(())?;
    content.push(&json!({"type": "text", "text": text}), &mut edits);
    Some(edits.apply(line))
}
