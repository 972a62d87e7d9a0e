//! Commits that share a transaction: the outcome of each, and the resulting state. The lead is held until
//! all commits are in the queue, so that the batches are deterministic.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{self, ScopedJoinHandle};

use jiff::Timestamp;
use midrail_core::{AuditRef, Decision, Event, EventKind, Facts, Record};
use serde_json::json;

use crate::anchor::with_suffix;
use crate::approver::{ApproverChange, NewApprover};
use crate::audit_log::AuditLog;
use crate::audit_stats::Stats;
use crate::error::{Result, StoreError};
use crate::sql::queue::MAX_BYTES;
use crate::sqlite::SqliteStore;
use crate::sqlite::write::MAX_JOBS;
use crate::store::{Approvers, Commit, Slices, Store};
use crate::verification::TrustAnchor;

fn record(session: &str, bytes: usize) -> Record {
    let mut event = Event::new(EventKind::BeforeModel);
    event.text = Some("x".repeat(bytes));
    Record {
        time: Timestamp::UNIX_EPOCH,
        session: session.to_owned(),
        event,
        slices: [].into(),
        facts: Facts::default(),
        decision: Decision::default(),
        denied: None,
    }
}

fn store() -> (tempfile::TempDir, SqliteStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
    // The write-ahead log is not truncated, so that its transactions can be counted.
    store.connection().pragma_update(None, "wal_autocheckpoint", 0).unwrap();
    (folder, store)
}

/// Makes each commit in its own thread; all of them wait until this thread, which leads, has run `first`.
fn commit_behind<T>(
    store: &SqliteStore,
    commits: &[Commit<'_>],
    first: impl FnOnce() -> T,
) -> (T, Vec<Result<AuditRef>>) {
    let lead = store.queue.hold();
    thread::scope(|scope| {
        // One after the other, so that their order in the queue is deterministic.
        let start = |(number, commit)| {
            let thread = scope.spawn(move || store.commit(commit));
            while store.queue.len() <= number {
                thread::yield_now();
            }
            thread
        };
        let threads: Vec<ScopedJoinHandle<'_, _>> = commits.iter().enumerate().map(start).collect();
        let done = first();
        drop(lead);
        (done, threads.into_iter().map(|thread| thread.join().unwrap()).collect())
    })
}

/// The number of transactions in the write-ahead log: frames that contain the size of the database after them.
fn transactions(store: &SqliteStore) -> usize {
    let log = std::fs::read(with_suffix(store.path(), "-wal")).unwrap();
    let (header, frames) = log.split_at(32);
    let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap());
    let page = usize::try_from(number(&header[8..12])).unwrap();
    let salts = &header[16..24];
    frames.chunks(24 + page).filter(|frame| &frame[8..16] == salts && number(&frame[4..8]) > 0).count()
}

fn is_intact(store: &SqliteStore) -> bool {
    store.verify(&TrustAnchor::default(), &mut |_, _| ()).unwrap().is_intact()
}

#[test]
fn waiting_commits_share_one_transaction() {
    let (_folder, store) = store();
    let records: Vec<Record> = (0..100).map(|number| record(&format!("s{number}"), 10)).collect();
    let commits: Vec<Commit<'_>> = records.iter().map(Commit::new).collect();
    let before = transactions(&store);
    let (own, outcomes) = commit_behind(&store, &commits, || store.write(|_| Ok(7)));
    assert_eq!(own.unwrap(), 7);
    assert_eq!(transactions(&store), before + 1);
    for (outcome, seq) in outcomes.into_iter().zip(1..) {
        let place = outcome.unwrap();
        assert_eq!(place.seq, seq);
        let entry = store.entry(seq).unwrap().unwrap();
        assert_eq!((entry.hash, entry.labels.session), (place.hash, format!("s{}", seq - 1)));
    }
    assert!(is_intact(&store));
}

#[test]
fn other_write_includes_waiting_commits() {
    let (_folder, store) = store();
    let one = record("s", 10);
    let before = transactions(&store);
    let (counted, outcomes) =
        commit_behind(&store, &[Commit::new(&one)], || store.increment_counter("some", 3));
    counted.unwrap();
    assert_eq!(outcomes.into_iter().next().unwrap().unwrap().seq, 1);
    assert_eq!(store.counters().unwrap()["some"], 3);
    assert_eq!(transactions(&store), before + 1);
}

#[test]
fn conflict_and_refusal_do_not_affect_other_commits() {
    let (_folder, store) = store();
    let record = record("s", 10);
    let decider = |value: u64| {
        let mut commit = Commit::new(&record);
        commit.read.push(("turn".to_owned(), 0));
        commit.changes.set("turn", value);
        commit
    };
    let mut refused = Commit::new(&record);
    // It fails after it has written its slice.
    refused.changes.set("refused", true);
    refused.approvers.push(ApproverChange::Revoke("unknown".to_owned()));
    let mut enrols = Commit::new(&record);
    let (name, key) = ("ann".to_owned(), "k".repeat(64));
    enrols.approvers.push(ApproverChange::Add(NewApprover { name, roles: Vec::new(), key }));
    let (own, outcomes) =
        commit_behind(&store, &[decider(1), refused, decider(2), enrols], || store.write(|_| Ok(())));
    own.unwrap();
    let outcomes: Vec<String> = outcomes
        .into_iter()
        .map(|outcome| outcome.map_or_else(|error| error.to_string(), |place| place.seq.to_string()))
        .collect();
    assert_eq!(
        outcomes,
        [
            "1",
            "there is no approver `unknown`, and nothing was written",
            "the session's slice `turn` changed in the meantime, and nothing was written",
            "2"
        ]
    );
    let slices = store.load_prefix("s", "").unwrap();
    assert_eq!(slices, [("turn".to_owned(), json!(1))].into());
    assert_eq!(store.approvers().unwrap().len(), 1);
    assert!(is_intact(&store));
}

#[test]
fn failure_of_the_leader_does_not_affect_other_commits() {
    let (_folder, store) = store();
    let record = record("s", 10);
    let refuse = || Err::<(), _>(StoreError::Refused { what: "no".to_owned() });
    let (own, outcomes) = commit_behind(&store, &[Commit::new(&record)], || store.write(|_| refuse()));
    assert!(matches!(own, Err(StoreError::Refused { .. })));
    assert_eq!(outcomes.into_iter().next().unwrap().unwrap().seq, 1);
    assert!(is_intact(&store));
}

#[test]
fn full_disk_fails_all_commits_and_writes_nothing() {
    let (_folder, store) = store();
    let limit = |pages: i64| store.connection().pragma_update(None, "max_page_count", pages).unwrap();
    let used: i64 = store.connection().pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    let (small, large) = (record("small", 10), record("large", 200_000));
    let commits = [Commit::new(&small), Commit::new(&large), Commit::new(&small)];
    limit(used + 10);
    let (own, outcomes) = commit_behind(&store, &commits, || store.write(|_| Ok(())));
    for outcome in outcomes.into_iter().map(|outcome| outcome.map(drop)).chain([own]) {
        assert!(matches!(outcome, Err(StoreError::Full { .. })), "{outcome:?}");
    }
    assert_eq!(store.head().unwrap(), None);
    limit(i64::from(u32::MAX));
    let (own, outcomes) = commit_behind(&store, &commits, || store.write(|_| Ok(())));
    own.unwrap();
    assert!(outcomes.iter().all(Result::is_ok));
    assert!(is_intact(&store));
}

#[test]
fn panic_of_the_leader_fails_its_batch_only() {
    let (_folder, store) = store();
    let record = record("s", 10);
    let commits = vec![Commit::new(&record); MAX_JOBS + 10];
    let (own, outcomes) = commit_behind(&store, &commits, || {
        let work = || store.write(|_| -> Result<()> { panic!("on purpose") });
        catch_unwind(AssertUnwindSafe(work))
    });
    own.unwrap_err();
    // The jobs of its batch fail, and the others continue.
    let (failed, rest) = outcomes.split_at(MAX_JOBS);
    assert!(failed.iter().all(|outcome| matches!(outcome, Err(StoreError::Abandoned))));
    assert!(rest.iter().all(Result::is_ok));
    assert_eq!(store.head().unwrap().unwrap().seq, 10);
    assert_eq!(store.commit(&Commit::new(&record)).unwrap().seq, 11);
    assert!(is_intact(&store));
}

#[test]
fn batches_are_limited_in_number_and_bytes() {
    let (_folder, store) = store();
    let small = record("s", 10);
    let before = transactions(&store);
    let commits = vec![Commit::new(&small); MAX_JOBS + 1];
    let (_, outcomes) = commit_behind(&store, &commits, || store.write(|_| Ok(())));
    assert!(outcomes.iter().all(Result::is_ok));
    assert_eq!(transactions(&store), before + 2);

    let (_folder, store) = self::store();
    let large = record("s", MAX_BYTES / 4);
    let before = transactions(&store);
    let commits = vec![Commit::new(&large); 5];
    let (_, outcomes) = commit_behind(&store, &commits, || store.write(|_| Ok(())));
    assert!(outcomes.iter().all(Result::is_ok));
    assert_eq!(transactions(&store), before + 2);
}

#[test]
fn readers_do_not_wait_for_the_writer_and_see_acknowledged_commits() {
    let (_folder, store) = store();
    let store = SqliteStore::open_with_readers(store.path(), 2).unwrap();
    let record = record("s", 10);
    let mut commit = Commit::new(&record);
    commit.changes.set("a", 1);
    for seq in 1..=50 {
        assert_eq!(store.commit(&commit).unwrap().seq, seq);
        assert_eq!(store.load("s", &["a"]).unwrap()[0].version, seq);
        assert_eq!(store.head().unwrap().unwrap().seq, seq);
    }
    // During a transaction, readers see the state before it.
    store
        .write(|transaction| {
            transaction.execute("DELETE FROM slices", []).unwrap();
            assert_eq!(store.load("s", &["a"])?[0].value, Some(json!(1)));
            assert_eq!(store.approvers()?.len(), 0);
            Err::<(), _>(StoreError::Refused { what: "no".to_owned() })
        })
        .unwrap_err();
    // A reader that panics returns its connection.
    for _ in 0..3 {
        let read = || store.read(|_| -> rusqlite::Result<()> { panic!("on purpose") });
        catch_unwind(AssertUnwindSafe(read)).unwrap_err();
    }
    assert_eq!(store.load("s", &["a"]).unwrap()[0].version, 50);
}
