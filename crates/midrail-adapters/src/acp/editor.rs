//! What the editor sends: prompts are judged before they reach the agent, results before the agent sees them.

use std::collections::VecDeque;

use midrail::{Effect, Event, EventKind, ToolCall, ToolResult};
use serde_json::{Value, json};

use super::gate::{Gate, Wanted, What};
use super::message::{self, Message};
use super::session::Asked;
use super::{MAX_OPEN, Proxy, ProxyOutput, Side};
use crate::host::Capabilities;
use crate::mentions;
use crate::messages;

const PROMPT: Capabilities = Capabilities { block: true, ask: true, redact: false, notes: true, halt: true };
const RESULT: Capabilities = Capabilities { block: true, ask: false, redact: true, notes: false, halt: true };
/// More parts of a prompt than a person would make.
const MAX_LINKS: usize = 64;

impl Proxy {
    pub(super) fn hear_editor(&mut self, message: Message, out: &mut ProxyOutput) {
        let Some(method) = message.method.clone() else { return self.answer_of_editor(message, out) };
        if let Some(key) = message.key()
            && (self.of_editor.contains_key(&key) || self.of_editor.len() >= MAX_OPEN)
        {
            out.remarks.push("the editor used the id of a request that is open; not passed on".to_owned());
            return;
        }
        let session = message.session();
        match (method.as_str(), session) {
            ("session/prompt", session) => return self.prompt(session.unwrap_or_default(), message, out),
            ("session/cancel", Some(id)) => {
                self.drop_held(&id, out);
                self.session(&id).is_cancelled = true;
            }
            _ => {}
        }
        if let Some(key) = message.key() {
            let asked = self.asked(&method, &message);
            self.of_editor.insert(key, asked);
        }
        out.line(Side::Agent, message.line);
    }

    /// Keeps in mind what was replaced in a file.
    fn mask(
        &mut self,
        id: &str,
        method: &str,
        path: Option<&str>,
        original: Option<&str>,
        shown: Option<&str>,
    ) {
        let (Some(path), "fs/read_text_file") = (path, method) else { return };
        let masks = &mut self.session(id).masks;
        match (original, shown) {
            (Some(original), Some(shown)) => masks.shown(path, original, shown),
            _ => masks.plain(path),
        }
    }

    fn asked(&mut self, method: &str, message: &Message) -> Asked {
        let (cwd, session) = (message.text("cwd").map(str::to_owned), message.session());
        match method {
            "initialize" => Asked::Initialize,
            _ if cwd.is_some() => {
                if let Some(id) = &session {
                    let known = self.session(id);
                    known.cwd.clone_from(&cwd);
                    // What the agent tells until it has answered happened before.
                    known.is_loading = method == "session/load";
                }
                Asked::Begin { cwd, session }
            }
            _ => Asked::Other,
        }
    }

    fn prompt(&mut self, session: String, message: Message, out: &mut ProxyOutput) {
        let blocks = message.params().and_then(|params| params.get("prompt")).and_then(Value::as_array);
        let (mut texts, mut reads) = (Vec::new(), Vec::new());
        for block in blocks.into_iter().flatten() {
            let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
            texts.extend(text(block, "text"));
            let resource = block.get("resource");
            texts.extend(resource.and_then(|resource| text(resource, "text")));
            let link = text(block, "uri").or_else(|| resource.and_then(|resource| text(resource, "uri")));
            reads.extend(link.and_then(|uri| read_of(&uri)));
        }
        let text = texts.join("\n");
        if reads.len() > MAX_LINKS {
            let files: Vec<Value> =
                reads.split_off(MAX_LINKS).into_iter().map(|call| json!(call.args)).collect();
            reads.push(ToolCall::new("Read", json!({"files": files})));
        }
        let mentioned = mentions::reads(&text).into_iter().filter_map(|event| event.tool);
        let calls: Vec<ToolCall> = mentioned.chain(reads).collect();
        let mut first = self.event(&session, EventKind::BeforeModel, "session/prompt", PROMPT);
        first.text = Some(text);
        let mut events = VecDeque::from([first]);
        for call in calls {
            let event = self.event(&session, EventKind::BeforeTool, "session/prompt", PROMPT);
            events.push_back(Event { tool: Some(call), ..event });
        }
        let what = What::Prompt(message.fields);
        self.gate(Gate { session, id: message.id, line: message.line, what, events, notes: Vec::new() }, out);
    }

    fn answer_of_editor(&mut self, message: Message, out: &mut ProxyOutput) {
        let key = message.key().unwrap_or_default();
        match self.of_agent.remove(&key) {
            None => out.remarks.push("the editor answered what nobody asks; not passed on".to_owned()),
            // It never saw the request.
            Some(Wanted::Held) => drop(self.of_agent.insert(key, Wanted::Held)),
            Some(Wanted::Ours { gate, call }) => self.person_answered(*gate, &call, &message, out),
            Some(Wanted::Permission { session }) => {
                let (now, known) = (self.now, self.session(&session));
                known.asked = known.asked.saturating_sub(1);
                // Others that waited behind it have their time from now on.
                for shown in known.shown.values_mut().filter(|shown| shown.due.is_some()) {
                    shown.due = Some(now.saturating_add(super::GRACE));
                }
                out.line(Side::Agent, message.line);
            }
            Some(Wanted::Service { session, call, method }) => {
                self.service_result(&session, call, &method, message, out);
            }
            Some(Wanted::Other) => out.line(Side::Agent, message.line),
        }
    }

    /// What the editor did for the agent, judged before the agent sees it.
    fn service_result(
        &mut self,
        id: &str,
        call: ToolCall,
        method: &str,
        message: Message,
        out: &mut ProxyOutput,
    ) {
        if method == "terminal/create" {
            let terminal =
                message.result().and_then(|result| result.get("terminalId")).and_then(Value::as_str);
            if let Some(terminal) = terminal {
                if self.terminals.len() >= MAX_OPEN {
                    self.terminals.pop_first();
                }
                self.terminals.insert(terminal.to_owned(), call);
            }
            return out.line(Side::Agent, message.line);
        }
        // Where the text is that the agent reads.
        let place: &[&str] = match (message.result(), method) {
            (None, _) => &["error", "message"],
            (Some(_), "fs/read_text_file") => &["result", "content"],
            (Some(_), "terminal/output") => &["result", "output"],
            (Some(_), _) => &[],
        };
        let mut fields = Value::Object(message.fields.clone());
        let text = at(&mut fields, place).and_then(|text| text.as_str()).map(str::to_owned);
        let content = text.clone().map(Value::from).or_else(|| message.result().cloned()).unwrap_or_default();
        let result = match message.result() {
            None => ToolResult::failed(content),
            Some(result) => {
                let code = |key: &str| result.get(key).or_else(|| result.get("exitStatus")?.get(key));
                ToolResult { exit_code: code("exitCode").and_then(Value::as_i64), ..ToolResult::ok(content) }
            }
        };
        let path = call.args.get("path").and_then(Value::as_str).map(str::to_owned);
        let event = self.event(id, EventKind::AfterTool, method, RESULT);
        let decision = (self.decide)(Event { tool: Some(call), result: Some(result), ..event });
        if decision.effect.allows() {
            let replaced = decision.content.as_deref();
            self.mask(id, method, path.as_deref(), text.as_deref(), replaced);
            let line = match (replaced, at(&mut fields, place)) {
                (None, _) => Some(message.line),
                (Some(new), Some(text)) if text.is_string() && !place.is_empty() => {
                    *text = json!(new);
                    Some(fields.to_string())
                }
                // INVARIANT: what cannot be replaced does not pass.
                (Some(_), _) => None,
            };
            if let Some(line) = line {
                return out.line(Side::Agent, line);
            }
        }
        if let Some(asked) = &message.id {
            let why = match &decision.content {
                Some(new) if decision.effect.allows() => messages::replaced_result(&decision, new),
                _ => messages::withheld_result(&decision),
            };
            out.send(Side::Agent, &message::refusal(asked, &why, Some(&decision)));
        }
        match decision.effect {
            Effect::Halt => self.stop_turn(id, &messages::halt_message(&decision), &decision, out),
            _ => out.send(Side::Editor, &message::says(id, &messages::refusal(&decision))),
        }
    }
}

fn at<'v>(value: &'v mut Value, place: &[&str]) -> Option<&'v mut Value> {
    place.iter().try_fold(value, |value, key| value.get_mut(*key))
}

/// The read that a link in a prompt leads to.
fn read_of(uri: &str) -> Option<ToolCall> {
    match uri.split_once("://") {
        Some(("file", path)) => Some(ToolCall::new("Read", json!({"file_path": decoded(path)}))),
        Some(("http" | "https", _)) => Some(ToolCall::new("fetch", json!({"url": uri}))),
        // Other schemes are the editor's own: what they hold comes with them.
        Some(_) => None,
        None => Some(ToolCall::new("Read", json!({"file_path": uri}))),
    }
}

/// A path without the escapes of an address, and without the lines behind it.
fn decoded(path: &str) -> String {
    let path = path.split(['#', '?']).next().unwrap_or_default();
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match (first, code) {
            (b'%', Some(code)) => {
                bytes.push(code);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
