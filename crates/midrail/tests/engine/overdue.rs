//! Reviews that are not filed in time: recorded once, by the first of two engines on one SQLite file.

use std::sync::Arc;
use std::thread;

use midrail::admin::Person;
use midrail::approvals::{BypassRequest, due_approvals};
use midrail::store::{Approval, ApprovalFilter, AuditFilter, Urgency};
use midrail::{Effect, Engine, Event, EventKind};
use serde_json::{Value, json};

use crate::shared_store::{SharedStore, notices};

const PACK: &str = "
pack: ops
approvals:
  emergency: {only_for: \"tool.name == 'stop_service'\", wait: 60s, review_within: 24h}
guardrails:
  - {id: calm, tools: stop_service, effect: block, bypass: {allowed: true, requires_approval: reviewer}}
";

const DAY: f64 = 24.0 * 60.0 * 60.0;

fn stop(service: &str) -> Event {
    Event::before_tool("stop_service", json!({"service": service})).in_session("of-ops")
}

/// A call that an emergency lets pass, for which a review is owed from now on.
fn emergency(shared: &SharedStore, engine: &Engine, service: &str) -> Approval {
    let seq = engine.decide(stop(service)).audit.0.unwrap().seq;
    let reason = format!("The {service} fills the disk and must stop");
    let asked = engine
        .approvals()
        .request(&BypassRequest { seq, guardrail: None, reason, urgency: Urgency::Emergency })
        .unwrap();
    shared.clock.advance(60.0);
    assert_eq!(engine.decide(stop(service)).effects, ["emergency_override"]);
    engine.approvals().get(&asked.id).unwrap()
}

/// The records of overdue reviews.
fn records(shared: &SharedStore) -> Vec<Value> {
    use midrail::store::AuditLog;
    let filter = AuditFilter { kind: Some(EventKind::Administered), ..AuditFilter::default() };
    let entries = shared.store().entries(&filter).unwrap();
    let bodies = entries.iter().map(|entry| serde_json::from_str::<Value>(&entry.body).unwrap());
    bodies.filter(|body| body["event"]["what"] == json!("review_overdue")).collect()
}

fn notice_messages(shared: &SharedStore) -> Vec<String> {
    let notice_messages = notices(&shared.store(), "approval").into_iter();
    notice_messages.filter(|notice| notice.message.contains("overdue")).map(|notice| notice.to).collect()
}

fn file(engine: &Engine, id: &str) {
    let ann = Person::authenticated("ann", ["architect"]);
    let text = "The importer had filled the disk; stopping it was right, and it has a quota now.";
    engine.approvals().review(id, &ann, text).unwrap();
}

#[test]
fn overdue_review_is_recorded_once_by_many_processes() {
    let shared = SharedStore::new();
    let (agent, service) = (shared.engine(PACK), shared.engine(PACK));
    let owed = emergency(&shared, &agent, "importer");
    shared.clock.advance(DAY - 1.0);
    assert_eq!(service.approvals().settle_all().unwrap(), 0);
    agent.decide(stop("web"));
    assert!(records(&shared).is_empty() && notice_messages(&shared).is_empty());

    shared.clock.advance(1.0);
    let looks: Vec<Arc<Engine>> = (0..4).map(|_| shared.engine(PACK)).chain([agent, service]).collect();
    thread::scope(|scope| {
        for (at, engine) in looks.iter().enumerate() {
            let id = &owed.id;
            scope.spawn(move || match at % 3 {
                // A decision of any session checks, and so does a list of requests.
                0 => drop(engine.decide(Event::before_tool("ls", json!({})).in_session("another"))),
                1 => drop(engine.approvals().settle_all().unwrap()),
                _ => drop(engine.approvals().settle(id).unwrap()),
            });
        }
    });
    let records = records(&shared);
    assert_eq!(records.len(), 1, "{records:#?}");
    let due = owed.review.as_ref().unwrap().due.to_string();
    assert_eq!(records[0]["event"]["due"], json!(due));
    assert_eq!(records[0]["event"]["severity"], json!("critical"));
    assert_eq!(records[0]["event"]["approval"]["id"], json!(owed.id));
    assert_eq!(records[0]["decision"]["metadata"]["severity"], json!("critical"));
    assert_eq!(records[0]["session"], json!("of-ops"));
    assert_eq!(notice_messages(&shared), ["architect", "human_operator"]);

    // It is still due, and no further notice is sent.
    let engine = &looks[0];
    assert_eq!(engine.approvals().settle_all().unwrap(), 0);
    assert!(due_approvals(&**engine.store(), shared.clock_now()).unwrap().is_empty());
    let rows = ApprovalFilter { needs_review: true, ..ApprovalFilter::default() };
    assert_eq!(engine.store().approvals(&rows).unwrap().len(), 1);
    file(engine, &owed.id);
    shared.clock.advance(DAY);
    assert_eq!(engine.approvals().settle_all().unwrap(), 0);
    assert_eq!(notice_messages(&shared).len(), 2);
}

#[test]
fn first_decision_of_any_session_records_it() {
    let shared = SharedStore::new();
    let first = emergency(&shared, &shared.engine(PACK), "importer");
    let second = emergency(&shared, &shared.engine(PACK), "exporter");
    file(&shared.engine(PACK), &second.id);
    shared.clock.advance(2.0 * DAY);
    let passes = shared.engine(PACK).decide(Event::before_tool("ls", json!({})).in_session("another"));
    assert_eq!(passes.effect, Effect::Allow);
    let ids: Vec<Value> =
        records(&shared).iter().map(|record| record["event"]["approval"]["id"].clone()).collect();
    assert_eq!(ids, [json!(first.id)], "one that was filed in time is none");
}

#[test]
fn unnoted_review_is_found_when_approvals_are_settled() {
    use midrail::store::Slices;
    let shared = SharedStore::new();
    let engine = shared.engine(PACK);
    let owed = emergency(&shared, &engine, "importer");
    // As a store of an earlier version has it.
    let noted = shared.store().load("any", &["shared/owed_reviews"]).unwrap().remove(0).value;
    assert_eq!(noted, Some(json!({&*owed.id: owed.review.as_ref().unwrap().due.to_string()})));
    forget(&engine);
    shared.clock.advance(DAY);
    engine.decide(Event::before_tool("ls", json!({})).in_session("another"));
    assert!(records(&shared).is_empty(), "a decision goes by what is noted");
    let due = due_approvals(&**engine.store(), shared.clock_now()).unwrap();
    assert_eq!(due.iter().map(|due| due.id.as_str()).collect::<Vec<_>>(), [owed.id.as_str()]);
    assert_eq!(engine.approvals().settle_all().unwrap(), 1);
    assert_eq!((records(&shared).len(), engine.approvals().settle_all().unwrap()), (1, 0));
}

/// Removes the note of what is owed.
fn forget(engine: &Engine) {
    use midrail::store::Commit;
    let entry = engine.store().entry(1).unwrap().unwrap();
    let record = entry.record().unwrap();
    let mut commit = Commit::new(&record);
    commit.changes.remove("shared/owed_reviews");
    engine.store().commit(&commit).unwrap();
}
