//! Disks that are full, files that are not what they should be, and who may read what.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::common::{fill, record, verify};
use midrail_store::{AuditFilter, AuditLog, Commit, Keys, Policies, Slices, SqliteStore, Store, StoreError};
use rusqlite::Connection;
use serde_json::json;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn error<T>(outcome: Result<T, StoreError>) -> StoreError {
    match outcome {
        Ok(_) => panic!("this must fail"),
        Err(error) => error,
    }
}

#[test]
fn files_are_accessible_to_their_owner_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/store.db");
    let store = SqliteStore::open(&path).unwrap();
    fill(&store, 64);
    assert_eq!(mode(&folder.path().join("a")), 0o700);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    for name in ["store.db", "store.db-wal", "store.db-shm", "store.db.key", "store.db.head"] {
        assert_eq!(mode(&path.with_file_name(name)), 0o600, "{name}");
    }
    assert!(!path.with_file_name("store.db.key.new").exists());
}

#[test]
fn wider_permissions_are_narrowed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    fill(&SqliteStore::open(&path).unwrap(), 64);
    let names = ["store.db", "store.db-wal", "store.db-shm", "store.db.key"];
    for name in names {
        fs::set_permissions(path.with_file_name(name), fs::Permissions::from_mode(0o644)).unwrap();
    }
    SqliteStore::open(&path).unwrap().fingerprint_key().unwrap();
    for name in names {
        assert_eq!(mode(&path.with_file_name(name)), 0o600, "{name}");
    }
}

#[test]
fn state_survives_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let (record, fingerprint) =
        (record("s", 1), SqliteStore::open(&path).unwrap().fingerprint_key().unwrap());
    for round in 1..=200 {
        let store = SqliteStore::open(&path).unwrap();
        let mut commit = Commit::new(&record);
        commit.changes.set("round", round);
        assert_eq!(store.commit(&commit).unwrap().seq, round);
    }
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(store.load("s", &["round"]).unwrap()[0].value, Some(json!(200)));
    assert_eq!(store.fingerprint_key().unwrap(), fingerprint);
    let found = verify(&store);
    assert_eq!((found.misfit, found.records, found.checkpoints), (None, 200, 3));
}

#[test]
fn read_only_store_answers_and_refuses_to_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let writer = SqliteStore::open(&path).unwrap();
    fill(&writer, 70);
    let before = fs::read(&path).unwrap();
    let store = SqliteStore::open_read_only(&path).unwrap();
    assert_eq!(verify(&store).records, 70);
    assert_eq!(store.entries(&AuditFilter::default()).unwrap().len(), 70);
    assert_eq!(store.fingerprint_key().unwrap(), writer.fingerprint_key().unwrap());
    let record = record("s", 1);
    for failed in [
        error(store.commit(&Commit::new(&record))),
        error(store.save_policy("sha256:1", "{}")),
        error(store.checkpoint_now(record.time)),
    ] {
        assert!(matches!(failed, StoreError::ReadOnly { .. }), "{failed:?}");
        assert_eq!(failed.to_string(), format!("`{}` is read-only", path.display()));
    }
    // It sees what is written meanwhile, and has changed nothing itself.
    assert_eq!(fs::read(&path).unwrap(), before);
    fill(&writer, 71);
    assert_eq!(store.head().unwrap().unwrap().seq, 71);
}

#[test]
fn read_only_store_must_be_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none/store.db");
    let failed = error(SqliteStore::open_read_only(&path));
    assert!(matches!(failed, StoreError::NotFound { .. }), "{failed:?}");
    assert_eq!(failed.to_string(), format!("`{}` does not exist", path.display()));
    assert!(!path.parent().unwrap().exists());

    let empty = folder.path().join("empty.db");
    fs::write(&empty, "").unwrap();
    assert!(matches!(error(SqliteStore::open_read_only(&empty)), StoreError::Corrupt { .. }));
    assert_eq!(fs::read(&empty).unwrap(), b"");
}

#[test]
fn copy_without_its_log_can_be_read_where_nothing_can_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd name?#%.db");
    fill(&SqliteStore::open(&path).unwrap(), 70);
    // Writes the log back, and removes it.
    Connection::open(&path).unwrap().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    assert!(!path.with_file_name("odd name?#%.db-wal").exists());
    // In the place of the log's index stands something that cannot be opened.
    fs::create_dir(path.with_file_name("odd name?#%.db-shm")).unwrap();
    assert_eq!(verify(&SqliteStore::open_read_only(&path).unwrap()).records, 70);
}

#[test]
fn path_that_cannot_be_created_is_a_clear_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let failed = error(SqliteStore::open(file.join("store.db")));
    assert!(matches!(failed, StoreError::Io { .. }), "{failed:?}");
    assert!(failed.to_string().contains("file/store.db"), "{failed}");
    let failed = error(SqliteStore::open(folder.path()));
    assert!(failed.to_string().contains("directory"), "{failed}");
    let failed = error(SqliteStore::open_read_only(folder.path()));
    assert!(failed.to_string().contains("directory"), "{failed}");
    assert!(matches!(error(SqliteStore::open("")), StoreError::Io { .. }));
}

#[test]
fn device_is_refused_and_left_alone() {
    let device = Path::new("/dev/null");
    let before = mode(device);
    for failed in [error(SqliteStore::open(device)), error(SqliteStore::open_read_only(device))] {
        assert_eq!(failed.to_string(), "`/dev/null` cannot be used: it is not a regular file");
    }
    assert_eq!(mode(device), before);
}

#[test]
fn newer_store_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    fill(&SqliteStore::open(&path).unwrap(), 3);
    Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 7").unwrap();
    for failed in [error(SqliteStore::open(&path)), error(SqliteStore::open_read_only(&path))] {
        assert!(matches!(failed, StoreError::Newer { found: 7, known: 6, .. }), "{failed:?}");
        assert!(failed.help().unwrap().starts_with("update midrail"));
    }
}

#[test]
fn file_that_is_no_store_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    for content in ["short".to_owned(), "no database at all\n".repeat(1000)] {
        fs::write(&path, &content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        for failed in [error(SqliteStore::open(&path)), error(SqliteStore::open_read_only(&path))] {
            assert!(matches!(failed, StoreError::Corrupt { .. }), "{failed:?}");
            let text = format!("`{}` cannot be used: it is not a SQLite database", path.display());
            assert_eq!(failed.to_string(), text);
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
        assert_eq!(mode(&path), 0o644);
    }
}

#[test]
fn database_of_another_program_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    for version in [0, 1] {
        let path = folder.path().join(format!("{version}.db"));
        let sql = format!("CREATE TABLE mine (a); PRAGMA user_version = {version}");
        Connection::open(&path).unwrap().execute_batch(&sql).unwrap();
        let before = fs::read(&path).unwrap();
        let failed = error(SqliteStore::open(&path));
        assert!(failed.to_string().ends_with("it is the database of another program"), "{failed}");
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}

#[test]
fn empty_file_becomes_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    fs::write(&path, "").unwrap();
    fill(&SqliteStore::open(&path).unwrap(), 1);
    assert_eq!(mode(&path), 0o600);
}

#[test]
fn damaged_key_is_a_clear_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    fs::write(path.with_file_name("store.db.key"), "midrail-key-v1\n0102\n").unwrap();
    let failed = error(SqliteStore::open(&path));
    assert!(matches!(failed, StoreError::Corrupt { .. }), "{failed:?}");
    assert!(failed.to_string().contains("store.db.key"), "{failed}");
}
