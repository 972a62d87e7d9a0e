//! Events of the proxy: the call that a message makes, the result that it brings, the definitions that it offers.

use midrail::core::Host;
use midrail::{Event, EventKind, ToolCall, ToolResult};
use serde_json::{Value, json};

use super::sealed_questions::ANSWER_MEMBERS;
use super::state::{MAX_KNOWN, NAME, Proxy};
use crate::host::Capabilities;
use crate::rpc::Message;

/// What a client can do with the decision about a call.
pub(super) const CALL: Capabilities = Capabilities { redact: true, halt: true, ..Capabilities::BLOCK };
/// The same for the result of a call of a tool, to which Midrail can add notes.
pub(super) const RESULT: Capabilities = Capabilities { notes: true, ..CALL };

/// The members of `_meta` with the id that a client gives to a call.
const CALL_IDS: &[&str] = &["claudecode/toolUseId", "callId", "toolCallId", "toolUseId"];

/// The member of `_meta` that every request of the modern era has.
pub(super) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

impl Proxy {
    /// The session of a message, and whether it is one of the modern era, in which a process is no conversation.
    pub(super) fn session_of(&mut self, message: &Message) -> (String, bool) {
        let meta = |name: &str| message.param("_meta")?.get(name);
        let is_modern = meta(VERSION).is_some();
        let server = &self.options.server;
        let session = if is_modern {
            let client = meta("io.modelcontextprotocol/clientInfo").and_then(|it| it.get("name")?.as_str());
            let client: String = client.unwrap_or("client").chars().take(100).collect();
            let caller = self.options.caller.iter().map(|caller| format!("-{caller}")).collect::<String>();
            format!("mcp-{client}{caller}-{}", server.key)
        } else {
            format!("mcp-{}-{}", server.name, self.options.nonce)
        };
        if self.sessions.insert(session.clone()) && !(is_modern && self.is_known(&session)) {
            let source = if is_modern { "resume" } else { "new" };
            let start = self.event(&session, EventKind::SessionStart, "start", Capabilities::NONE);
            (self.decide)(Event { source: Some(source.to_owned()), ..start });
        }
        (session, is_modern)
    }

    /// Whether another proxy has started a session. If none has, this one does.
    fn is_known(&self, session: &str) -> bool {
        let Some(known) = &self.options.known else { return false };
        let mut known = known.lock();
        if known.len() >= MAX_KNOWN {
            known.pop_first();
        }
        !known.insert(session.to_owned())
    }

    pub(super) fn end_sessions(&mut self) {
        for session in std::mem::take(&mut self.sessions) {
            (self.decide)(self.event(&session, EventKind::SessionEnd, "end", Capabilities::NONE));
        }
    }

    /// An event of a session.
    pub(super) fn event(&self, session: &str, kind: EventKind, method: &str, can: Capabilities) -> Event {
        let mut host = Host {
            name: NAME.to_owned(),
            limits: can.limits(),
            asks_user: can.ask,
            event: Some(method.to_owned()),
            ..Host::default()
        };
        host.extra.extend(self.client.iter().map(|name| ("client".to_owned(), json!(name))));
        Event {
            session: Some(session.to_owned()),
            cwd: self.options.cwd.clone(),
            server: Some(self.options.server.clone()),
            host: Some(host),
            ..Event::new(kind)
        }
    }

    /// The call that a request makes, named as hosts spell the tools of MCP servers.
    pub(super) fn call(&self, method: &str, message: &Message) -> ToolCall {
        let params = message.fields.get("params");
        let param = |name: &str| params.and_then(|params| params.get(name));
        let (name, args) = match method {
            "tools/call" => (
                param("name").and_then(Value::as_str).unwrap_or_default(),
                param("arguments").cloned().unwrap_or_default(),
            ),
            _ => {
                let mut args = params.and_then(Value::as_object).cloned().unwrap_or_default();
                args.retain(|name, _| name != "_meta" && !ANSWER_MEMBERS.contains(&name.as_str()));
                (method, Value::Object(args))
            }
        };
        let meta = param("_meta");
        let call_id = CALL_IDS.iter().find_map(|id| meta?.get(*id)?.as_str()).map(str::to_owned);
        ToolCall { call_id, ..ToolCall::new(self.tool_name(name), args) }
    }

    /// The name of a tool or method of the server.
    pub(super) fn tool_name(&self, name: &str) -> String {
        format!("mcp__{}__{name}", self.options.server.name)
    }

    pub(super) fn before_tool(
        &self,
        session: &str,
        method: &str,
        call: &ToolCall,
        can: Capabilities,
    ) -> Event {
        Event { tool: Some(call.clone()), ..self.event(session, EventKind::BeforeTool, method, can) }
    }

    pub(super) fn after_tool(
        &self,
        session: &str,
        method: &str,
        call: ToolCall,
        ok: bool,
        content: &Value,
    ) -> Event {
        let result = ToolResult { ok: Some(ok), content: Some(content.clone()), ..ToolResult::default() };
        let can = if method == "tools/call" && ok { RESULT } else { CALL };
        Event {
            tool: Some(call),
            result: Some(result),
            ..self.event(session, EventKind::AfterTool, method, can)
        }
    }

    /// The call of the server that uses the client's model, and the prompt.
    pub(super) fn sampling(&self, session: &str, params: &Value) -> [Event; 2] {
        let name = "sampling/createMessage";
        let call = ToolCall::new(self.tool_name(name), params.clone());
        let before = self.before_tool(session, name, &call, Capabilities::BLOCK);
        let sender = Some(format!("the MCP server {}", self.options.server.name));
        let event = self.event(session, EventKind::BeforeModel, name, Capabilities::BLOCK);
        let text = texts(["systemPrompt", "messages"].into_iter().filter_map(|part| params.get(part)));
        [before, Event { text: Some(text), sender, ..event }]
    }

    /// The question of the server to the user.
    pub(super) fn elicitation(&self, session: &str, params: &Value) -> Event {
        let name = "elicitation/create";
        let call = ToolCall::new(self.tool_name(name), params.clone());
        self.before_tool(session, name, &call, Capabilities::BLOCK)
    }

    /// The data of the user that leave with an answer.
    pub(super) fn elicited(&self, session: &str, answer: &Value) -> Event {
        let content = answer.get("content").cloned().unwrap_or_default();
        let call = ToolCall::new(self.tool_name("elicitation"), content);
        self.before_tool(session, "elicitation", &call, Capabilities::BLOCK)
    }
}

/// The texts of messages to or from a model.
pub(super) fn texts<'v>(values: impl IntoIterator<Item = &'v Value>) -> String {
    let mut texts = Vec::new();
    values.into_iter().for_each(|value| collect_texts(value, &mut texts));
    texts.join("\n")
}

fn collect_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Value::Object(members) => {
            let texts_of = members
                .iter()
                .filter(|(name, _)| !matches!(name.as_str(), "role" | "type" | "mimeType" | "data"));
            texts_of.for_each(|(_, member)| collect_texts(member, texts));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Members of results and parameters that no model reads.
const PLAIN: &[&str] =
    &["progressToken", "requestId", "uri", "level", "resultType", "cacheScope", "nextCursor", "_meta"];

/// Whether a result, an error or parameters have a text that a model could read.
pub(super) fn has_text(value: &Value) -> bool {
    match value {
        Value::Object(members) => {
            members.iter().any(|(name, member)| !PLAIN.contains(&name.as_str()) && contains_text(member))
        }
        other => contains_text(other),
    }
}

fn contains_text(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => items.iter().any(contains_text),
        Value::Object(members) => {
            members.iter().any(|(name, member)| !name.is_empty() || contains_text(member))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
