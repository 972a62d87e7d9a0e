//! Bodies that are too large, too deep, of another kind, or not what they should be.

use crate::access::fixture::{EVENT, Fixture};

#[test]
fn invalid_bodies_are_rejected() {
    let fixture = Fixture::with(|config| config.limits.body = 10_000);
    let decide = |body: &str| fixture.post("/v1/decide", &[], body);
    decide(&format!(r#"{{"kind":"before_model","text":"{}"}}"#, "a".repeat(20_000))).is(413);
    fixture.send("POST", "/v1/decide", &[("content-length", "99999999")], "").is(413);
    fixture
        .send(
            "POST",
            "/v1/decide",
            &[("content-length", "99999999"), ("content-type", "application/json")],
            "",
        )
        .is(413);
    for media in
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "application/jsonx"]
    {
        fixture.send("POST", "/v1/decide", &[("content-type", media)], EVENT).is(415);
    }
    fixture.send("POST", "/v1/decide", &[], EVENT).is(415);
    fixture.send("POST", "/v1/decide", &[("content-type", "application/json; charset=utf-8")], EVENT).is(200);
    for broken in ["", "{", "nonsense", "{\"kind\":\"before_tool\"", "[]x", "\u{0}"] {
        decide(broken).is(400);
    }
    for wrong in [
        "[]",
        "{}",
        "7",
        r#"{"kind":"nothing"}"#,
        r#"{"kind":"before_tool","unknown":1}"#,
        r#"{"kind":"administered"}"#,
    ] {
        decide(wrong).is(422);
    }
    let deep = format!(
        r#"{{"kind":"before_tool","tool":{{"name":"x","args":{{"a":{}1{}}}}}}}"#,
        "[".repeat(4_000),
        "]".repeat(4_000)
    );
    let answer = decide(&deep);
    assert!([400, 422].contains(&answer.status), "{}", answer.head);
    fixture.post("/v1/decide/batch", &[], &format!(r#"{{"events":[{deep}]}}"#)).is(422);
    let deep = format!("{}{}", "[".repeat(4_900), "]".repeat(4_900));
    fixture.post("/v1/policy/validate", &[], &deep).is(422);
    fixture.post("/v1/policy/validate", &[], r#"{"text":"pack: p","nonsense":1}"#).is(422);
    fixture.get("/v1/nothing", &[]).is(404);
    fixture.send("DELETE", "/v1/decide", &[], "").is(405);
    fixture.get("/v1/policy/diff?from=a&wrong=b", &[]).is(400);
    fixture.get("/v1/shadow?examples=1000", &[]).is(400);
}

#[test]
fn conversation_is_decided_once() {
    let fixture = Fixture::new();
    let decide = |body: &str| fixture.post("/v1/decide/conversation", &[], body);
    let prompt = |text: &str| format!(r#"{{"kind":"before_model","session":"s","text":"{text}"}}"#);
    let whole = |texts: &[&str], new: usize| {
        let events: Vec<String> = texts.iter().map(|text| prompt(text)).collect();
        let made = decide(&format!(r#"{{"events":[{}],"new":{new}}}"#, events.join(","))).is(200).json();
        let made = made["decisions"].as_array().unwrap().clone();
        made.iter().map(|decision| decision["audit"]["seq"].as_u64()).collect::<Vec<_>>()
    };
    let head = |made: &[Option<u64>]| made.iter().flatten().count();
    assert_eq!(head(&whole(&["hello", "again", "again"], 1)), 3);
    assert_eq!(head(&whole(&["hello", "again", "again"], 0)), 0);
    assert_eq!(head(&whole(&["hello", "again", "again", "again"], 1)), 1);
    assert_eq!(head(&whole(&["hello"], 1)), 1, "it is new whatever it says");
    decide(&format!(r#"{{"events":[{},{{"kind":"nothing"}}]}}"#, prompt("hello"))).is(422);
    decide(r#"{"events":[],"new":-1}"#).is(422);
    decide(r#"{"events":[],"newest":1}"#).is(422);
    assert_eq!(decide(r#"{"events":[]}"#).is(200).json()["decisions"], serde_json::json!([]));
}

#[test]
fn invalid_batch_is_not_decided() {
    let fixture = Fixture::new();
    let batch = |body: &str| fixture.post("/v1/decide/batch", &[], body);
    let event = |session: usize, tool: &str| {
        format!(r#"{{"kind":"before_tool","session":"s-{session}","tool":{{"name":"{tool}"}}}}"#)
    };
    let events: Vec<String> = (0..60).map(|at| event(at % 7, if at % 3 == 0 { "x" } else { "y" })).collect();
    let decisions = batch(&format!(r#"{{"events":[{}]}}"#, events.join(","))).is(200).json();
    let decisions = decisions["decisions"].as_array().unwrap();
    assert_eq!(decisions.len(), 60);
    let mut last = std::collections::BTreeMap::new();
    for (at, decision) in decisions.iter().enumerate() {
        assert_eq!(decision["effect"], if at % 3 == 0 { "block" } else { "allow" }, "{at}");
        let seq = decision["audit"]["seq"].as_u64().unwrap();
        assert!(last.insert(at % 7, seq).is_none_or(|before| before < seq), "{at} is out of order");
    }
    assert_eq!(batch(r#"{"events":[]}"#).is(200).json()["decisions"], serde_json::json!([]));
    let before = fixture.get("/v1/policy", &[]).is(200).json();
    let head = crate::access::fixture::engine(&fixture.config, "default").store().head().unwrap();
    let refused = batch(&format!(r#"{{"events":[{},{{"kind":"nothing"}}]}}"#, event(1, "y"))).is(422);
    assert!(refused.json()["detail"].as_str().unwrap().starts_with("events[1]: "));
    batch(&format!(r#"{{"events":[{}]}}"#, vec![event(1, "y"); 1_001].join(","))).is(422);
    batch(r#"{"events":[],"more":1}"#).is(422);
    assert_eq!(crate::access::fixture::engine(&fixture.config, "default").store().head().unwrap(), head);
    assert_eq!(fixture.get("/v1/policy", &[]).json()["revision"], before["revision"]);
}

#[test]
fn idempotency_key_decides_once() {
    let fixture = Fixture::new();
    let once = |key: &str, event: &str| fixture.post("/v1/decide", &[("idempotency-key", key)], event);
    let first = once("k-1", EVENT).is(200).json();
    assert_eq!(once("k-1", EVENT).is(200).json()["audit"], first["audit"]);
    assert_ne!(once("k-2", EVENT).is(200).json()["audit"], first["audit"]);
    once("k-1", &EVENT.replace("\"x\"", "\"y\"")).is(409);
    once(&"k".repeat(201), EVENT).is(400);
    once("", EVENT).is(400);
}
