//! Shutdown of the service: running requests are finished, and no new ones are accepted.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::access::fixture::{Answer, EVENT, Fixture, eventually, request};

#[test]
fn running_request_is_answered_at_shutdown() {
    let mut fixture = Fixture::new();
    let headers = [("content-type", "application/json")];
    let text = request(&fixture.address.to_string(), "POST", "/v1/decide", &headers, EVENT);
    let (first, rest) = text.as_bytes().split_at(text.len() - 5);
    let mut under_way = fixture.connect();
    under_way.write_all(first).unwrap();
    // An idle connection does not keep it.
    let idle = fixture.connect();
    // The other request in flight is the one that reads the metrics.
    let in_flight = |text: &str| text.lines().any(|line| line == "http_requests_in_flight 2");
    assert!(eventually(|| in_flight(&fixture.get("/metrics", &[]).body)));
    fixture.request_stop();
    let refused = eventually(|| TcpStream::connect(fixture.address).is_err());
    assert!(refused, "it still takes connections");
    under_way.write_all(rest).unwrap();
    let mut answer = Vec::new();
    under_way.read_to_end(&mut answer).unwrap();
    assert_eq!(Answer::of(&answer).is(200).json()["effect"], "block");
    assert!(fixture.ended().is_ok());
    drop(idle);
}

#[test]
fn open_stream_does_not_delay_shutdown() {
    let mut fixture = Fixture::new();
    let mut stream =
        crate::access::streams::Lines::open(&fixture, r#"{"open":{"session":"s","max_bytes":0}}"#);
    assert!(stream.next().unwrap()["stream"].is_string());
    stream.say(r#"{"text":"The key is AKIAQ4ZT"}"#);
    stream.next().unwrap();
    fixture.request_stop();
    let last = stream.next().unwrap();
    assert_eq!((&last["over"], &last["problem"]["status"]), (&true.into(), &503.into()));
    assert_eq!(last["text"], "", "withheld text was sent");
    assert!(stream.next().is_none());
    assert!(fixture.ended().is_ok());
}
