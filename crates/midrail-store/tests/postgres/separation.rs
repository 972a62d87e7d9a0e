//! Projects of one database do not see each other, in any method.

use std::collections::BTreeMap;
use std::time::Duration;

use midrail_store::{
    ActionCounts, Alert, Alerts, ApprovalChange, ApprovalFilter, ApprovalState, Approvals, ApproverChange,
    Approvers, AuditFilter, AuditLog, Commit, Keys, NewApprover, NewNotice, Notices, Policies, PostgresStore,
    Slice, Slices, Stats, Store, TrustAnchor,
};
use serde_json::json;

use crate::common::{at, blocked, record, request, verify};
use crate::{connect, server};

const KEY: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// Two projects that differ in nothing but what is done to them.
fn two() -> Option<(PostgresStore, PostgresStore)> {
    let home = connect()?;
    let name = server::unique("two");
    Some((home.project(&name), home.project(&format!("{name}/b"))))
}

/// Something of everything, under names that the other project has as well.
fn fill(store: &PostgresStore, who: &str) {
    let first = blocked("s", 1, "safety-001");
    let mut commit = Commit::new(&first);
    commit.changes.set("calls", who);
    commit.changes.set("shared/lock/a", who);
    let mut asked = request("r", "s", 1);
    asked.reason = who.to_owned();
    commit.approvals.push(ApprovalChange::create(asked));
    let roles = vec![who.to_owned()];
    commit.approvers.push(ApproverChange::Add(NewApprover {
        name: "ada".to_owned(),
        roles,
        key: KEY.to_owned(),
    }));
    commit.notices.push(notice(who));
    store.commit(&commit).unwrap();
    store.save_policy("sha256:1", who).unwrap();
    store.increment_counter("reloads", 1).unwrap();
    assert!(store.fire_alert(&alert(who), 600, &[]).unwrap());
}

fn notice(message: &str) -> NewNotice {
    NewNotice { to: "o".to_owned(), kind: "k".to_owned(), message: message.to_owned(), body: json!({}) }
}

fn alert(message: &str) -> Alert {
    let (name, key) = ("slow".to_owned(), String::new());
    Alert { name, key, fired_at: at(1), value: 1.0, message: message.to_owned() }
}

#[test]
fn an_empty_project_sees_nothing_of_a_full_one() {
    let Some((full, empty)) = two() else { return };
    fill(&full, "full");
    full.checkpoint_now(at(5)).unwrap();
    full.save_stats(&full.audit_stats().unwrap()).unwrap();
    assert_eq!(empty.load("s", &["calls", "shared/lock/a"]).unwrap(), [Slice::default(), Slice::default()]);
    assert_eq!(empty.load_prefix("s", "").unwrap(), BTreeMap::new());
    assert_eq!(empty.load_prefix("s", "shared/").unwrap(), BTreeMap::new());
    assert_eq!(empty.sessions().unwrap(), []);
    assert_eq!((empty.entry(1).unwrap(), empty.head().unwrap()), (None, None));
    let filter = AuditFilter {
        session: Some("s".to_owned()),
        guardrail: Some("safety-001".to_owned()),
        ..AuditFilter::default()
    };
    assert_eq!(
        (empty.entries(&AuditFilter::default()).unwrap(), empty.entries(&filter).unwrap()),
        (vec![], vec![])
    );
    assert_eq!(empty.wait_for_record(0, Duration::from_millis(1)).unwrap(), None);
    assert_eq!((empty.checkpoints(0, 9).unwrap(), empty.last_checkpoint().unwrap()), (vec![], None));
    assert_eq!((empty.public_keys().unwrap(), empty.checkpoint_now(at(9)).unwrap()), (vec![], None));
    assert_eq!((verify(&empty).records, verify(&full).records), (0, 1));
    let mut out = Vec::new();
    assert_eq!(empty.export(&AuditFilter::default(), &mut out).unwrap().shown, 0);
    assert!(!String::from_utf8(out).unwrap().contains("safety-001"));
    assert_eq!(empty.approval("r").unwrap(), None);
    assert_eq!(empty.approvals(&ApprovalFilter::default()).unwrap(), []);
    assert_eq!(empty.approval_counts().unwrap(), []);
    assert_eq!((empty.approvers().unwrap(), empty.approver("ada").unwrap()), (vec![], None));
    assert_eq!(empty.check_key("ada", KEY).unwrap(), None);
    assert_eq!((empty.notices(0, 9).unwrap(), empty.pending_deliveries("c", 9).unwrap()), (vec![], vec![]));
    assert!(!empty.claim_delivery(1, "c", at(9), 0).unwrap());
    empty.mark_delivered(1, "c", at(9)).unwrap();
    assert_eq!(
        full.pending_deliveries("c", 9).unwrap().len(),
        1,
        "what one delivers is not delivered for the other"
    );
    assert_eq!(empty.alerts(9).unwrap(), []);
    assert_eq!((empty.audit_stats().unwrap().decisions, empty.saved_stats().unwrap()), (0, None));
    assert_eq!(empty.audit_stats_since(at(0)).unwrap().decisions, 0);
    assert_eq!(
        (empty.action_counts(at(0)).unwrap(), empty.audit_stats_since(at(0)).unwrap().guardrails),
        (ActionCounts::default(), BTreeMap::new())
    );
    assert_eq!(empty.counters().unwrap(), BTreeMap::new());
    assert_eq!(empty.policy("sha256:1").unwrap(), None);
    assert_ne!(empty.fingerprint_key().unwrap(), full.fingerprint_key().unwrap());
    assert_ne!(empty.public_key().unwrap(), full.public_key().unwrap());
}

#[test]
fn equal_names_in_two_projects_are_independent() {
    let Some((a, b)) = two() else { return };
    for (store, who) in [(&a, "a"), (&b, "b")] {
        fill(store, who);
    }
    for (store, who) in [(&a, "a"), (&b, "b")] {
        let slices = store.load("s", &["calls", "shared/lock/a"]).unwrap();
        assert!(slices.iter().all(|slice| *slice == Slice { value: Some(json!(who)), version: 1 }));
        assert_eq!(store.approval("r").unwrap().unwrap().reason, who);
        assert_eq!(store.approvers().unwrap()[0].roles, [who]);
        assert_eq!(store.check_key("ada", KEY).unwrap().unwrap().roles, [who]);
        assert_eq!((store.notices(0, 9).unwrap()[0].id, &*store.notices(0, 9).unwrap()[0].message), (1, who));
        assert_eq!(store.alerts(9).unwrap()[0].message, who);
        assert_eq!(store.policy("sha256:1").unwrap().as_deref(), Some(who));
        assert_eq!(store.counters().unwrap()["reloads"], 1);
        assert_eq!((store.head().unwrap().unwrap().seq, store.sessions().unwrap()[0].records), (1, 1));
    }
    let names = a.projects().unwrap();
    assert!(names.contains(&a.name().to_owned()) && names.contains(&b.name().to_owned()));
    assert!(!names.contains(&"never written".to_owned()));
}

#[test]
fn changes_in_one_project_do_not_affect_another() {
    let Some((a, b)) = two() else { return };
    fill(&a, "a");
    fill(&b, "b");
    // Everything that can be changed and removed.
    let second = record("s", 2);
    let mut commit = Commit::new(&second);
    commit.read = vec![("calls".to_owned(), 1), ("shared/lock/a".to_owned(), 1)];
    commit.replace_all = Some(BTreeMap::new());
    commit.changes.remove("shared/lock/a");
    let mut denied = a.approval("r").unwrap().unwrap();
    denied.state = ApprovalState::Denied;
    commit.approvals.push(ApprovalChange::update(ApprovalState::Pending, denied));
    commit.approvers.push(ApproverChange::Revoke("ada".to_owned()));
    a.commit(&commit).unwrap();
    assert!(a.claim_delivery(1, "c", at(3), 60).unwrap());
    a.mark_delivered(1, "c", at(4)).unwrap();
    a.increment_counter("reloads", 4).unwrap();
    assert_eq!(a.load_prefix("s", "").unwrap(), BTreeMap::new());
    assert_eq!(a.check_key("ada", KEY).unwrap(), None);

    assert_eq!(b.load("s", &["calls"]).unwrap()[0].value, Some(json!("b")));
    assert_eq!(b.load_prefix("s", "shared/").unwrap().len(), 1);
    assert_eq!(b.approval("r").unwrap().unwrap().state, ApprovalState::Pending);
    assert!(b.check_key("ada", KEY).unwrap().is_some());
    assert_eq!(b.pending_deliveries("c", 9).unwrap().len(), 1);
    assert!(b.claim_delivery(1, "c", at(3), 60).unwrap());
    assert_eq!(b.counters().unwrap()["reloads"], 1);
    // A version that the other project has reached is none here.
    let third = record("s", 3);
    let mut commit = Commit::new(&third);
    commit.read = vec![("calls".to_owned(), 0)];
    assert!(b.commit(&commit).unwrap_err().is_conflict());
    // A head of one is none of the other, and no key of one has signed the other.
    let head = a.head().unwrap().unwrap();
    let expect = TrustAnchor { head: Some((head.seq, head.hash)), keys: None };
    assert!(!b.verify(&expect, &mut |_, _| ()).unwrap().is_intact());
    b.checkpoint_now(at(9)).unwrap();
    let expect = TrustAnchor { head: None, keys: Some(vec![a.public_key().unwrap().id]) };
    assert!(!b.verify(&expect, &mut |_, _| ()).unwrap().is_intact());
}

#[test]
fn any_text_can_name_a_project() {
    let Some(home) = connect() else { return };
    let base = server::unique("odd");
    let names =
        ["", "/", "'; DROP TABLE projects; --", "ü", "\0", "%", "A", "a"].map(|end| format!("{base}{end}"));
    for (seconds, name) in (0..).zip(&names) {
        home.project(name).commit(&Commit::new(&record("s", seconds))).unwrap();
    }
    let listed = home.projects().unwrap();
    assert_eq!(listed.iter().filter(|name| name.starts_with(&base)).count(), names.len());
    for (seconds, name) in (0..).zip(&names) {
        let entries = home.project(name).entries(&AuditFilter::default()).unwrap();
        assert_eq!((entries.len(), entries[0].record().unwrap().time), (1, at(seconds)));
    }
}
