//! Requests to people over HTTP.

use std::fs;
use std::thread;

use serde_json::{Value, json};

use crate::api::fixture::{ALL, Auth, Fixture, PACK, call, event};

#[test]
fn escalation_is_awaited_answered_and_used_once() {
    let fixture = Fixture::new(PACK);
    let program = fixture.key(&["default"], None, &ALL);
    let key = fixture.person("default", "rita", &["reviewer"]);
    let service = fixture.serve();
    let rita = service.login("default", "rita", &key);

    service.post("/v1/decide", call("s", "look"), &program).good();
    let requested = service.post("/v1/decide", call("s", "refund"), &program).good();
    assert_eq!(requested["effect"], "escalate");
    let id = requested["approval"]["id"].as_str().unwrap().to_owned();

    let open = service.get("/v1/approvals?state=pending&session=s", &program).good();
    assert_eq!((&open["items"][0]["id"], &open["items"][0]["status"]), (&json!(id), &json!("pending")));
    let none = service.get("/v1/approvals?state=denied", &program).good();
    assert_eq!(none["items"], json!([]));

    let shown = service.get(&format!("/v1/approvals/{id}"), &rita).good();
    assert_eq!(shown["authority"], "reviewer");
    assert_eq!(shown["may_answer"], json!(["reviewer", "architect", "human_operator"]));
    assert_eq!(shown["can"], json!({"answer": true, "take_back": false, "review": false}));
    assert_eq!(shown["asked_by"]["record"]["event"]["tool"]["name"], "refund");
    assert_eq!(shown["before"][0]["tool"], "look");
    let to_program = service.get(&format!("/v1/approvals/{id}"), &program).good();
    assert_eq!(to_program["can"]["answer"], false);

    // A key for other agents does not learn that it is there.
    let narrow = fixture.key(&["default"], Some(&["other"]), &ALL);
    service.get(&format!("/v1/approvals/{id}"), &narrow).problem(404);
    service.get(&format!("/v1/approvals/{id}/wait?timeout_s=0"), &narrow).problem(404);
    // One request that does not wait, and one that waits for the answer.
    let now = service.get(&format!("/v1/approvals/{id}/wait?timeout_s=0"), &program).good();
    assert_eq!(now["status"], "pending");
    let answered = thread::scope(|scope| {
        let waiting =
            scope.spawn(|| service.get(&format!("/v1/approvals/{id}/wait?timeout_s=60"), &program).good());
        let answer = json!({"approve": true, "note": "once"});
        let answered = service.post(&format!("/v1/approvals/{id}/decide"), answer, &rita).good();
        assert_eq!(
            (&answered["decided_by"], &answered["decided_role"]),
            (&json!("rita"), &json!("reviewer"))
        );
        assert_eq!(answered.get("seal"), None);
        waiting.join().unwrap()
    });
    assert_eq!((&answered["status"], &answered["note"]), (&json!("approved"), &json!("once")));

    let again = service.post("/v1/decide", call("s", "refund"), &program).good();
    assert_eq!(again["effect"], "allow");
    let used = service.get(&format!("/v1/approvals/{id}"), &rita).good();
    assert_eq!((&used["status"], &used["may_answer"]), (&json!("used"), &json!([])));
    service.post(&format!("/v1/approvals/{id}/decide"), json!({"approve": false}), &rita).problem(409);
    service.post(&format!("/v1/approvals/{id}/review"), json!({"text": "x"}), &rita).problem(409);
    assert_eq!(service.post("/v1/decide", call("s", "refund"), &program).good()["effect"], "escalate");
}

#[test]
fn bypass_request_is_answered_by_the_required_role() {
    let fixture = Fixture::new(PACK);
    let program = fixture.key(&["default"], Some(&["coder"]), &ALL);
    let stranger = fixture.key(&["default"], Some(&["tester"]), &ALL);
    let keys =
        [fixture.person("default", "rita", &["reviewer"]), fixture.person("default", "arne", &["architect"])];
    let service = fixture.serve();
    let rita = service.login("default", "rita", &keys[0]);
    let arne = service.login("default", "arne", &keys[1]);

    let stopped = service.post("/v1/decide", call("s", "deploy"), &program).good();
    let seq = stopped["audit"]["seq"].as_u64().unwrap();
    let request =
        json!({"decision": seq, "reason": "The login outage needs this hotfix", "urgency": "urgent"});
    service.post("/v1/approvals", request.clone(), &stranger).problem(403);
    service
        .post("/v1/approvals", json!({"decision": seq, "reason": "please approve"}), &program)
        .problem(422);
    let nothing =
        json!({"decision": seq, "guardrail": "ask", "reason": "The login outage needs this hotfix"});
    service.post("/v1/approvals", nothing, &program).problem(422);
    // A guardrail that cannot be bypassed is forbidden, not a conflict.
    let erased = service.post("/v1/decide", call("s", "erase"), &program).good()["audit"]["seq"].clone();
    let never = json!({"decision": erased, "reason": "The login outage needs this hotfix"});
    service.post("/v1/approvals", never, &program).problem(403);
    service
        .post("/v1/approvals", json!({"decision": 9999, "reason": "The login outage"}), &program)
        .problem(404);
    let answer = service.post("/v1/approvals", request.clone(), &program);
    assert_eq!(answer.status, 201, "{}", answer.text);
    let requested = answer.json();
    assert_eq!((&requested["kind"], &requested["authority"]), (&json!("bypass"), &json!("architect")));
    // A repeated request returns the pending one.
    assert_eq!(service.post("/v1/approvals", request, &program).json()["id"], requested["id"]);
    let id = requested["id"].as_str().unwrap();

    let cannot = service.get(&format!("/v1/approvals/{id}"), &rita).good();
    assert_eq!(cannot["can"]["answer"], false);
    assert!(cannot["can"]["why_not"].as_str().unwrap().contains("architect"), "{cannot}");
    service.post(&format!("/v1/approvals/{id}/decide"), json!({"approve": true}), &rita).problem(403);
    service.post(&format!("/v1/approvals/{id}/decide"), json!({"approve": true}), &program).problem(403);
    service.get(&format!("/v1/approvals/{id}/wait?timeout_s=0"), &stranger).problem(404);
    service.get(&format!("/v1/approvals/{id}/wait?timeout_s=121"), &program).problem(400);
    let denied = json!({"approve": false, "note": "not on a Friday"});
    service.post(&format!("/v1/approvals/{id}/decide"), denied, &arne).good();
    let report = service.get(&format!("/v1/approvals/{id}/wait"), &program).good();
    assert_eq!((&report["status"], &report["note"]), (&json!("denied"), &json!("not on a Friday")));
}

#[test]
fn unused_approval_is_revoked_by_its_approvers() {
    let fixture = Fixture::new(PACK);
    let program = fixture.key(&["default"], None, &ALL);
    let keys = [
        fixture.person("default", "rita", &["reviewer"]),
        fixture.person("default", "arne", &["architect"]),
        fixture.person("default", "olga", &["tester"]),
    ];
    let service = fixture.serve();
    let people = [("rita", &keys[0]), ("arne", &keys[1]), ("olga", &keys[2])];
    let [rita, arne, olga] = people.map(|(name, key)| service.login("default", name, key));
    let requested = service.post("/v1/decide", call("s", "refund"), &program).good();
    let place = format!("/v1/approvals/{}", requested["approval"]["id"].as_str().unwrap());
    service.post(&format!("{place}/decide"), json!({"approve": true}), &rita).good();
    let can = |auth: &Auth| service.get(&place, auth).good()["can"]["take_back"].clone();
    assert_eq!(
        [can(&rita), can(&arne), can(&olga), can(&program)],
        [true, true, false, false].map(Value::from)
    );
    service.post(&format!("{place}/decide"), json!({"approve": false}), &olga).problem(403);
    let no = json!({"approve": false, "note": "not today"});
    let back = service.post(&format!("{place}/decide"), no.clone(), &arne).good();
    assert_eq!((&back["status"], &back["taken_back"]["by"]), (&json!("denied"), &json!("rita")));
    assert_eq!(can(&rita), false);
    service.post(&format!("{place}/decide"), no, &rita).problem(409);
    assert_ne!(service.post("/v1/decide", call("s", "refund"), &program).good()["effect"], "allow");
}

#[test]
fn request_is_answered_under_its_own_policy() {
    let fixture = Fixture::new(PACK);
    let keys =
        [fixture.person("default", "rita", &["reviewer"]), fixture.person("default", "otto", &["owner"])];
    let service = fixture.serve();
    let rita = service.login("default", "rita", &keys[0]);
    let otto = service.login("default", "otto", &keys[1]);
    // A hook elsewhere works on the same store under a pack of its own.
    let pack = fixture.path().join("other.yaml");
    fs::write(
        &pack,
        "pack: other\nguardrails:\n  - {id: mine, tools: refund, effect: escalate, approver: owner}\n",
    )
    .unwrap();
    let decision = fixture.engine_with("default", &pack).decide(event("hook", "refund"));
    let id = decision.approval.unwrap().id;

    let shown = service.get(&format!("/v1/approvals/{id}"), &otto).good();
    assert_eq!((&shown["policy"], &shown["can"]["answer"]), (&json!(decision.policy), &json!(true)));
    service.post(&format!("/v1/approvals/{id}/decide"), json!({"approve": true}), &rita).problem(403);
    service.post(&format!("/v1/approvals/{id}/decide"), json!({"approve": true}), &otto).good();
}

#[test]
fn requests_are_paged_and_unknown_ones_are_not_found() {
    let fixture = Fixture::new(PACK);
    let service = fixture.serve();
    for number in 0..5 {
        let session = if number == 3 { "odd" } else { "even" };
        let mut event = call(session, "refund");
        event["tool"]["args"]["n"] = json!(number);
        service.post("/v1/decide", event, &Auth::Anonymous).good();
    }
    let all = |query: &str| {
        let (mut seen, mut after) = (Vec::<Value>::new(), String::new());
        loop {
            let page = service.get(&format!("/v1/approvals?{query}{after}"), &Auth::Anonymous).good();
            seen.extend(page["items"].as_array().unwrap().iter().map(|item| item["id"].clone()));
            let Some(next) = page["next"].as_str() else { return seen };
            after = format!("&after={next}");
        }
    };
    let whole = all("limit=1000");
    assert_eq!(whole.len(), 5);
    assert_eq!(all("limit=2"), whole);
    assert_eq!(all("limit=1&session=even").len(), 4);
    service.get("/v1/approvals?after=nothing", &Auth::Anonymous).problem(404);
    service.get("/v1/approvals?state=lost", &Auth::Anonymous).problem(400);
    service.get("/v1/approvals/nothing", &Auth::Anonymous).problem(404);
    service.get("/v1/approvals/nothing/wait", &Auth::Anonymous).problem(404);
}
