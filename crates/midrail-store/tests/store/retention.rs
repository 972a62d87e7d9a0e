//! Archives and erasures of a SQLite store, and attempts to forge them.

use std::fs;
use std::io::Read;

use crate::archives;
use crate::common::{at, fill, verify};
use midrail_store::{AuditLog, Keys, MisfitKind, Retention, SqliteStore, TrustAnchor, gzip_reader};
use rusqlite::Connection;

#[test]
fn archives_verify_alone_and_the_store_across_the_cut() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    archives::archives_verify_alone_and_the_store_across_the_cut(&store, folder.path());
    drop(store);
    // A slice that only archived records have written is covered, too.
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(verify(&store).misfit, None);
    Connection::open(&path).unwrap().execute_batch("DELETE FROM slices WHERE key = 'halted'").unwrap();
    let misfit = verify(&store).misfit.unwrap();
    assert_eq!((misfit.seq, misfit.kind), (1, MisfitKind::State), "{}", misfit.detail);
    Connection::open(&path).unwrap().execute_batch("UPDATE archives SET state = '{}'").unwrap();
    assert_eq!(verify(&store).misfit.unwrap().kind, MisfitKind::Signature);
}

#[test]
fn records_cannot_be_removed_with_a_forged_archive() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    fill(&store, 100);
    store.archive(40, at(200), &folder.path().join("a.gz")).unwrap();
    let sql = "INSERT INTO archives SELECT 64, sha256, state, key, signature FROM archives;
               DELETE FROM audit WHERE seq <= 64";
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    let misfit = verify(&store).misfit.unwrap();
    assert_eq!((misfit.seq, misfit.kind), (64, MisfitKind::Signature), "{}", misfit.detail);
}

#[test]
fn damaged_archive_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
    fill(&store, 100);
    let path = folder.path().join("a.gz");
    store.archive(70, at(200), &path).unwrap();
    assert!(store.archive(80, at(200), &path).unwrap_err().to_string().contains("exists already"));
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let mut out = Vec::new();
    let read = gzip_reader(bytes.as_slice()).read_to_end(&mut out);
    assert!(read.is_err(), "the checksum shows it");
    assert_eq!(store.entries(&Default::default()).unwrap()[0].seq, 71);
}

#[test]
fn erased_session_leaves_a_provable_gap() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    archives::erased_session_leaves_a_provable_gap(&store);
    // The same by hand, without a signature.
    let sql = "INSERT INTO erasures SELECT 12, key, signature FROM erasures;
               UPDATE audit SET body = (SELECT body FROM audit WHERE seq = 11) WHERE seq = 12";
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    let misfit = verify(&store).misfit.unwrap();
    assert_eq!((misfit.seq, misfit.kind), (12, MisfitKind::Changed), "{}", misfit.detail);
}

#[test]
fn interrupted_removal_is_continued_and_the_log_verifies_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    fill(&store, 100);
    // The process ended after the archive was signed, and before its records were removed.
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE kept AS SELECT * FROM audit WHERE seq <= 70").unwrap();
    store.archive(70, at(200), &folder.path().join("a.gz")).unwrap();
    let back = "DROP TRIGGER audit_next; INSERT INTO audit SELECT * FROM kept; DROP TABLE kept;";
    connection.execute_batch(back).unwrap();
    let found = verify(&store);
    assert_eq!((found.misfit, found.archived, found.records), (None, 70, 30));
    store.archive(80, at(200), &folder.path().join("b.gz")).unwrap();
    assert_eq!(store.entries(&Default::default()).unwrap()[0].seq, 81);
    assert_eq!(verify(&store).misfit, None);
}

#[test]
fn replaced_key_signs_nothing_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let (store, other) = (SqliteStore::open(&path).unwrap(), SqliteStore::open(&path).unwrap());
    archives::replaced_key_signs_nothing_more(&store, &other, folder.path());
    let key_file = folder.path().join("store.db.key");
    assert_eq!(fs::read_to_string(&key_file).unwrap().lines().count(), 3, "the old key is not kept");
    // A signature of the key that was replaced, as a thief of it would write.
    let first = store.key_changes().unwrap().remove(0);
    let sql = "DROP TRIGGER IF EXISTS checkpoints_kept; UPDATE checkpoints SET key = (SELECT key FROM checkpoints WHERE seq = 10)
               WHERE seq = 128";
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    let anchor = TrustAnchor { head: None, keys: Some(vec![first.old]) };
    let misfit = store.verify(&anchor, &mut |_, _| ()).unwrap().misfit.unwrap();
    assert!(misfit.detail.contains("which was replaced after record 10"), "{}", misfit.detail);
}

#[test]
fn interrupted_replacement_of_the_key_leaves_a_log_that_verifies() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let key_file = folder.path().join("store.db.key");
    fill(&SqliteStore::open(&path).unwrap(), 10);
    let old = fs::read_to_string(&key_file).unwrap();
    // The process ended after it had stored the new key, and before the log had it.
    let pending = format!("{old}next {}\n", "5".repeat(64));
    fs::write(&key_file, &pending).unwrap();
    let store = SqliteStore::open(&path).unwrap();
    fill(&store, 70);
    assert_eq!(verify(&store).misfit, None);
    // The process ended after the log had it, and before the old one was dropped.
    let change = store.replace_signing_key(at(80)).unwrap();
    let new = fs::read_to_string(&key_file).unwrap();
    let next = new.lines().last().unwrap().strip_prefix("signing ").unwrap();
    fs::write(&key_file, format!("{old}next {next}\n")).unwrap();
    let store = SqliteStore::open(&path).unwrap();
    fill(&store, 130);
    assert_eq!(verify(&store).misfit, None);
    assert_eq!(store.last_checkpoint().unwrap().unwrap().key, change.new);
}
