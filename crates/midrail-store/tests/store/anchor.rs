//! A store that was deleted, replaced, set back, cut off or damaged while no process had it open: the anchor next to the
//! key reveals it when the store is opened, and nothing is written until a person has acknowledged it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{fill, record, verify};
use midrail_store::{
    AuditLog, Commit, Keys, MisfitKind, Policies, SqliteStore, Store, StoreError, TrustAnchor,
};
use rusqlite::Connection;
use tempfile::TempDir;

/// A folder with a store of so many records, which no process has open.
fn store_of(records: u64) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    fill(&SqliteStore::open(&path).unwrap(), records);
    (folder, path)
}

/// The same with other records.
fn other_store_of(records: i64) -> (TempDir, PathBuf) {
    let (folder, path) = store_of(0);
    let store = SqliteStore::open(&path).unwrap();
    (1..=records).for_each(|nth| drop(store.commit(&Commit::new(&record("other", nth))).unwrap()));
    (folder, path)
}

fn side(path: &Path, suffix: &str) -> PathBuf {
    path.with_file_name(format!("store.db{suffix}"))
}

/// Writes the log back into the database, as any later process may do.
fn write_back(path: &Path) {
    Connection::open(path).unwrap().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
}

/// The damage of a store. Nothing can be written, and `verify` reports it.
fn damage(path: &Path) -> String {
    let store = SqliteStore::open(path).unwrap();
    let found = store.damage().unwrap().unwrap().to_string();
    let one = record("s", 1);
    for refused in [
        store.commit(&Commit::new(&one)).map(drop),
        store.save_policy("r", "{}"),
        store.checkpoint_now(one.time).map(drop),
    ] {
        let error = refused.unwrap_err();
        assert!(matches!(&error, StoreError::Damaged { what, .. } if *what == found), "{error:?}");
        assert!(error.help().unwrap().contains("midrail audit acknowledge"));
    }
    let misfit = verify(&SqliteStore::open_read_only(path).unwrap()).misfit;
    assert!(misfit.is_some(), "{found}");
    found
}

#[test]
fn acknowledged_records_are_anchored_and_a_reopened_store_is_intact() {
    let (_folder, path) = store_of(0);
    for records in 1..=40 {
        let store = SqliteStore::open(&path).unwrap();
        assert_eq!(store.damage().unwrap(), None);
        fill(&store, records);
        let head = store.head().unwrap().unwrap();
        let anchor = fs::read_to_string(side(&path, ".head")).unwrap();
        assert!(anchor.contains(&format!("midrail-head-v1 {records} {}", head.hash)), "{anchor}");
    }
    assert_eq!(fs::metadata(side(&path, ".head")).unwrap().len(), 4096);
}

#[test]
fn flipped_bit_in_the_write_ahead_log_is_reported() {
    // Each frame has a header of 24 bytes and a page of 4,096; the log has a header of 32 bytes.
    for frame in [0, 7, 20] {
        let (_folder, path) = store_of(30);
        let wal = side(&path, "-wal");
        let mut bytes = fs::read(&wal).unwrap();
        bytes[32 + frame * 4120 + 24 + 2000] ^= 1;
        fs::write(&wal, bytes).unwrap();
        let _ = fs::remove_file(side(&path, "-shm"));
        let outcome = SqliteStore::open(&path);
        match outcome {
            Ok(store) => {
                let damage = store.damage().unwrap().unwrap();
                assert_eq!(damage.expected.as_ref().unwrap().seq, 30);
                assert!(damage.found.map_or(0, |head| head.seq) < 30);
                let refused = store.commit(&Commit::new(&record("s", 1))).unwrap_err();
                assert!(matches!(refused, StoreError::Damaged { .. }), "{refused:?}");
            }
            // The tables themselves were in the log.
            Err(error) => assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}"),
        }
    }
}

#[test]
fn truncated_write_ahead_log_is_reported() {
    let (_folder, path) = store_of(30);
    let wal = side(&path, "-wal");
    let length = fs::metadata(&wal).unwrap().len();
    fs::OpenOptions::new().write(true).open(&wal).unwrap().set_len(length - 4120).unwrap();
    let _ = fs::remove_file(side(&path, "-shm"));
    assert!(damage(&path).contains("and record 30 was acknowledged"));
}

#[test]
fn deleted_store_is_reported() {
    let (_folder, path) = store_of(30);
    for suffix in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(side(&path, suffix));
    }
    assert_eq!(damage(&path), "it has no records, and record 30 was acknowledged");
}

/// A process that runs for long keeps the files open, and would write records that no other process finds.
#[test]
fn store_that_is_deleted_while_in_use_takes_no_record() {
    let (_folder, path) = store_of(3);
    let store = SqliteStore::open(&path).unwrap();
    let entry = record("s", 1);
    let write = |store: &SqliteStore| store.commit(&Commit::new(&entry)).map_err(|error| error.to_string());
    write(&store).unwrap();
    for suffix in ["", "-wal", "-shm", ".key", ".head"] {
        let _ = fs::remove_file(side(&path, suffix));
    }
    assert!(write(&store).unwrap_err().contains("does not exist"));
    // Another process starts a new store at the same place.
    let other = SqliteStore::open(&path).unwrap();
    write(&other).unwrap();
    assert!(write(&store).unwrap_err().contains("replaced while it was in use"));
    write(&other).unwrap();
    assert_eq!(SqliteStore::open(&path).unwrap().damage().unwrap(), None);
}

#[test]
fn store_that_is_set_back_is_reported() {
    let (folder, path) = store_of(30);
    write_back(&path);
    let old = folder.path().join("old.db");
    fs::copy(&path, &old).unwrap();
    fill(&SqliteStore::open(&path).unwrap(), 50);
    for suffix in ["-wal", "-shm"] {
        let _ = fs::remove_file(side(&path, suffix));
    }
    fs::copy(&old, &path).unwrap();
    assert_eq!(damage(&path), "it ends with record 30, and record 50 was acknowledged");
}

#[test]
fn store_that_is_replaced_is_reported() {
    let (_folder, path) = store_of(30);
    let (_other_folder, other) = other_store_of(40);
    for suffix in ["", "-wal", "-shm"] {
        fs::copy(side(&other, suffix), side(&path, suffix)).unwrap();
    }
    assert!(damage(&path).contains("is not the one that was acknowledged"), "{}", damage(&path));
    // With its key, which is not the one of the anchor.
    fs::copy(side(&other, ".key"), side(&path, ".key")).unwrap();
    assert!(damage(&path).contains("do not belong together"));
}

#[test]
fn missing_key_and_missing_anchor_are_reported() {
    let (_folder, path) = store_of(30);
    let [key, anchor] = [".key", ".head"].map(|suffix| side(&path, suffix));
    let bytes = [&key, &anchor].map(|file| fs::read(file).unwrap());
    fs::remove_file(&anchor).unwrap();
    assert!(damage(&path).contains("store.db.head` is missing"));
    fs::remove_file(&key).unwrap();
    assert!(damage(&path).contains("its key and its anchor"));
    fs::write(&anchor, &bytes[1]).unwrap();
    assert_eq!(damage(&path), "its key is missing");
    fs::write(&anchor, "").unwrap();
    assert!(damage(&path).contains("store.db.head` is damaged"));
    // Restored, all of it is intact again.
    fs::write(&key, &bytes[0]).unwrap();
    fs::write(&anchor, &bytes[1]).unwrap();
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(store.damage().unwrap(), None);
    fill(&store, 31);
}

#[test]
fn store_ahead_of_its_anchor_is_intact() {
    let (_folder, path) = store_of(30);
    let anchor = fs::read(side(&path, ".head")).unwrap();
    // A process that ended after its commit, and before it wrote the anchor.
    fill(&SqliteStore::open(&path).unwrap(), 35);
    fs::write(side(&path, ".head"), anchor).unwrap();
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(store.damage().unwrap(), None);
    fill(&store, 36);
    assert_eq!(verify(&store).misfit, None);
}

#[test]
fn acknowledged_damage_is_recorded_and_ends_the_block_for_all_processes() {
    let (_folder, path) = store_of(30);
    let old = SqliteStore::open(&path).unwrap().public_key().unwrap();
    for suffix in ["", "-wal", "-shm", ".key"] {
        let _ = fs::remove_file(side(&path, suffix));
    }
    let (waiting, store) = (SqliteStore::open(&path).unwrap(), SqliteStore::open(&path).unwrap());
    assert!(waiting.commit(&Commit::new(&record("s", 1))).is_err());
    assert_eq!(store.acknowledge_damage(&Commit::new(&record("midrail", 1))).unwrap().seq, 1);
    assert_eq!(store.damage().unwrap(), None);
    assert_eq!(waiting.commit(&Commit::new(&record("s", 2))).unwrap().seq, 2);
    fill(&SqliteStore::open(&path).unwrap(), 70);
    assert_eq!(verify(&store).misfit, None);
    assert_ne!(store.public_key().unwrap(), old);
}

#[test]
fn lost_key_is_accepted_with_the_acknowledgement_only() {
    let (_folder, path) = store_of(70);
    let old = SqliteStore::open(&path).unwrap().public_key().unwrap();
    fs::remove_file(side(&path, ".key")).unwrap();
    assert_eq!(damage(&path), "its key is missing");
    let store = SqliteStore::open(&path).unwrap();
    store.acknowledge_damage(&Commit::new(&record("midrail", 1))).unwrap();
    let new = store.public_key().unwrap();
    assert_ne!(new, old);
    fill(&store, 200);
    let found = verify(&store);
    assert_eq!((found.misfit, found.keys), (None, vec![old.id.clone(), new.id]));
    // A reader who trusts only the old key sees that another key signed the rest of the log.
    let expect = TrustAnchor { head: None, keys: Some(vec![old.id]) };
    let misfit = store.verify(&expect, &mut |_, _| ()).unwrap().misfit.unwrap();
    assert_eq!((misfit.seq, misfit.kind), (128, MisfitKind::Signature));
}

#[test]
fn log_that_was_written_anew_with_another_key_fails() {
    let (_folder, path) = store_of(70);
    // The attacker has a store of their own, in which every record is as they like it.
    let (_other_folder, other) = other_store_of(70);
    for suffix in ["", "-wal", "-shm"] {
        fs::copy(side(&other, suffix), side(&path, suffix)).unwrap();
    }
    let misfit = verify(&SqliteStore::open_read_only(&path).unwrap()).misfit.unwrap();
    assert_eq!((misfit.seq, misfit.kind), (64, MisfitKind::Signature), "{}", misfit.detail);
    assert!(misfit.detail.contains("not an expected key"), "{}", misfit.detail);
}

#[test]
fn copy_without_its_key_verifies_with_a_key_that_is_named() {
    let (folder, path) = store_of(70);
    let key = SqliteStore::open(&path).unwrap().public_key().unwrap().id;
    write_back(&path);
    let copy = folder.path().join("copy.db");
    fs::copy(&path, &copy).unwrap();
    let copy = SqliteStore::open_read_only(copy).unwrap();
    assert_eq!(verify(&copy).misfit.unwrap().kind, MisfitKind::Signature, "its key is not known");
    let expect = TrustAnchor { head: None, keys: Some(vec![key]) };
    assert_eq!(copy.verify(&expect, &mut |_, _| ()).unwrap().misfit, None);
}

#[test]
fn records_at_the_ends_of_the_calendar_verify() {
    let (_folder, path) = store_of(1);
    let store = SqliteStore::open(&path).unwrap();
    for time in [jiff::Timestamp::MAX, jiff::Timestamp::MIN] {
        let mut record = record("s", 1);
        record.time = time;
        store.commit(&Commit::new(&record)).unwrap();
        assert_eq!(verify(&store).misfit, None, "{time}");
    }
}
