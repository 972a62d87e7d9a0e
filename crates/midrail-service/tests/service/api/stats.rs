//! Figures, alerts and notices over HTTP.

use serde_json::{Value, json};

use crate::api::fixture::{Auth, Fixture, PACK, call};

#[test]
fn stats_count_decisions() {
    let fixture = Fixture::new(PACK);
    let service = fixture.serve();
    for tool in ["look", "look", "erase", "refund"] {
        service.post("/v1/decide", call("s", tool), &Auth::Anonymous).good();
    }
    let stats = service.get("/v1/stats", &Auth::Anonymous).good();
    assert_eq!(stats["figures"]["effects"], json!({"allow": 2, "block": 1, "escalate": 1}));
    assert_eq!(stats["figures"]["guardrails"]["never"]["block_count"], 1);
    assert_eq!(stats["windows"]["hour"], json!({"decisions": 4, "blocked": 1}));
    assert_eq!(stats["open_approvals"], 1);
    assert_eq!(stats["approvals"][0]["guardrail"], "ask");
    let later = service.get("/v1/stats?since=2200-01-01T00:00:00Z", &Auth::Anonymous).good();
    assert_eq!(later["figures"]["decisions"], 0);
    service.get("/v1/stats?since=now", &Auth::Anonymous).problem(400);
}

#[test]
fn timeline_counts_each_decision_in_its_bucket() {
    let fixture = Fixture::new(PACK);
    let service = fixture.serve();
    let engine = fixture.engine("default");
    engine.session("s").set("x", 1).unwrap();
    let mut event = call("s", "erase");
    for (time, tool) in [
        ("2020-01-01T00:00:00Z", "erase"),
        ("2020-01-01T00:59:59.999999Z", "look"),
        ("2020-01-01T01:00:00Z", "look"),
        ("2020-01-01T02:59:59Z", "erase"),
    ] {
        event["time"] = json!(time);
        event["tool"]["name"] = json!(tool);
        engine.decide(serde_json::from_value(event.clone()).unwrap());
    }
    let times: Vec<Value> = service.get("/v1/audit", &Auth::Anonymous).good()["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["time"].clone())
        .collect();
    let total = |timeline: &Value| -> u64 {
        timeline["buckets"].as_array().unwrap().iter().map(|it| it["decisions"].as_u64().unwrap()).sum()
    };
    let last_hour = service.get("/v1/stats/timeline", &Auth::Anonymous).good();
    assert_eq!(last_hour["buckets"].as_array().unwrap().len(), 60);
    assert_eq!(total(&last_hour), 4, "{times:?} {last_hour}");
    let day = service
        .get(
            "/v1/stats/timeline?since=2020-01-01T00:00:00Z&until=2200-01-01T00:00:00Z&buckets=3",
            &Auth::Anonymous,
        )
        .good();
    assert_eq!((total(&day), &day["buckets"][0]["effects"]), (4, &json!({"allow": 2, "block": 2})));
    let none = service
        .get(
            "/v1/stats/timeline?since=2019-01-01T00:00:00Z&until=2019-02-01T00:00:00Z&buckets=500",
            &Auth::Anonymous,
        )
        .good();
    assert_eq!(total(&none), 0);
    for wrong in ["buckets=0", "buckets=501", "since=2021-01-01T00:00:00Z&until=2020-01-01T00:00:00Z"] {
        service.get(&format!("/v1/stats/timeline?{wrong}"), &Auth::Anonymous).problem(400);
    }
}

#[test]
fn alerts_and_notices_are_listed() {
    let fixture = Fixture::new(
        "pack: t\nextends: none\nguardrails:\n  - {id: no, tools: rm}\nalerts:\n  - {name: high, condition: block_rate > 30% over 10 minute window, action: notify orchestrator}\n",
    );
    let service = fixture.serve();
    for _ in 0..6 {
        service.post("/v1/decide", call("s", "rm"), &Auth::Anonymous).good();
    }
    let alerts = service.get("/v1/alerts", &Auth::Anonymous).good();
    assert_eq!((&alerts["items"][0]["name"], &alerts["items"][0]["value"]), (&json!("high"), &json!(1.0)));
    let notices = service.get("/v1/notices?limit=1", &Auth::Anonymous).good();
    assert_eq!(notices["items"][0]["to"], "orchestrator");
    let next = notices["next"].as_str().unwrap();
    let rest = service.get(&format!("/v1/notices?after={next}"), &Auth::Anonymous).good();
    assert_eq!(rest["items"], json!([]));
}
