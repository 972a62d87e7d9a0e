//! Conversations between an editor and an agent, with scripted decisions.

mod calls;
mod messages;
mod permissions;
mod prompts;
mod services;
mod texts;
mod turns;

use std::sync::{Arc, Mutex};

use midrail::core::{ApprovalRequest, Retry};
use midrail::{Decision, Effect, Event, EventKind};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{GRACE, Proxy, ProxyOptions};
use crate::relay::{Relay, RelayOutput, Side};

type DecideFn = fn(&Event) -> Decision;

/// A proxy, and the events that it decided.
struct Conversation {
    proxy: Proxy,
    events: Arc<Mutex<Vec<Event>>>,
    now: u64,
}

fn allow(event: &Event) -> Decision {
    // The engine returns the allowed part of every chunk.
    let content = (event.kind == EventKind::ModelChunk).then(|| event.text.clone().unwrap_or_default());
    Decision { content, ..Decision::default() }
}

fn stop(effect: Effect, reason: &str) -> Decision {
    Decision { effect, by: Some("g".into()), reason: reason.to_owned(), ..Decision::default() }
}

/// Blocks `rm`, private files and bad prompts.
fn strict(event: &Event) -> Decision {
    let args = event.tool.as_ref().map(|tool| json!(tool.args).to_string()).unwrap_or_default();
    let is_bad_call =
        event.kind == EventKind::BeforeTool && (args.contains("rm -rf") || args.contains(".env"));
    let is_bad_text =
        event.kind == EventKind::BeforeModel && event.text.as_deref().unwrap_or_default().contains("evil");
    if is_bad_call || is_bad_text { stop(Effect::Block, "it destroys") } else { allow(event) }
}

impl Conversation {
    fn new(decide_fn: DecideFn) -> Self {
        Conversation::with(
            ProxyOptions { nonce: "n".to_owned(), cwd: Some("/here".to_owned()), ..ProxyOptions::default() },
            decide_fn,
        )
    }

    fn with(options: ProxyOptions, decide_fn: DecideFn) -> Self {
        let events: Arc<Mutex<Vec<Event>>> = Arc::default();
        let decided = events.clone();
        let decide = move |event: Event| {
            let decision = decide_fn(&event);
            decided.lock().unwrap().push(event);
            decision
        };
        Conversation { proxy: Proxy::new(options, Box::new(decide)), events, now: 0 }
    }

    /// A session with an open prompt.
    fn begun(decide_fn: DecideFn) -> Self {
        let mut conversation = Conversation::new(decide_fn);
        conversation.begin();
        conversation
    }

    fn begin(&mut self) {
        self.editor(json!({"id": 2, "method": "session/new", "params": {"cwd": "/repo", "mcpServers": []}}));
        self.agent(json!({"id": 2, "result": {"sessionId": "s"}}));
        self.editor(prompt(3, "do it"));
    }

    fn line(&mut self, side: Side, line: &str) -> RelayOutput {
        self.proxy.handle_line(side, line.as_bytes(), self.now)
    }

    fn editor(&mut self, value: Value) -> RelayOutput {
        self.line(Side::Client, &rpc(value))
    }

    fn agent(&mut self, value: Value) -> RelayOutput {
        self.line(Side::Server, &rpc(value))
    }

    /// An update of the session.
    fn update(&mut self, update: Value) -> RelayOutput {
        self.agent(json!({"method": "session/update", "params": {"sessionId": "s", "update": update}}))
    }

    fn wait(&mut self, milliseconds: u64) -> RelayOutput {
        self.now += milliseconds;
        self.proxy.tick(self.now)
    }

    fn kinds(&self) -> Vec<EventKind> {
        self.events.lock().unwrap().iter().map(|event| event.kind).collect()
    }

    fn last(&self) -> Event {
        self.events.lock().unwrap().last().unwrap().clone()
    }
}

fn rpc(mut value: Value) -> String {
    value["jsonrpc"] = json!("2.0");
    value.to_string()
}

fn prompt(id: u64, text: &str) -> Value {
    json!({"id": id, "method": "session/prompt", "params": {"sessionId": "s", "prompt": [{"type": "text", "text": text}]}})
}

fn says(text: &str) -> Value {
    json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})
}

fn permission(id: u64, call: Value) -> Value {
    json!({"id": id, "method": "session/request_permission", "params": {"sessionId": "s", "toolCall": call, "options": [
        {"optionId": "a", "name": "Always", "kind": "allow_always"}, {"optionId": "b", "name": "Allow", "kind": "allow_once"},
        {"optionId": "c", "name": "Reject", "kind": "reject_once"}]}})
}

fn parsed(lines: &[String]) -> Vec<Value> {
    lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The texts that the user sees.
fn shown(lines: &[String]) -> String {
    let text = |line: &Value| Some(line.pointer("/params/update/content/text")?.as_str()?.to_owned());
    parsed(lines).iter().filter_map(text).collect()
}

fn nothing(out: &RelayOutput) -> bool {
    out.to_client.is_empty() && out.to_server.is_empty()
}
