//! Servers that are slow, broken, hostile or not there.

use serde_json::{Value, json};

use super::server::{Reply, Server};
use super::*;

fn http(server: &Server, more: Value) -> Value {
    let mut http = json!({"url": server.url("/c"), "retries": 0});
    for (name, value) in more.as_object().unwrap() {
        http[name] = value.clone();
    }
    json!({ "http": http })
}

fn error(reply: Reply) -> String {
    let server = Server::new(vec![reply]);
    let error = asked(http(&server, json!({"headers": {"x-key": "${TEST_KEY}"}})), "x").unwrap_err();
    let host = server.url("");
    let host = host.trim_start_matches("http://");
    assert!(error.starts_with(&format!("`{host}` ")), "{error} does not say who was asked");
    assert!(!error.contains(KEY), "{error}");
    error
}

#[test]
fn slow_recipient_is_not_awaited() {
    for reply in [Reply::Silent, Reply::Drip] {
        let server = Server::new(vec![reply]);
        let mut value = http(&server, json!({"retries": 5}));
        value["timeout"] = json!("300ms");
        let error = asked(value, "x").unwrap_err();
        assert!(error.contains("did not answer within 300ms"), "{error}");
        assert!(error.contains("raise `timeout`") && server.count() == 1, "{error}");
    }
}

#[test]
fn temporary_failures_are_retried() {
    let fine = Reply::Json(200, json!({"fine": true}));
    let busy = Reply::Text(429, "retry-after: 0\r\n", "slow down".to_owned());
    for first in [busy, Reply::Json(500, json!({})), Reply::Json(503, json!({})), Reply::Raw(Vec::new())] {
        let server = Server::new(vec![first, fine.clone()]);
        let answer = asked(http(&server, json!({"retries": 1})), "x").unwrap();
        assert_eq!((answer.value, server.count()), (json!({"fine": true}), 2));
    }
    // One who says to come back after the time is up is not asked again.
    let server = Server::new(vec![Reply::Text(429, "retry-after: 3600\r\n", String::new()), fine]);
    let error = asked(http(&server, json!({"retries": 3})), "x").unwrap_err();
    assert!(error.contains("answered 429: it is asked too often") && server.count() == 1, "{error}");
}

#[test]
fn failure_is_reported_with_a_fix() {
    let refused = |status, message: &str| Reply::Json(status, json!({"error": {"message": message}}));
    for (reply, part) in [
        (Reply::Json(500, json!({})), "answered 500: it has a problem of its own"),
        (
            refused(401, &format!("bad key {KEY}")),
            "answered 401: it does not accept the key; check `key_env`",
        ),
        (refused(404, "no model m"), "check the `url` and the `model` (it says: no model m)"),
        (refused(400, &format!("what is\n{KEY}?")), "check the settings (it says: what is …?)"),
        (
            refused(422, "AKIAQ4ZTX7RK2MPLWN3J"),
            "answered 422: it does not take the question; check the settings",
        ),
        (Reply::Raw(b"SSH-2.0-OpenSSH_9.6\r\n\r\n".to_vec()), "does not answer in HTTP"),
        (Reply::Raw(Vec::new()), "broke the connection off"),
        (
            Reply::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{\"a\"".to_vec()),
            "broke the connection off",
        ),
        (Reply::Raw(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n".to_vec()), "`"),
        (Reply::Text(200, "", "<html>hello</html>".to_owned()), "something that is no JSON"),
        (Reply::Text(200, "", String::new()), "something that is no JSON"),
        (Reply::Text(200, "", "[".repeat(100) + &"]".repeat(100)), "nested too deep"),
        (
            Reply::Text(200, "", r#"{"allowed":false,"allowed":true}"#.to_owned()),
            "a duplicate key (duplicate field `allowed`)",
        ),
        (Reply::Text(200, "", r#"{"a":[{"b":1,"b":1}]}"#.to_owned()), "a duplicate key"),
        (Reply::Json(200, json!({"you_sent": format!("x-key: {KEY}")})), "sent the key back"),
    ] {
        let error = error(reply);
        assert!(error.contains(part), "{error}");
        assert!(!error.contains("AKIA"), "{error}");
    }
}

#[test]
fn an_answer_that_is_too_long_is_not_read_to_its_end() {
    let long = format!("\"{}\"", "x".repeat(100_000));
    let server = Server::new(vec![Reply::Text(200, "", long.clone())]);
    let mut value = http(&server, json!({}));
    value["max_answer_bytes"] = json!(100_001);
    let error = asked(value.clone(), "x").unwrap_err();
    assert!(error.contains("more than 100001 bytes; raise `max_answer_bytes`"), "{error}");
    value["max_answer_bytes"] = json!(100_002);
    assert!(asked(value, "x").is_ok());
    // One that never ends, and does not say how long it is.
    let mut endless = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_vec();
    endless.extend(long.repeat(50).bytes());
    let server = Server::new(vec![Reply::Raw(endless)]);
    let error = asked(http(&server, json!({})), "x").unwrap_err();
    assert!(error.contains("more than 1048576 bytes"), "{error}");
}

#[test]
fn redirects_are_not_followed() {
    let other = Server::new(vec![Reply::Json(200, json!({"fine": true}))]);
    let location: &'static str = format!("location: {}\r\n", other.url("/secret-path?token=1")).leak();
    let server = Server::new(vec![Reply::Text(307, location, String::new())]);
    let error = asked(http(&server, json!({"headers": {"x-key": "${TEST_KEY}"}})), "x").unwrap_err();
    assert!(error.contains("answered 307: a redirect to `127.0.0.1:"), "{error}");
    assert!(error.contains("which is not followed") && !error.contains("secret-path"), "{error}");
    assert_eq!(other.count(), 0);
}

#[test]
fn unreachable_host_is_reported() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let error =
        asked(json!({"http": {"url": format!("http://127.0.0.1:{port}/"), "retries": 0}}), "x").unwrap_err();
    assert!(error.contains("refuses connections; see that it is running"), "{error}");
}

#[test]
fn server_without_a_trusted_certificate_is_rejected() {
    let server = Server::new(vec![Reply::Json(200, json!({}))]);
    let url = server.url("/").replace("http://", "https://");
    let error = asked(json!({"http": {"url": url, "retries": 0}}), "x").unwrap_err();
    assert!(error.starts_with("`127.0.0.1:"), "{error}");
    assert!(server.seen().iter().all(|seen| !seen.line.starts_with("POST")));
}

#[test]
fn a_variable_that_is_not_set_is_named_and_nothing_is_sent() {
    let server = Server::new(vec![Reply::Json(200, json!({}))]);
    for (variable, part) in [
        ("TEST_ABSENT", "`TEST_ABSENT` is not set; set it where Midrail runs"),
        ("TEST_EMPTY", "`TEST_EMPTY` is not set"),
        ("TEST_LINES", "`TEST_LINES` has characters that a header cannot have"),
    ] {
        let value = http(&server, json!({"headers": {"authorization": format!("Bearer ${{{variable}}}")}}));
        let error = asked(value, "x").unwrap_err();
        assert!(error.contains(part), "{error}");
        let url = server.url("/v1/chat/completions");
        let judge = json!({"api": "openai", "url": url, "model": "m", "prompt": "p", "key_env": variable});
        let error = asked(json!({ "judge": judge }), "x").unwrap_err();
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(server.count(), 0);
}
