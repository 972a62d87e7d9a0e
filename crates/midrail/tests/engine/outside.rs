//! Guardrails that ask somebody outside, through the whole engine, with somebody on this machine who answers.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use midrail::{Effect, Engine, Event};
use serde_json::json;

use crate::sessions::policy;

/// Answers every question like this, after a while, and tells what it was asked.
fn somebody(answer: &'static str, after: Duration) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    let (tell, asked) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let question = read(&mut stream);
            if tell.send(question).is_err() {
                return;
            }
            std::thread::sleep(after);
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
    let (url, asked) = somebody(r#"{"score": 0.9}"#, Duration::ZERO);
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
fn an_answer_that_nobody_waited_for_counts_for_the_next_event_of_that_run_alone() {
    let (url, _asked) = somebody(r#"{"score": 0.9}"#, Duration::from_millis(30));
    let engine = engine(&url, "    tools: t\n    effect: halt\ntool_risks: {t: low}\n");
    assert_eq!(engine.decide(call("t")).effect, Effect::Allow);
    assert!(engine.wait_for_late_answers(Duration::from_secs(60)));
    assert_eq!(engine.decide(call("x").in_session("another")).effect, Effect::Allow);
    let decision = engine.decide(call("x"));
    assert_eq!(decision.effect, Effect::Halt, "{}", decision.reason);
    assert!(decision.reason.contains("found about an earlier event"), "{}", decision.reason);
    assert_eq!(engine.decide(call("x")).effect, Effect::Halt);
}

#[test]
fn nobody_there_takes_the_fail_mode() {
    // A port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/");
    let waits = "risk_router: {medium_risk_wait_ms: 20000}\n";
    assert_eq!(engine(&url, waits).decide(call("t")).effect, Effect::Escalate);
    let open = format!("    on_error: allow\n{waits}");
    assert_eq!(engine(&url, &open).decide(call("t")).effect, Effect::Allow);
}

#[test]
fn a_process_that_ends_with_its_event_waits_for_the_answer() {
    let (url, _asked) = somebody(r#"{"score": 0.9}"#, Duration::from_millis(400));
    let pack = format!(
        "pack: p\ntool_risks: {{t: low}}\nguardrails:\n  - id: judge\n    deep: {{http: {{url: '{url}', body: {{input: \
         '{{text}}'}}}}}}\n    check: answer.score < 0.5\n"
    );
    let (policy, source) = policy(&pack);
    let engine = Engine::builder(policy, &source).for_one_event().build().unwrap();
    assert_eq!(engine.decide(call("t")).effect, Effect::Block);
}

#[test]
fn what_a_model_writes_beside_a_call_does_not_hide_the_call() {
    let (url, asked) = somebody(r#"{"score": 0.1}"#, Duration::ZERO);
    let engine = engine(&url, "risk_router: {medium_risk_wait_ms: 20000}\n");
    let mut event = Event::before_tool("t", json!({"command": "EVIL"})).in_session("s");
    event.text = Some("harmless".into());
    engine.decide(event);
    let question = asked.recv().unwrap();
    assert!(question.contains("EVIL") && question.contains("harmless"), "{question}");
}
