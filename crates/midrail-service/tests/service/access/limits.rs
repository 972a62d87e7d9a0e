//! Floods, and clients that take their time.

use std::io::{Read, Write};
use std::time::Duration;

use crate::access::fixture::{Answer, EVENT, Fixture, request};

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

#[test]
fn requests_beyond_the_limit_get_a_retry_time() {
    let fixture = Fixture::with(|config| {
        config.limits.at_once = 1;
        // The slow request does not time out while the test runs.
        config.limits.time = Duration::from_secs(3_600);
    });
    let headers = [("content-type", "application/json"), ("content-length", "1000")];
    let head = request(&fixture.address.to_string(), "POST", "/v1/decide", &headers, "{");
    // The slow request holds the slot as long as its body does not arrive. The server decides when it takes the slot, and
    // rejects it if one of the other requests has the slot at that moment.
    let try_once = |_| {
        let mut slow = fixture.connect();
        slow.write_all(head.as_bytes()).unwrap();
        let refused = (0..1_000).map(|_| fixture.decide(&[])).find(|answer| answer.status == 503)?;
        Some((slow, refused))
    };
    let (slow, refused) = (0..100).find_map(try_once).expect("no request was rejected");
    assert_eq!(refused.is(503).header("retry-after"), Some("1"));
    // Health needs no slot.
    fixture.get("/healthz", &[]).is(200);
    drop(slow);
    assert!((0..100_000).any(|_| fixture.decide(&[]).status == 200), "the slot was never released");
}

#[test]
fn slow_body_times_out() {
    let fixture = Fixture::with(|config| config.limits.time = Duration::from_millis(300));
    let headers = [("content-type", "application/json"), ("content-length", "1000")];
    fixture.send("POST", "/v1/decide", &headers, EVENT).is(504);
}
