//! A call that the hook of a host and the MCP proxy both see has one record, one strike and one approval.

use std::sync::Arc;

use midrail::core::{Host, McpServer, OfferedTool};
use midrail::{Decision, Effect, Engine, Event, EventKind, ToolResult};
use serde_json::{Value, json};

use crate::shared_store::SharedStore;

const PACK: &str = "pack: t\nmcp: {first_seen: pin}\nguardrails:\n  - {id: no-wipe, tools: mcp__toy__wipe, effect: block}\n  \
                    - {id: held, tools: mcp__toy__send, effect: escalate}\n  \
                    - {id: twice, tools: mcp__toy__add, count: {most: 2}}\n";

fn server() -> McpServer {
    McpServer { name: "toy".to_owned(), key: "sha256:toy".to_owned(), transport: None, launch: None }
}

fn call(kind: EventKind, tool: &str, args: Value) -> Event {
    let mut event = Event::before_tool(format!("mcp__toy__{tool}"), args);
    event.kind = kind;
    event.tool.as_mut().unwrap().call_id = Some("c-1".to_owned());
    if kind == EventKind::AfterTool {
        event.result =
            Some(ToolResult { ok: Some(true), content: Some(json!("done")), ..ToolResult::default() });
    }
    event
}

fn hook(event: Event) -> Event {
    Event { prompt: Some("p".to_owned()), ..event.in_session("of-host") }
}

fn proxy(event: Event) -> Event {
    Event { server: Some(server()), ..event.in_session("mcp-toy") }
}

fn with_id(mut event: Event, id: &str) -> Event {
    event.tool.as_mut().unwrap().call_id = Some(id.to_owned());
    event
}

fn offer(engine: &Engine, hash: &str) {
    let tool = |name: &str| OfferedTool {
        name: name.to_owned(),
        text: format!("Does {name} {hash}."),
        hash: format!("{name}-{hash}"),
        ..OfferedTool::default()
    };
    let tools = ["add", "wipe", "send"].map(tool).to_vec();
    let event = Event { server: Some(server()), tools: Some(tools), ..Event::new(EventKind::ToolsOffered) };
    engine.decide(event.in_session("mcp-toy"));
}

fn engines() -> (SharedStore, Arc<Engine>, Arc<Engine>) {
    let shared = SharedStore::new();
    let (one, two) = (shared.engine(PACK), shared.engine(PACK));
    offer(&one, "1");
    (shared, one, two)
}

fn records(engine: &Engine) -> u64 {
    engine.store().head().unwrap().unwrap().seq
}

fn place(decision: &Decision) -> u64 {
    decision.audit.0.as_ref().unwrap().seq
}

#[test]
fn call_and_result_have_one_record_each() {
    let (_shared, host, wrap) = engines();
    let start = records(&host);
    let args = json!({"a": 1});
    let first = host.decide(hook(call(EventKind::BeforeTool, "add", args.clone())));
    let second = wrap.decide(proxy(call(EventKind::BeforeTool, "add", args.clone())));
    assert_eq!((first.effect, second.effect, place(&first)), (Effect::Allow, Effect::Allow, place(&second)));
    let result = wrap.decide(proxy(call(EventKind::AfterTool, "add", args.clone())));
    let again = host.decide(hook(call(EventKind::AfterTool, "add", args)));
    assert_eq!(place(&result), place(&again));
    assert_eq!(records(&host), start + 2);
    // The result belongs to the session of the host.
    let entry = host.store().entry(place(&result)).unwrap().unwrap();
    assert!(entry.body.contains("of-host") && !entry.body.contains("mcp-toy"), "{}", entry.body);
}

#[test]
fn a_limit_counts_a_call_once() {
    let (_shared, host, wrap) = engines();
    for id in ["c-1", "c-2"] {
        let event = || with_id(call(EventKind::BeforeTool, "add", json!({"id": id})), id);
        assert_eq!(host.decide(hook(event())).effect, Effect::Allow, "{id}");
        assert_eq!(wrap.decide(proxy(event())).effect, Effect::Allow, "{id}");
        let event = || with_id(call(EventKind::AfterTool, "add", json!({"id": id})), id);
        wrap.decide(proxy(event()));
        host.decide(hook(event()));
    }
    let third = with_id(call(EventKind::BeforeTool, "add", json!({})), "c-3");
    assert!(!host.decide(hook(third)).effect.allows());
}

#[test]
fn blocked_call_counts_one_strike_in_either_order() {
    for hook_first in [true, false] {
        let (_shared, host, wrap) = engines();
        let start = records(&host);
        let event = || call(EventKind::BeforeTool, "wipe", json!({}));
        let (one, two) = if hook_first {
            (host.decide(hook(event())), wrap.decide(proxy(event())))
        } else {
            (wrap.decide(proxy(event())), host.decide(hook(event())))
        };
        assert_eq!((one.effect, two.effect), (Effect::Block, Effect::Block));
        assert_eq!((one.reason, records(&host)), (two.reason, start + 1));
    }
}

#[test]
fn each_adapter_alone_decides_call_and_result() {
    for adapter in [hook, proxy] {
        let (_shared, host, _) = engines();
        let start = records(&host);
        assert_eq!(host.decide(adapter(call(EventKind::BeforeTool, "add", json!({})))).effect, Effect::Allow);
        assert_eq!(host.decide(adapter(call(EventKind::AfterTool, "add", json!({})))).effect, Effect::Allow);
        assert_eq!(records(&host), start + 2);
    }
}

#[test]
fn approval_for_the_hook_serves_the_proxy() {
    let (_shared, host, wrap) = engines();
    let event = || call(EventKind::BeforeTool, "send", json!({"to": "ann"}));
    let asked = host.decide(hook(event()));
    assert_eq!(asked.effect, Effect::Escalate);
    // The call that arrives all the same waits for the same request.
    let held = wrap.decide(proxy(event()));
    assert_eq!(held.effect, Effect::Escalate);
    let id = |decision: &Decision| decision.approval.as_ref().map(|request| request.id.clone());
    assert_eq!(id(&held), id(&asked));
    // A host that has asked its user makes the call only with a yes.
    let (_shared, host, wrap) = engines();
    let asks = Host { name: "h".to_owned(), asks_user: true, ..Host::default() };
    let asked = host.decide(Event { host: Some(asks), ..hook(event()) });
    if asked.approval.is_none() {
        assert_eq!(asked.effect, Effect::Escalate);
        assert_eq!(wrap.decide(proxy(event())).effect, Effect::Allow);
    }
}

#[test]
fn decision_is_adopted_only_for_the_same_call_and_once() {
    let (_shared, host, wrap) = engines();
    let start = records(&host);
    host.decide(hook(call(EventKind::BeforeTool, "add", json!({"a": 1}))));
    // Other arguments, another tool, another id.
    wrap.decide(proxy(call(EventKind::BeforeTool, "add", json!({"a": 2}))));
    assert_eq!(records(&host), start + 2);
    assert_eq!(
        wrap.decide(proxy(call(EventKind::BeforeTool, "wipe", json!({"a": 1})))).effect,
        Effect::Block
    );
    wrap.decide(proxy(with_id(call(EventKind::BeforeTool, "send", json!({"a": 1})), "c-9")));
    assert_eq!(records(&host), start + 4);
    // Once its result is decided, a call is over.
    host.decide(hook(with_id(call(EventKind::BeforeTool, "send", json!({})), "c-5")));
    let before = records(&host);
    wrap.decide(proxy(with_id(call(EventKind::AfterTool, "send", json!({})), "c-5")));
    wrap.decide(proxy(with_id(call(EventKind::BeforeTool, "send", json!({})), "c-5")));
    assert_eq!(records(&host), before + 2);
}

/// What only one adapter can know is decided by it: the session by the hook, the result by the proxy.
#[test]
fn unusual_orders_are_decided_in_full() {
    let (_shared, host, wrap) = engines();
    let start = records(&host);
    let event = || call(EventKind::BeforeTool, "add", json!({}));
    wrap.decide(proxy(event()));
    assert_eq!(host.decide(hook(event())).effect, Effect::Allow);
    assert_eq!(records(&host), start + 2);
    let secret = || {
        let mut event = call(EventKind::AfterTool, "add", json!({}));
        event.result.as_mut().unwrap().content = Some(json!("AWS=AKIAQ4ZTX7RK2MPLWN3J"));
        event
    };
    host.decide(hook(call(EventKind::AfterTool, "add", json!({}))));
    let late = wrap.decide(proxy(secret()));
    assert_eq!(records(&host), start + 4);
    assert!(late.audit.0.is_some_and(|place| place.seq == start + 4));
}

#[test]
fn definition_that_changed_is_checked_although_the_hook_allowed_the_call() {
    let (_shared, host, wrap) = engines();
    offer(&host, "2");
    let event = || call(EventKind::BeforeTool, "add", json!({}));
    assert_eq!(host.decide(hook(event())).effect, Effect::Allow);
    let held = wrap.decide(proxy(event()));
    assert_eq!(held.effect, Effect::Escalate);
    assert!(held.reason.contains("changed"), "{}", held.reason);
}
