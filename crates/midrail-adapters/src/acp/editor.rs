//! Messages of the editor: prompts are decided before they reach the agent, results before the agent sees them.

use std::collections::VecDeque;

use midrail::{Effect, Event, EventKind, ToolCall, ToolResult};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use super::message::Message;
use super::state::{GatedRequest, OpenRequest, Proxy, RequestKind};
use crate::host::Capabilities;
use crate::mentions;
use crate::messages;
use crate::relay::{MAX_OPEN, RelayOutput, Side};

const PROMPT: Capabilities = Capabilities { ask: true, notes: true, halt: true, ..Capabilities::BLOCK };
const RESULT: Capabilities = Capabilities { redact: true, halt: true, ..Capabilities::BLOCK };
/// More links than a person would put in a prompt.
const MAX_LINKS: usize = 64;

impl Proxy {
    pub(super) fn editor_request(&mut self, method: &str, message: Message, out: &mut RelayOutput) {
        let session = message.session();
        match (method, session) {
            ("session/prompt", session) => return self.prompt(session.unwrap_or_default(), message, out),
            ("session/cancel", Some(id)) => {
                self.cancel_held(&id, out);
                self.session(&id).is_cancelled = true;
            }
            _ => {}
        }
        if let Some(key) = message.key() {
            let open = self.other_request(method, &message);
            self.open(Side::Client).insert(key, open);
        }
        out.to_server.push(message.line);
    }

    fn other_request(&mut self, method: &str, message: &Message) -> OpenRequest {
        let (cwd, session) = (message.text("cwd").map(str::to_owned), message.session());
        if method == "initialize" {
            return OpenRequest::Initialize;
        }
        if cwd.is_none() {
            return OpenRequest::Other;
        }
        if let Some(id) = &session {
            let known = self.session(id);
            known.cwd.clone_from(&cwd);
            // Until its answer, the agent repeats what happened earlier.
            known.is_loading = method == "session/load";
        }
        OpenRequest::Start { cwd, session }
    }

    fn prompt(&mut self, session: String, message: Message, out: &mut RelayOutput) {
        let blocks = message.param("prompt").and_then(Value::as_array);
        let (mut texts, mut reads) = (Vec::new(), Vec::new());
        for block in blocks.into_iter().flatten() {
            let text = |path: &str| block.pointer(path).and_then(Value::as_str).map(str::to_owned);
            texts.extend(text("/text"));
            texts.extend(text("/resource/text"));
            reads.extend(text("/uri").or_else(|| text("/resource/uri")).and_then(|uri| linked_read(&uri)));
        }
        let text = texts.join("\n");
        if reads.len() > MAX_LINKS {
            let files: Vec<Value> =
                reads.split_off(MAX_LINKS).into_iter().map(|call| json!(call.args)).collect();
            reads.push(ToolCall::new("Read", json!({"files": files})));
        }
        let mentioned = mentions::reads(&text).into_iter().filter_map(|event| event.tool);
        let calls: Vec<ToolCall> = mentioned.chain(reads).collect();
        let first = self.event(&session, EventKind::BeforeModel, "session/prompt", PROMPT);
        let mut events = VecDeque::from([Event { text: Some(text), ..first }]);
        for call in calls {
            let event = self.event(&session, EventKind::BeforeTool, "session/prompt", PROMPT);
            events.push_back(Event { tool: Some(call), ..event });
        }
        let (id, line, kind) = (message.id, message.line, RequestKind::Prompt(message.fields));
        self.gate(GatedRequest { session, id, line, kind, events, notes: Vec::new() }, out);
    }

    /// What the editor did for the agent, decided before the agent sees it.
    pub(super) fn service_result(
        &mut self,
        id: &str,
        call: ToolCall,
        method: &str,
        message: Message,
        out: &mut RelayOutput,
    ) {
        if method == "terminal/create" {
            if let Some(terminal) = message.result_field("terminalId").and_then(Value::as_str) {
                if self.terminals.len() >= MAX_OPEN {
                    self.terminals.pop_first();
                }
                self.terminals.insert(terminal.to_owned(), call);
            }
            return out.to_server.push(message.line);
        }
        // Where the agent reads the text.
        let (text, path) = match (message.result(), method) {
            (None, _) => (message.fields.get("error").and_then(|it| it.get("message")), "/error/message"),
            (Some(result), "fs/read_text_file") => (result.get("content"), "/result/content"),
            (Some(result), "terminal/output") => (result.get("output"), "/result/output"),
            (Some(_), _) => (None, ""),
        };
        let text = text.and_then(Value::as_str).map(str::to_owned);
        let content = text.clone().map(Value::from).or_else(|| message.result().cloned()).unwrap_or_default();
        let result = match message.result() {
            None => ToolResult::failed(content),
            Some(result) => {
                let code = result.get("exitCode").or_else(|| result.get("exitStatus")?.get("exitCode"));
                ToolResult { exit_code: code.and_then(Value::as_i64), ..ToolResult::ok(content) }
            }
        };
        let file = call.args.get("path").and_then(Value::as_str).map(str::to_owned);
        let event = self.event(id, EventKind::AfterTool, method, RESULT);
        let decision = (self.decide)(Event { tool: Some(call), result: Some(result), ..event });
        let new = decision.content.as_deref();
        if decision.effect.allows() {
            if let (Some(file), "fs/read_text_file") = (&file, method) {
                self.session(id).masks.read(file, text.as_deref().zip(new));
            }
            // INVARIANT: a text that cannot be replaced is not forwarded.
            let line = match new {
                None => Some(message.line.clone()),
                Some(new) => text.and_then(|_| message.with(path, new)),
            };
            if let Some(line) = line {
                return out.to_server.push(line);
            }
        }
        let reason = match new {
            Some(new) if decision.effect.allows() => messages::replaced_result(&decision, new),
            _ => messages::withheld_result(&decision),
        };
        out.refuse(message.id.as_ref(), &reason, Some(&decision));
        match decision.effect {
            Effect::Halt => self.stop_turn(id, &messages::halt_message(&decision), &decision, out),
            _ => out.show(id, &messages::refusal(&decision)),
        }
    }
}

/// The read that a link in a prompt causes.
fn linked_read(uri: &str) -> Option<ToolCall> {
    match uri.split_once("://") {
        Some(("file", path)) => Some(ToolCall::new("Read", json!({"file_path": decoded(path)}))),
        Some(("http" | "https", _)) => Some(ToolCall::new("fetch", json!({"url": uri}))),
        // Other schemes are the editor's; the prompt contains their content.
        Some(_) => None,
        None => Some(ToolCall::new("Read", json!({"file_path": uri}))),
    }
}

/// The path of a URI, without percent encoding and fragment.
fn decoded(path: &str) -> String {
    let path = path.split(['#', '?']).next().unwrap_or_default();
    percent_decode_str(path).decode_utf8_lossy().into_owned()
}
