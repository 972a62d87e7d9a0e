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

/// The commands of a pack that another process stored are not run here.
#[test]
fn commands_of_stored_policies_do_not_run() {
    let fixture = Fixture::new(PACK);
    let key = fixture.person("default", "rita", &["reviewer"]);
    let service = fixture.serve();
    let rita = service.login("default", "rita", &key);
    let (mark, foreign) = (fixture.path().join("mark"), fixture.path().join("foreign.yaml"));
    let notify = format!("notify:\n  orchestrator: {{command: \"touch {}\"}}\n", mark.display());
    fs::write(&foreign, format!("{PACK}{notify}")).unwrap();
    // Another process escalates under a policy of its own, whose packs it stores.
    let other = fixture.engine_with("default", &foreign);
    let id = other.decide(event("s", "refund")).approval.unwrap().id;
    assert!(other.store().policy(other.policy().revision()).unwrap().unwrap().contains("touch"));
    let answer = json!({"approve": true, "note": "once"});
    service.post(&format!("/v1/approvals/{id}/decide"), answer, &rita).good();
    // Stopping the service waits for its deliveries.
    drop(service);
    assert!(!mark.exists(), "a command of another process was run");
    // In the process whose own pack has the command, it runs.
    assert!(other.background().deliver_notices() > 0);
    assert!(mark.exists());
}

#[test]
fn flood_of_requests_is_limited_and_grouped() {
    let pack = format!("{PACK}approvals: {{waiting_per_session: 6, waiting_per_agent: 9}}\n");
    let fixture = Fixture::new(&pack);
    let program = fixture.key(&["default"], None, &ALL);
    let key = fixture.person("default", "rita", &["reviewer"]);
    let service = fixture.serve();
    let rita = service.login("default", "rita", &key);
    let refund = |session: &str, number: usize| {
        let mut event = call(session, "refund");
        event["tool"]["args"]["n"] = json!(number);
        service.post("/v1/decide", event, &program).good()
    };
    // However many arrive at the same time, no more than the limit wait.
    let effects: Vec<Value> = thread::scope(|scope| {
        let threads: Vec<_> = (0..40).map(|number| scope.spawn(move || refund("s", number))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let escalated = effects.iter().filter(|decision| decision["effect"] == "escalate").count();
    assert_eq!(escalated, 6, "{effects:?}");
    let blocked = effects.iter().find(|decision| decision["effect"] == "block").unwrap();
    let reason = blocked["reason"].as_str().unwrap();
    assert!(reason.contains("6 requests of this session wait for an answer"), "{reason}");
    // The agent has a limit of its own in all of its sessions.
    let more: Vec<Value> = (0..6).map(|number| refund(&format!("t-{number}"), number)).collect();
    assert_eq!(more.iter().filter(|decision| decision["effect"] == "escalate").count(), 3, "{more:?}");
    assert!(more[5]["reason"].as_str().unwrap().contains("9 requests of this agent wait"), "{}", more[5]);
    // The approver gets fewer notices than requests, and one card for what is alike.
    let notices = service.get("/v1/notices?limit=1000", &rita).good();
    let notices = notices["items"].as_array().unwrap();
    let asked = notices.iter().filter(|notice| notice["kind"] == "approval").count();
    assert_eq!(asked, 4 + 3, "{notices:?}");
    let queue = service.get("/approvals/queue", &rita).text;
    assert_eq!(queue.matches("<article").count(), 1 + 3, "{queue}");
    assert!(queue.contains("6 alike") && queue.contains("Deny all 6"), "{queue}");
    // An answer makes room.
    let open = service.get("/v1/approvals?state=pending&session=s", &program).good();
    let id = open["items"][0]["id"].as_str().unwrap();
    service.post(&format!("/v1/approvals/{id}/decide"), json!({"approve": false}), &rita).good();
    assert_eq!(refund("s", 100)["effect"], "escalate");
    assert_eq!(refund("s", 101)["effect"], "block");
}

#[test]
fn requests_of_one_call_are_one_card_and_one_notice() {
    let more = "  - {id: money, tools: refund, effect: escalate, approver: reviewer, reason: It is money}\n";
    let fixture = Fixture::new(&format!("{PACK}{more}"));
    let program = fixture.key(&["default"], None, &ALL);
    let key = fixture.person("default", "rita", &["reviewer"]);
    let service = fixture.serve();
    let rita = service.login("default", "rita", &key);
    service.post("/v1/decide", call("s", "refund"), &program).good();
    let open = service.get("/v1/approvals?state=pending", &program).good();
    assert_eq!(open["items"].as_array().unwrap().len(), 2, "{open}");
    let queue = service.get("/approvals/queue", &rita).text;
    assert_eq!(queue.matches("<article").count(), 1, "{queue}");
    assert!(queue.contains("ask") && queue.contains("It is money"), "{queue}");
    let notices = service.get("/v1/notices", &rita).good();
    let asked: Vec<&Value> =
        notices["items"].as_array().unwrap().iter().filter(|notice| notice["kind"] == "approval").collect();
    assert_eq!(asked.len(), 1, "{notices}");
    assert_eq!(asked[0]["body"]["same_call"].as_array().unwrap().len(), 1, "{notices}");
    assert_eq!(service.get("/approvals/waiting", &rita).good()["waiting"], 1);
}

#[test]
fn losers_of_a_race_for_an_approval_learn_that_it_was_used() {
    let fixture = Fixture::new(PACK);
    let program = fixture.key(&["default"], None, &ALL);
    let key = fixture.person("default", "rita", &["reviewer"]);
    let service = fixture.serve();
    let rita = service.login("default", "rita", &key);
    for round in 0..10 {
        let session = format!("race-{round}");
        let request = || service.post("/v1/decide", call(&session, "refund"), &program).good();
        let id = request()["approval"]["id"].as_str().unwrap().to_owned();
        service.post(&format!("/v1/approvals/{id}/decide"), json!({"approve": true}), &rita).good();
        let decisions: Vec<Value> = thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(request)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let (won, lost): (Vec<&Value>, Vec<&Value>) =
            decisions.iter().partition(|decision| decision["effect"] == "allow");
        assert_eq!(won.len(), 1, "{decisions:?}");
        for decision in lost {
            assert_eq!(decision["effect"], "escalate", "{decision}");
            let reason = decision["reason"].as_str().unwrap();
            assert!(reason.contains(&format!("the approval {id} was used by another call")), "{reason}");
        }
    }
}
