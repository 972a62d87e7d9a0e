//! Locks, quarantine, tasks and pauses over HTTP.

use serde_json::json;

use crate::api::fixture::{ALL, Fixture, PACK};

#[test]
fn lock_has_one_holder_and_a_person_can_break_it() {
    let fixture = Fixture::new(PACK);
    let coder = fixture.key(&["default"], Some(&["coder"]), &ALL);
    let tester = fixture.key(&["default"], Some(&["tester"]), &ALL);
    let key = fixture.person("default", "rita", &["reviewer"]);
    let service = fixture.serve();
    let rita = service.login("default", "rita", &key);

    let take = |agent: &str| json!({"path": "/work/a.rs", "agent": agent, "session": "s", "lasts_s": 60});
    let lock = service.post("/v1/locks/take", take("coder"), &coder).good();
    assert_eq!((&lock["path"], &lock["actor"]), (&json!("/work/a.rs"), &json!("coder")));
    service.post("/v1/locks/take", take("coder"), &tester).problem(403);
    service.post("/v1/locks/take", take("tester"), &tester).problem(409);
    assert_eq!(service.get("/v1/locks", &rita).good()["items"][0]["session"], "s");
    assert_eq!(service.get("/v1/locks", &tester).good()["items"], json!([]));
    let release = |agent: &str| json!({"path": "/work/a.rs", "agent": agent});
    service.post("/v1/locks/release", release("tester"), &tester).problem(409);
    service.post("/v1/locks/release", release("coder"), &tester).problem(403);
    service.post("/v1/locks/release", release("coder"), &rita).problem(403);
    service.post("/v1/locks/release", release("coder"), &coder).good();
    assert_eq!(service.get("/v1/locks", &coder).good()["items"], json!([]));

    service.post("/v1/locks/take", take("tester"), &tester).good();
    service.post("/v1/locks/break", json!({"path": "/work/a.rs"}), &coder).problem(403);
    service.post("/v1/locks/break", json!({"path": "/work/a.rs"}), &rita).good();
    service.post("/v1/locks/break", json!({"path": "/work/a.rs"}), &rita).problem(409);
    for wrong in [
        json!({"path": "a.rs", "agent": "coder", "session": "s"}),
        json!({"path": "", "agent": "coder", "session": "s"}),
        json!({"path": "/a", "agent": "coder", "session": "s", "lasts_s": 0}),
        json!({"path": "/a", "agent": "coder"}),
    ] {
        service.post("/v1/locks/take", wrong, &coder).problem(422);
    }
}

#[test]
fn people_quarantine_agents_and_set_tasks() {
    let fixture = Fixture::new(PACK);
    let program = fixture.key(&["default"], None, &ALL);
    let keys = [
        fixture.person("default", "rita", &["reviewer"]),
        fixture.person("default", "hugo", &["human_operator"]),
    ];
    let service = fixture.serve();
    let rita = service.login("default", "rita", &keys[0]);
    let hugo = service.login("default", "hugo", &keys[1]);

    let named = json!({"actor": "coder", "reason": "It erased the wrong table"});
    service.post("/v1/quarantine", named.clone(), &program).problem(403);
    service.post("/v1/quarantine", named.clone(), &rita).good();
    service.post("/v1/quarantine", named.clone(), &rita).problem(409);
    assert_eq!(service.get("/v1/quarantine", &program).good()["items"][0]["actor"], "coder");
    let stopped = service.post("/v1/decide", crate::api::fixture::call("s", "look"), &program).good();
    assert_eq!(stopped["effect"], "block");
    service.post("/v1/quarantine/lift", named.clone(), &program).problem(403);
    service.post("/v1/quarantine/lift", named.clone(), &rita).problem(403);
    service.post("/v1/quarantine/lift", named, &hugo).good();
    assert_eq!(service.get("/v1/quarantine", &program).good()["items"], json!([]));

    service.post("/v1/tasks", json!({"task": "t-1", "status": "suspended"}), &program).problem(403);
    service.post("/v1/tasks", json!({"task": "t-1", "status": "suspended"}), &rita).good();
    service.post("/v1/tasks", json!({"task": "t-1", "status": "draft"}), &rita).problem(409);
    service.post("/v1/tasks", json!({"task": "t-1", "status": "lost"}), &rita).problem(422);
    let tasks = service.get("/v1/tasks", &program).good();
    assert_eq!(
        (&tasks["items"][0]["status"], &tasks["items"][0]["by"]),
        (&json!("suspended"), &json!("rita"))
    );
    assert_eq!(service.get("/v1/pauses", &program).good()["items"], json!([]));
}

#[test]
fn halted_runs_are_listed_and_lifted() {
    let fixture =
        Fixture::new("pack: t\nguardrails:\n  - {id: end, tools: burn, effect: halt, reason: It burns}\n");
    let program = fixture.key(&["default"], None, &ALL);
    let narrow = fixture.key(&["default"], Some(&["other"]), &ALL);
    let key = fixture.person("default", "hugo", &["human_operator"]);
    let service = fixture.serve();
    let hugo = service.login("default", "hugo", &key);
    assert_eq!(service.get("/v1/quarantine", &program).good(), json!({"items": [], "halted": []}));
    let halted = service.post("/v1/decide", crate::api::fixture::call("s-1", "burn"), &program).good();
    assert_eq!(halted["effect"], "halt");
    service.post("/v1/decide", crate::api::fixture::call("s-2", "look"), &program).good();

    let listed = service.get("/v1/quarantine", &program).good();
    assert_eq!(listed["halted"], json!([{"session": "s-1", "by": "end", "reason": "It burns"}]));
    assert_eq!(service.get("/v1/quarantine", &narrow).good()["halted"], json!([]));
    let lift = |run: &str| json!({"run": run, "reason": "The fire is out"});
    service.post("/v1/quarantine/lift", lift("s-1"), &program).problem(403);
    service.post("/v1/quarantine/lift", lift("s-2"), &hugo).problem(409);
    service.post("/v1/quarantine/lift", json!({"reason": "The fire is out"}), &hugo).problem(422);
    service.post("/v1/quarantine/lift", lift("s-1"), &hugo).good();
    assert_eq!(service.get("/v1/quarantine", &program).good()["halted"], json!([]));
    let goes_on = service.post("/v1/decide", crate::api::fixture::call("s-1", "look"), &program).good();
    assert_eq!(goes_on["effect"], "allow");
}
