//! What the agent sends: requests are judged before the editor serves them, calls when they are shown, and the wish to
//! stop before the editor hears of it.

use std::collections::VecDeque;

use midrail::{Effect, Event, EventKind, ToolCall};
use serde_json::{Map, Value, json};

use super::call::{self, Shown};
use super::gate::{Gate, Wanted, What};
use super::masks::Written;
use super::message::{self, Message};
use super::session::{Asked, MAX_SHOWN, Turn};
use super::{GRACE, MAX_OPEN, Proxy, ProxyOutput, Side, text};
use crate::host::Capabilities;
use crate::messages;

const GATE: Capabilities = Capabilities { block: true, ask: true, redact: false, notes: false, halt: true };
/// The call may have been made already.
const RUNNING: Capabilities =
    Capabilities { block: false, ask: false, redact: false, notes: false, halt: true };
/// The agent has the result. It is not said that nothing of it may pass: a file that was read would count as unread.
const DONE: Capabilities = Capabilities { redact: true, ..RUNNING };
const STOP: Capabilities = Capabilities { block: true, ask: false, redact: false, notes: true, halt: true };

/// Why a file is not written.
const LOST: &str = "Midrail stopped this: parts of this file were replaced when you read it, and writing it as a whole would \
    destroy them. Change it by a command that touches only the lines that you mean, or ask a person.";

/// How often in one turn an agent is told about calls that it should try otherwise.
const MAX_TELLS: u8 = 3;

impl Proxy {
    pub(super) fn hear_agent(&mut self, message: Message, out: &mut ProxyOutput) {
        let Some(method) = message.method.clone() else { return self.answer_of_agent(message, out) };
        if let Some(key) = message.key()
            && (self.of_agent.contains_key(&key) || self.of_agent.len() >= MAX_OPEN)
        {
            out.remarks.push("the agent used the id of a request that is open; not passed on".to_owned());
            return;
        }
        let id = message.session().unwrap_or_default();
        match method.as_str() {
            "session/update" => return self.update(&id, message, out),
            "session/request_permission" => return self.permission(id, message, out),
            _ => {}
        }
        if let Some((call, kind)) = self.service(&method, &message) {
            self.flush_text(&id, out);
            let line = match self.unmasked(&id, &method, &message) {
                Ok(line) => line.unwrap_or_else(|| message.line.clone()),
                Err(why) => {
                    if let Some(asked) = &message.id {
                        out.send(Side::Agent, &message::refusal(asked, why, None));
                    }
                    return out.send(Side::Editor, &message::says(&id, why));
                }
            };
            let event = self.event(&id, EventKind::BeforeTool, &method, GATE);
            let is_call = !matches!(method.as_str(), "terminal/output" | "terminal/wait_for_exit");
            let event = Event { tool: Some(call.clone()), ..event };
            let events = is_call.then_some(event).into_iter().collect();
            let what = What::Service { call, kind, method };
            let gate = Gate { session: id, id: message.id, line, what, events, notes: Vec::new() };
            return self.gate(gate, out);
        }
        if let Some(key) = message.key() {
            self.of_agent.insert(key, Wanted::Other);
        }
        out.line(Side::Editor, message.line);
    }

    /// A request to write a file, with what our marks stand for in their places. `None`: there are none.
    fn unmasked(
        &mut self,
        id: &str,
        method: &str,
        message: &Message,
    ) -> Result<Option<String>, &'static str> {
        let (Some(path), Some(content)) = (message.text("path"), message.text("content")) else {
            return Ok(None);
        };
        if method != "fs/write_text_file" {
            return Ok(None);
        }
        match self.session(id).masks.written(path, content) {
            Written::Plain => Ok(None),
            Written::Lost => Err(LOST),
            Written::Restored(text) => {
                let mut fields = Value::Object(message.fields.clone());
                match fields.pointer_mut("/params/content") {
                    Some(content) => *content = json!(text),
                    None => return Err(LOST),
                }
                Ok(Some(fields.to_string()))
            }
        }
    }

    /// What the editor is to do for the agent, as a call, and its kind in the protocol's words.
    fn service(&self, method: &str, message: &Message) -> Option<(ToolCall, &'static str)> {
        let mut args = message.params().cloned().unwrap_or_default();
        args.remove("sessionId");
        args.remove("_meta");
        let name = method.to_owned();
        match method {
            "fs/read_text_file" => Some((ToolCall::new(name, Value::Object(args)), "read")),
            "fs/write_text_file" => Some((ToolCall::new(name, Value::Object(args)), "edit")),
            "terminal/create" => {
                let words =
                    args.remove("args").and_then(|words| words.as_array().cloned()).unwrap_or_default();
                let program = args.remove("command").unwrap_or_default();
                // Without arguments the command may be a whole line.
                let command = match words.is_empty() {
                    true => program,
                    false => Value::Array(std::iter::once(program).chain(words).collect()),
                };
                args.insert("command".to_owned(), command);
                Some((ToolCall::new("terminal", Value::Object(args)), "execute"))
            }
            "terminal/output" | "terminal/wait_for_exit" => {
                let terminal = message.text("terminalId")?;
                let call = self.terminals.get(terminal).cloned();
                let mut call = call.unwrap_or_else(|| ToolCall::new("terminal", json!({})));
                if method == "terminal/output" {
                    // It is asked for again and again, and is no end of the command.
                    call.name = name;
                }
                Some((call, "execute"))
            }
            _ => None,
        }
    }

    fn permission(&mut self, id: String, message: Message, out: &mut ProxyOutput) {
        self.finish_text(&id, out);
        if self.session(&id).is_stopping {
            if let Some(asked) = &message.id {
                out.send(Side::Agent, &message::answer(asked, json!({"outcome": {"outcome": "cancelled"}})));
            }
            return;
        }
        let call = message.params().and_then(|params| params.get("toolCall")).and_then(Value::as_object);
        let shown = self.shown(&id, call.unwrap_or(&Map::new()), out);
        let session = self.session(&id);
        if let Some(known) = session.shown.get_mut(&shown) {
            known.is_judged = true;
            known.due = None;
        }
        let known = session.shown.get(&shown).cloned().unwrap_or_default();
        let base = self.event(&id, EventKind::BeforeTool, "session/request_permission", GATE);
        let events: VecDeque<Event> =
            known.calls().into_iter().map(|call| Event { tool: Some(call), ..base.clone() }).collect();
        let options = message.params().and_then(|params| params.get("options")).and_then(Value::as_array);
        let options = options.cloned().unwrap_or_default();
        let line = match self.options.keep_asking {
            true => without_always(&message).unwrap_or(message.line),
            false => message.line,
        };
        let what = What::Permission { options, title: known.title().to_owned() };
        self.gate(Gate { session: id, id: message.id, line, what, events, notes: Vec::new() }, out);
    }

    /// Keeps in mind what a call tells, and answers by which name.
    fn shown(&mut self, id: &str, update: &Map<String, Value>, out: &mut ProxyOutput) -> String {
        let name = update.get("toolCallId").and_then(Value::as_str).unwrap_or_default().to_owned();
        let is_full = |shown: &std::collections::BTreeMap<String, Shown>| shown.len() >= MAX_SHOWN;
        let session = self.session(id);
        if !session.shown.contains_key(&name) && is_full(&session.shown) {
            let first = session.shown.keys().next().cloned().unwrap_or_default();
            self.judge_running(id, &first, out);
            self.session(id).shown.remove(&first);
        }
        self.session(id).shown.entry(name.clone()).or_insert_with(|| Shown::new(&name)).take(update);
        name
    }

    fn update(&mut self, id: &str, message: Message, out: &mut ProxyOutput) {
        let update = message.params().and_then(|params| params.get("update")).and_then(Value::as_object);
        let update = update.cloned().unwrap_or_default();
        let kind = update.get("sessionUpdate").and_then(Value::as_str).unwrap_or_default().to_owned();
        if text::is_chunk(&kind) {
            return self.text_chunk(id, message, out);
        }
        match kind.as_str() {
            "tool_call" | "plan" | "user_message_chunk" => self.finish_text(id, out),
            _ => self.flush_text(id, out),
        }
        out.line(Side::Editor, message.line);
        let is_call = matches!(kind.as_str(), "tool_call" | "tool_call_update");
        if is_call && !self.session(id).is_loading {
            self.call_update(id, &update, out);
        }
    }

    fn call_update(&mut self, id: &str, update: &Map<String, Value>, out: &mut ProxyOutput) {
        let name = self.shown(id, update, out);
        let now = self.now;
        let status = update.get("status").and_then(Value::as_str).unwrap_or_default();
        let session = self.session(id);
        let Some(shown) = session.shown.get_mut(&name) else { return };
        if shown.seen.as_ref().is_some_and(|seen| *seen != shown.calls()) {
            // More is known now than when it was judged.
            shown.is_judged = false;
            shown.seen = None;
            shown.due = None;
        }
        match status {
            "completed" | "failed" => {
                if status == "completed" && !shown.is_judged {
                    self.judge_running(id, &name, out);
                }
                let Some(shown) = self.session(id).shown.remove(&name) else { return };
                self.call_ended(id, &shown, call::result(update, status == "completed"), out);
            }
            _ => {
                if !shown.is_judged && shown.due.is_none() && (status == "in_progress" || shown.is_told()) {
                    shown.due = Some(now.saturating_add(GRACE));
                }
            }
        }
    }

    /// A call runs, and nobody was asked. What must not be is cancelled with all that the agent does.
    fn judge_running(&mut self, id: &str, name: &str, out: &mut ProxyOutput) {
        let Some(shown) = self.session(id).shown.get_mut(name) else { return };
        if std::mem::replace(&mut shown.is_judged, true) {
            return;
        }
        let calls = shown.calls();
        shown.seen = Some(calls.clone());
        for call in calls {
            let event = self.event(id, EventKind::BeforeTool, "session/update", RUNNING);
            let decision = (self.decide)(Event { tool: Some(call), ..event });
            if !decision.effect.allows() {
                let why = format!(
                    "{}\nThe agent did not ask before it began, so its turn was cancelled.",
                    messages::refusal(&decision)
                );
                return self.stop_turn(id, &why, &decision, out);
            }
        }
    }

    fn call_ended(&mut self, id: &str, shown: &Shown, result: midrail::ToolResult, out: &mut ProxyOutput) {
        for call in shown.calls() {
            let event = self.event(id, EventKind::AfterTool, "session/update", DONE);
            let decision = (self.decide)(Event { tool: Some(call), result: Some(result.clone()), ..event });
            if decision.effect == Effect::Halt {
                return self.stop_turn(id, &messages::halt_message(&decision), &decision, out);
            }
        }
    }

    /// What is due in a session.
    pub(super) fn tick_session(&mut self, id: &str, out: &mut ProxyOutput) {
        let now = self.now;
        let is_due = |due: Option<u64>| due.is_some_and(|due| due <= now);
        let Some(session) = self.sessions.get_mut(id) else { return };
        let mut calls = Vec::new();
        for (name, shown) in
            session.shown.iter_mut().filter(|(_, shown)| !shown.is_judged && is_due(shown.due))
        {
            // While the person thinks about one call, others wait behind it.
            match session.asked {
                0 => calls.push(name.clone()),
                _ => shown.due = Some(now.saturating_add(GRACE)),
            }
        }
        if is_due(session.text.as_ref().and_then(|text| text.due)) {
            self.flush_text(id, out);
        }
        for name in calls {
            self.judge_running(id, &name, out);
        }
    }

    fn answer_of_agent(&mut self, message: Message, out: &mut ProxyOutput) {
        let key = message.key().unwrap_or_default();
        let result = |name: &str| message.result().and_then(|result| result.get(name));
        match self.of_editor.remove(&key) {
            None => {
                out.remarks.push("the agent answered what nobody asks; not passed on".to_owned());
                return;
            }
            // It never saw the request.
            Some(Asked::Held) => {
                self.of_editor.insert(key, Asked::Held);
                return;
            }
            Some(Asked::Prompt(turn)) => return self.turn_ended(turn, message, out),
            Some(Asked::Initialize) => {
                let info = result("agentInfo").and_then(|info| info.get("name"));
                self.agent = info.and_then(Value::as_str).map(|name| name.chars().take(200).collect());
            }
            Some(Asked::Begin { cwd, session }) => {
                let is_begun = message.result().is_some();
                // One that the editor names was there before.
                let source = if session.is_some() { "resume" } else { "new" };
                let id = result("sessionId").and_then(Value::as_str).map(str::to_owned).or(session);
                if let Some(id) = id {
                    self.finish_text(&id, out);
                    if is_begun {
                        self.session_begun(&id, cwd, source);
                    }
                    self.session(&id).is_loading = false;
                }
            }
            Some(Asked::Other) => {}
        }
        out.line(Side::Editor, message.line);
    }

    /// The agent has answered a prompt. Where it may not stop yet, it is sent back to work.
    fn turn_ended(&mut self, mut turn: Turn, message: Message, out: &mut ProxyOutput) {
        let id = turn.session.clone();
        self.finish_text(&id, out);
        let is_ours = turn.id.as_ref() != message.id.as_ref();
        let result = message.result().cloned();
        let reason = result.as_ref().and_then(|result| result.get("stopReason")).and_then(Value::as_str);
        let session = self.session(&id);
        let is_free = !session.is_stopping && !session.is_cancelled && reason == Some("end_turn");
        let guidance = std::mem::take(&mut session.guidance);
        if is_free && !guidance.is_empty() && turn.tells < MAX_TELLS {
            turn.tells = turn.tells.saturating_add(1);
            turn.result = result;
            return self.send_back(turn, &guidance.join("\n"), out);
        }
        if is_free {
            let mut event = self.event(&id, EventKind::BeforeStop, "session/prompt", STOP);
            event.output = Some(json!(self.session(&id).said));
            event.stop_reason = reason.map(str::to_owned);
            let decision = (self.decide)(event);
            match decision.effect {
                Effect::Halt => {
                    self.session(&id).is_halted = true;
                    out.send(Side::Editor, &message::says(&id, &messages::halt_message(&decision)));
                }
                effect if !effect.allows() => {
                    turn.result = result;
                    return self.send_back(turn, &messages::refusal(&decision), out);
                }
                _ => {
                    if let Some(notes) = messages::notes(&decision) {
                        self.session(&id).tell(notes);
                    }
                }
            }
        }
        if !is_ours {
            return out.line(Side::Editor, message.line);
        }
        let Some(asked) = turn.id else { return };
        // An error that follows what the editor never asked is not its own: the turn ended well before.
        match (result, turn.result) {
            (Some(result), _) | (None, Some(result)) => {
                out.send(Side::Editor, &message::answer(&asked, result));
            }
            (None, None) => {
                let error = message.fields.get("error").cloned().unwrap_or_default();
                out.send(Side::Editor, &json!({"jsonrpc": "2.0", "id": asked, "error": error}));
            }
        }
    }

    /// The agent gets a prompt of ours, and the editor waits on.
    fn send_back(&mut self, turn: Turn, guidance: &str, out: &mut ProxyOutput) {
        let id = self.own_id();
        let notes = self.session(&turn.session).take_told();
        let text = std::iter::once(guidance.to_owned()).chain(notes).collect::<Vec<_>>().join("\n");
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "session/prompt", "params": {
            "sessionId": turn.session, "prompt": [{"type": "text", "text": text}]}});
        self.session(&turn.session).said.clear();
        out.send(
            Side::Editor,
            &message::says(&turn.session, &format!("Midrail sent the agent back to work:\n{guidance}")),
        );
        out.send(Side::Agent, &request);
        self.of_editor.insert(message::key(&id), Asked::Prompt(turn));
    }
}

/// A request for permission without the options that allow for good.
fn without_always(message: &Message) -> Option<String> {
    let mut fields = Value::Object(message.fields.clone());
    let options = fields.get_mut("params")?.get_mut("options")?.as_array_mut()?;
    let before = options.len();
    options.retain(|option| option.get("kind").and_then(Value::as_str) != Some("allow_always"));
    (options.len() < before).then(|| fields.to_string())
}
