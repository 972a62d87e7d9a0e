//! Slices that belong to all sessions.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::thread;

use midrail_core::{SHARED_PREFIX, lock_key};
use midrail_store::{Commit, Slice, Store};
use serde_json::{Value, json};

use crate::common::record;

fn one(store: &dyn Store, session: &str, key: &str) -> Slice {
    store.load(session, &[key]).unwrap().remove(0)
}

fn set(store: &dyn Store, session: &str, key: &str, value: impl Into<Value>) -> u64 {
    let record = record(session, 1);
    let mut commit = Commit::new(&record);
    commit.changes.set(key, value);
    store.commit(&commit).unwrap().seq
}

/// Takes a lock that was seen in a version.
fn take(store: &dyn Store, session: &str, key: &str, seen: u64) -> midrail_store::Result<()> {
    let record = record(session, 1);
    let mut commit = Commit::new(&record);
    commit.read.push((key.to_owned(), seen));
    commit.changes.set(key, session);
    store.commit(&commit).map(|_| ())
}

pub(crate) fn shared_slices_are_every_sessions(store: &dyn Store) {
    let key = lock_key("/repo/a.rs");
    let seq = set(store, "s", &key, "s");
    for session in ["s", "t", "", "shared"] {
        assert_eq!(one(store, session, &key), Slice { value: Some(json!("s")), version: seq });
    }
    // A key that only looks like it is the session's own.
    for own in ["shared", "sharedlock", "Shared/lock", " shared/x"] {
        set(store, "s", own, 1);
        assert_eq!(one(store, "t", own), Slice::default(), "{own}");
    }
    let record = record("t", 2);
    let mut commit = Commit::new(&record);
    commit.changes.remove(&*key);
    store.commit(&commit).unwrap();
    assert_eq!(one(store, "s", &key), Slice::default());
}

pub(crate) fn shared_prefix_reads_them_and_no_other_does(store: &dyn Store) {
    for session in ["s", ""] {
        set(store, session, "sh", 1);
        set(store, session, "zz", 1);
    }
    set(store, "s", &lock_key("/a"), 1);
    set(store, "t", &lock_key("/b"), 2);
    set(store, "t", "shared/other", 3);
    let keys = |session: &str, prefix: &str| {
        store.load_prefix(session, prefix).unwrap().into_keys().collect::<Vec<_>>()
    };
    for session in ["s", "t", "", "none"] {
        assert_eq!(keys(session, "shared/lock/"), ["shared/lock//a", "shared/lock//b"]);
        assert_eq!(keys(session, SHARED_PREFIX).len(), 3);
    }
    for session in ["s", ""] {
        assert_eq!(keys(session, ""), ["sh", "zz"]);
        assert_eq!(keys(session, "sh"), ["sh"]);
    }
    assert_eq!(keys("t", ""), [""; 0]);
}

pub(crate) fn restore_leaves_shared_slices_alone(store: &dyn Store) {
    for session in ["s", ""] {
        set(store, session, "own", 1);
        let seq = set(store, "t", &lock_key("/a"), "t");
        let record = record(session, 2);
        let mut commit = Commit::new(&record);
        // A snapshot that was written by hand.
        commit.replace_all = Some([("new".to_owned(), json!(2)), (lock_key("/a"), json!("mine"))].into());
        commit.changes.set(lock_key("/b"), "law");
        store.commit(&commit).unwrap();
        assert_eq!(one(store, session, &lock_key("/a")), Slice { value: Some(json!("t")), version: seq });
        assert_eq!(one(store, "t", &lock_key("/b")).value, Some(json!("law")));
        let own: BTreeMap<_, _> = [("new".to_owned(), json!(2))].into();
        assert_eq!(store.load_prefix(session, "").unwrap(), own);
    }
}

pub(crate) fn shared_slices_make_no_session(store: &dyn Store) {
    set(store, "s", &lock_key("/a"), 1);
    set(store, "s", "own", 1);
    let listed = |store: &dyn Store| {
        let sessions = store.sessions().unwrap();
        sessions.into_iter().map(|info| (info.session, info.slices)).collect::<Vec<_>>()
    };
    assert_eq!(listed(store), [("s".to_owned(), 1)]);
    set(store, "", "own", 1);
    assert_eq!(listed(store), [(String::new(), 1), ("s".to_owned(), 1)]);
}

pub(crate) fn shared_keys_are_listed_from_one_to_another(store: &dyn Store) {
    let record = record("s", 1);
    let mut commit = Commit::new(&record);
    for key in ["shared/a/1", "shared/a/2", "shared/a@1", "shared/b", "own/a/1"] {
        commit.changes.set(key, true);
    }
    store.commit(&commit).unwrap();
    let keys = |from: &str, before: &str, most| store.shared_keys(from, before, most).unwrap();
    assert_eq!(keys("shared/a", "shared/b", 9), ["shared/a/1", "shared/a/2", "shared/a@1"]);
    assert_eq!(keys("shared/a/2", "shared/b", 1), ["shared/a/2"]);
    assert_eq!(keys("shared/a", "shared/a/2", 9), ["shared/a/1"]);
    assert_eq!(keys("shared/b", "shared/a", 9), Vec::<String>::new());
    assert_eq!(keys("own", "own/b", 9), Vec::<String>::new());
    let long = format!("shared/{}", "x".repeat(100));
    commit.changes.set(format!("{long}1"), true);
    commit.changes.set(format!("{long}2"), true);
    store.commit(&commit).unwrap();
    assert_eq!(keys(&long, &format!("{long}2"), 9), [format!("{long}1")]);
}

pub(crate) fn conflicts_reach_across_sessions(store: &dyn Store) {
    let key = lock_key("/repo/a.rs");
    take(store, "s", &key, 0).unwrap();
    let error = take(store, "t", &key, 0).unwrap_err();
    assert!(error.is_conflict());
    let text = "the shared slice `shared/lock//repo/a.rs` changed in the meantime, and nothing was written";
    assert_eq!(error.to_string(), text);
    assert_eq!(one(store, "t", &key).value, Some(json!("s")));
    take(store, "t", &key, 1).unwrap();
}

pub(crate) fn of_two_sessions_one_takes_the_lock(store: &dyn Store) {
    race(store, store);
}

/// Two stores on one lock, twenty times.
pub(crate) fn race(one_store: &dyn Store, other_store: &dyn Store) {
    for round in 0..20 {
        let key = lock_key(&format!("/repo/{round}.rs"));
        let gate = Barrier::new(2);
        let run = |store: &dyn Store, session: &str| {
            let seen = one(store, session, &key).version;
            gate.wait();
            take(store, session, &key, seen)
        };
        let outcomes = thread::scope(|scope| {
            let first = scope.spawn(|| run(one_store, "s"));
            let second = scope.spawn(|| run(other_store, "t"));
            [("s", first.join().unwrap()), ("t", second.join().unwrap())]
        });
        let winners: Vec<_> = outcomes.iter().filter(|(_, outcome)| outcome.is_ok()).collect();
        assert_eq!(winners.len(), 1, "{outcomes:?}");
        assert!(
            outcomes.iter().all(|(_, outcome)| outcome.as_ref().map_or_else(|e| e.is_conflict(), |()| true))
        );
        assert_eq!(one(other_store, "x", &key).value, Some(json!(winners[0].0)));
    }
}
