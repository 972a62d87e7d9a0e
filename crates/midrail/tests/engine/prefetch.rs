//! An engine that has seen events like this one fetches at once what they needed. That must show nowhere but in time.

use std::sync::Arc;

use jiff::Timestamp;
use midrail::store::AuditFilter;
use midrail::{Engine, Evaluations, Event, EventKind, Files, ManualClock, MemoryStore, Store, ToolResult};
use serde_json::{Value, json};

use crate::sessions::policy;

const PACK: &str = "pack: p\nextends: default\nguardrails:\n  - sequential: {deploy: [build]}\n  - {use: safety-001, on: before_tool, effect: escalate}\n";

fn engine(store: &Arc<dyn Store>) -> Engine {
    let (policy, source) = policy(PACK);
    let files = [("a.txt", "v1"), ("b.txt", "v2")].map(|(name, text)| (name.to_owned(), text.to_owned()));
    let at: Timestamp = "2026-01-01T12:00:00Z".parse().unwrap();
    let engine = Engine::builder(policy, &source).store(store.clone()).clock(Arc::new(ManualClock::at(at)));
    engine.files(Arc::new(Files::simulated(files.into()))).build().unwrap()
}

/// Events of two sessions and two agents in turn, most of which need what the one before them did not.
fn events() -> Vec<Event> {
    let mut events = Vec::new();
    for round in 0..6 {
        for session in ["s", "t"] {
            let path = ["a.txt", "b.txt"][round % 2];
            let command = ["ls", "rm -rf ~", "git push --force", "make build"][round % 4];
            let calls = [
                ("Read", json!({"path": path})),
                ("Write", json!({"path": path, "content": "v3"})),
                ("Bash", json!({"command": command})),
                ("build", json!({})),
                ("deploy", json!({"round": round})),
            ];
            for (at, (tool, args)) in calls.into_iter().enumerate() {
                let mut event = Event::before_tool(tool, args).in_session(session);
                if (round + at) % 3 == 0 {
                    event.agent = Some(serde_json::from_value(json!({"id": format!("a{at}")})).unwrap());
                }
                let result = Event {
                    kind: EventKind::AfterTool,
                    result: Some(ToolResult::ok("write to ada@example.org")),
                    ..event.clone()
                };
                events.extend([event, result]);
            }
        }
    }
    events
}

fn records(store: &dyn Store) -> Vec<Value> {
    let mut records = Vec::new();
    let mut filter = AuditFilter::default();
    loop {
        let page = store.entries(&filter).unwrap();
        let Some(last) = page.last() else { return records };
        filter.after_seq = Some(last.seq);
        records.extend(page.iter().map(|entry| entry.json().unwrap()));
    }
}

/// What took how long, and the names of what was stopped, are new each time.
fn without_chance(mut record: Value) -> Value {
    record.as_object_mut().unwrap().remove("denied");
    for said in record["decision"]["verdicts"].as_array_mut().into_iter().flatten() {
        said.as_object_mut().unwrap().remove("duration_us");
    }
    record
}

#[test]
fn prefetching_changes_no_record() {
    let stores: [Arc<dyn Store>; 2] =
        [Arc::new(MemoryStore::new().unwrap()), Arc::new(MemoryStore::new().unwrap())];
    let [learns, forgets] = &stores;
    let engine_that_learns = engine(learns);
    for event in events() {
        let (one, other) = (engine_that_learns.decide(event.clone()), engine(forgets).decide(event));
        assert_eq!(one.effect, other.effect, "{}", one.reason);
    }
    let (one, other) = (records(&**learns), records(&**forgets));
    assert_eq!((one.len(), other.len()), (120, 120));
    for (one, other) in one.into_iter().zip(other) {
        assert_eq!(without_chance(one), without_chance(other));
    }
}

/// The ordinary calls of the corpus, in which the next one is rarely like the one before it.
#[test]
fn one_evaluation_is_usual() {
    let corpus = include_str!("../../../../corpus/switch_off.yaml");
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    let (policy, source) = policy("pack: p\nextends: default\n");
    let engine = Engine::builder(policy, &source).build().unwrap();
    // Each call is on a line of its own, as YAML that is nearly JSON.
    for line in corpus.lines().filter(|line| line.ends_with("expect: allow}")) {
        let Some((tool, rest)) = line.split_once("before_tool: ").and_then(|(_, rest)| rest.split_once(", "))
        else {
            continue;
        };
        let Some(command) = rest.split_once("{command: \"").and_then(|(_, rest)| rest.split_once("\"}"))
        else {
            continue;
        };
        let Ok(command) = serde_json::from_str::<String>(&format!("\"{}\"", command.0)) else { continue };
        let call = Event::before_tool(tool, json!({"command": command})).in_session("s");
        let call = Event { cwd: Some(root.to_owned()), ..call };
        let result = Some(ToolResult::ok("done"));
        engine.decide(call.clone());
        engine.decide(Event { kind: EventKind::AfterTool, result, ..call });
    }
    let Evaluations { events, repeated } = engine.evaluations();
    println!("{repeated} of {events} events were evaluated more than once");
    assert!(events > 400, "{events}");
    assert!(repeated * 20 < events, "{repeated} of {events} events were evaluated more than once");
}
