//! Many callers at once: each gets its own answer, nothing is lost or counted twice, and slow requests do not delay others.

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::thread;

use midrail_service::{FilesAt, StoreAt};
use serde_json::{Value, json};

use crate::api::fixture::{Auth, Fixture, Service};

const PACK: &str = "pack: connection_limit
guardrails:
  - {id: never, tools: erase, effect: block, reason: Nothing is erased}
  - {use: rate-limit, tools: pay, with: {per_minute: 7}}
";

fn call(session: &str, tool: &str) -> Value {
    json!({"kind": "before_tool", "session": session, "tool": {"name": tool, "args": {}}})
}

/// What so many callers are answered, each sending so many events.
fn answers(
    service: &Service,
    callers: usize,
    each: usize,
    event: impl Fn(usize, usize) -> Value + Sync,
) -> Vec<Value> {
    let (all_are_there, event) = (&Barrier::new(callers), &event);
    thread::scope(|scope| {
        let running: Vec<_> = (0..callers)
            .map(|caller| {
                scope.spawn(move || {
                    all_are_there.wait();
                    let decide =
                        |round| service.post("/v1/decide", event(caller, round), &Auth::Anonymous).good();
                    (0..each).map(decide).collect::<Vec<_>>()
                })
            })
            .collect();
        running.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
    })
}

fn places(answers: &[Value]) -> BTreeSet<u64> {
    answers.iter().map(|answer| answer["audit"]["seq"].as_u64().unwrap()).collect()
}

#[test]
fn concurrent_callers_get_their_own_recorded_decisions() {
    let fixture = Fixture::new(PACK);
    for is_in_memory in [true, false] {
        let service = fixture.serve_with(|config| {
            if is_in_memory {
                config.store = StoreAt::Memory;
            }
        });
        let first = service.post("/v1/decide", call("first", "look"), &Auth::Anonymous).good();
        let before = first["audit"]["seq"].as_u64().unwrap();
        // Every third of a caller's own events is one that is stopped.
        let tool = |round| if round % 3 == 0 { "erase" } else { "look" };
        let report = answers(&service, 16, 6, |caller, round| call(&format!("s{caller}"), tool(round)));
        for (at, answer) in report.iter().enumerate() {
            let expected = if at % 6 % 3 == 0 { "block" } else { "allow" };
            assert_eq!(answer["effect"], expected, "{answer}");
        }
        assert_eq!(places(&report), (before + 1..=before + 96).collect());
        assert_eq!(service.post("/v1/audit/verify", json!({}), &Auth::Anonymous).good()["sound"], true);
    }
}

#[test]
fn events_of_one_session_are_counted_exactly_across_processes() {
    let fixture = Fixture::new(PACK);
    let service = fixture.serve();
    let engine = fixture.engine("default");
    let report = thread::scope(|scope| {
        let other = scope.spawn(|| {
            (0..6)
                .map(|_| engine.decide(serde_json::from_value(call("s", "pay")).unwrap()))
                .map(|decision| json!(decision))
                .collect::<Vec<_>>()
        });
        let mut report = answers(&service, 8, 3, |_, _| call("s", "pay"));
        report.extend(other.join().unwrap());
        report
    });
    let passed = report.iter().filter(|answer| answer["effect"] == "allow").count();
    assert_eq!(passed, 7, "of {}", report.len());
}

#[test]
fn slow_command_does_not_delay_other_requests() {
    let pack = "pack: slow\nguardrails: [{use: quality-003, with: {run: 'until [ -e go ]; do sleep 0.02; done', files: []}}]\n";
    let fixture = Fixture::new(pack);
    let service = fixture.serve_with(|config| config.files = FilesAt::Here);
    thread::scope(|scope| {
        let stops: Vec<_> = (0..4)
            .map(|number| {
                let (service, cwd) = (&service, fixture.path());
                let stop = json!({"kind": "before_stop", "session": format!("slow{number}"), "cwd": cwd});
                scope.spawn(move || service.post("/v1/decide", stop, &Auth::Anonymous).good())
            })
            .collect();
        // The fifth request in flight is the one that reads the metrics.
        let is_waiting = |text: &str| text.lines().any(|line| line == "http_requests_in_flight 5");
        assert!((0..100_000).any(|_| is_waiting(&service.get("/metrics", &Auth::Anonymous).text)));
        // The slow ones wait for a file that is written after these are answered.
        let others = answers(&service, 2, 2, |caller, _| call(&format!("quick{caller}"), "look"));
        assert!(others.iter().all(|answer| answer["effect"] == "allow"), "{others:?}");
        std::fs::write(fixture.path().join("go"), "").unwrap();
        for stop in stops {
            assert_eq!(stop.join().unwrap()["effect"], "allow");
        }
    });
}

#[test]
fn event_time_does_not_bypass_a_limit() {
    let fixture = Fixture::new(PACK);
    let service = fixture.serve();
    let effects: Vec<Value> = (1..=10)
        .map(|day| {
            let mut event = call("s", "pay");
            event["time"] = json!(format!("2100-01-{day:02}T00:00:00Z"));
            service.post("/v1/decide", event, &Auth::Anonymous).good()["effect"].clone()
        })
        .collect();
    assert_eq!(effects.iter().filter(|effect| **effect == "allow").count(), 7, "{effects:?}");
    let record = service.get("/v1/audit/1", &Auth::Anonymous).good();
    assert!(!record.to_string().contains("2100-01-01"), "{record}");
}
