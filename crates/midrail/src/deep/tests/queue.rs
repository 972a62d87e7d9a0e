//! Waiting, holding answers, giving up for a while, and taking questions back.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::server::{Reply, Server};
use super::*;
use crate::deep::jobs::{MAX_OF_RUN, MAX_QUESTIONS};

fn echo(server: &Server, more: Value) -> Arc<DeepSettings> {
    let mut value = json!({"http": {"url": server.url("/"), "retries": 0}, "timeout": "5m"});
    for (name, of) in more.as_object().unwrap() {
        value[name] = of.clone();
    }
    settings(value)
}

fn late(ticket: Ticket) -> Ticket {
    match ticket.wait(Duration::ZERO) {
        Err(pending) => pending,
        Ok(outcome) => panic!("{outcome:?}"),
    }
}

#[test]
fn the_same_question_of_a_session_is_asked_once() {
    let server = Server::new(vec![Reply::Echo]);
    let settings = echo(&server, json!({"cache": "10m"}));
    let clock = clock();
    let asking = on_clock(clock.clone());
    let first = answered(asking.ask("g", &settings, question("s", "a"))).unwrap();
    // Another moment and another call are no other question.
    let mut again = question("s", "a");
    again.event["time"] = json!("2026-11-15T10:05:00Z");
    again.event["tool"]["call_id"] = json!("c-2");
    let second = answered(asking.ask("g", &settings, again)).unwrap();
    assert_eq!((first.cached, second.cached, server.count()), (false, true, 1));
    assert_eq!((first.value, second.value), (json!("a"), json!("a")));
    // Another text, other settings or other arguments are.
    assert!(!answered(asking.ask("g", &settings, question("s", "b"))).unwrap().cached);
    let other = echo(&server, json!({"cache": "9m"}));
    assert!(!answered(asking.ask("g", &other, question("s", "a"))).unwrap().cached);
    let mut changed = question("s", "a");
    changed.event["tool"]["args"]["path"] = json!("b.rs");
    assert!(!answered(asking.ask("g", &settings, changed)).unwrap().cached);
    clock.advance(601.0);
    assert!(!answered(asking.ask("g", &settings, question("s", "a"))).unwrap().cached);
    let none = echo(&server, json!({"cache": 0}));
    for _ in 0..2 {
        assert!(!answered(asking.ask("g", &none, question("s", "a"))).unwrap().cached);
    }
}

#[test]
fn failures_are_not_held() {
    let server = Server::new(vec![Reply::Json(500, json!({})), Reply::Json(200, json!(1))]);
    let (asking, settings) = (asking(), echo(&server, json!({})));
    assert!(answered(asking.ask("g", &settings, question("s", "a"))).is_err());
    assert_eq!(answered(asking.ask("g", &settings, question("s", "a"))).unwrap().value, json!(1));
}

#[test]
fn sessions_do_not_see_each_others_answers() {
    let server = Server::new(vec![Reply::Echo]);
    let (asking, settings) = (asking(), echo(&server, json!({"max_concurrent": 8})));
    answered(asking.ask("g", &settings, question("one", "same"))).unwrap();
    let other = answered(asking.ask("g", &settings, question("two", "same"))).unwrap();
    assert!(!other.cached && server.count() == 2);
    // Many at once, each with an answer of its own.
    let tickets: Vec<(String, Ticket)> = (0..24)
        .map(|number| {
            let (run, text) = (format!("s{}", number % 3), format!("text {number}"));
            let ticket = asking.ask("g", &settings, question(&run, &text)).unwrap();
            (text, ticket)
        })
        .collect();
    for (text, ticket) in tickets {
        assert_eq!(answered(Ok(ticket)).unwrap().value, json!(text));
    }
}

#[test]
fn circuit_breaker_opens_after_failures() {
    let server = Server::new(vec![Reply::Json(500, json!({}))]);
    let settings = echo(&server, json!({"breaker": {"failures": 3, "pause": "30s"}, "cache": 0}));
    let clock = clock();
    let asking = on_clock(clock.clone());
    let ask = || answered(asking.ask("g", &settings, question("s", "a")));
    for _ in 0..3 {
        assert!(ask().unwrap_err().contains("answered 500"));
    }
    let error = ask().unwrap_err();
    assert!(
        error.contains("failed 3 times in a row, so it is not called; it is called again in 30 s"),
        "{error}"
    );
    assert!(error.contains("Last: `127.0.0.1:") && server.count() == 3, "{error}");
    // Another guardrail is asked all the same.
    assert!(
        answered(asking.ask("other", &settings, question("s", "a"))).unwrap_err().contains("answered 500")
    );

    // After the pause one question goes out; while it is, others do not.
    clock.advance(30.0);
    server.gate(false);
    server.reply(vec![Reply::Echo]);
    let trying = asking.ask("g", &settings, question("s", "a")).unwrap();
    let error = ask().unwrap_err();
    assert!(error.contains("one question is testing"), "{error}");
    until("it is asked", || server.count() == 5);
    server.reply(vec![Reply::Json(500, json!({}))]);
    server.gate(true);
    assert_eq!(answered(Ok(trying)).unwrap().value, json!("a"));
    // It went well, so all is as it was: three failures are needed again.
    for _ in 0..3 {
        assert!(ask().unwrap_err().contains("answered 500"));
    }
    assert!(ask().unwrap_err().contains("is not called"));
    // A try that fails closes it at once.
    clock.advance(30.0);
    assert!(ask().unwrap_err().contains("answered 500"));
    assert!(ask().unwrap_err().contains("failed 4 times in a row"));
    // Other settings are another matter.
    let fixed =
        echo(&server, json!({"breaker": {"failures": 3, "pause": "30s"}, "cache": 0, "timeout": "4m"}));
    assert!(answered(asking.ask("g", &fixed, question("s", "a"))).unwrap_err().contains("answered 500"));
}

#[test]
fn queue_is_bounded_for_each_session_and_in_total() {
    let server = Server::new(vec![Reply::Echo]);
    server.gate(false);
    let (asking, settings) = (asking(), echo(&server, json!({"max_concurrent": 2})));
    let mut tickets = Vec::new();
    for number in 0..MAX_QUESTIONS {
        let run = format!("s{}", number / MAX_OF_RUN);
        tickets.push(asking.ask("g", &settings, question(&run, &number.to_string())).unwrap());
        if number + 1 == MAX_OF_RUN {
            let error = asking.ask("g", &settings, question(&run, "one more")).err().unwrap();
            assert!(error.contains("this session has 32 unanswered questions"), "{error}");
        }
    }
    let error = asking.ask("g", &settings, question("fresh", "x")).err().unwrap();
    assert!(error.contains("256 questions are unanswered"), "{error}");
    until("two are asked", || server.count() == 2);
    assert!(!is_idle(&asking));
    server.gate(true);
    for (number, ticket) in tickets.into_iter().enumerate() {
        assert_eq!(answered(Ok(ticket)).unwrap().value, json!(number.to_string()));
    }
    until("all is done", || is_idle(&asking));
    assert!(asking.ask("g", &settings, question("fresh", "x")).is_ok());
}

#[test]
fn busy_session_does_not_delay_another() {
    let server = Server::new(vec![Reply::Silent, Reply::Echo]);
    server.gate(false);
    let (asking, settings) = (asking(), echo(&server, json!({"max_concurrent": 2})));
    let mut tickets = Vec::new();
    for (run, text, count) in [("busy", "0", 1), ("busy", "1", 2), ("busy", "2", 2), ("quiet", "3", 2)] {
        tickets.push(asking.ask("g", &settings, question(run, text)).unwrap());
        until("it is asked", || server.count() >= count);
    }
    // Another guardrail has room of its own.
    let other = asking.ask("other", &settings, question("third", "4")).unwrap();
    until("it is asked too", || server.count() == 3);
    server.gate(true);
    assert_eq!(answered(Ok(other)).unwrap().value, json!("4"));
    for ticket in tickets.into_iter().skip(1) {
        assert!(answered(Ok(ticket)).is_ok());
    }
    // The first is never answered, so that one session has a question under way, and the other one comes first.
    let texts: Vec<Value> = server.seen().iter().map(|seen| seen.body["text"].clone()).collect();
    assert_eq!(texts, [json!("0"), json!("1"), json!("4"), json!("3"), json!("2")]);
}

#[test]
fn late_answer_is_delivered_once() {
    let server = Server::new(vec![Reply::Echo]);
    server.gate(false);
    let (asking, settings) = (asking(), echo(&server, json!({})));
    let pending = late(asking.ask("g", &settings, question("s", "a")).unwrap());
    let received = Arc::new(Mutex::new(Vec::new()));
    let report = received.clone();
    pending.then(move |outcome| report.lock().unwrap().push(outcome.unwrap().value));
    // What breaks in a listener breaks nothing else.
    late(asking.ask("g", &settings, question("s", "b")).unwrap()).then(|_| panic!("on purpose"));
    let kept = late(asking.ask("g", &settings, question("s", "c")).unwrap());
    assert!(received.lock().unwrap().is_empty());
    server.gate(true);
    until("all is done", || is_idle(&asking));
    assert_eq!(*received.lock().unwrap(), [json!("a")]);
    // One who asks for it after it came gets it at once.
    let report = received.clone();
    kept.then(move |outcome| report.lock().unwrap().push(outcome.unwrap().value));
    assert_eq!(*received.lock().unwrap(), [json!("a"), json!("c")]);
}

#[test]
fn cancelled_questions_are_never_answered() {
    let server = Server::new(vec![Reply::Echo]);
    server.gate(false);
    let (asking, settings) = (asking(), echo(&server, json!({"max_concurrent": 1})));
    let calls = Arc::new(AtomicUsize::new(0));
    let mut waiting = Vec::new();
    for (number, run) in ["gone", "gone", "stays"].into_iter().enumerate() {
        let pending = late(asking.ask("g", &settings, question(run, &number.to_string())).unwrap());
        let calls = calls.clone();
        pending.then(move |_| {
            calls.fetch_add(1, Ordering::SeqCst);
        });
        if number == 0 {
            until("it is asked", || server.count() == 1);
        }
    }
    waiting.push(asking.ask("g", &settings, question("gone", "9")).unwrap());
    asking.cancel_run("gone");
    for ticket in waiting {
        let Ok(Err(why)) = ticket.wait(LONG) else { panic!("it was answered") };
        assert!(why.contains("cancelled"), "{why}");
    }
    // The connection was broken off, so the next question is sent while the first still waits at the gate.
    until("the other session is asked", || server.count() == 2);
    server.gate(true);
    until("all is done", || is_idle(&asking));
    assert_eq!((calls.load(Ordering::SeqCst), server.count()), (1, 2));
    // The session is free to ask again, and what was taken back is no failure.
    assert!(answered(asking.ask("g", &settings, question("gone", "0"))).is_ok());
}

#[test]
fn dropping_the_engine_cancels_all_questions() {
    let server = Server::new(vec![Reply::Silent]);
    let (asking, settings) = (asking(), echo(&server, json!({})));
    let calls = Arc::new(AtomicUsize::new(0));
    for number in 0..6 {
        let pending = late(asking.ask("g", &settings, question("s", &number.to_string())).unwrap());
        let calls = calls.clone();
        pending.then(move |_| {
            calls.fetch_add(1, Ordering::SeqCst);
        });
    }
    let ticket = asking.ask("g", &settings, question("s", "waits")).unwrap();
    until("four are asked", || server.count() == 4);
    let waits = std::thread::spawn(move || ticket.wait(LONG));
    drop(asking);
    let Ok(Err(why)) = waits.join().unwrap() else { panic!("it was answered") };
    assert!(why.contains("cancelled"), "{why}");
    // The listeners are gone with what they held: nothing will call them.
    assert_eq!((calls.load(Ordering::SeqCst), Arc::strong_count(&calls)), (0, 1));
}

#[test]
fn handler_of_an_answer_may_drop_the_engine() {
    let server = Server::new(vec![Reply::Echo]);
    server.gate(false);
    let asking = Arc::new(asking());
    let pending = late(asking.ask("g", &echo(&server, json!({})), question("s", "a")).unwrap());
    let (sender, receiver) = std::sync::mpsc::channel();
    pending.then(move |outcome| {
        drop(asking);
        sender.send(outcome.unwrap().value).unwrap();
    });
    server.gate(true);
    assert_eq!(receiver.recv_timeout(LONG).unwrap(), json!("a"));
}

#[test]
fn question_that_waits_too_long_is_not_sent() {
    let server = Server::new(vec![Reply::Echo]);
    server.gate(false);
    let asking = asking();
    let first = asking.ask("g", &echo(&server, json!({"max_concurrent": 1})), question("s", "a")).unwrap();
    until("it is asked", || server.count() == 1);
    let hasty = echo(&server, json!({"max_concurrent": 1, "timeout": "1ms"}));
    let second = asking.ask("g", &hasty, question("s", "b")).unwrap();
    asking.expire_waiting();
    server.gate(true);
    assert!(answered(Ok(first)).is_ok());
    let error = answered(Ok(second)).unwrap_err();
    assert!(error.contains("waited 1ms for its turn; raise `timeout` or `max_concurrent`"), "{error}");
    assert_eq!(server.count(), 1);
}

#[test]
fn question_with_little_time_left_is_not_sent_and_no_failure() {
    let server = Server::new(vec![Reply::Echo]);
    server.gate(false);
    let asking = asking();
    let breaker = json!({"failures": 1, "pause": 60});
    let settings =
        |timeout: &str| echo(&server, json!({"max_concurrent": 1, "timeout": timeout, "breaker": breaker}));
    let first = asking.ask("g", &settings("60s"), question("s", "a")).unwrap();
    until("it is asked", || server.count() == 1);
    let second = asking.ask("g", &settings("2s"), question("s", "b")).unwrap();
    asking.expire_waiting();
    server.gate(true);
    assert!(answered(Ok(first)).is_ok());
    let error = answered(Ok(second)).unwrap_err();
    assert!(error.contains("for its turn; raise `timeout` or `max_concurrent`"), "{error}");
    assert_eq!(server.count(), 1);
    // One failure would keep the next from being asked.
    assert!(answered(asking.ask("g", &settings("60s"), question("s", "c"))).is_ok());
}
