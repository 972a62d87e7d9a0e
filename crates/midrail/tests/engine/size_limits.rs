//! Limits of events, packs and the clock: beyond them the engine blocks with a reason, and does so at once.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use midrail::{Effect, Engine, Event, Load, ManualClock};
use serde_json::{Map, Value, json};

fn engine_at(clock: Option<Timestamp>) -> Arc<Engine> {
    let loaded = Load { packs: vec!["midrail:default".into()], ..Load::default() }.load().unwrap();
    let mut engine = Engine::builder(loaded.policy, &loaded.source);
    if let Some(time) = clock {
        engine = engine.clock(Arc::new(ManualClock::at(time)));
    }
    Arc::new(engine.build().unwrap())
}

/// Decides an event, and returns the reason of the block. Without the limits this takes far longer.
fn blocked(event: Event) -> String {
    let started = Instant::now();
    let decision = engine_at(None).decide(event);
    assert_eq!(decision.effect, Effect::Block);
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    decision.reason
}

#[test]
fn event_with_too_many_values_is_blocked() {
    let keys: Map<String, Value> = (0..1_000_000).map(|key| (format!("k{key}"), Value::from(key))).collect();
    let reason = blocked(Event::before_tool("tool", Value::Object(keys)));
    assert!(reason.contains("the event has more than 100000 values"), "{reason}");
}

#[test]
fn call_with_too_large_arguments_is_blocked() {
    let command = "echo a; ".repeat(4 << 20);
    let reason = blocked(Event::before_tool("Bash", json!({"command": command})));
    assert!(reason.contains("the arguments of the call have more than 4194304 bytes"), "{reason}");
}

#[test]
fn pack_that_extends_too_many_packs_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..10_000).map(|name| format!("p{name}.yaml")).collect();
    let pack = folder.path().join("pack.yaml");
    fs::write(&pack, format!("pack: p\nextends: [{}]\n", names.join(", "))).unwrap();
    let error = Load { packs: vec![pack], ..Load::default() }.load().err().unwrap().to_string();
    assert!(error.contains("the pack extends 10000 packs, and at most 32 are allowed"), "{error}");
}

/// Each pack extends the next one twice: in all, there would be a million.
#[test]
fn packs_that_extend_each_other_often_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    for pack in 0..20 {
        let next = format!("p{}.yaml", pack + 1);
        let text = format!("pack: p{pack}\nextends: [{next}, ./{next}]\n");
        fs::write(folder.path().join(format!("p{pack}.yaml")), text).unwrap();
    }
    fs::write(folder.path().join("p20.yaml"), "pack: p20\n").unwrap();
    let load = Load { packs: vec![folder.path().join("p0.yaml")], ..Load::default() };
    let error = load.load().err().unwrap().to_string();
    assert!(error.contains("packs extend more than 256 packs in all"), "{}", &error[..error.len().min(400)]);
}

/// A clock beyond the calendar stands at its end.
#[test]
fn decisions_at_the_ends_of_the_calendar_are_made() {
    for time in [Timestamp::MAX, Timestamp::MIN] {
        let engine = engine_at(Some(time));
        let decide = |command: &str| {
            let event = Event::before_tool("Bash", json!({"command": command})).in_session("s");
            engine.decide(event)
        };
        assert_eq!(decide("ls").effect, Effect::Allow, "{time}");
        assert_eq!(decide("rm -rf ~").effect, Effect::Block, "{time}");
        let held = decide("eval \"$CODE\"");
        assert_eq!(held.effect, Effect::Escalate, "{time}: {}", held.reason);
        assert_eq!(decide("eval \"$CODE\"").effect, Effect::Escalate, "{time}");
    }
}
