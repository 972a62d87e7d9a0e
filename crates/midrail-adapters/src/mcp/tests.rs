//! Conversations between a client and a server, with scripted decisions.

mod calls;
mod faults;
mod lists;
mod pins;
mod poisoned;
mod questions;
mod server;
mod texts;

use std::sync::{Arc, Mutex};

use midrail::core::ApprovalRequest;
use midrail::{Decision, Effect, Event, EventKind};
use serde_json::{Value, json};

use super::{Proxy, ProxyOptions, program_server};
use crate::relay::{Relay, RelayOutput, Side};

type DecideFn = fn(&Event) -> Decision;

/// A proxy, and the events that it decided.
struct Conversation {
    proxy: Proxy,
    events: Arc<Mutex<Vec<Event>>>,
    now: u64,
}

fn stop(effect: Effect, reason: &str) -> Decision {
    Decision { effect, by: Some("g".into()), reason: reason.to_owned(), ..Decision::default() }
}

/// Allows everything, and changes nothing.
fn allow(_: &Event) -> Decision {
    Decision::default()
}

/// Blocks calls with `FORBIDDEN`, replaces `SECRET` in results, and withholds tools that start with `bad`.
fn strict(event: &Event) -> Decision {
    let args = event.tool.as_ref().map(|tool| json!(tool.args).to_string()).unwrap_or_default();
    match event.kind {
        EventKind::BeforeTool if args.contains("FORBIDDEN") => stop(Effect::Block, "it is forbidden"),
        EventKind::BeforeTool if args.contains("HOLD") => Decision {
            approval: Some(ApprovalRequest {
                id: "a-1".into(),
                kind: midrail::core::ApprovalKind::Escalation,
                approver: "lead".into(),
                expires: None,
                guardrail: "g".into(),
                action: String::new(),
            }),
            ..stop(Effect::Escalate, "it waits")
        },
        EventKind::AfterTool => {
            let content = event.result.as_ref().unwrap().content.as_ref().unwrap().to_string();
            let is_redacted = content.contains("SECRET");
            let content = is_redacted.then(|| content.replace("SECRET", "[redacted]"));
            Decision {
                effect: if is_redacted { Effect::Redact } else { Effect::Allow },
                content,
                ..Decision::default()
            }
        }
        EventKind::ToolsOffered => {
            let names: Vec<&str> = event.tools.iter().flatten().map(|tool| tool.name.as_str()).collect();
            let passed: Vec<&str> = names.iter().copied().filter(|name| !name.starts_with("bad")).collect();
            let content = (passed.len() < names.len()).then(|| json!(passed).to_string());
            Decision { effect: Effect::Redact, content, ..Decision::default() }
        }
        _ => Decision::default(),
    }
}

impl Conversation {
    fn new(decide_fn: DecideFn) -> Self {
        let events: Arc<Mutex<Vec<Event>>> = Arc::default();
        let decided = events.clone();
        let decide = move |event: Event| {
            decided.lock().unwrap().push(event.clone());
            decide_fn(&event)
        };
        let server = program_server(Some("files"), &["files-server".to_owned()]);
        let options = ProxyOptions {
            server,
            cwd: Some("/here".to_owned()),
            nonce: "n".to_owned(),
            ..ProxyOptions::default()
        };
        Conversation { proxy: Proxy::new(options, Box::new(decide)), events, now: 0 }
    }

    fn client(&mut self, line: &str) -> RelayOutput {
        self.proxy.handle_line(Side::Client, line.as_bytes(), self.now)
    }

    fn server(&mut self, line: &str) -> RelayOutput {
        self.proxy.handle_line(Side::Server, line.as_bytes(), self.now)
    }

    /// Sends a request and its answer, and returns what the client receives.
    fn exchange(&mut self, method: &str, params: Value, answer: &str) -> String {
        let request = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string();
        assert_eq!(self.client(&request).to_server, [request]);
        let received = self.server(&answer.replace("@", r#""jsonrpc":"2.0", "id":7"#)).to_client;
        assert_eq!(received.len(), 1, "{received:?}");
        received.into_iter().next().unwrap()
    }

    fn kinds(&self) -> Vec<(EventKind, String)> {
        let events = self.events.lock().unwrap();
        let name = |event: &Event| event.tool.as_ref().map(|tool| tool.name.clone()).unwrap_or_default();
        events.iter().map(|event| (event.kind, name(event))).collect()
    }
}

fn call(id: &Value, args: Value) -> String {
    let params = json!({"name": "read", "arguments": args});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}
