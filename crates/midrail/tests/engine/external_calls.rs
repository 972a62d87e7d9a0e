//! External calls count when they are allowed, so that calls at the same time cannot exceed a budget together.

use std::sync::Arc;
use std::thread;

use midrail::{Effect, Engine, Event, Load};
use serde_json::{Value, json};

fn engine() -> Arc<Engine> {
    let folder = tempfile::tempdir().unwrap();
    let pack = folder.path().join("pack.yaml");
    std::fs::write(
        &pack,
        "pack: p\nextends: none\nguardrails:\n  - budget-003\n  - {id: no-mail, tools: mail}\n",
    )
    .unwrap();
    let loaded = Load { packs: vec![pack], ..Load::default() }.load().unwrap();
    Arc::new(Engine::builder(loaded.policy, &loaded.source).build().unwrap())
}

fn event(kind: &str, tool: &str, id: Option<&str>, budget: u64) -> Event {
    let mut event = json!({
        "kind": kind, "session": "s", "task": {"id": "t", "api_call_budget": budget},
        "tool": {"name": tool, "args": {"url": "https://example.com/a"}},
    });
    if let Some(id) = id {
        event["tool"]["call_id"] = Value::from(id);
    }
    if kind == "after_tool" {
        event["result"] = json!({"ok": true, "content": "x"});
    }
    serde_json::from_value(event).unwrap()
}

#[test]
fn calls_count_before_their_results() {
    let engine = engine();
    let fetch = |id: &str| engine.decide(event("before_tool", "WebFetch", Some(id), 2)).effect;
    assert_eq!(engine.decide(event("before_tool", "mail", Some("c-0"), 2)).effect, Effect::Block);
    assert_eq!(fetch("c-1"), Effect::Allow);
    assert_eq!(fetch("c-1"), Effect::Allow, "the same call, reported by another hook");
    assert_eq!(fetch("c-2"), Effect::Allow, "a denied call does not count");
    assert_eq!(fetch("c-3"), Effect::Block, "two calls have no result yet");
    for id in ["c-1", "c-2", "c-2"] {
        engine.decide(event("after_tool", "WebFetch", Some(id), 2));
    }
    assert_eq!(fetch("c-4"), Effect::Block);
}

#[test]
fn results_do_not_count_again() {
    let engine = engine();
    for round in 0..3 {
        let id = format!("c-{round}");
        for id in [Some(&*id), None] {
            assert_eq!(
                engine.decide(event("before_tool", "WebFetch", id, 6)).effect,
                Effect::Allow,
                "{round}"
            );
            engine.decide(event("after_tool", "WebFetch", id, 6));
        }
    }
    assert_eq!(engine.decide(event("before_tool", "WebFetch", None, 6)).effect, Effect::Block);
}

#[test]
fn calls_at_the_same_time_share_the_budget() {
    let engine = engine();
    let calls: Vec<_> = (0..8)
        .map(|call| {
            let engine = engine.clone();
            thread::spawn(move || {
                engine.decide(event("before_tool", "WebFetch", Some(&format!("c-{call}")), 3)).effect
            })
        })
        .collect();
    let allowed = calls.into_iter().filter(|_| true).map(|call| call.join().unwrap());
    assert_eq!(allowed.filter(|effect| effect.allows()).count(), 3);
}
