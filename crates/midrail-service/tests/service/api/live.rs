//! What happens, as it happens.

use std::io::{BufRead, BufReader};

use midrail::admin::Person;
use serde_json::Value;

use crate::api::fixture::{ALL, Auth, Fixture, PACK, Service, call, event};

/// One event of a stream.
#[derive(Debug, Clone)]
struct StreamEvent {
    id: Option<u64>,
    name: String,
    data: Value,
}

/// A stream that is read event by event. Where it ends, there are no more.
struct Reader(std::io::Lines<BufReader<ureq::BodyReader<'static>>>);

impl Reader {
    fn open(service: &Service, query: &str, auth: &Auth) -> Self {
        let response = service.open("GET", &format!("/v1/live?{query}"), None, auth, None);
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Reader(BufReader::new(response.into_body().into_reader()).lines())
    }
}

impl Iterator for Reader {
    type Item = StreamEvent;

    fn next(&mut self) -> Option<StreamEvent> {
        let mut event = StreamEvent { id: None, name: String::new(), data: Value::Null };
        for line in self.0.by_ref().map_while(Result::ok) {
            match line.split_once(": ") {
                Some(("id", id)) => event.id = Some(id.parse().unwrap()),
                Some(("event", name)) => event.name = name.to_owned(),
                Some(("data", data)) => event.data = serde_json::from_str(data).unwrap(),
                _ if line.is_empty() && !event.name.is_empty() => return Some(event),
                _ => {}
            }
        }
        None
    }
}

#[test]
fn decisions_of_other_processes_arrive_in_order_and_complete() {
    let fixture = Fixture::new(PACK);
    let service = fixture.serve();
    let other = fixture.engine("default");
    // Record 1 is there before: the service has recorded its policy.
    let mut reader = Reader::open(&service, "", &Auth::Anonymous);
    // Records of all processes arrive in one order.
    for number in 0..20 {
        if number % 2 == 0 {
            other.decide(event("hook", "look"));
        } else {
            service.post("/v1/decide", call("http", "erase"), &Auth::Anonymous).good();
        }
    }
    let received: Vec<StreamEvent> = reader.by_ref().take(10).collect();
    assert!(received.iter().all(|event| event.name == "decision"), "{received:?}");
    assert_eq!(
        received.iter().filter_map(|event| event.id).collect::<Vec<_>>(),
        (2..=11).collect::<Vec<u64>>()
    );
    assert_eq!((&received[0].data["session"], &received[1].data["by"]), (&"hook".into(), &"never".into()));
    drop(reader);
    // A reader that reconnects with its last id continues there.
    let again = Reader::open(&service, "after=11", &Auth::Anonymous);
    let ids: Vec<u64> = again.take(10).filter_map(|event| event.id).collect();
    assert_eq!(ids, (12..=21).collect::<Vec<u64>>());
}

#[test]
fn stream_reports_requests_changes_and_alerts_by_filter() {
    let fixture = Fixture::new(
        "pack: t\nextends: none\nguardrails:\n  - {id: ask, tools: refund, effect: escalate, approver: reviewer}\n  - {id: no, tools: rm}\nalerts:\n  - {name: high, condition: block_rate > 30% over 10 minute window, action: notify orchestrator}\n",
    );
    let program = fixture.key(&["default"], None, &ALL);
    let key = fixture.person("default", "rita", &["reviewer"]);
    let service = fixture.serve();
    let rita = service.login("default", "rita", &key);
    let mut all = Reader::open(&service, "", &program);
    let mut blocks = Reader::open(&service, "at_least=block&session=s", &program);

    let asked = service.post("/v1/decide", call("s", "refund"), &program).good();
    let id = asked["approval"]["id"].as_str().unwrap();
    let event: Vec<StreamEvent> = all.by_ref().take(2).collect();
    // The id comes with the last event of a record.
    assert_eq!((event[0].name.as_str(), event[0].id), ("approval", None));
    assert_eq!((&event[0].data["approval"]["id"], &event[0].data["status"]), (&id.into(), &"pending".into()));
    assert_eq!((event[1].name.as_str(), event[1].id), ("decision", asked["audit"]["seq"].as_u64()));

    service.post(&format!("/v1/approvals/{id}/decide"), serde_json::json!({"approve": true}), &rita).good();
    let event = all.next().unwrap();
    assert_eq!((event.name.as_str(), &event.data["status"]), ("approval", &"approved".into()));
    assert_eq!(event.data["approval"].get("seal"), None);

    fixture.engine("default").session("s").set("x", 1).unwrap();
    let event = all.next().unwrap();
    assert_eq!((event.name.as_str(), &event.data["what"]), ("change", &"variable_set".into()));

    // Extra fields of an agent's event are not trusted as fields of the engine.
    let mut sly = call("s", "look");
    sly["approval"] = serde_json::json!({"id": id});
    sly["what"] = "paused".into();
    fixture.engine("default").decide(serde_json::from_value(sly).unwrap());
    let event = all.next().unwrap();
    assert_eq!(
        (event.name.as_str(), event.data.get("what"), event.data.get("approval")),
        ("decision", None, None)
    );

    for _ in 0..6 {
        service.post("/v1/decide", call("s", "rm"), &program).good();
        service.post("/v1/decide", call("t", "rm"), &program).good();
    }
    let event: Vec<StreamEvent> = all.by_ref().take(13).collect();
    let alerts: Vec<&StreamEvent> = event.iter().filter(|event| event.name == "alert").collect();
    assert_eq!(alerts.len(), 1, "{event:?}");
    assert_eq!(alerts[0].data["name"], "high");

    let received =
        blocks.by_ref().filter(|event| !matches!(event.name.as_str(), "passed" | "change" | "approval"));
    let received: Vec<StreamEvent> = received.take(6).collect();
    assert!(
        received.iter().all(|event| event.data["effect"] == "block" && event.data["session"] == "s"),
        "{received:?}"
    );
}

#[test]
fn streams_and_waits_end_with_the_service() {
    let fixture = Fixture::new(PACK);
    let mut service = fixture.serve();
    let asked = service.post("/v1/decide", call("s", "refund"), &Auth::Anonymous).good();
    let id = asked["approval"]["id"].as_str().unwrap().to_owned();
    let mut reader = Reader::open(&service, "after=1", &Auth::Anonymous);
    assert_eq!(reader.next().unwrap().name, "approval");
    assert_eq!(reader.next().unwrap().name, "decision");
    let url = service.url.clone();
    let waiting = std::thread::spawn(move || {
        ureq::get(format!("{url}/v1/approvals/{id}/wait?timeout_s=120")).call().unwrap().status()
    });
    // The one who waits is received of as soon as it listens; either way it is answered.
    service.post("/v1/decide", call("s", "look"), &Auth::Anonymous).good();
    assert_eq!(reader.next().unwrap().name, "decision");
    service.request_stop();
    let last = reader.next().unwrap();
    assert_eq!(last.name, "ended");
    assert!(reader.next().is_none());
    // A connection that came too late was refused; one that was taken is answered.
    if let Ok(status) = waiting.join() {
        assert_eq!(status, 200);
    }
}

#[test]
fn stream_ends_when_its_reader_is_removed() {
    let fixture = Fixture::new(PACK);
    let key = fixture.key(&["default"], None, &ALL);
    let other = fixture.key(&["default"], None, &ALL);
    let engine = fixture.engine("default");
    let ids: Vec<String> =
        engine.admin().list::<midrail::admin::ApiKey>().unwrap().into_iter().map(|key| key.id).collect();
    let (bob, cy) =
        (fixture.person("default", "bob", &["reviewer"]), fixture.person("default", "cy", &["reviewer"]));
    let service = fixture.serve();
    let (bob, cy) = (service.login("default", "bob", &bob), service.login("default", "cy", &cy));
    let mut readers = [&key, &bob, &cy].map(|auth| Reader::open(&service, "", auth));
    let mut stays = Reader::open(&service, "", &other);

    let root = Person::authenticated("root", ["human_operator", midrail::admin::ADMIN]);
    engine.admin().revoke_api_key(&ids[0], Some(&root)).unwrap();
    service.post("/v1/logout", Value::Null, &bob);
    engine.admin().revoke_approver("cy", Some(&root)).unwrap();
    for reader in &mut readers {
        let event: Vec<StreamEvent> = reader.by_ref().collect();
        assert_eq!(event.last().unwrap().name, "ended", "{event:?}");
    }
    service.post("/v1/decide", call("s", "look"), &other).good();
    assert!(stays.any(|event| event.name == "decision"));
}

#[test]
fn invalid_resume_position_is_rejected() {
    let fixture = Fixture::new(PACK);
    let service = fixture.serve();
    for query in ["after=x", "after=-1", "effect=some", "what=1"] {
        service.get(&format!("/v1/live?{query}"), &Auth::Anonymous).problem(400);
    }
}
