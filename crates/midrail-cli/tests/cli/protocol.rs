//! The paths of a request to lift a guardrail, between real processes, on a clock that is moved by hand: it needs the
//! program as it is built for tests.

#![cfg(debug_assertions)]

use std::process::{Child, Stdio};
use std::thread;

use jiff::{SignedDuration, Timestamp};
use midrail::SqliteStore;
use midrail::store::{AuditFilter, AuditLog, Notices};
use serde_json::{Value, json};

use crate::approvals::{call, check, request, with_key, world_of};
use crate::world::{Ended, World};

const PACK: &str = "pack: shop
extends: none
guardrails:
  - {id: friday, tools: deploy, effect: block, reason: It is Friday, bypass: {allowed: true, requires_approval: reviewer}}
  - {id: ask, tools: refund, effect: escalate, approver: reviewer}
";

const EMERGENCY: &str = "approvals: {emergency: {only_for: \"tool.args.service == 'importer'\", wait: 60s, review_within: 24h}}\n";

fn start() -> Timestamp {
    "2026-11-13T10:00:00Z".parse().unwrap()
}

fn after(minutes: i64) -> Timestamp {
    start() + SignedDuration::from_mins(minutes)
}

/// A world at ten o'clock on a Friday.
fn world(more: &str) -> World {
    let world = world_of(&format!("{PACK}{more}"));
    world.stand_at(start());
    world
}

/// Moves the clock to so many minutes after the start.
fn at(world: &World, minutes: i64) {
    world.stand_at(after(minutes));
}

fn deploy() -> Value {
    call("deploy", json!({"to": "prod"}))
}

/// The events of the audit log whose act has this name.
fn acts(world: &World, what: &str) -> Vec<Value> {
    let store = SqliteStore::open_read_only(world.default_store()).unwrap();
    let entries = store.entries(&AuditFilter::default()).unwrap();
    let events =
        entries.iter().map(|entry| serde_json::from_str::<Value>(&entry.body).unwrap()["event"].clone());
    events.filter(|event| event["what"] == json!(what)).collect()
}

/// The roles that were notified of requests, in order.
fn notified(world: &World) -> Vec<String> {
    let store = SqliteStore::open_read_only(world.default_store()).unwrap();
    let notices = store.notices(0, 1000).unwrap();
    notices.into_iter().filter(|notice| notice.kind == "approval").map(|notice| notice.to).collect()
}

fn due(event: &Value) -> Timestamp {
    event["due"].as_str().unwrap().parse().unwrap()
}

/// Several processes look at once.
fn all_look(world: &World) {
    let looks: [&[&str]; 4] =
        [&["approvals", "list"], &["stats"], &["notices"], &["approvals", "list", "--all"]];
    thread::scope(|scope| {
        for args in looks {
            scope.spawn(move || world.run(args).code(0));
        }
    });
}

#[test]
fn normal_request_allows_the_exact_call_once() {
    let world = world("");
    let id = request(&world, &check(&world, &deploy()).code(2), &[]);
    world.seconds(60);
    with_key(&world, "reviewer", &["approve", &id]).code(0);
    check(&world, &call("deploy", json!({"to": "prod", "force": true}))).code(2);
    check(&world, &deploy()).code(0);
    check(&world, &deploy()).code(2);
    let shown = world.run(&["approvals", "show", &id, "--json"]).code(0).json();
    assert_eq!((&shown["status"], &shown["used_at"]), (&json!("used"), &json!("2026-11-13T10:01:00Z")));
    assert_eq!(acts(&world, "approval_decided").len(), 1);
}

#[test]
fn normal_denied_stays_blocked() {
    let world = world("");
    let id = request(&world, &check(&world, &deploy()).code(2), &[]);
    with_key(&world, "reviewer", &["deny", &id, "--note", "not today"]).code(0);
    world.check(&deploy()).code(2).says("denied by reviewer-1");
    at(&world, 60);
    all_look(&world);
    assert_eq!(acts(&world, "approval_timed_out").len(), 0, "it was answered");
    world.run(&["approvals", "wait", &id]).code(3);
}

#[test]
fn unanswered_normal_request_times_out_without_denial() {
    let world = world("");
    let id = request(&world, &check(&world, &deploy()).code(2), &[]);
    at(&world, 14);
    all_look(&world);
    assert_eq!(acts(&world, "approval_timed_out").len(), 0);
    at(&world, 21);
    all_look(&world);
    let [over] = &acts(&world, "approval_timed_out")[..] else { panic!("it is recorded once") };
    assert_eq!(
        (due(over), &over["kind"], &over["time"]),
        (after(15), &json!("approval_decided"), &json!("2026-11-13T10:21:00Z"))
    );
    assert_eq!((&over["approval"]["id"], &over["approval"]["state"]), (&json!(id), &json!("expired")));
    assert_eq!(over["approval"].get("decided_by"), None);
    assert_eq!(notified(&world), ["reviewer", "orchestrator"]);
    world.run(&["approvals", "wait", &id]).code(4).says("– timed out");
    world.run(&["approvals", "list", "--state", "timed-out"]).code(0).says(&id);
    world.run(&["audit", "list", "--session", "s-1"]).code(0).says("timed out");
    world.run(&["log"]).code(0).says(&format!("no answer to {id}"));
    with_key(&world, "human_operator", &["approve", &id]).code(1).complains("is timed out");
    world.check(&deploy()).code(2).says("timed out with no answer");
    assert_eq!(acts(&world, "approval_timed_out").len(), 1);
    world.run(&["audit", "verify"]).code(0);
}

#[test]
fn urgent_request_moves_on_and_notifies_each_approver() {
    let world = world("");
    let id = request(&world, &check(&world, &deploy()).code(2), &["--urgency", "urgent"]);
    assert_eq!(notified(&world), ["reviewer"]);
    at(&world, 16);
    all_look(&world);
    let [moved] = &acts(&world, "approval_moved_on")[..] else { panic!("it is recorded once") };
    assert_eq!(
        (due(moved), &moved["from"], &moved["to"]),
        (after(15), &json!("reviewer"), &json!("architect"))
    );
    assert_eq!(notified(&world), ["reviewer", "architect"]);
    with_key(&world, "reviewer", &["approve", &id]).code(1).complains("is for the role `architect`");
    world.run(&["approvals", "list", "--mine-role", "architect"]).code(0).says(&id);

    // A decision of the session settles it, as a list of requests does.
    at(&world, 31);
    world.check(&call("read", json!({}))).code(0);
    assert_eq!(acts(&world, "approval_moved_on").iter().map(due).collect::<Vec<_>>(), [after(15), after(30)]);
    assert_eq!(notified(&world), ["reviewer", "architect", "human_operator"]);
    with_key(&world, "architect", &["approve", &id]).code(1).complains("is for the role `human_operator`");

    at(&world, 45);
    world.check(&deploy()).code(2).says("timed out with no answer");
    let over = acts(&world, "approval_timed_out");
    assert_eq!(over.iter().map(due).collect::<Vec<_>>(), [after(45)]);
    with_key(&world, "human_operator", &["approve", &id]).code(1).complains("is timed out");
}

#[test]
fn urgent_request_is_approved_by_its_last_recipient() {
    let world = world("");
    let id = request(&world, &check(&world, &deploy()).code(2), &["--urgency", "urgent"]);
    at(&world, 44);
    with_key(&world, "human_operator", &["approve", &id]).code(0);
    // Who answers puts on record how it came to them.
    assert_eq!(acts(&world, "approval_moved_on").len(), 2);
    check(&world, &deploy()).code(0);
    check(&world, &deploy()).code(2);
}

#[test]
fn overdue_requests_are_recorded_with_their_due_times() {
    let world = world("");
    request(&world, &check(&world, &deploy()).code(2), &["--urgency", "urgent"]);
    at(&world, 600);
    all_look(&world);
    assert_eq!(acts(&world, "approval_moved_on").iter().map(due).collect::<Vec<_>>(), [after(15), after(30)]);
    assert_eq!(acts(&world, "approval_timed_out").iter().map(due).collect::<Vec<_>>(), [after(45)]);
    assert_eq!(notified(&world), ["reviewer", "orchestrator"], "earlier recipients get no further notices");
}

#[test]
fn urgent_escalation_restarts_the_deadlines() {
    let world = world("");
    let held = check(&world, &call("refund", json!({"order": 7}))).code(2);
    at(&world, 20);
    let id = request(&world, &held, &["--urgency", "urgent"]);
    at(&world, 34);
    with_key(&world, "reviewer", &["show", &id]);
    assert_eq!(acts(&world, "approval_moved_on").len(), 0);
    at(&world, 36);
    with_key(&world, "reviewer", &["approve", &id]).code(1).complains("is for the role `architect`");
    with_key(&world, "architect", &["approve", &id]).code(0);
    check(&world, &call("refund", json!({"order": 7}))).code(0);
}

#[test]
fn unused_approval_expires() {
    let world = world("");
    let id = request(&world, &check(&world, &deploy()).code(2), &[]);
    with_key(&world, "reviewer", &["approve", &id]).code(0);
    at(&world, 20);
    all_look(&world);
    assert_eq!(acts(&world, "approval_lapsed").iter().map(due).collect::<Vec<_>>(), [after(15)]);
    world.check(&deploy()).code(2).says("timed out before it was used");
    world.run(&["approvals", "wait", &id]).code(4);
}

#[test]
fn call_that_finds_an_expired_approval_records_it() {
    let world = world("");
    let id = request(&world, &check(&world, &deploy()).code(2), &[]);
    with_key(&world, "reviewer", &["approve", &id]).code(0);
    at(&world, 20);
    world.check(&deploy()).code(2).says("timed out before it was used");
    assert_eq!(acts(&world, "approval_lapsed").iter().map(due).collect::<Vec<_>>(), [after(15)]);
}

#[test]
fn emergency_override_allows_once_and_requires_a_review() {
    let world = world(EMERGENCY);
    let stop = call("deploy", json!({"service": "importer"}));
    let id = request(&world, &check(&world, &stop).code(2), &["--urgency", "emergency"]);
    assert_eq!(notified(&world), ["reviewer", "architect", "human_operator"], "all know at once");
    world.run(&["approvals", "list"]).code(0).says("to override");
    world.seconds(59);
    check(&world, &stop).code(2);
    world.seconds(1);
    world.run(&["approvals", "wait", &id]).code(0).says("! override");
    // One that stops no harm waits for a person.
    let other = request(&world, &check(&world, &deploy()).code(2), &["--urgency", "emergency"]);
    world.seconds(61);
    check(&world, &deploy()).code(2);
    check(&world, &stop).code(0);
    check(&world, &stop).code(2);
    let shown = world.run(&["approvals", "show", &id, "--json"]).code(0).json();
    assert_eq!((&shown["status"], &shown["severity"]), (&json!("used"), &json!("critical")));
    assert_eq!(shown["review_status"], json!("due"));
    world.run(&["approvals", "list"]).code(0).says("review due within");
    let soon = world.run(&["approvals", "list", "--overdue"]).code(0).says("no review is overdue");
    assert!(!soon.out.contains("review due within"), "{}", soon.out);
    let owed = world.run(&["approvals", "list", "--json"]).code(0).json_lines();
    assert_eq!((&owed[0]["id"], &owed[0]["review_status"]), (&json!(id), &json!("due")), "{owed:#?}");
    let reviews = |status: &str| {
        let text = world.run(&["stats", "--prometheus"]).code(0).out;
        let line = format!("emergency_reviews{{status=\"{status}\"}} ");
        text.lines().find_map(|it| it.strip_prefix(&line).map(str::to_owned))
    };
    assert_eq!((reviews("due").as_deref(), reviews("overdue").as_deref()), (Some("1"), Some("0")));
    assert_eq!(acts(&world, "review_overdue").len(), 0);
    at(&world, 26 * 60);
    all_look(&world);
    world.check(&call("read", json!({}))).code(0);
    let overdue = acts(&world, "review_overdue");
    assert_eq!((overdue.len(), &overdue[0]["severity"]), (1, &json!("critical")), "{overdue:#?}");
    world.run(&["notices"]).code(0).says("is overdue: file it with");
    world.run(&["approvals", "list"]).code(0).says("review overdue by");
    assert_eq!(world.run(&["approvals", "list", "--overdue", "--json"]).json_lines().len(), 1);
    assert_eq!((reviews("due").as_deref(), reviews("overdue").as_deref()), (Some("0"), Some("1")));
    let text = "The importer had run away; stopping it was right, and a limit follows.";
    with_key(&world, "reviewer", &["review", &id, "--text", text]).code(1).complains("cannot review");
    with_key(&world, "architect", &["review", &id, "--text", text]).code(0);
    world.run(&["approvals", "list", "--overdue"]).code(0).says("no review is overdue");
    world.run(&["approvals", "wait", &other]).code(4);
}

#[test]
fn emergency_is_a_normal_request_unless_enabled() {
    let world = world("");
    let stop = call("deploy", json!({"service": "importer"}));
    let id = request(&world, &check(&world, &stop).code(2), &["--urgency", "emergency"]);
    world.seconds(120);
    check(&world, &stop).code(2);
    world.run(&["approvals", "wait", &id, "--timeout", "0s"]).code(5);
    at(&world, 15);
    world.check(&stop).code(2).says("timed out");
}

#[test]
fn earlier_event_does_not_reuse_an_expired_override() {
    let world = world(EMERGENCY);
    let mut stop = call("deploy", json!({"service": "importer"}));
    let id = request(&world, &check(&world, &stop).code(2), &["--urgency", "emergency"]);
    at(&world, 20);
    world.run(&["approvals", "show", &id]).code(0).says("timed out");
    stop["time"] = json!("2026-11-13T10:05:00Z");
    check(&world, &stop).code(2);
}

#[test]
fn own_requests_cannot_be_answered() {
    let world = world("");
    let mut own = deploy();
    own["agent"]["id"] = json!("reviewer-1");
    let id = request(&world, &check(&world, &own).code(2), &[]);
    with_key(&world, "reviewer", &["approve", &id]).code(1).complains("cannot answer it");
    with_key(&world, "architect", &["approve", &id]).code(0);
}

#[test]
fn concurrent_answers_to_an_urgent_request_have_one_winner() {
    let world = world("");
    for minutes in [0, 60, 120] {
        at(&world, minutes);
        let id = request(&world, &check(&world, &deploy()).code(2), &["--urgency", "urgent"]);
        at(&world, minutes + 15);
        let codes = thread::scope(|scope| {
            let one = scope.spawn(|| with_key(&world, "architect", &["approve", &id]).code);
            let other = scope.spawn(|| with_key(&world, "human_operator", &["approve", &id]).code);
            let look = scope.spawn(|| world.run(&["approvals", "list"]).code(0).code);
            look.join().unwrap();
            [one.join().unwrap(), other.join().unwrap()]
        });
        assert_eq!(codes.iter().sum::<i32>(), 1, "{codes:?}");
        check(&world, &deploy()).code(0);
    }
    assert_eq!(acts(&world, "approval_moved_on").len(), 3);
    assert_eq!(acts(&world, "approval_decided").len(), 3);
}

#[test]
fn running_stream_settles_due_requests() {
    let world = world("");
    request(&world, &check(&world, &deploy()).code(2), &["--urgency", "urgent"]);
    let mut command = world.command(&["check", "--stream"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    at(&world, 16);
    let found = (0..100_000).any(|_| !acts(&world, "approval_moved_on").is_empty());
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(found, "the request did not move on");
    assert_eq!(notified(&world), ["reviewer", "architect"]);
}

#[test]
fn wait_ends_with_the_answer() {
    let world = world_of(PACK);
    for order in 0..2 {
        world.write("event.json", call("refund", json!({"order": order})).to_string());
        let mut command = world.command(&["check", "--json", "--wait", "60s", "event.json"]);
        let child: Child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let pending = || world.run(&["approvals", "list", "--json"]).json_lines();
        let id = (0..500).find_map(|_| pending().first().map(|row| row["id"].as_str().unwrap().to_owned()));
        with_key(&world, "reviewer", &["approve", &id.unwrap()]).code(0);
        Ended::from(child.wait_with_output().unwrap()).code(0);
        let store = SqliteStore::open_read_only(world.default_store()).unwrap();
        let newest = AuditFilter { newest_first: true, limit: Some(2), ..AuditFilter::default() };
        let [passed, answered] = &store.entries(&newest).unwrap()[..] else { panic!("both are recorded") };
        assert_eq!((&*passed.labels.effect, &*answered.labels.kind), ("allow", "approval_decided"));
    }
}

#[test]
fn lists_are_empty_before_the_first_decision() {
    let world = World::new();
    for args in [
        &["approvals", "list"][..],
        &["approver", "list"],
        &["audit", "list"],
        &["locks", "list"],
        &["notices"],
        &["quarantine", "list"],
        &["tasks", "list"],
    ] {
        let ended = world.run(args).code(0);
        assert_eq!((ended.out.lines().count(), &*ended.err), (1, ""), "{args:?}: {}", ended.out);
        let json = world.run(&[args, &["--json"]].concat()).code(0);
        assert_eq!(json.out, "", "{args:?}");
    }
    assert!(!world.default_store().exists(), "looking makes no store");
}
