//! Someone changes the SQLite file by hand: the triggers refuse, and past the triggers `verify` names the record.

use std::fs;
use std::sync::LazyLock;

use crate::common::{blocked, fill, request, verify};
use midrail_store::chain::{body_hash, link_hash};
use midrail_store::{
    ApprovalChange, ApprovalState, ApproverChange, AuditFilter, AuditLog, Commit, MisfitKind, NewApprover,
    Policies, SqliteStore, Store, TrustAnchor, verify_export,
};
use rusqlite::Connection;
use tempfile::TempDir;

const TRIGGERS: &str = "DROP TRIGGER audit_next; DROP TRIGGER audit_kept; DROP TRIGGER audit_stays;
    DROP TRIGGER checkpoints_new; DROP TRIGGER checkpoints_kept; DROP TRIGGER checkpoints_stay;
    DROP TRIGGER keys_new; DROP TRIGGER keys_kept; DROP TRIGGER keys_stay;";

/// A folder with a store of 150 records, of which record 100 is a block. Every test works on a copy.
static WHOLE: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
    fill(&store, 99);
    store.commit(&Commit::new(&blocked("s", 100, "safety-001"))).unwrap();
    fill(&store, 150);
    store.save_policy("sha256:1", "{}").unwrap();
    folder
});

fn store() -> (TempDir, SqliteStore) {
    let folder = tempfile::tempdir().unwrap();
    for name in ["store.db", "store.db-wal", "store.db.key", "store.db.head"] {
        fs::copy(WHOLE.path().join(name), folder.path().join(name)).unwrap();
    }
    let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
    assert_eq!(verify(&store).records, 150);
    (folder, store)
}

fn by_hand(store: &SqliteStore) -> Connection {
    Connection::open(store.path()).unwrap()
}

/// Drops the triggers, tampers, and tells what `verify` then says; an export of the result must say the same.
fn tampered(sql: &str) -> Option<(u64, MisfitKind)> {
    tampered_with(|connection| connection.execute_batch(sql).unwrap())
}

fn tampered_with(work: impl FnOnce(&Connection)) -> Option<(u64, MisfitKind)> {
    let (_folder, store) = store();
    let connection = by_hand(&store);
    connection.execute_batch(TRIGGERS).unwrap();
    work(&connection);
    let found = verify(&store);
    assert_eq!(found.head.map_or(0, |head| head.seq), found.records);
    let misfit = found.misfit.map(|misfit| (misfit.seq, misfit.kind));

    let mut out = Vec::new();
    store.export(&AuditFilter::default(), &mut out).unwrap();
    let exported = verify_export(&mut out.as_slice(), &TrustAnchor::default()).unwrap().misfit;
    let exported = exported.map(|misfit| (misfit.seq, misfit.kind));
    match misfit {
        // An export has no columns beside its bodies.
        Some((_, MisfitKind::Labels)) => assert_eq!(exported, None),
        _ => assert_eq!(exported, misfit),
    }
    misfit
}

#[test]
fn triggers_refuse_to_change_what_was_written() {
    let (_folder, store) = store();
    let connection = by_hand(&store);
    for (sql, why) in [
        ("UPDATE audit SET body = '{}' WHERE seq = 3", "a record cannot be changed"),
        ("UPDATE audit SET seq = 1000 WHERE seq = 3", "a record cannot be changed"),
        ("DELETE FROM audit WHERE seq = 150", "a record cannot be removed"),
        ("DELETE FROM audit", "a record cannot be removed"),
        ("INSERT OR REPLACE INTO audit SELECT * FROM audit WHERE seq = 3", "a record goes to its end"),
        (
            "INSERT INTO audit SELECT 152, time, session, kind, tool, effect, guardrails, prev, hash, body, changes,
             actions, stopped FROM audit WHERE seq = 3",
            "a record goes to its end",
        ),
        ("UPDATE checkpoints SET time = ''", "a checkpoint cannot be changed"),
        ("DELETE FROM checkpoints", "a checkpoint cannot be removed"),
        ("REPLACE INTO checkpoints SELECT * FROM checkpoints", "a checkpoint cannot be replaced"),
        ("UPDATE policies SET body = ''", "a policy that has decided cannot be changed"),
        ("DELETE FROM policies", "a policy that has decided cannot be removed"),
        ("REPLACE INTO policies VALUES ('sha256:1', '')", "a policy that has decided cannot be replaced"),
        ("DELETE FROM keys", "a public key cannot be removed"),
        ("UPDATE keys SET public = ''", "a public key cannot be changed"),
    ] {
        let error = connection.execute(sql, []).expect_err(sql).to_string();
        assert!(error.contains(why), "{sql}: {error}");
    }
    assert_eq!(verify(&store).records, 150);
}

#[test]
fn triggers_refuse_to_change_decisions_of_people() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
    let record = crate::common::record("s", 1);
    for state in [ApprovalState::Denied, ApprovalState::Used, ApprovalState::Pending, ApprovalState::Approved]
    {
        let mut commit = Commit::new(&record);
        let row = request(state.as_str(), "s", 1);
        commit.approvals.push(ApprovalChange::create(midrail_store::Approval { state, ..row }));
        store.commit(&commit).unwrap();
    }
    let mut commit = Commit::new(&record);
    let ada = NewApprover { name: "ada".to_owned(), roles: vec![], key: "k".repeat(43) };
    commit.approvers = vec![ApproverChange::Add(ada), ApproverChange::Revoke("ada".to_owned())];
    store.commit(&commit).unwrap();
    let connection = by_hand(&store);
    let back = |state: &str| {
        format!("UPDATE approvals SET state = '{state}', body = json_set(body, '$.state', '{state}')")
    };
    for (sql, why) in [
        ("DELETE FROM approvals WHERE id = 'used'".to_owned(), "an approval cannot be removed"),
        ("REPLACE INTO approvals SELECT * FROM approvals".to_owned(), "an approval cannot be replaced"),
        (back("pending") + " WHERE id = 'denied'", "cannot go back"),
        (back("approved") + " WHERE id = 'denied'", "cannot go back"),
        (back("approved") + " WHERE id = 'used'", "cannot go back"),
        (back("denied") + " WHERE id = 'used'", "cannot go back"),
        (back("denied") + " WHERE id = 'approved'", "cannot go back"),
        ("UPDATE approvals SET state = 'approved' WHERE id = 'pending'".to_owned(), "cannot go back"),
        ("UPDATE approvals SET id = 'x' WHERE id = 'pending'".to_owned(), "cannot go back"),
        ("UPDATE approvers SET revoked = NULL".to_owned(), "can be revoked, and not changed"),
        ("DELETE FROM approvers".to_owned(), "an approver cannot be removed"),
    ] {
        let error = connection.execute(&sql, []).expect_err(&sql).to_string();
        assert!(error.contains(why), "{sql}: {error}");
    }
    connection.execute(&(back("denied") + " WHERE id = 'pending'"), []).unwrap();
    assert_eq!(store.head().unwrap().unwrap().seq, 5);
}

#[test]
fn changed_body_is_reported() {
    let sql = "UPDATE audit SET body = replace(body, 'Read', 'Raed') WHERE seq = 40;
               UPDATE audit SET body = '{' WHERE seq = 41";
    assert_eq!(tampered(sql), Some((40, MisfitKind::Changed)));
}

#[test]
fn body_that_is_not_text_is_reported() {
    assert_eq!(
        tampered("UPDATE audit SET body = CAST(x'7bff0a' AS TEXT) WHERE seq = 40"),
        Some((40, MisfitKind::Changed))
    );
}

#[test]
fn changed_hash_is_reported() {
    assert_eq!(tampered("UPDATE audit SET hash = prev WHERE seq = 40"), Some((40, MisfitKind::Changed)));
}

#[test]
fn removed_record_is_reported() {
    assert_eq!(tampered("DELETE FROM audit WHERE seq = 40"), Some((40, MisfitKind::Missing)));
    assert_eq!(tampered("DELETE FROM audit WHERE seq = 1"), Some((1, MisfitKind::Missing)));
    // The one that a checkpoint belongs to.
    assert_eq!(tampered("DELETE FROM audit WHERE seq = 64"), Some((64, MisfitKind::Missing)));
}

#[test]
fn closed_gap_is_reported() {
    assert_eq!(
        tampered(
            "DELETE FROM audit WHERE seq = 40;
             UPDATE audit SET seq = -seq WHERE seq > 40;
             UPDATE audit SET seq = -seq - 1 WHERE seq < 0"
        ),
        Some((40, MisfitKind::Reordered))
    );
}

#[test]
fn swapped_records_are_reported() {
    let swap = "UPDATE audit SET seq = -1 WHERE seq = 40;
                UPDATE audit SET seq = 40 WHERE seq = 45;
                UPDATE audit SET seq = 45 WHERE seq = -1";
    assert_eq!(tampered(swap), Some((40, MisfitKind::Reordered)));
}

#[test]
fn changed_columns_are_reported() {
    for column in [
        "time = time + 1",
        "session = 't'",
        "kind = 'after_tool'",
        "tool = NULL",
        "effect = 'allow'",
        "guardrails = ''",
        "guardrails = '[\"loud\"]'",
        "guardrails = 'no list'",
    ] {
        let sql = format!("UPDATE audit SET {column} WHERE seq = 100");
        assert_eq!(tampered(&sql), Some((100, MisfitKind::Labels)), "{column}");
    }
}

#[test]
fn log_truncated_after_a_checkpoint_is_reported() {
    assert_eq!(tampered("DELETE FROM audit WHERE seq > 120"), Some((121, MisfitKind::Truncated)));
    assert_eq!(tampered("DELETE FROM audit"), Some((1, MisfitKind::Truncated)));
}

#[test]
fn log_truncated_with_its_checkpoints_is_revealed_by_the_anchor() {
    let (_folder, store) = store();
    let head = store.head().unwrap().unwrap();
    let connection = by_hand(&store);
    connection.execute_batch(TRIGGERS).unwrap();
    connection
        .execute_batch("DELETE FROM audit WHERE seq > 120; DELETE FROM checkpoints WHERE seq > 120")
        .unwrap();
    let misfit = verify(&store).misfit.unwrap();
    assert_eq!((misfit.seq, misfit.kind), (150, MisfitKind::Anchor), "{}", misfit.detail);
    let expect = TrustAnchor { head: Some((head.seq, head.hash)), keys: None };
    let misfit = store.verify(&expect, &mut |_, _| ()).unwrap().misfit.unwrap();
    assert_eq!((misfit.seq, misfit.kind), (121, MisfitKind::Truncated));
}

#[test]
fn removed_checkpoint_is_reported() {
    assert_eq!(tampered("DELETE FROM checkpoints WHERE seq = 64"), Some((64, MisfitKind::NoCheckpoint)));
}

#[test]
fn forged_checkpoint_is_reported() {
    for column in ["time = '2026-01-01T00:00:00Z'", "signature = 'ab'", "key = 'none'", "hash = ''"] {
        let sql = format!("UPDATE checkpoints SET {column} WHERE seq = 64");
        assert_eq!(tampered(&sql), Some((64, MisfitKind::Signature)), "{column}");
    }
    // One for records that were never there.
    let sql =
        "INSERT INTO checkpoints SELECT 1000, hash, time, key, signature FROM checkpoints WHERE seq = 64";
    assert_eq!(tampered(sql), Some((1000, MisfitKind::Signature)));
    // Another key under the name of the old one.
    let sql = "UPDATE keys SET public = '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c'";
    assert_eq!(tampered(sql), Some((64, MisfitKind::Signature)));
}

/// Writes record 40 anew and links everything after it, as someone would who knows the format and not the key.
fn rewrite_from_40(connection: &Connection) {
    connection
        .execute("UPDATE audit SET body = replace(body, 'Read', 'Raed'), tool = 'Raed' WHERE seq = 40", [])
        .unwrap();
    let mut prev: String =
        connection.query_row("SELECT hash FROM audit WHERE seq = 39", [], |row| row.get(0)).unwrap();
    for seq in 40..=150_u32 {
        let select = "SELECT body, changes FROM audit WHERE seq = ?1";
        let texts = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
        let (body, changes) = connection.query_row(select, [seq], texts).unwrap();
        let hash = link_hash(seq.into(), &prev, &body_hash(&body), Some(&body_hash(&changes)));
        let update = "UPDATE audit SET prev = ?2, hash = ?3 WHERE seq = ?1";
        connection.execute(update, rusqlite::params![seq, prev, hash]).unwrap();
        prev = hash;
    }
}

#[test]
fn rewritten_history_is_detected_by_a_checkpoint() {
    assert_eq!(tampered_with(rewrite_from_40), Some((64, MisfitKind::Checkpoint)));
}

#[test]
fn single_rewritten_record_breaks_the_link_after_it() {
    let rewrite = |connection: &Connection| {
        rewrite_from_40(connection);
        // 41 onwards as it was: only 40 is new, and whole in itself.
        connection.execute("UPDATE audit SET prev = 'x' WHERE seq = 41", []).unwrap();
    };
    assert_eq!(tampered_with(rewrite), Some((41, MisfitKind::Changed)));
    let (_folder, store) = store();
    let connection = by_hand(&store);
    connection.execute_batch(TRIGGERS).unwrap();
    let entry = store.entry(40).unwrap().unwrap();
    let body = entry.body.replace("Read", "Raed");
    let changes = body_hash(&entry.changes.unwrap());
    let hash = link_hash(40, &entry.prev, &body_hash(&body), Some(&changes));
    let update = "UPDATE audit SET body = ?1, hash = ?2, tool = 'Raed' WHERE seq = 40";
    connection.execute(update, [&body, &hash]).unwrap();
    let misfit = verify(&store).misfit.unwrap();
    assert_eq!((misfit.seq, misfit.kind), (41, MisfitKind::Link));
}

/// Slices, approvals and approvers, changed past the triggers: the chain covers them.
#[test]
fn changed_state_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("store.db");
    let store = SqliteStore::open(&whole).unwrap();
    let row = crate::common::record("s", 1);
    let mut commit = Commit::new(&row);
    commit.changes.set("halted", true);
    commit.changes.set("calls", 1);
    commit.changes.set("shared/lock", "x");
    let request = request("a", "s", 1);
    commit.approvals.push(ApprovalChange::create(request));
    let ada = NewApprover { name: "ada".to_owned(), roles: vec!["reviewer".to_owned()], key: "k".repeat(43) };
    commit.approvers = vec![ApproverChange::Add(ada)];
    store.commit(&commit).unwrap();
    let mut commit = Commit::new(&row);
    commit.changes.set("calls", 2);
    commit.changes.set("gone", 1);
    commit.approvers = vec![ApproverChange::Revoke("ada".to_owned())];
    store.commit(&commit).unwrap();
    let mut commit = Commit::new(&row);
    commit.changes.remove("gone");
    store.commit(&commit).unwrap();
    assert_eq!(verify(&store).misfit, None);
    drop(store);
    let triggers = "DROP TRIGGER approvals_forward; DROP TRIGGER approvals_stay; DROP TRIGGER approvals_new;
        DROP TRIGGER approvers_kept; DROP TRIGGER approvers_stay;";
    for (sql, detail) in [
        ("DELETE FROM slices WHERE key = 'halted'", "the slice `halted` of session `s` was removed"),
        (
            "UPDATE slices SET value = 'false' WHERE key = 'halted'",
            "the slice `halted` of session `s` was changed",
        ),
        (
            "UPDATE slices SET value = '1', version = 1 WHERE key = 'calls'",
            "is that of record 1, and record 2",
        ),
        (
            "UPDATE slices SET value = '\"y\"' WHERE session = ''",
            "the shared slice `shared/lock` was changed",
        ),
        (
            "INSERT INTO slices VALUES ('s', 'gone', '1', 2)",
            "the slice `gone` of session `s` was added or brought back",
        ),
        ("INSERT INTO slices VALUES ('s', 'new', '1', 3)", "was added or brought back"),
        ("UPDATE approvers SET revoked = NULL", "the approver `ada` was changed or reinstated"),
        ("UPDATE approvers SET roles = '[\"admin\"]'", "the approver `ada` was changed or reinstated"),
        ("DELETE FROM approvers", "an approver was removed"),
        (
            "INSERT INTO approvers (name, roles, hash, created) VALUES ('eve', '[]', 'x', 1)",
            "`eve` was added",
        ),
        ("UPDATE approvals SET state = 'approved'", "the column `state` of the approval `a` was changed"),
        (
            "UPDATE approvals SET state = 'approved', body = json_set(body, '$.state', 'approved')",
            "the approval `a` was changed",
        ),
        ("DELETE FROM approvals", "the approval `a` was removed"),
        ("INSERT INTO approvals SELECT 'b', state, session, created, body FROM approvals", "`b` was added"),
    ] {
        let copy = tempfile::tempdir().unwrap();
        let path = copy.path().join("store.db");
        for suffix in ["", "-wal", ".key", ".head"] {
            let name = format!("store.db{suffix}");
            fs::copy(folder.path().join(&name), copy.path().join(&name)).unwrap();
        }
        Connection::open(&path).unwrap().execute_batch(&format!("{triggers}{sql}")).unwrap();
        let misfit = verify(&SqliteStore::open(&path).unwrap()).misfit.unwrap_or_else(|| panic!("{sql}"));
        assert_eq!(misfit.kind, MisfitKind::State, "{sql}: {}", misfit.detail);
        assert!(misfit.detail.contains(detail), "{sql}: {}", misfit.detail);
    }
}

#[test]
fn log_truncated_with_its_checkpoints_shows_in_the_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
    fill(&store, 70);
    let record = crate::common::record("s", 71);
    let mut commit = Commit::new(&record);
    commit.changes.set("calls", 71);
    store.commit(&commit).unwrap();
    let sql = format!("{TRIGGERS} DELETE FROM audit WHERE seq > 30; DELETE FROM checkpoints;");
    by_hand(&store).execute_batch(&sql).unwrap();
    let misfit = verify(&store).misfit.unwrap();
    assert_eq!((misfit.seq, misfit.kind), (31, MisfitKind::Truncated), "{}", misfit.detail);
}

#[test]
fn a_damaged_file_is_not_sound() {
    let (_folder, store) = store();
    let path = store.path().to_owned();
    by_hand(&store).execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    drop(store);
    let mut bytes = fs::read(&path).unwrap();
    for byte in bytes.iter_mut().skip(40_000).take(20_000) {
        *byte ^= 0xff;
    }
    fs::write(&path, bytes).unwrap();
    let outcome = SqliteStore::open_read_only(&path)
        .and_then(|store| store.verify(&TrustAnchor::default(), &mut |_, _| {}));
    assert!(outcome.is_err(), "{outcome:?}");
}
