//! Someone changes slices, approvals or counts by hand: `verify` still finds it after the next decision has overwritten them.

use crate::common::{record, request, verify};
use midrail_store::{
    Approval, ApprovalChange, ApprovalState, Commit, MisfitKind, SqliteStore, Store, StoreError,
};
use rusqlite::Connection;
use tempfile::TempDir;

fn store() -> (TempDir, SqliteStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
    set(&store, "shared/spent/calls", 3);
    set(&store, "halted", true);
    (folder, store)
}

fn set(store: &SqliteStore, key: &str, value: impl Into<serde_json::Value>) {
    let record = record("s", 1);
    let mut commit = Commit::new(&record);
    commit.changes.set(key, value);
    store.commit(&commit).unwrap();
}

fn by_hand(store: &SqliteStore, sql: &str) {
    Connection::open(store.path()).unwrap().execute_batch(sql).unwrap();
}

fn misfit(store: &SqliteStore) -> Option<(u64, MisfitKind, String)> {
    verify(store).misfit.map(|misfit| (misfit.seq, misfit.kind, misfit.detail))
}

#[test]
fn overwriting_a_changed_slice_hides_nothing() {
    for (sql, detail) in [
        ("DELETE FROM slices WHERE key LIKE 'shared/spent/%'", "was removed after record 1, and record 3"),
        ("UPDATE slices SET value = '0' WHERE key LIKE 'shared/spent/%'", "was changed after record 1"),
    ] {
        let (_folder, store) = store();
        assert_eq!(misfit(&store), None);
        by_hand(&store, sql);
        assert!(misfit(&store).is_some());
        set(&store, "shared/spent/calls", 1);
        set(&store, "shared/spent/calls", 2);
        let (seq, kind, found) = misfit(&store).unwrap();
        assert_eq!((seq, kind), (3, MisfitKind::State), "{sql}");
        assert!(found.contains(detail), "{found}");
    }
}

#[test]
fn deleted_halt_is_found_after_the_next_halt() {
    let (_folder, store) = store();
    by_hand(&store, "DELETE FROM slices WHERE key = 'halted'");
    set(&store, "halted", true);
    let (seq, kind, _) = misfit(&store).unwrap();
    assert_eq!((seq, kind), (3, MisfitKind::State));
}

#[test]
fn added_slice_is_found_after_it_was_removed() {
    let (_folder, store) = store();
    by_hand(&store, "INSERT INTO slices (session, key, value, version) VALUES ('s', 'x', '1', 1)");
    let record = record("s", 1);
    let mut commit = Commit::new(&record);
    commit.changes.remove("x");
    store.commit(&commit).unwrap();
    let (_, kind, found) = misfit(&store).unwrap();
    assert!(kind == MisfitKind::State && found.contains("was added or brought back"), "{found}");
}

#[test]
fn everyday_changes_are_intact() {
    let (_folder, store) = store();
    for value in 0..5 {
        set(&store, "shared/spent/calls", value);
        set(&store, "halted", value);
    }
    let record = record("s", 1);
    let mut commit = Commit::new(&record);
    commit.changes.remove("halted");
    store.commit(&commit).unwrap();
    set(&store, "halted", true);
    assert_eq!(misfit(&store), None);
}

#[test]
fn columns_next_to_a_body_are_checked() {
    for (sql, detail) in [
        ("UPDATE approvals SET session = 'other'", "the column `session`"),
        ("UPDATE approvals SET created = 7", "the column `created`"),
        ("UPDATE audit SET actions = 70 WHERE seq = 2", "the counts of record 2"),
        ("UPDATE audit SET stopped = 70 WHERE seq = 2", "the counts of record 2"),
    ] {
        let (_folder, store) = store();
        let record = record("s", 1);
        let mut commit = Commit::new(&record);
        let row = request("a", "s", 1);
        commit.approvals.push(ApprovalChange::create(Approval { state: ApprovalState::Pending, ..row }));
        store.commit(&commit).unwrap();
        assert_eq!(misfit(&store), None);
        by_hand(&store, &format!("DROP TRIGGER audit_kept; {sql}"));
        let (_, kind, found) = misfit(&store).unwrap();
        assert!(kind == MisfitKind::State && found.contains(detail), "{sql}: {found}");
    }
}

#[test]
fn record_that_a_trigger_skips_is_an_error() {
    for table in ["audit", "slices"] {
        let (_folder, store) = store();
        by_hand(
            &store,
            &format!("CREATE TRIGGER t BEFORE INSERT ON {table} BEGIN SELECT raise(IGNORE); END"),
        );
        let record = record("s", 1);
        let mut commit = Commit::new(&record);
        commit.changes.set("new", 1);
        let error = store.commit(&commit).unwrap_err();
        assert!(
            matches!(&error, StoreError::Corrupt { what, .. } if what.contains("not written")),
            "{error}"
        );
    }
}
