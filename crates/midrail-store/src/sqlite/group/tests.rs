//! Commits that are written together: what each is told, and what is left behind. The connection or the lead is held
//! until all are in the queue, so that who goes with whom is not left to chance.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{self, ScopedJoinHandle};

use jiff::Timestamp;
use midrail_core::{AuditRef, Decision, Event, EventKind, Facts, Record};
use serde_json::json;

use super::{MOST, MOST_BYTES, Turn};
use crate::approver::{ApproverChange, NewApprover};
use crate::error::{Result, StoreError};
use crate::sqlite::SqliteStore;
use crate::sqlite::commit::Job;
use crate::sqlite::files::beside;
use crate::store::{Approvers, AuditLog, Commit, Slices, Stats, Store};
use crate::verify::TrustAnchor;

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
    // The log is kept whole, to be counted in.
    store.connection().pragma_update(None, "wal_autocheckpoint", 0).unwrap();
    (folder, store)
}

/// Commits in a thread each, all of which wait until this thread has done `first` as the one who leads.
fn behind<T>(
    store: &SqliteStore,
    commits: &[Commit<'_>],
    first: impl FnOnce(super::Lead<'_>) -> T,
) -> (T, Vec<Result<AuditRef>>) {
    let own = record("leader", 1);
    let own = Commit::new(&own);
    let Turn::Lead(lead, _) = store.queue.enter(Job::of(&own).unwrap()) else { panic!("another leads") };
    thread::scope(|scope| {
        // One after the other, so that their order in the queue is known.
        let start = |(number, commit)| {
            let thread = scope.spawn(move || store.commit(commit));
            while store.queue.state().waiting.len() <= number {
                thread::yield_now();
            }
            thread
        };
        let threads: Vec<ScopedJoinHandle<'_, _>> = commits.iter().enumerate().map(start).collect();
        let done = first(lead);
        (done, threads.into_iter().map(|thread| thread.join().unwrap()).collect())
    })
}

/// The transactions in the write-ahead log: frames that say how large the database is after them.
fn transactions(store: &SqliteStore) -> usize {
    let log = std::fs::read(beside(store.path(), "-wal")).unwrap();
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
fn commits_that_wait_are_written_in_one_transaction() {
    let (_folder, store) = store();
    let records: Vec<Record> = (0..100).map(|number| record(&format!("s{number}"), 10)).collect();
    let commits: Vec<Commit<'_>> = records.iter().map(Commit::new).collect();
    let before = transactions(&store);
    let (own, outcomes) = behind(&store, &commits, |lead| store.write_with(Some(lead), |_| Ok(7)));
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
fn write_that_is_no_commit_takes_waiting_commits_along() {
    let (_folder, store) = store();
    let one = record("s", 10);
    let before = transactions(&store);
    let (counted, outcomes) = behind(&store, &[Commit::new(&one)], |lead| {
        let counted = store.increment_counter("some", 3);
        drop(lead);
        counted
    });
    counted.unwrap();
    assert_eq!(outcomes.into_iter().next().unwrap().unwrap().seq, 1);
    assert_eq!(store.counters().unwrap()["some"], 3);
    assert_eq!(transactions(&store), before + 1);
}

#[test]
fn conflict_and_refusal_of_one_are_its_own() {
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
    refused.approvers.push(ApproverChange::Revoke("nobody".to_owned()));
    let mut enrols = Commit::new(&record);
    let (name, key) = ("ann".to_owned(), "k".repeat(64));
    enrols.approvers.push(ApproverChange::Add(NewApprover { name, roles: Vec::new(), key }));
    let (own, outcomes) = behind(&store, &[decider(1), refused, decider(2), enrols], |lead| {
        store.write_with(Some(lead), |_| Ok(()))
    });
    own.unwrap();
    let told: Vec<String> = outcomes
        .into_iter()
        .map(|outcome| outcome.map_or_else(|error| error.to_string(), |place| place.seq.to_string()))
        .collect();
    assert_eq!(
        told,
        [
            "1",
            "there is no approver `nobody`, and nothing was written",
            "the session's `turn` changed in the meantime, and nothing was written",
            "2"
        ]
    );
    let slices = store.load_prefix("s", "").unwrap();
    assert_eq!(slices, [("turn".to_owned(), json!(1))].into());
    assert_eq!(store.approvers().unwrap().len(), 1);
    assert!(is_intact(&store));
}

#[test]
fn failure_of_who_leads_is_not_that_of_the_others() {
    let (_folder, store) = store();
    let record = record("s", 10);
    let refuse = || Err::<(), _>(StoreError::Refused { what: "no".to_owned() });
    let (own, outcomes) =
        behind(&store, &[Commit::new(&record)], |lead| store.write_with(Some(lead), |_| refuse()));
    assert!(matches!(own, Err(StoreError::Refused { .. })));
    assert_eq!(outcomes.into_iter().next().unwrap().unwrap().seq, 1);
    assert!(is_intact(&store));
}

#[test]
fn full_disk_is_told_to_all_and_leaves_nothing() {
    let (_folder, store) = store();
    let limit = |pages: i64| store.connection().pragma_update(None, "max_page_count", pages).unwrap();
    let used: i64 = store.connection().pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    let (small, large) = (record("small", 10), record("large", 200_000));
    let commits = [Commit::new(&small), Commit::new(&large), Commit::new(&small)];
    limit(used + 10);
    let (own, outcomes) = behind(&store, &commits, |lead| store.write_with(Some(lead), |_| Ok(())));
    for outcome in outcomes.into_iter().map(|outcome| outcome.map(drop)).chain([own]) {
        assert!(matches!(outcome, Err(StoreError::Full { .. })), "{outcome:?}");
    }
    assert_eq!(store.head().unwrap(), None);
    limit(i64::from(u32::MAX));
    let (own, outcomes) = behind(&store, &commits, |lead| store.write_with(Some(lead), |_| Ok(())));
    own.unwrap();
    assert!(outcomes.iter().all(Result::is_ok));
    assert!(is_intact(&store));
}

#[test]
fn panic_of_who_leads_leaves_no_one_waiting() {
    let (_folder, store) = store();
    let record = record("s", 10);
    let commits = vec![Commit::new(&record); MOST + 10];
    let (own, outcomes) = behind(&store, &commits, |lead| {
        let work = || store.write_with(Some(lead), |_| -> Result<()> { panic!("on purpose") });
        catch_unwind(AssertUnwindSafe(work))
    });
    own.unwrap_err();
    // Those whose jobs were taken hear of it, and the others go on.
    let (told, rest) = outcomes.split_at(MOST);
    assert!(told.iter().all(|outcome| matches!(outcome, Err(StoreError::Abandoned))));
    assert!(rest.iter().all(Result::is_ok));
    assert_eq!(store.head().unwrap().unwrap().seq, 10);
    assert_eq!(store.commit(&Commit::new(&record)).unwrap().seq, 11);
    assert!(is_intact(&store));
}

#[test]
fn batches_are_bounded_in_number_and_bytes() {
    let (_folder, store) = store();
    let small = record("s", 10);
    let before = transactions(&store);
    let commits = vec![Commit::new(&small); MOST + 1];
    let (_, outcomes) = behind(&store, &commits, |lead| store.write_with(Some(lead), |_| Ok(())));
    assert!(outcomes.iter().all(Result::is_ok));
    assert_eq!(transactions(&store), before + 2);

    let (_folder, store) = self::store();
    let large = record("s", MOST_BYTES / 4);
    let before = transactions(&store);
    let commits = vec![Commit::new(&large); 5];
    let (_, outcomes) = behind(&store, &commits, |lead| store.write_with(Some(lead), |_| Ok(())));
    assert!(outcomes.iter().all(Result::is_ok));
    assert_eq!(transactions(&store), before + 2);
}

#[test]
fn readers_do_not_wait_for_who_writes_and_see_what_was_acknowledged() {
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
    // In the middle of writing, everything can be read as it was before.
    store
        .write(|transaction| {
            transaction.execute("DELETE FROM slices", []).unwrap();
            assert_eq!(store.load("s", &["a"])?[0].value, Some(json!(1)));
            assert_eq!(store.approvers()?.len(), 0);
            Err::<(), _>(StoreError::Refused { what: "no".to_owned() })
        })
        .unwrap_err();
    // A reader that panics gives its connection back.
    for _ in 0..3 {
        let read = || store.read(|_| -> rusqlite::Result<()> { panic!("on purpose") });
        catch_unwind(AssertUnwindSafe(read)).unwrap_err();
    }
    assert_eq!(store.load("s", &["a"]).unwrap()[0].version, 50);
}
