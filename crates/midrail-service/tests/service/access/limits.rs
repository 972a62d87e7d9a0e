//! Floods, and clients that take their time.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use midrail::admin::KeyRight;

use crate::access::fixture::{Answer, EVENT, Fixture, bearer, config, key, request, scope};

#[test]
fn too_many_headers_are_rejected() {
    let fixture = Fixture::new();
    let many: Vec<String> = (0..500).map(|at| format!("x-{at}")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "1")).collect();
    assert_eq!(fixture.decide(&many).status, 431);
    let large = "a".repeat(200_000);
    let answer = fixture.decide(&[("x-large", &large)]);
    assert!([0, 431].contains(&answer.status), "{}", answer.head);
    fixture.decide(&[]).is(200);
}

#[test]
fn slow_request_head_times_out() {
    let fixture = Fixture::with(|config| config.limits.head = Duration::from_millis(300));
    let mut stream = fixture.connect();
    let text = request(&fixture.address.to_string(), "GET", "/healthz", &[], "");
    // A byte from time to time keeps no connection open.
    let (mut sent, mut is_cut) = (0, false);
    stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    for byte in text.as_bytes() {
        let mut answer = [0_u8; 256];
        match stream.read(&mut answer) {
            Ok(0) => is_cut = true,
            Ok(read) => is_cut = Answer::of(&answer[..read]).status == 408,
            Err(error) => is_cut = error.kind() == std::io::ErrorKind::ConnectionReset,
        }
        if is_cut || stream.write_all(&[*byte]).is_err() {
            is_cut = true;
            break;
        }
        sent += 1;
    }
    assert!(is_cut && sent < text.len(), "it was never cut off");
    fixture.get("/healthz", &[]).is(200);
}

/// Opens a connection that sends the head of a request and one byte of its body.
fn slow_body(fixture: &Fixture, headers: &[(&str, &str)]) -> TcpStream {
    let mut all = vec![("content-type", "application/json"), ("content-length", "1000")];
    all.extend(headers);
    let mut stream = fixture.connect();
    let head = request(&fixture.address.to_string(), "POST", "/v1/decide", &all, "{");
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

#[test]
fn slow_bodies_take_no_slot() {
    let fixture = Fixture::with(|config| {
        config.limits.at_once = 4;
        config.limits.body_time = Duration::from_secs(3_600);
    });
    let slow: Vec<TcpStream> = (0..40).map(|_| slow_body(&fixture, &[])).collect();
    for _ in 0..20 {
        fixture.decide(&[]).is(200);
        fixture.get("/readyz", &[]).is(200);
    }
    drop(slow);
}

#[test]
fn requests_beyond_the_limit_get_a_retry_time_and_the_service_is_not_ready() {
    let fixture = Fixture::with(|config| config.limits.at_once = 1);
    // Another process writes to the store, so that a decision has to wait.
    let writer = rusqlite::Connection::open(fixture.file("store.db")).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::thread::scope(|scope| {
        let held = scope.spawn(|| fixture.decide(&[]).is(200));
        assert!((0..100_000).any(|_| fixture.get("/readyz", &[]).status == 503), "it was never saturated");
        assert_eq!(fixture.decide(&[]).is(503).header("retry-after"), Some("1"));
        // Health needs no slot.
        fixture.get("/healthz", &[]).is(200);
        writer.execute_batch("ROLLBACK").unwrap();
        held.join().unwrap();
    });
    assert!((0..100_000).any(|_| fixture.decide(&[]).status == 200), "the slot was never released");
    fixture.get("/readyz", &[]).is(200);
}

#[test]
fn slow_body_times_out() {
    let fixture = Fixture::with(|config| config.limits.body_time = Duration::from_millis(300));
    let headers = [("content-type", "application/json"), ("content-length", "1000")];
    fixture.send("POST", "/v1/decide", &headers, EVENT).is(408);
}

#[test]
fn limit_per_address_holds_behind_a_proxy() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(&folder);
    let key = bearer(&key(&config, &scope(&[KeyRight::Decide])));
    (config.behind_proxy, config.limits.per_address) = (true, 3);
    config.limits.body_time = Duration::from_secs(3_600);
    let fixture = Fixture::start(folder, config);
    let from = |address: &'static str| [("authorization", key.as_str()), ("x-forwarded-for", address)];
    // Three of them are held, and the others are rejected.
    let slow: Vec<TcpStream> = (0..12).map(|_| slow_body(&fixture, &from("203.0.113.9"))).collect();
    let refused =
        (0..10_000).map(|_| fixture.decide(&from("203.0.113.9"))).find(|answer| answer.status == 429);
    assert_eq!(refused.expect("no request was rejected").is(429).header("retry-after"), Some("1"));
    // Another client of the same proxy is served.
    for _ in 0..10 {
        fixture.decide(&from("198.51.100.7")).is(200);
    }
    drop(slow);
    assert!((0..100_000).any(|_| fixture.decide(&from("203.0.113.9")).status == 200), "it stays locked out");
}

#[test]
fn only_the_named_proxy_forwards_requests() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(&folder);
    let key = bearer(&key(&config, &scope(&[KeyRight::Decide])));
    (config.behind_proxy, config.limits.per_address) = (true, 1);
    config.proxies = vec!["192.0.2.1".parse().unwrap()];
    config.limits.body_time = Duration::from_secs(3_600);
    let fixture = Fixture::start(folder, config);
    let headers = [("authorization", key.as_str()), ("x-forwarded-for", "203.0.113.9")];
    // The client is not the proxy, so what it says about its address does not count.
    let _slow: Vec<TcpStream> = (0..3).map(|_| slow_body(&fixture, &headers)).collect();
    for _ in 0..10 {
        fixture.decide(&headers).is(200);
    }
}
