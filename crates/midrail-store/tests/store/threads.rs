//! Many threads of one process on one file: none loses an update, and a killed process loses no acknowledged commit.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use crate::common::{fill, record, verify};
use midrail_core::AuditRef;
use midrail_store::{AuditLog, Commit, Slices, SqliteStore, Store, StoreError};
use serde_json::json;

const FILE: &str = "MIDRAIL_TEST_FILE";
const THREADS: u64 = 16;

/// Adds one to a slice of a session, as a decision would.
fn count_one(store: &SqliteStore, session: &str) -> AuditRef {
    let record = record(session, 1);
    loop {
        let slice = store.load(session, &["count"]).unwrap().remove(0);
        let mut commit = Commit::new(&record);
        commit.read.push(("count".to_owned(), slice.version));
        commit.changes.set("count", slice.value.and_then(|value| value.as_u64()).unwrap_or(0) + 1);
        match store.commit(&commit) {
            Ok(place) => return place,
            Err(error) => assert!(error.is_conflict(), "{error}"),
        }
    }
}

/// Some threads count in a session of their own, and some in one that they share.
fn session_for(thread: u64) -> String {
    if thread.is_multiple_of(4) { "shared".to_owned() } else { format!("s{thread}") }
}

#[test]
fn threads_lose_no_update() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    for store in [SqliteStore::open(&path).unwrap(), SqliteStore::open_with_readers(&path, 3).unwrap()] {
        thread::scope(|scope| {
            for number in 0..THREADS {
                let store = &store;
                scope.spawn(move || (0..50).for_each(|_| drop(count_one(store, &session_for(number)))));
            }
        });
    }
    let store = SqliteStore::open(&path).unwrap();
    let count = |session: &str| store.load(session, &["count"]).unwrap().remove(0).value;
    assert_eq!(count("shared"), Some(json!(400)));
    assert_eq!(count("s1"), Some(json!(100)));
    let found = verify(&store);
    assert_eq!((found.misfit, found.records), (None, THREADS * 100));
}

/// The child process. It does nothing in an ordinary run of the tests.
#[test]
fn child_process() {
    let Ok(file) = env::var(FILE) else { return };
    let store = SqliteStore::open_with_readers(file, 4).unwrap();
    thread::scope(|scope| {
        for number in 0..THREADS {
            let store = &store;
            scope.spawn(move || {
                loop {
                    let place = count_one(store, &session_for(number));
                    let mut out = std::io::stdout().lock();
                    out.write_all(format!("\nack {} {}\n", place.seq, place.hash).as_bytes()).unwrap();
                    out.flush().unwrap();
                }
            });
        }
    });
}

/// Runs a child until it has acknowledged a number of commits, and kills it.
fn acknowledged_until_killed(file: &Path, after: usize) -> Vec<(u64, String)> {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["threads::child_process", "--exact", "--nocapture"])
        .env(FILE, file)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut acks = Vec::new();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while reader.read_line(&mut line).unwrap() > 0 {
        // A line that the kill has truncated does not count.
        let ack = line.strip_suffix('\n').and_then(|line| line.strip_prefix("ack ")?.split_once(' '));
        if let Some((seq, hash)) = ack {
            acks.push((seq.parse().unwrap(), hash.to_owned()));
            if acks.len() == after {
                child.kill().unwrap();
            }
        }
        line.clear();
    }
    assert!(!child.wait().unwrap().success(), "the child ended on its own");
    acks
}

#[test]
fn killed_process_loses_no_acknowledged_commit() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let mut acknowledged = Vec::new();
    for round in 0..12 {
        acknowledged.extend(acknowledged_until_killed(&file, 40 + round * 17));
    }
    let store = SqliteStore::open(&file).unwrap();
    let found = verify(&store);
    assert_eq!(found.misfit, None);
    println!("{} records acknowledged, {} in the log", acknowledged.len(), found.records);
    for (seq, hash) in acknowledged {
        assert_eq!(store.entry(seq).unwrap().map(|entry| entry.hash), Some(hash), "record {seq}");
    }
    // A commit that was not acknowledged is written completely or not at all.
    for session in store.sessions().unwrap() {
        let count = store.load(&session.session, &["count"]).unwrap().remove(0).value;
        assert_eq!(count, Some(json!(session.records)), "{}", session.session);
    }
}

/// A process that is suspended in the middle of a commit keeps the lock.
#[test]
fn suspended_writer_blocks_others_for_seconds_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    fill(&store, 3);
    let suspended = rusqlite::Connection::open(&path).unwrap();
    suspended.execute_batch("BEGIN IMMEDIATE").unwrap();
    let started = std::time::Instant::now();
    let failed = store.commit(&Commit::new(&record("s", 4))).unwrap_err();
    let waited = started.elapsed();
    assert!(matches!(failed, StoreError::Busy { .. }), "{failed:?}");
    assert!(failed.help().unwrap().contains("end a stuck process"));
    assert!((3.0..8.0).contains(&waited.as_secs_f64()), "{waited:?}");
    suspended.execute_batch("ROLLBACK").unwrap();
    fill(&store, 5);
}
