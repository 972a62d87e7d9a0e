//! Sessions, approvals, policies and keys.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::thread;

use midrail_store::{
    Approval, ApprovalChange, ApprovalFilter, ApprovalState, AuditFilter, Commit, Keys, MemoryStore,
    SessionFilter, Slice, Store, StoreError,
};
use serde_json::{Value, json};

use crate::common::{at, record, request, verify};

fn one(store: &dyn Store, session: &str, key: &str) -> Slice {
    store.load(session, &[key]).unwrap().remove(0)
}

fn set(store: &dyn Store, session: &str, key: &str, value: impl Into<Value>) -> u64 {
    let record = record(session, 1);
    let mut commit = Commit::new(&record);
    commit.changes.set(key, value);
    store.commit(&commit).unwrap().seq
}

pub(crate) fn empty_store_has_nothing(store: &dyn Store) {
    assert_eq!(store.head().unwrap(), None);
    assert_eq!(store.entry(1).unwrap(), None);
    assert_eq!(store.entry(0).unwrap(), None);
    assert_eq!(store.entries(&AuditFilter { newest_first: true, ..AuditFilter::default() }).unwrap(), vec![]);
    assert_eq!(store.load("s", &["a", "b"]).unwrap(), vec![Slice::default(), Slice::default()]);
    assert_eq!(store.load("s", &[]).unwrap(), vec![]);
    assert_eq!(store.load_prefix("s", "").unwrap(), BTreeMap::new());
    assert_eq!(store.sessions().unwrap(), vec![]);
    assert_eq!(store.approval("a").unwrap(), None);
    assert_eq!(store.policy("sha256:1").unwrap(), None);
    assert_eq!(store.checkpoint_now(at(0)).unwrap(), None);
    assert!(verify(store).is_intact());
    assert_eq!(verify(store).records, 0);
}

pub(crate) fn slices_come_back_in_the_order_of_the_keys(store: &dyn Store) {
    let record = record("s", 1);
    let mut commit = Commit::new(&record);
    commit.changes.set("b", 2);
    commit.changes.set("a", json!({"z": [1, null], "ü": "x"}));
    store.commit(&commit).unwrap();
    let slices = store.load("s", &["b", "none", "a", "b"]).unwrap();
    assert_eq!(slices[0], Slice { value: Some(json!(2)), version: 1 });
    assert_eq!(slices[1], Slice::default());
    assert_eq!(slices[2].value, Some(json!({"z": [1, null], "ü": "x"})));
    assert_eq!(slices[3], slices[0]);
    assert_eq!(store.load("another", &["a"]).unwrap(), vec![Slice::default()]);
}

pub(crate) fn version_of_a_slice_that_comes_back_is_new(store: &dyn Store) {
    let first = set(store, "s", "a", 1);
    assert_eq!(one(store, "s", "a").version, first);
    let record = record("s", 2);
    let mut commit = Commit::new(&record);
    commit.changes.remove("a");
    store.commit(&commit).unwrap();
    assert_eq!(one(store, "s", "a"), Slice::default());
    let again = set(store, "s", "a", 1);
    assert!(again > first);
    assert_eq!(one(store, "s", "a").version, again);
    // A change elsewhere leaves the version as it is.
    set(store, "s", "b", 1);
    assert_eq!(one(store, "s", "a").version, again);
}

pub(crate) fn stale_read_is_a_conflict_and_writes_nothing(store: &dyn Store) {
    let seen = set(store, "s", "a", 1);
    set(store, "s", "b", 1);
    set(store, "s", "a", 2);
    let head = store.head().unwrap();
    let record = record("s", 3);
    let mut commit = Commit::new(&record);
    commit.read = vec![("b".to_owned(), 2), ("a".to_owned(), seen)];
    commit.changes.set("a", 9);
    commit.changes.set("b", 9);
    commit.approvals.push(ApprovalChange::create(request("r", "s", 1)));
    let error = store.commit(&commit).unwrap_err();
    assert!(error.is_conflict());
    assert_eq!(error.to_string(), "the session's slice `a` changed in the meantime, and nothing was written");
    assert_eq!(store.head().unwrap(), head);
    assert_eq!(one(store, "s", "b").value, Some(json!(1)));
    assert_eq!(store.approval("r").unwrap(), None);
    commit.read = vec![("b".to_owned(), 2), ("a".to_owned(), 3)];
    store.commit(&commit).unwrap();
    assert_eq!(one(store, "s", "a").value, Some(json!(9)));
}

pub(crate) fn slice_that_appeared_is_a_conflict(store: &dyn Store) {
    set(store, "s", "a", 1);
    let record = record("s", 2);
    let mut commit = Commit::new(&record);
    commit.read = vec![("a".to_owned(), 0)];
    assert!(store.commit(&commit).unwrap_err().is_conflict());
    commit.read = vec![("b".to_owned(), 0)];
    store.commit(&commit).unwrap();
    commit.read = vec![("b".to_owned(), 1)];
    assert!(store.commit(&commit).unwrap_err().is_conflict());
}

pub(crate) fn prefix_loads_its_slices_alone(store: &dyn Store) {
    for key in ["read/a", "read/b", "read", "reads/c", "rea", "read/\u{10ffff}", "z"] {
        set(store, "s", key, key);
    }
    set(store, "t", "read/other", 1);
    let keys = |prefix: &str| store.load_prefix("s", prefix).unwrap().into_keys().collect::<Vec<_>>();
    assert_eq!(keys("read/"), ["read/a", "read/b", "read/\u{10ffff}"]);
    assert_eq!(keys("").len(), 7);
    assert_eq!(keys("%"), Vec::<String>::new());
    assert_eq!(store.load_prefix("s", "z").unwrap()["z"], json!("z"));
}

pub(crate) fn restore_replaces_the_whole_session(store: &dyn Store) {
    set(store, "s", "a", 1);
    set(store, "s", "b", 1);
    set(store, "t", "a", 1);
    let record = record("s", 2);
    let mut commit = Commit::new(&record);
    commit.replace_all = Some([("b".to_owned(), json!(5)), ("c".to_owned(), json!(6))].into());
    commit.changes.set("d", 7);
    commit.changes.remove("c");
    let seq = store.commit(&commit).unwrap().seq;
    let all = store.load_prefix("s", "").unwrap();
    assert_eq!(all, [("b".to_owned(), json!(5)), ("d".to_owned(), json!(7))].into());
    assert_eq!(one(store, "s", "b").version, seq);
    assert_eq!(one(store, "t", "a").value, Some(json!(1)));
}

pub(crate) fn threads_lose_no_update(store: &dyn Store) {
    let (threads, rounds) = (4, 50);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for _ in 0..rounds {
                    increment(store);
                }
            });
        }
    });
    assert_eq!(one(store, "s", "count").value, Some(json!(threads * rounds)));
    assert!(verify(store).is_intact());
}

fn increment(store: &dyn Store) {
    let record = record("s", 1);
    loop {
        let slice = one(store, "s", "count");
        let mut commit = Commit::new(&record);
        commit.read.push(("count".to_owned(), slice.version));
        commit.changes.set("count", slice.value.and_then(|value| value.as_u64()).unwrap_or(0) + 1);
        match store.commit(&commit) {
            Ok(_) => return,
            Err(error) => assert!(error.is_conflict(), "{error}"),
        }
    }
}

pub(crate) fn sessions_are_listed_by_last_activity(store: &dyn Store) {
    set(store, "old", "a", 1);
    set(store, "busy", "a", 1);
    set(store, "busy", "b", 1);
    let third = record("quiet", 9);
    store.commit(&Commit::new(&third)).unwrap();
    set(store, "old", "a", 2);
    let sessions = store.sessions().unwrap();
    let short: Vec<_> = sessions
        .iter()
        .map(|info| (info.session.as_str(), info.records, info.slices, info.last_seq))
        .collect();
    assert_eq!(short, [("old", 2, 1, 5), ("quiet", 1, 0, 4), ("busy", 2, 2, 3)]);
    assert_eq!(sessions[1].last_active, at(9));
}

pub(crate) fn sessions_are_found_by_name_and_come_in_pages(store: &dyn Store) {
    for name in ["shop-1", "docs", "shop-2", "sh", "docs"] {
        set(store, name, "a", 1);
    }
    let found = |wanted: SessionFilter| -> Vec<(String, u64, u64, u64)> {
        let rows = store.find_sessions(&wanted).unwrap().into_iter();
        rows.map(|info| (info.session, info.records, info.slices, info.last_seq)).collect()
    };
    let names =
        |wanted: SessionFilter| -> Vec<String> { found(wanted).into_iter().map(|row| row.0).collect() };
    let all = SessionFilter::default();
    assert_eq!(names(all.clone()), ["docs", "sh", "shop-2", "shop-1"]);
    assert_eq!(names(SessionFilter { limit: Some(2), ..all.clone() }), ["docs", "sh"]);
    assert_eq!(names(SessionFilter { before_seq: Some(4), limit: Some(1), ..all.clone() }), ["shop-2"]);
    assert_eq!(names(SessionFilter { before_seq: Some(1), ..all.clone() }), Vec::<String>::new());
    let part = |text: &str| SessionFilter { containing: Some(text.to_owned()), ..all.clone() };
    assert_eq!(names(part("hop")), ["shop-2", "shop-1"]);
    assert_eq!(names(part("%")), Vec::<String>::new());
    assert_eq!(names(SessionFilter { before_seq: Some(3), ..part("hop") }), ["shop-1"]);
    let named = |text: &str| SessionFilter { named: Some(text.to_owned()), ..all.clone() };
    assert_eq!(found(named("docs")), [("docs".to_owned(), 2, 1, 5)]);
    assert_eq!(found(named("doc")), []);
    assert_eq!(store.session("sh").unwrap().unwrap().last_seq, 4);
    assert_eq!(store.session("s").unwrap(), None);
}

pub(crate) fn of_two_deciders_one_wins(store: &dyn Store) {
    let asked = record("s", 1);
    let mut commit = Commit::new(&asked);
    commit.approvals.push(ApprovalChange::create(request("r", "s", 1)));
    store.commit(&commit).unwrap();
    assert!(store.commit(&commit).unwrap_err().is_conflict(), "it is there already");
    assert_eq!(store.approval("r").unwrap(), Some(request("r", "s", 1)));

    let gate = Barrier::new(2);
    let decide = |state, who: &str| {
        let mut now = request("r", "s", 1);
        now.state = state;
        now.decided_by = Some(who.to_owned());
        now.decided_at = Some(at(60));
        let record = record("s", 60);
        let mut commit = Commit::new(&record);
        commit.approvals.push(ApprovalChange::update(ApprovalState::Pending, now));
        commit.changes.set("answer", who);
        gate.wait();
        store.commit(&commit).map(|_| ())
    };
    let outcomes = thread::scope(|scope| {
        let one = scope.spawn(|| decide(ApprovalState::Approved, "ada"));
        let other = scope.spawn(|| decide(ApprovalState::Denied, "bob"));
        [one.join().unwrap(), other.join().unwrap()]
    });
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
    assert!(outcomes.iter().any(|outcome| matches!(outcome, Err(StoreError::Conflict { .. }))));
    let row = store.approval("r").unwrap().unwrap();
    assert_eq!(one(store, "s", "answer").value, row.decided_by.map(Value::from));
    assert_eq!(store.head().unwrap().unwrap().seq, 2);
}

pub(crate) fn approvals_are_listed_by_state_and_session(store: &dyn Store) {
    let asked = record("s", 1);
    for (id, session, seconds, state) in [
        ("a", "s", 3, ApprovalState::Pending),
        ("b", "t", 1, ApprovalState::Pending),
        ("c", "s", 2, ApprovalState::Used),
    ] {
        let mut commit = Commit::new(&asked);
        let row = request(id, session, seconds);
        commit.approvals.push(ApprovalChange::create(Approval { state, ..row }));
        store.commit(&commit).unwrap();
    }
    let ids = |filter: ApprovalFilter| {
        store.approvals(&filter).unwrap().into_iter().map(|row| row.id).collect::<Vec<_>>()
    };
    let (state, session) = (Some(ApprovalState::Pending), Some("s".to_owned()));
    assert_eq!(ids(ApprovalFilter::default()), ["a", "c", "b"]);
    assert_eq!(ids(ApprovalFilter { state, ..ApprovalFilter::default() }), ["a", "b"]);
    assert_eq!(ids(ApprovalFilter { session: session.clone(), ..ApprovalFilter::default() }), ["a", "c"]);
    assert_eq!(ids(ApprovalFilter { state, session, ..ApprovalFilter::default() }), ["a"]);
    assert_eq!(ids(ApprovalFilter { limit: Some(1), ..ApprovalFilter::default() }), ["a"]);
}

pub(crate) fn policies_are_kept_as_first_saved(store: &dyn Store) {
    store.save_policy("sha256:1", "{\"a\":1}").unwrap();
    store.save_policy("sha256:1", "{\"a\":2}").unwrap();
    store.save_policy("sha256:2", "{}").unwrap();
    assert_eq!(store.policy("sha256:1").unwrap().as_deref(), Some("{\"a\":1}"));
    assert_eq!(store.policy("sha256:3").unwrap(), None);
}

pub(crate) fn keys_stay_the_same(store: &dyn Store) {
    assert_eq!(store.fingerprint_key().unwrap(), store.fingerprint_key().unwrap());
    assert_eq!(store.public_key().unwrap(), store.public_key().unwrap());
    assert_ne!(store.fingerprint_key().unwrap(), MemoryStore::new().unwrap().fingerprint_key().unwrap());
}

pub(crate) fn of_many_commits_each_succeeds_or_fails_for_itself(store: &dyn Store) {
    let before = set(store, "a", "x", 1);
    let records = [record("a", 2), record("b", 2), record("a", 3), record("c", 2)];
    let commits: Vec<Commit<'_>> = records
        .iter()
        .map(|record| {
            let mut commit = Commit::new(record);
            let version = if record.session == "a" { before } else { 0 };
            commit.read.push(("x".to_owned(), version));
            commit.changes.set("x", 2);
            commit
        })
        .collect();
    let written = store.commit_all(&commits.iter().collect::<Vec<_>>());
    assert_eq!(written.len(), 4);
    // The third was decided from what the first has changed.
    assert!(matches!(written[2], Err(StoreError::Conflict { .. })), "{written:?}");
    let placed: Vec<u64> = written.iter().flatten().map(|place| place.seq).collect();
    assert_eq!(placed, [before + 1, before + 2, before + 3]);
    assert_eq!(one(store, "a", "x"), Slice { value: Some(json!(2)), version: before + 1 });
    assert_eq!(one(store, "c", "x").version, before + 3);
    assert!(store.commit_all(&[]).is_empty());
    assert!(verify(store).is_intact());
}
