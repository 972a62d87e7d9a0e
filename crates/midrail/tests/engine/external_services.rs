//! Guardrails that call an external service, through the whole engine, with a service on this machine.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use midrail::{Effect, Engine, Event};
use serde_json::json;

use crate::sessions::policy;

/// A service that answers every question like this once its gate is open, and passes the questions on.
fn service(answer: &'static str, gate: Receiver<()>) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    let (questions, asked) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let question = read(&mut stream);
            if questions.send(question).is_err() {
                return;
            }
            // The gate is open once its sender is gone.
            let _ = gate.recv();
            let length = answer.len();
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
                 connection: close\r\n\r\n{answer}"
            );
        }
    });
    (address, asked)
}

/// A gate that is open from the start.
fn open() -> Receiver<()> {
    channel().1
}

fn read(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = stream.read(&mut buffer).unwrap_or(0);
        text.extend_from_slice(&buffer[..count]);
        let so_far = String::from_utf8_lossy(&text).into_owned();
        let length = so_far
            .to_ascii_lowercase()
            .split("content-length: ")
            .nth(1)
            .and_then(|rest| rest.split("\r\n").next()?.trim().parse::<usize>().ok());
        let body = so_far.split("\r\n\r\n").nth(1).unwrap_or_default().len();
        if count == 0 || length.is_some_and(|length| body >= length) {
            return so_far;
        }
    }
}

fn engine(url: &str, more: &str) -> Arc<Engine> {
    let pack = format!(
        "pack: p\nguardrails:\n  - id: judge\n    deep: {{http: {{url: '{url}', body: {{input: '{{text}}'}}}}}}\n    \
         check: answer.score < 0.5\n{more}"
    );
    let (policy, source) = policy(&pack);
    Arc::new(Engine::builder(policy, &source).build().unwrap())
}

fn call(tool: &str) -> Event {
    Event::before_tool(tool, json!({"key": "AKIAABCDEFGHIJKLMNOP"})).in_session("s")
}

#[test]
fn an_answer_in_time_decides_and_no_secret_is_sent() {
    let (url, asked) = service(r#"{"score": 0.9}"#, open());
    let engine = engine(&url, "risk_router: {medium_risk_wait_ms: 20000}\n");
    let decision = engine.decide(call("t"));
    assert_eq!((decision.effect, decision.by.as_deref()), (Effect::Block, Some("judge")));
    let question = asked.recv().unwrap();
    assert!(
        question.contains("redacted:aws-access-key") && !question.contains("AKIAABCDEFGHIJKLMNOP"),
        "{question}"
    );
}

#[test]
fn late_answer_applies_to_the_next_event_of_its_run_only() {
    let (gate, closed) = channel();
    let (url, _asked) = service(r#"{"score": 0.9}"#, closed);
    let engine = engine(&url, "    tools: t\n    effect: halt\ntool_risks: {t: low}\n");
    assert_eq!(engine.decide(call("t")).effect, Effect::Allow);
    drop(gate);
    assert!(engine.background().wait_for_late_answers(Duration::from_secs(60)));
    assert_eq!(engine.decide(call("x").in_session("another")).effect, Effect::Allow);
    let decision = engine.decide(call("x"));
    assert_eq!(decision.effect, Effect::Halt, "{}", decision.reason);
    assert!(decision.reason.contains("found about an earlier event"), "{}", decision.reason);
    assert_eq!(engine.decide(call("x")).effect, Effect::Halt);
}

#[test]
fn an_answer_about_one_run_does_not_reach_the_next() {
    let (gate, closed) = channel();
    let (url, asked) = service(r#"{"score": 0.9}"#, closed);
    let engine = engine(&url, "    tools: t\n    effect: halt\ntool_risks: {t: low}\n");
    assert_eq!(engine.decide(call("t")).effect, Effect::Allow);
    asked.recv().unwrap();
    let start = Event { source: Some("startup".to_owned()), ..Event::new(midrail::EventKind::SessionStart) };
    assert_eq!(engine.decide(start.in_session("s")).effect, Effect::Allow);
    drop(gate);
    assert!(engine.background().wait_for_late_answers(Duration::from_secs(60)));
    assert_eq!(engine.decide(call("x")).effect, Effect::Allow);
}

#[test]
fn approver_sees_the_judged_event() {
    let (gate, closed) = channel();
    let (url, _asked) = service(r#"{"score": 0.9}"#, closed);
    let engine = engine(&url, "    tools: send\n    effect: escalate\ntool_risks: {send: low}\n");
    let send = Event::before_tool("send", json!({"to": "eve", "key": "AKIAABCDEFGHIJKLMNOP"}));
    assert_eq!(engine.decide(send.in_session("s")).effect, Effect::Allow);
    drop(gate);
    assert!(engine.background().wait_for_late_answers(Duration::from_secs(60)));
    let next = engine.decide(Event::before_tool("Read", json!({"file_path": "/a"})).in_session("s"));
    assert_eq!((next.effect, next.by.as_deref()), (Effect::Escalate, Some("judge")));
    let asked = engine.store().approval(&next.approval.unwrap().id).unwrap().unwrap();
    assert_eq!((asked.tool.as_deref(), asked.guardrail.as_str()), (Some("send"), "judge"));
    assert!(asked.summary.contains("\"to\":\"eve\"") && !asked.summary.contains("AKIA"), "{}", asked.summary);
    assert!(asked.reason.contains("found about an earlier event of this run"), "{}", asked.reason);
    let entry = midrail::approvals::record_for_approval(&**engine.store(), &asked).unwrap().unwrap();
    assert!(midrail::approvals::is_about_earlier_event(&entry.record().unwrap(), &asked));
}

#[test]
fn first_blocked_window_settles_the_question() {
    let long = || Event::before_tool("t", json!({"text": "x".repeat(500)})).in_session("s");
    let with = |url: &str, check: &str| {
        let pack = format!(
            "pack: p\nrisk_router: {{medium_risk_wait_ms: 20000}}\nguardrails:\n  - id: judge\n    deep: {{max_text: 100, \
             http: {{url: '{url}', body: {{input: '{{text}}'}}}}}}\n{check}"
        );
        let (policy, source) = policy(&pack);
        Engine::builder(policy, &source).build().unwrap()
    };
    let (url, asked) = service(r#"{"allowed": false}"#, open());
    let decision = with(&url, "").decide(long());
    assert_eq!(decision.effect, Effect::Block);
    assert!(decision.reason.contains("in part 1 of 6 of the text"), "{}", decision.reason);
    assert_eq!(asked.try_iter().count(), 1);
    // What a check makes of an answer is known when all answers are there.
    let decision = with(&url, "    check: answer.allowed == true\n").decide(long());
    assert!(
        decision.reason.contains("the answer does not meet `answer.allowed == true`"),
        "{}",
        decision.reason
    );
    assert_eq!(asked.try_iter().count(), 6);
}

#[test]
fn mismatched_check_shows_the_answer() {
    let (url, _asked) = service(r#"{"verdict": "fine", "why": "x"}"#, open());
    let decision = engine(&url, "risk_router: {medium_risk_wait_ms: 20000}\n").decide(call("t"));
    assert_eq!(decision.effect, Effect::Escalate, "{}", decision.reason);
    for part in ["`answer.score` is not known", "the answer has `verdict`, `why`; fix `check` or the answer"]
    {
        assert!(decision.reason.contains(part), "{}", decision.reason);
    }
}

#[test]
fn unreachable_service_uses_the_fail_mode() {
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/");
    let waits = "risk_router: {medium_risk_wait_ms: 20000}\n";
    assert_eq!(engine(&url, waits).decide(call("t")).effect, Effect::Escalate);
    let open = format!("    on_error: allow\n{waits}");
    assert_eq!(engine(&url, &open).decide(call("t")).effect, Effect::Allow);
}

#[test]
fn one_shot_engine_waits_for_the_answer() {
    let (gate, closed) = channel();
    let (url, asked) = service(r#"{"score": 0.9}"#, closed);
    let pack = format!(
        "pack: p\ntool_risks: {{t: low}}\nguardrails:\n  - id: judge\n    deep: {{http: {{url: '{url}', body: {{input: \
         '{{text}}'}}}}}}\n    check: answer.score < 0.5\n"
    );
    let (policy, source) = policy(&pack);
    let engine = Engine::builder(policy, &source).for_one_event().build().unwrap();
    std::thread::spawn(move || asked.recv().map(|_| drop(gate)));
    assert_eq!(engine.decide(call("t")).effect, Effect::Block);
}

#[test]
fn text_next_to_a_call_does_not_hide_the_call() {
    let (url, asked) = service(r#"{"score": 0.1}"#, open());
    let engine = engine(&url, "risk_router: {medium_risk_wait_ms: 20000}\n");
    let mut event = Event::before_tool("t", json!({"command": "EVIL"})).in_session("s");
    event.text = Some("harmless".into());
    engine.decide(event);
    let question = asked.recv().unwrap();
    assert!(question.contains("EVIL") && question.contains("harmless"), "{question}");
}
