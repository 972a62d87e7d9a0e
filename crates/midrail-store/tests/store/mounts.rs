//! A full disk and a read-only disk: small file systems in a mount namespace. On a system that does not allow that, these
//! tests print a message and pass.
#![cfg(target_os = "linux")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{fill, record, verify};
use midrail_store::{AuditLog, Commit, Keys, Slices, SqliteStore, Store, StoreError};
use serde_json::json;

const DISK: &str = "MIDRAIL_TEST_DISK";

/// Runs a test again in a child process with a mounted file system, whose path is in a variable.
fn with_disk(test: &str, size: &str) -> Option<PathBuf> {
    if let Ok(disk) = env::var(DISK) {
        return Some(disk.into());
    }
    let folder = tempfile::tempdir().unwrap();
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-ec", script]);
        command
            .env(DISK, folder.path())
            .env("PROGRAM", env::current_exe().unwrap())
            .env("TEST", test)
            .env("SIZE", size);
        command.output()
    };
    let mount = "mount -t tmpfs -o size=$SIZE none \"$MIDRAIL_TEST_DISK\"";
    if !unshare(mount).is_ok_and(|output| output.status.success()) {
        println!("skipped: this system does not let a test mount a file system");
        return None;
    }
    let output = unshare(&format!("{mount}; exec \"$PROGRAM\" \"$TEST\" --exact --nocapture")).unwrap();
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    None
}

#[test]
fn full_disk_is_a_clear_error_and_loses_nothing() {
    let Some(disk) = with_disk("mounts::full_disk_is_a_clear_error_and_loses_nothing", "600k") else {
        return;
    };
    let path = disk.join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    let mut record = record("s", 1);
    record.event.text = Some("x".repeat(2000));
    let mut count = 0;
    let failed = loop {
        let mut commit = Commit::new(&record);
        commit.changes.set("count", count + 1);
        match store.commit(&commit) {
            Ok(_) => count += 1,
            Err(error) => break error,
        }
        assert!(count < 10_000, "the disk was never full");
    };
    assert!(matches!(failed, StoreError::Full { .. }), "{failed:?}");
    assert!(count > 10, "{count}");
    let check = |store: &SqliteStore| {
        assert_eq!(store.load("s", &["count"]).unwrap()[0].value, Some(json!(count)));
        let found = verify(store);
        assert_eq!((found.misfit, found.records), (None, u64::try_from(count).unwrap()));
    };
    check(&store);
    drop(store);
    check(&SqliteStore::open_read_only(&path).unwrap());
    match SqliteStore::open(&path) {
        Ok(store) => check(&store),
        Err(error) => assert!(matches!(error, StoreError::Full { .. }), "{error:?}"),
    }
    // A new store does not fit either.
    let failed = SqliteStore::open(disk.join("another.db")).err().unwrap();
    assert!(matches!(failed, StoreError::Full { .. }), "{failed:?}");

    remount(&disk, "size=4m");
    let store = SqliteStore::open(&path).unwrap();
    check(&store);
    let records = store.head().unwrap().unwrap().seq;
    fill(&store, records + 100);
    assert_eq!(verify(&store).records, records + 100);
}

#[test]
fn read_only_disk_is_a_clear_error_and_can_be_read() {
    let Some(disk) = with_disk("mounts::read_only_disk_is_a_clear_error_and_can_be_read", "4m") else {
        return;
    };
    let (with_log, without_log) = (disk.join("with.db"), disk.join("without.db"));
    for path in [&with_log, &without_log] {
        fill(&SqliteStore::open(path).unwrap(), 70);
    }
    rusqlite::Connection::open(&without_log)
        .unwrap()
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    assert!(disk.join("with.db-wal").exists() && !disk.join("without.db-wal").exists());
    remount(&disk, "ro");
    for path in [&with_log, &without_log] {
        let store = SqliteStore::open_read_only(path).unwrap();
        assert_eq!(verify(&store).records, 70, "{}", path.display());
        store.fingerprint_key().unwrap();
        let failed = SqliteStore::open(path)
            .and_then(|store| store.commit(&Commit::new(&record("s", 1))))
            .unwrap_err();
        assert!(matches!(failed, StoreError::ReadOnly { .. }), "{failed:?}");
    }
    let failed = SqliteStore::open(disk.join("new.db")).err().unwrap();
    assert!(matches!(failed, StoreError::ReadOnly { .. }), "{failed:?}");
    assert!(!fs::exists(disk.join("new.db")).unwrap());
}

fn remount(disk: &Path, options: &str) {
    let options = format!("remount,{options}");
    assert!(Command::new("mount").args(["-o", &options]).arg(disk).status().unwrap().success());
}
