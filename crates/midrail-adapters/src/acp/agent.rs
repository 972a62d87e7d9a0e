//! Messages of the agent: requests are decided before the editor serves them, and calls when they are shown.

use std::collections::VecDeque;

use midrail::{Effect, Event, EventKind, ToolCall, ToolResult};
use serde_json::{Map, Value, json};

use super::call::{self, ShownCall};
use super::masks::Written;
use super::message::Message;
use super::session::MAX_CALLS;
use super::state::{GRACE, GatedRequest, OpenRequest, Proxy, RequestKind};
use super::stream;
use crate::host::Capabilities;
use crate::messages;
use crate::relay::{RelayOutput, Side};

const GATE: Capabilities = Capabilities { ask: true, halt: true, ..Capabilities::BLOCK };
/// The same for a call about which the agent wants the user to be asked.
const QUESTION: Capabilities = Capabilities { vouch: true, ..GATE };
/// The call may have been made already.
const RUNNING: Capabilities = Capabilities { halt: true, ..Capabilities::NONE };
/// The agent has the result. `redact` is set so that a file that was read does not count as unread.
const DONE: Capabilities = Capabilities { redact: true, ..RUNNING };

/// Why a file is not written.
const UNRESTORABLE: &str = "Midrail blocked this: parts of this file were redacted when you read it, and writing the whole file \
    would destroy them. Change it with a command that touches only the lines that you mean, or ask a person.";

impl Proxy {
    pub(super) fn agent_request(&mut self, method: String, message: Message, out: &mut RelayOutput) {
        let id = message.session().unwrap_or_default();
        match method.as_str() {
            "session/update" => return self.update(&id, message, out),
            "session/request_permission" => return self.permission(id, message, out),
            _ => {}
        }
        let Some((call, kind)) = self.service(&method, &message) else {
            if let Some(key) = message.key() {
                self.open(Side::Server).insert(key, OpenRequest::Other);
            }
            return out.to_client.push(message.line);
        };
        self.flush_text(&id, out);
        let Some(line) = self.restored(&id, &method, &message) else {
            out.refuse(message.id.as_ref(), UNRESTORABLE, None);
            return out.show(&id, UNRESTORABLE);
        };
        let is_call = !matches!(method.as_str(), "terminal/output" | "terminal/wait_for_exit");
        let event = self.event(&id, EventKind::BeforeTool, &method, GATE);
        let event = Event { tool: Some(call.clone()), ..event };
        let events = is_call.then_some(event).into_iter().collect();
        let kind = RequestKind::Service { call, kind, method };
        self.gate(GatedRequest { session: id, id: message.id, line, kind, events, notes: Vec::new() }, out);
    }

    /// A request, with redacted parts restored if it writes a file. `None`: they cannot be restored.
    fn restored(&mut self, id: &str, method: &str, message: &Message) -> Option<String> {
        match (method, message.text("path"), message.text("content")) {
            ("fs/write_text_file", Some(path), Some(content)) => {
                match self.session(id).masks.written(path, content) {
                    Written::Plain => Some(message.line.clone()),
                    Written::Restored(text) => message.with("/params/content", text),
                    Written::Lost => None,
                }
            }
            _ => Some(message.line.clone()),
        }
    }

    /// What the editor does for the agent, as a call, with its kind in the protocol.
    fn service(&self, method: &str, message: &Message) -> Option<(ToolCall, &'static str)> {
        let mut args = message.fields.get("params").and_then(Value::as_object).cloned().unwrap_or_default();
        args.remove("sessionId");
        args.remove("_meta");
        match method {
            "fs/read_text_file" => Some((ToolCall::new(method, Value::Object(args)), "read")),
            "fs/write_text_file" => Some((ToolCall::new(method, Value::Object(args)), "edit")),
            "terminal/create" => {
                let words = args.remove("args").and_then(|it| it.as_array().cloned()).unwrap_or_default();
                let program = args.remove("command").unwrap_or_default();
                // Without arguments, the command may be a whole line.
                let command = if words.is_empty() {
                    program
                } else {
                    Value::Array(std::iter::once(program).chain(words).collect())
                };
                args.insert("command".to_owned(), command);
                Some((ToolCall::new("terminal", Value::Object(args)), "execute"))
            }
            "terminal/output" | "terminal/wait_for_exit" => {
                let call = self.terminals.get(message.text("terminalId")?).cloned();
                let mut call = call.unwrap_or_else(|| ToolCall::new("terminal", json!({})));
                if method == "terminal/output" {
                    // The agent polls it, and it is not the end of the command.
                    call.name = method.to_owned();
                }
                Some((call, "execute"))
            }
            _ => None,
        }
    }

    fn permission(&mut self, id: String, message: Message, out: &mut RelayOutput) {
        self.finish_text(&id, out);
        if self.session(&id).is_stopping {
            let outcome = json!({"outcome": {"outcome": "cancelled"}});
            return out.answer(Side::Server, message.id.as_ref(), outcome);
        }
        let call = message.param("toolCall").and_then(Value::as_object);
        let name = self.show_call(&id, call.unwrap_or(&Map::new()), out);
        let base = self.event(&id, EventKind::BeforeTool, "session/request_permission", QUESTION);
        let call = self.session(&id).calls.entry(name).or_default();
        call.is_decided = true;
        call.due = None;
        let title = call.title().to_owned();
        let event = |call| Event { tool: Some(call), ..base.clone() };
        let events: VecDeque<Event> = call.tool_calls().into_iter().map(event).collect();
        let options = message.param("options").and_then(Value::as_array).cloned().unwrap_or_default();
        let once: Vec<Value> = options
            .iter()
            .filter(|option| option.get("kind").is_none_or(|kind| kind != "allow_always"))
            .cloned()
            .collect();
        let hides_options = self.options.keep_asking && once.len() < options.len();
        let line = hides_options.then(|| message.with("/params/options", once)).flatten();
        let (line, kind) = (
            line.unwrap_or(message.line),
            RequestKind::Permission { options, title, is_vouched: !events.is_empty() },
        );
        self.gate(GatedRequest { session: id, id: message.id, line, kind, events, notes: Vec::new() }, out);
    }

    /// Stores what the agent shows of a call, and returns its id.
    fn show_call(&mut self, id: &str, update: &Map<String, Value>, out: &mut RelayOutput) -> String {
        let name = update.get("toolCallId").and_then(Value::as_str).unwrap_or_default().to_owned();
        let calls = &self.session(id).calls;
        if !calls.contains_key(&name) && calls.len() >= MAX_CALLS {
            let first = calls.keys().next().cloned().unwrap_or_default();
            self.decide_running(id, &first, out);
            self.session(id).calls.remove(&first);
        }
        self.session(id).calls.entry(name.clone()).or_insert_with(|| ShownCall::new(&name)).merge(update);
        name
    }

    fn update(&mut self, id: &str, message: Message, out: &mut RelayOutput) {
        let update = message.param("update").and_then(Value::as_object).cloned().unwrap_or_default();
        let kind = update.get("sessionUpdate").and_then(Value::as_str).unwrap_or_default();
        if stream::is_chunk(kind) {
            return self.text_chunk(id, message, out);
        }
        match kind {
            "tool_call" | "plan" | "user_message_chunk" => self.finish_text(id, out),
            _ => self.flush_text(id, out),
        }
        out.to_client.push(message.line);
        if matches!(kind, "tool_call" | "tool_call_update") && !self.session(id).is_loading {
            self.call_update(id, &update, out);
        }
    }

    fn call_update(&mut self, id: &str, update: &Map<String, Value>, out: &mut RelayOutput) {
        let name = self.show_call(id, update, out);
        let now = self.now;
        let status = update.get("status").and_then(Value::as_str).unwrap_or_default();
        let Some(call) = self.session(id).calls.get_mut(&name) else { return };
        if call.decided_as.as_ref().is_some_and(|decided| *decided != call.tool_calls()) {
            // More is known now than when it was decided.
            call.is_decided = false;
            call.decided_as = None;
            call.due = None;
        }
        if matches!(status, "completed" | "failed") {
            let is_ok = status == "completed";
            if is_ok {
                self.decide_running(id, &name, out);
            }
            let Some(call) = self.session(id).calls.remove(&name) else { return };
            self.call_ended(id, &call, &call::result(update, is_ok), out);
        } else if !call.is_decided && call.due.is_none() && (status == "in_progress" || call.has_content()) {
            call.due = Some(now.saturating_add(GRACE));
        }
    }

    /// Decides a call that runs without a permission request. If it must be blocked, the turn is cancelled.
    fn decide_running(&mut self, id: &str, name: &str, out: &mut RelayOutput) {
        let Some(call) = self.session(id).calls.get_mut(name) else { return };
        if std::mem::replace(&mut call.is_decided, true) {
            return;
        }
        let calls = call.tool_calls();
        call.decided_as = Some(calls.clone());
        for call in calls {
            let event = self.event(id, EventKind::BeforeTool, "session/update", RUNNING);
            let decision = (self.decide)(Event { tool: Some(call), ..event });
            if !decision.effect.allows() {
                let reason = format!(
                    "{}\nThe agent started it without a permission request, so its turn was cancelled.",
                    messages::refusal(&decision)
                );
                return self.stop_turn(id, &reason, &decision, out);
            }
        }
    }

    fn call_ended(&mut self, id: &str, call: &ShownCall, result: &ToolResult, out: &mut RelayOutput) {
        for call in call.tool_calls() {
            let event = self.event(id, EventKind::AfterTool, "session/update", DONE);
            let decision = (self.decide)(Event { tool: Some(call), result: Some(result.clone()), ..event });
            if decision.effect == Effect::Halt {
                return self.stop_turn(id, &messages::halt_message(&decision), &decision, out);
            }
        }
    }

    /// Decides what is due in a session.
    pub(super) fn tick_session(&mut self, id: &str, out: &mut RelayOutput) {
        let now = self.now;
        let is_due = |due: Option<u64>| due.is_some_and(|due| due <= now);
        let Some(session) = self.sessions.get_mut(id) else { return };
        let mut due = Vec::new();
        for (name, call) in session.calls.iter_mut().filter(|(_, call)| !call.is_decided && is_due(call.due))
        {
            // While the user thinks about one call, others wait.
            match session.permissions {
                0 => due.push(name.clone()),
                _ => call.due = Some(now.saturating_add(GRACE)),
            }
        }
        if is_due(session.text.as_ref().and_then(|text| text.due)) {
            self.flush_text(id, out);
        }
        for name in due {
            self.decide_running(id, &name, out);
        }
    }
}
