//! Benchmarks of a decision: the decision core alone, the engine in memory and on disk, a large policy and a long session, all in
//! one run. `hook.rs` measures a whole process.
//!
//! Run it: `cargo bench -p midrail-cli --bench decide`. No figure is asserted: timings vary between machines, so compare ratios.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    missing_docs,
    reason = "a benchmark"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use midrail::core::{Facts, Session, decide};
use midrail::pack::{Layer, PackDocument};
use midrail::{
    Effect, Engine, Event, Files, Load, LoadedPolicy, MemoryStore, Policy, PolicySource, SqliteStore, Store,
    ToolResult,
};
use serde_json::json;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    println!("machine: {} cores\n", std::thread::available_parallelism().map_or(0, usize::from));
    one_decision(folder.path());
    large_policy();
    long_session(folder.path());
}

/// A typical call: an edit of a file that was read, by an agent with a task.
fn typical_event() -> Event {
    let mut event = Event::before_tool(
        "Edit",
        json!({
            "file_path": "src/main.rs", "old_string": "fn main() {}", "new_string": "fn main() { println!(\"hello\"); }",
        }),
    );
    event.session = Some("s-1".into());
    event.cwd = Some("/repo".into());
    event.time = Some("2026-11-15T10:00:00Z".parse().unwrap());
    event.agent = serde_json::from_value(json!({"id": "implementer-3", "role": "implementer"})).unwrap();
    event.task = serde_json::from_value(json!({"id": "t-9", "token_budget": 100_000})).unwrap();
    event.usage = serde_json::from_value(json!({"tokens": 41_200, "estimated_tokens": 900})).unwrap();
    event
}

fn default_pack() -> LoadedPolicy {
    Load { packs: vec!["midrail:default".into()], ..Load::default() }.documents().unwrap()
}

fn world() -> Arc<Files> {
    Arc::new(Files::simulated(BTreeMap::from([("src/main.rs".to_owned(), "fn main() {}".to_owned())])))
}

fn engine(policy: Policy, source: &PolicySource, store: Arc<dyn Store>) -> Arc<Engine> {
    let engine = Arc::new(Engine::builder(policy, source).store(store).files(world()).build().unwrap());
    let read = Event::after_tool("Read", json!({"file_path": "src/main.rs"}), ToolResult::ok("fn main() {}"));
    engine.decide(Event { cwd: Some("/repo".into()), ..read.in_session("s-1") });
    engine
}

fn one_decision(folder: &Path) {
    println!("one decision, default pack, an edit of a file that was read");
    let LoadedPolicy { policy, source, .. } = default_pack();
    let (session, facts) = what_it_needs(&policy);
    let event = typical_event();
    report(
        "  decision core",
        measure(20_000, || {
            assert_eq!(decide(&policy, &session, &facts, &event).effect, Effect::Allow);
        }),
    );
    let memory = engine(default_pack().policy, &source, Arc::new(MemoryStore::new().unwrap()));
    report(
        "  the engine, in memory, with its record",
        measure(5_000, || {
            assert_eq!(memory.decide(typical_event()).effect, Effect::Allow);
        }),
    );
    let store = Arc::new(SqliteStore::open(folder.join("one.db")).unwrap());
    let disk = engine(default_pack().policy, &source, store);
    report(
        "  the engine, on disk, durable",
        measure(2_000, || {
            assert_eq!(disk.decide(typical_event()).effect, Effect::Allow);
        }),
    );
    println!();
}

/// The slices and facts of the typical event, as a record holds them.
fn what_it_needs(policy: &Policy) -> (Session, Facts) {
    let engine =
        engine(default_pack().policy, &PolicySource::default(), Arc::new(MemoryStore::new().unwrap()));
    let seq = engine.decide(typical_event()).audit.0.unwrap().seq;
    let record = engine.store().entry(seq).unwrap().unwrap().record().unwrap();
    assert_eq!(record.replay(policy).effect, Effect::Allow);
    (Session { slices: record.slices, ..Session::new(record.session) }, record.facts)
}

fn large_policy() {
    println!("a policy of 1,000 guardrails of which 10 apply, against the 10 alone");
    let pack = |count: usize| {
        let mut text = "pack: large\nguardrails:\n".to_owned();
        for number in 0..count {
            // The first ten concern the tool, the others as many other tools.
            let tool = if number < 10 { "Edit".to_owned() } else { format!("tool_{number}_*") };
            text += &format!(
                "  - {{id: g{number}, tools: \"{tool}\", check: \"action.target_files none match ['secret/{number}/**']\"}}\n"
            );
        }
        let documents = PackDocument::read("large.yaml", &text, None).unwrap();
        let layered: Vec<_> = documents.into_iter().map(|document| (Layer::Project, document)).collect();
        midrail::pack::compile_policy(&layered).unwrap()
    };
    let mut medians = Vec::new();
    for count in [10, 1_000] {
        let (policy, _) = pack(count);
        let (session, facts) = {
            let (policy, source) = pack(count);
            let engine = Arc::new(Engine::builder(policy, &source).files(world()).build().unwrap());
            let seq = engine.decide(typical_event()).audit.0.unwrap().seq;
            let record = engine.store().entry(seq).unwrap().unwrap().record().unwrap();
            (Session { slices: record.slices, ..Session::new(record.session) }, record.facts)
        };
        let event = typical_event();
        let times = measure(10_000, || {
            assert_eq!(decide(&policy, &session, &facts, &event).effect, Effect::Allow);
        });
        medians.push(times.median);
        report(&format!("  {count:>5} guardrails"), times);
    }
    println!("  ratio {:.2} (at most 3 is aimed for)\n", medians[1].as_secs_f64() / medians[0].as_secs_f64());
}

fn long_session(folder: &Path) {
    println!("one session on disk, durable: calls around its 100th and its 100,000th, taken in turn");
    let session = |name: &str| {
        let LoadedPolicy { policy, source, .. } = default_pack();
        engine(policy, &source, Arc::new(SqliteStore::open(folder.join(name)).unwrap()))
    };
    let long = session("long.db");
    for call in 1..99_500_u32 {
        long.decide(call_of_a_session(call));
    }
    let short = session("short.db");
    let (mut early, mut late) = (Vec::new(), Vec::new());
    for call in 1..1_000_u32 {
        for (engine, times, call) in [(&short, &mut early, call), (&long, &mut late, 99_500 + call)] {
            let event = call_of_a_session(call);
            let is_typical = event.result.is_none();
            let started = Instant::now();
            engine.decide(event);
            let took = started.elapsed();
            if is_typical {
                times.push(took);
            }
        }
    }
    let (early, late) = (Times::of(early), Times::of(late));
    let ratio = late.median.as_secs_f64() / early.median.as_secs_f64();
    report("  calls 1 to 1,000", early);
    report("  calls 99,500 to 100,500", late);
    println!("  ratio of medians {ratio:.2} (at most 1.3 is aimed for)\n");
}

/// Every tenth call reads another file, so that the session's state grows as in a real session.
fn call_of_a_session(call: u32) -> Event {
    if !call.is_multiple_of(10) {
        return Event { time: None, ..typical_event() };
    }
    let path = format!("src/file_{call}.rs");
    let event = Event::after_tool("Read", json!({"file_path": path}), ToolResult::ok("text"));
    Event { cwd: Some("/repo".into()), ..event.in_session("s-1") }
}

struct Times {
    median: Duration,
    p99: Duration,
}

impl Times {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Times { median: times[times.len() / 2], p99: times[times.len() * 99 / 100] }
    }
}

fn measure(count: usize, mut work: impl FnMut()) -> Times {
    for _ in 0..count / 10 {
        work();
    }
    let times = (0..count)
        .map(|_| {
            let started = Instant::now();
            work();
            started.elapsed()
        })
        .collect();
    Times::of(times)
}

fn report(what: &str, Times { median, p99 }: Times) {
    println!("{what:<46} median {:>10.1?}   p99 {:>10.1?}", median, p99);
}
