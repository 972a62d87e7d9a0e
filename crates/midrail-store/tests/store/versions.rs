//! Stores of an older version, and one store that is open more than once.

use std::path::Path;
use std::thread;

use ed25519_dalek::{Signer, SigningKey};
use midrail_store::chain::{GENESIS, body_hash, link_hash};

use crate::common::{at, blocked, fill, record, request, verify};
use midrail_store::{
    Alert, Alerts, Approval, ApprovalChange, ApprovalState, Approvals, ApproverChange, Approvers, AuditLog,
    Commit, MemoryStore, NewApprover, NewNotice, Notices, Slices, SqliteStore, Stats, Store, StoreError,
};
use rusqlite::{Connection, params};
use serde_json::json;

/// A store as version 1 wrote it: 70 records, a slice, a request.
fn version_1(path: &Path) {
    let seed = [7; 32];
    let memory = MemoryStore::with_seed(&seed);
    fill(&memory, 69);
    memory.commit(&Commit::new(&blocked("s", 70, "safety-001"))).unwrap();
    let connection = Connection::open(path).unwrap();
    connection.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    connection.execute_batch(include_str!("../../src/sqlite/001.sql")).unwrap();
    connection.execute_batch("PRAGMA user_version = 1").unwrap();
    let (mut prev, mut signed_hash) = (GENESIS.to_owned(), String::new());
    for entry in memory.entries(&Default::default()).unwrap() {
        let labels = &entry.labels;
        let guardrails = match labels.guardrails.as_slice() {
            [] => String::new(),
            list => json!(list).to_string(),
        };
        let hash = link_hash(entry.seq, &prev, &body_hash(&entry.body), None);
        if entry.seq == 64 {
            signed_hash.clone_from(&hash);
        }
        connection
            .execute(
                "INSERT INTO audit VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                params![
                    i64::try_from(entry.seq).unwrap(),
                    labels.time.as_microsecond(),
                    labels.session,
                    labels.kind,
                    labels.tool,
                    labels.effect,
                    guardrails,
                    prev,
                    hash,
                    entry.body
                ],
            )
            .unwrap();
        prev = hash;
    }
    let key = &memory.public_keys().unwrap()[0];
    let time = at(64).to_string();
    let message = format!("midrail-checkpoint-v1\n64\n{signed_hash}\n{time}\n{}\n", key.id);
    let signature = SigningKey::from_bytes(&seed).sign(message.as_bytes()).to_bytes();
    connection.execute("INSERT INTO keys VALUES (?1, ?2)", [&key.id, &key.public]).unwrap();
    connection
        .execute(
            "INSERT INTO checkpoints VALUES (64, ?1, ?2, ?3, ?4)",
            [&signed_hash, &time, &key.id, &midrail_core::hex::encode(&signature)],
        )
        .unwrap();
    connection.execute("INSERT INTO slices VALUES ('s', 'calls', '7', 70)", []).unwrap();
    // Its fields are those that version 1 knew.
    let old = json!({
        "id": "r", "kind": "escalation", "state": "pending", "session": "s", "guardrail": "safety-001",
        "action": "ab", "approver": "reviewer", "created": at(1).to_string(),
    });
    connection
        .execute(
            "INSERT INTO approvals VALUES ('r', 'pending', 's', ?1, ?2)",
            params![at(1).as_microsecond(), old.to_string()],
        )
        .unwrap();
}

fn user_version(path: &Path) -> i64 {
    let connection = Connection::open(path).unwrap();
    connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

#[test]
fn store_of_version_1_is_migrated_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    version_1(&path);
    let refused = SqliteStore::open_read_only(&path).err().unwrap();
    assert!(matches!(refused, StoreError::Older { found: 1, known: 6, .. }), "{refused:?}");
    assert_eq!(user_version(&path), 1);

    // Many start at once, as hooks do.
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| SqliteStore::open(&path).unwrap());
        }
    });
    assert_eq!(user_version(&path), 6);
    let store = SqliteStore::open(&path).unwrap();
    let found = verify(&store);
    assert_eq!((found.misfit, found.records, found.checkpoints), (None, 70, 1));
    assert_eq!(store.load("s", &["calls"]).unwrap()[0].value, Some(json!(7)));
    assert_eq!(store.audit_stats().unwrap().guardrails["safety-001"].enforced.block_count, 1);

    let asked = store.approval("r").unwrap().unwrap();
    assert_eq!((asked.state, asked.created, asked.review.clone()), (ApprovalState::Pending, at(1), None));
    let record = record("s", 71);
    let mut commit = Commit::new(&record);
    let decided = Approval { state: ApprovalState::Denied, ..asked };
    commit.approvals.push(ApprovalChange::update(ApprovalState::Pending, decided.clone()));
    commit.approvals.push(ApprovalChange::create(request("q", "s", 71)));
    commit.changes.set("shared/lock/a", 1);
    commit.notices.push(NewNotice { to: "human_operator".to_owned(), ..NewNotice::default() });
    assert_eq!(store.commit(&commit).unwrap().seq, 71);
    assert_eq!(store.approval("r").unwrap(), Some(decided));
    assert_eq!(store.notices(0, 9).unwrap().len(), 1);
    let reader = SqliteStore::open_read_only(&path).unwrap();
    assert_eq!(verify(&reader).records, 71);
}

fn twice() -> (tempfile::TempDir, SqliteStore, SqliteStore) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let (one, other) = (SqliteStore::open(&path).unwrap(), SqliteStore::open(&path).unwrap());
    (folder, one, other)
}

#[test]
fn of_two_handles_one_takes_the_lock() {
    let (_folder, one, other) = twice();
    crate::contract::shared::race(&one, &other);
    assert!(verify(&one).is_intact());
}

#[test]
fn of_two_handles_one_raises_the_alert_and_one_delivers() {
    let (_folder, one, other) = twice();
    for round in 0..20 {
        let alert = Alert {
            name: "high_block_rate".to_owned(),
            key: round.to_string(),
            fired_at: at(round),
            value: 0.5,
            message: String::new(),
        };
        let notice = [NewNotice { to: "orchestrator".to_owned(), ..NewNotice::default() }];
        let id = u64::try_from(round).unwrap() + 1;
        let (fired, claimed): (Vec<bool>, Vec<bool>) = thread::scope(|scope| {
            let run = |store: &SqliteStore| store.fire_alert(&alert, 60, &notice).unwrap();
            let claim = |store: &SqliteStore| store.claim_delivery(id, "webhook", at(round), 60).unwrap();
            let fired = [&one, &other].map(|store| scope.spawn(move || run(store)));
            let fired = fired.map(|thread| thread.join().unwrap()).to_vec();
            let claimed = [&one, &other].map(|store| scope.spawn(move || claim(store)));
            (fired, claimed.map(|thread| thread.join().unwrap()).to_vec())
        });
        assert_eq!(fired.iter().filter(|fired| **fired).count(), 1);
        assert_eq!(claimed.iter().filter(|claimed| **claimed).count(), 1);
    }
    assert_eq!(one.alerts(100).unwrap().len(), 20);
}

#[test]
fn pending_requests_survive_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let key = "k".repeat(43);
    let record = record("s", 1);
    let mut commit = Commit::new(&record);
    commit.notices.push(NewNotice { message: "m".to_owned(), ..NewNotice::default() });
    let (name, roles) = ("ada".to_owned(), vec!["architect".to_owned()]);
    commit.approvers.push(ApproverChange::Add(NewApprover { name, roles, key: key.clone() }));
    SqliteStore::open(&path).unwrap().commit(&commit).unwrap();

    let store = SqliteStore::open(&path).unwrap();
    assert!(store.claim_delivery(1, "webhook", at(2), 60).unwrap());
    drop(store);
    // The process that had it in hand is gone.
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(store.pending_deliveries("webhook", 9).unwrap()[0].attempts, 1);
    assert!(store.claim_delivery(1, "webhook", at(62), 60).unwrap());
    assert_eq!(store.check_key("ada", &key).unwrap().unwrap().roles, ["architect"]);
    let reader = SqliteStore::open_read_only(&path).unwrap();
    assert!(reader.check_key("ada", &key).unwrap().is_some());
    let written: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|file| String::from_utf8_lossy(&std::fs::read(file.unwrap().path()).unwrap()).into_owned())
        .collect();
    assert!(written.iter().any(|text| text.contains("architect")));
    assert!(!written.iter().any(|text| text.contains(&key)), "the key itself is nowhere");
}

#[test]
fn manually_edited_roles_are_ignored() {
    let (_folder, store, _) = twice();
    let key = "k".repeat(43);
    let record = record("s", 1);
    let mut commit = Commit::new(&record);
    let (name, roles) = ("ada".to_owned(), vec!["reviewer".to_owned()]);
    commit.approvers.push(ApproverChange::Add(NewApprover { name, roles, key: key.clone() }));
    store.commit(&commit).unwrap();
    let connection = Connection::open(store.path()).unwrap();
    connection.execute("UPDATE approvers SET roles = '[\"human_operator\"]'", []).unwrap();
    assert_eq!(store.check_key("ada", &key).unwrap(), None);
    connection.execute("UPDATE approvers SET roles = '[\"reviewer\"]'", []).unwrap();
    assert!(store.check_key("ada", &key).unwrap().is_some());
}

#[test]
fn figures_of_another_log_are_counted_again() {
    let (_folder, store, _) = twice();
    fill(&store, 300);
    let right = store.audit_stats().unwrap();
    let connection = Connection::open(store.path()).unwrap();
    for damage in [
        "UPDATE figures SET body = '{'",
        "UPDATE figures SET hash = 'x', body = json_set(body, '$.hash', 'x', '$.decisions', 9)",
        "UPDATE figures SET seq = 9999, body = json_set(body, '$.seq', 9999, '$.decisions', 9)",
    ] {
        connection.execute(damage, []).unwrap();
        assert_eq!(store.audit_stats().unwrap(), right, "{damage}");
    }
    assert_eq!(store.saved_stats().unwrap(), Some(right), "and saved over what was wrong");
}

#[test]
fn record_that_cannot_be_read_is_counted_as_such() {
    let (_folder, store, _) = twice();
    fill(&store, 10);
    let connection = Connection::open(store.path()).unwrap();
    connection.execute_batch("DROP TRIGGER audit_kept; UPDATE audit SET body = '{' WHERE seq = 4").unwrap();
    let figures = store.audit_stats().unwrap();
    assert_eq!((figures.seq, figures.decisions, figures.unreadable), (10, 9, 1));
}

#[test]
fn read_only_store_counts_and_saves_nothing() {
    let (_folder, store, _) = twice();
    fill(&store, 300);
    let reader = SqliteStore::open_read_only(store.path()).unwrap();
    assert_eq!(reader.audit_stats().unwrap().decisions, 300);
    assert_eq!(store.saved_stats().unwrap(), None);
    for failed in [
        reader.increment_counter("a", 1).unwrap_err(),
        reader.mark_delivered(1, "webhook", at(1)).unwrap_err(),
    ] {
        assert!(matches!(failed, StoreError::ReadOnly { .. }), "{failed:?}");
    }
}
