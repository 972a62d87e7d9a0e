//! A long session with eight feedback providers: each keeps its own rhythm to the call.

use std::collections::BTreeMap;
use std::sync::Arc;

use midrail::{Decision, Engine, Event, EventKind, Files, ManualClock, ToolResult};
use serde_json::json;

use crate::sessions::policy;

const PACK: &str = "
pack: rhythms
guardrails:
  - feedback: {name: seven, static: x, every_n_calls: 7}
  - feedback: {name: ninety-seconds, static: x, every_n_seconds: 90}
  - feedback: {name: either, static: x, every_n_calls: 40, every_n_seconds: 200}
  - feedback: {name: file, static: x, on_file_created: NOTES.md}
  - feedback: {name: bash, static: x, every_n_calls: 5, should_run: \"tool.name == 'Bash'\"}
  - {scope: session, feedback: {name: eleven, static: x, every_n_calls: 11}}
  - feedback: {name: streak, failing_streak: {failures: 3}}
  - feedback: {name: time, deadline: {}, every_n_calls: 100}
";

const CALLS: u32 = 2_000;
/// Seconds between two calls.
const PACE: f64 = 7.0;
/// The call before which the file is written.
const WRITTEN: u32 = 501;

fn speakers(decision: &Decision) -> Vec<String> {
    let name = |block: &String| {
        let rest = block.strip_prefix("<feedback provider='").unwrap();
        rest.split_once('\'').unwrap().0.to_owned()
    };
    decision.feedback.iter().map(name).collect()
}

/// The tool of a call, and whether it goes well: every twenty calls one tool fails three times and then works.
fn script(call: u32) -> (&'static str, bool) {
    match call % 20 {
        3..=5 => ("fetch", false),
        6 => ("fetch", true),
        _ if call.is_multiple_of(3) => ("Bash", true),
        _ => ("t", true),
    }
}

/// A rhythm as a person would keep it: calls since the last time, and when that was.
#[derive(Default)]
struct Rhythm {
    since: u32,
    last: Option<f64>,
}

impl Rhythm {
    fn beat(&mut self, now: f64, is_due: impl Fn(u32, Option<f64>) -> bool) -> bool {
        self.since += 1;
        let speaks = is_due(self.since, self.last.map(|last| now - last));
        if speaks {
            (self.since, self.last) = (0, Some(now));
        }
        speaks
    }
}

#[test]
fn eight_providers_keep_their_rhythms_for_two_thousand_calls() {
    let (policy, source) = policy(PACK);
    let files = Arc::new(Files::simulated(BTreeMap::new()));
    let clock = Arc::new(ManualClock::at("2026-11-15T10:00:00Z".parse().unwrap()));
    let engine = Engine::builder(policy, &source).files(files.clone()).clock(clock.clone()).build().unwrap();
    let engine = Arc::new(engine);
    let mut rhythms: BTreeMap<(&str, &str), Rhythm> = BTreeMap::new();
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for call in 1..=CALLS {
        clock.advance(PACE);
        if call == WRITTEN {
            files.simulation().unwrap().write("NOTES.md", "");
        } else if call == WRITTEN + 10 {
            files.simulation().unwrap().remove("NOTES.md");
        } else if call == WRITTEN + 20 {
            files.simulation().unwrap().write("NOTES.md", "again");
        }
        let prompt = if call <= CALLS / 2 { "one" } else { "two" };
        let (tool, ok) = script(call);
        let now = f64::from(call) * PACE;

        let mut expected = Vec::new();
        let mut beat = |name: &'static str, prompt, is_due: &dyn Fn(u32, Option<f64>) -> bool| {
            let rhythm = rhythms.entry((name, prompt)).or_default();
            if rhythm.beat(now, is_due) {
                expected.push(name);
            }
        };
        let after = |seconds: f64| move |past: Option<f64>| past.is_none_or(|past| past >= seconds);
        beat("seven", prompt, &|calls, _| calls >= 7);
        beat("ninety-seconds", prompt, &|_, past| after(90.0)(past));
        beat("either", prompt, &|calls, past| calls >= 40 || after(200.0)(past));
        beat("file", "", &|_, _| call == WRITTEN);
        beat("bash", prompt, &|calls, _| calls >= 5 && tool == "Bash");
        beat("eleven", "", &|calls, _| calls >= 11);
        beat("time", prompt, &|calls, _| calls >= 100);
        if call % 20 == 5 {
            expected.push("streak");
        }

        let result = if ok { ToolResult::ok("") } else { ToolResult::failed("no route") };
        let deadline = Some("2026-11-16T10:00:00Z".parse().unwrap());
        let event = Event { deadline, ..Event::after_tool(tool, json!({"n": call}), result) };
        let found = speakers(&engine.session("s").prompt(prompt).decide(event));
        assert_eq!(found, expected, "call {call}");
        for name in found {
            *counts.entry(name).or_default() += 1;
        }
    }
    // 2,000 calls, 1,000 for each prompt; failed calls count as well.
    let count = |name: &str| counts.get(name).copied().unwrap_or(0);
    assert_eq!((count("seven"), count("eleven"), count("time")), (284, 181, 20));
    assert_eq!((count("file"), count("streak")), (1, 100));
    assert!(["ninety-seconds", "either", "bash"].iter().all(|name| count(name) > 50), "{counts:?}");
}

/// A session under everything that a definition can hold: what it keeps, slice by slice.
fn sizes(calls: std::ops::Range<u32>, engine: &Arc<Engine>) -> BTreeMap<String, usize> {
    let session = engine.session("s");
    let task = midrail::Task { token_budget: Some(1_000_000_000), ..Default::default() };
    for call in calls {
        let (tool, ok) = script(call);
        let result = if ok { ToolResult::ok("") } else { ToolResult::failed(format!("no route {call}")) };
        let usage = midrail::Usage { tokens: Some(u64::from(call)), ..Default::default() };
        let event = Event::after_tool(tool, json!({"n": call, "path": format!("src/{call}.rs")}), result);
        let mut event = Event { task: Some(task.clone()), usage: Some(usage), ..event };
        if let Some(tool) = &mut event.tool {
            tool.call_id = Some(format!("c-{call}"));
        }
        session.decide(event);
        let todos: Vec<_> =
            (0..call % 7).map(|i| json!({"content": format!("item {i}"), "status": "pending"})).collect();
        session.decide(Event::after_tool("TodoWrite", json!({"todos": todos}), ToolResult::ok("")));
        if call % 10 == 0 {
            session.decide(Event::new(EventKind::BeforeStop));
        }
    }
    let snapshot = session.snapshot().unwrap();
    snapshot.slices.iter().map(|(key, value)| (key.clone(), value.to_string().len())).collect()
}

#[test]
fn nothing_that_is_kept_grows_with_the_number_of_calls() {
    let pack = format!(
        "{PACK}  - feedback: {{repeated_calls: {{}}}}\n  - feedback: {{no_progress: {{}}}}\n  - feedback: {{stale_plan: \
         {{}}}}\n  - feedback: {{budget: {{}}}}\n  - completion: {{files: [a.txt], todos: none_open, also_after_tool: true}}\n"
    );
    let (policy, source) = policy(&pack);
    let files = Arc::new(Files::simulated(BTreeMap::new()));
    let engine = Arc::new(Engine::builder(policy, &source).files(files).build().unwrap());
    let early = sizes(0..210, &engine);
    let late = sizes(210..840, &engine);
    assert_eq!(early.keys().collect::<Vec<_>>(), late.keys().collect::<Vec<_>>());
    for (key, size) in &late {
        // A count may have a digit more.
        let grown = size.saturating_sub(early[key]);
        assert!(grown <= 24 || size < &early[key], "{key}: {} became {size}", early[key]);
    }
}

/// Takes minutes, so it is run by hand: `cargo test -p midrail --test engine -- --ignored --nocapture hundred`.
#[test]
#[ignore = "takes minutes"]
fn a_hundred_thousand_calls_keep_no_more_than_a_thousand() {
    let (policy, source) = policy(PACK);
    let files = Arc::new(Files::simulated(BTreeMap::new()));
    let engine = Arc::new(Engine::builder(policy, &source).files(files).build().unwrap());
    let mut whole = Vec::new();
    for part in 0..20 {
        let started = std::time::Instant::now();
        let sizes = sizes(part * 2_500..(part + 1) * 2_500, &engine);
        whole.push((sizes.len(), sizes.values().sum::<usize>()));
        println!("{} calls: {:?}, {:?}", (part + 1) * 5_000, started.elapsed(), whole.last());
    }
    let (first, last) = (whole[0], whole[19]);
    assert!(first.0 == last.0 && last.1 < first.1 + 200, "{whole:?}");
}
