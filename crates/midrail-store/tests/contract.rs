//! What every store must do, held against the one in memory and the one in SQLite.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod common;

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::thread;

use common::{at, blocked, fill, record, request, verify};
use midrail_core::{Effect, EventKind};
use midrail_store::{
    ApprovalChange, ApprovalFilter, ApprovalState, Commit, Expect, Filter, Keys, MemoryStore, MisfitKind,
    Slice, SqliteStore, Store, StoreError, verify_export,
};
use serde_json::{Value, json};

macro_rules! contract {
    ($($name:ident)*) => {
        mod memory {
            $(#[test] fn $name() { super::$name(&super::MemoryStore::new().unwrap()); })*
        }
        mod sqlite {
            $(#[test] fn $name() {
                let folder = tempfile::tempdir().unwrap();
                super::$name(&super::SqliteStore::open(folder.path().join("new/store.db")).unwrap());
            })*
        }
    };
}

contract! {
    empty_store_has_nothing
    slices_come_back_in_the_order_of_the_keys
    version_of_a_slice_that_comes_back_is_new
    stale_read_is_a_conflict_and_writes_nothing
    slice_that_appeared_is_a_conflict
    prefix_loads_its_slices_alone
    restore_replaces_the_whole_session
    threads_lose_no_update
    sessions_are_listed_by_last_activity
    of_two_deciders_one_wins
    approvals_are_listed_by_state_and_session
    policies_are_kept_as_first_saved
    filters_find_their_records
    pages_go_through_the_log_both_ways
    records_come_back_as_written
    checkpoints_are_signed_and_the_log_verifies
    head_that_was_noted_down_must_be_there
    keys_that_are_trusted_must_have_signed
    export_verifies_by_itself
    filtered_export_verifies_and_shows_no_other_content
    keys_stay_the_same
}

fn one(store: &dyn Store, session: &str, key: &str) -> Slice {
    store.load(session, &[key]).unwrap().remove(0)
}

fn set(store: &dyn Store, session: &str, key: &str, value: impl Into<Value>) -> u64 {
    let record = record(session, 1);
    let mut commit = Commit::new(&record);
    commit.changes.set(key, value);
    store.commit(&commit).unwrap().seq
}

fn seqs(store: &dyn Store, filter: Filter) -> Vec<u64> {
    store.entries(&filter).unwrap().iter().map(|entry| entry.seq).collect()
}

fn empty_store_has_nothing(store: &dyn Store) {
    assert_eq!(store.head().unwrap(), None);
    assert_eq!(store.entry(1).unwrap(), None);
    assert_eq!(store.entry(0).unwrap(), None);
    assert_eq!(store.entries(&Filter { newest_first: true, ..Filter::default() }).unwrap(), vec![]);
    assert_eq!(store.load("s", &["a", "b"]).unwrap(), vec![Slice::default(), Slice::default()]);
    assert_eq!(store.load("s", &[]).unwrap(), vec![]);
    assert_eq!(store.load_prefix("s", "").unwrap(), BTreeMap::new());
    assert_eq!(store.sessions().unwrap(), vec![]);
    assert_eq!(store.approval("a").unwrap(), None);
    assert_eq!(store.policy("sha256:1").unwrap(), None);
    assert_eq!(store.checkpoint_now(at(0)).unwrap(), None);
    assert!(verify(store).is_sound());
    assert_eq!(verify(store).records, 0);
}

fn slices_come_back_in_the_order_of_the_keys(store: &dyn Store) {
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

fn version_of_a_slice_that_comes_back_is_new(store: &dyn Store) {
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

fn stale_read_is_a_conflict_and_writes_nothing(store: &dyn Store) {
    let seen = set(store, "s", "a", 1);
    set(store, "s", "b", 1);
    set(store, "s", "a", 2);
    let head = store.head().unwrap();
    let record = record("s", 3);
    let mut commit = Commit::new(&record);
    commit.read = vec![("b".to_owned(), 2), ("a".to_owned(), seen)];
    commit.changes.set("a", 9);
    commit.changes.set("b", 9);
    commit.approvals.push(ApprovalChange::ask(request("r", "s", 1)));
    let error = store.commit(&commit).unwrap_err();
    assert!(error.is_conflict());
    assert_eq!(error.to_string(), "the session's `a` changed in the meantime, and nothing was written");
    assert_eq!(store.head().unwrap(), head);
    assert_eq!(one(store, "s", "b").value, Some(json!(1)));
    assert_eq!(store.approval("r").unwrap(), None);
    commit.read = vec![("b".to_owned(), 2), ("a".to_owned(), 3)];
    store.commit(&commit).unwrap();
    assert_eq!(one(store, "s", "a").value, Some(json!(9)));
}

fn slice_that_appeared_is_a_conflict(store: &dyn Store) {
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

fn prefix_loads_its_slices_alone(store: &dyn Store) {
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

fn restore_replaces_the_whole_session(store: &dyn Store) {
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

fn threads_lose_no_update(store: &dyn Store) {
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
    assert!(verify(store).is_sound());
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

fn sessions_are_listed_by_last_activity(store: &dyn Store) {
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

fn of_two_deciders_one_wins(store: &dyn Store) {
    let asked = record("s", 1);
    let mut commit = Commit::new(&asked);
    commit.approvals.push(ApprovalChange::ask(request("r", "s", 1)));
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
        commit.approvals.push(ApprovalChange::from(ApprovalState::Pending, now));
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

fn approvals_are_listed_by_state_and_session(store: &dyn Store) {
    let asked = record("s", 1);
    for (id, session, seconds, state) in [
        ("a", "s", 3, ApprovalState::Pending),
        ("b", "t", 1, ApprovalState::Pending),
        ("c", "s", 2, ApprovalState::Used),
    ] {
        let mut commit = Commit::new(&asked);
        let row = request(id, session, seconds);
        commit.approvals.push(ApprovalChange::ask(midrail_store::Approval { state, ..row }));
        store.commit(&commit).unwrap();
    }
    let ids = |filter: ApprovalFilter| {
        store.approvals(&filter).unwrap().into_iter().map(|row| row.id).collect::<Vec<_>>()
    };
    let (state, session) = (Some(ApprovalState::Pending), Some("s".to_owned()));
    assert_eq!(ids(ApprovalFilter::default()), ["a", "c", "b"]);
    assert_eq!(ids(ApprovalFilter { state, ..ApprovalFilter::default() }), ["a", "b"]);
    assert_eq!(ids(ApprovalFilter { session: session.clone(), ..ApprovalFilter::default() }), ["a", "c"]);
    assert_eq!(ids(ApprovalFilter { state, session, limit: None }), ["a"]);
    assert_eq!(ids(ApprovalFilter { limit: Some(1), ..ApprovalFilter::default() }), ["a"]);
}

fn policies_are_kept_as_first_saved(store: &dyn Store) {
    store.save_policy("sha256:1", "{\"a\":1}").unwrap();
    store.save_policy("sha256:1", "{\"a\":2}").unwrap();
    store.save_policy("sha256:2", "{}").unwrap();
    assert_eq!(store.policy("sha256:1").unwrap().as_deref(), Some("{\"a\":1}"));
    assert_eq!(store.policy("sha256:3").unwrap(), None);
}

fn mixed_log(store: &dyn Store) {
    for record in [
        record("s", 10),
        blocked("s", 20, "safety-001"),
        record("t", 30),
        blocked("t", 40, "safety-0011"),
        // The clock was set back.
        record("s", 15),
    ] {
        store.commit(&Commit::new(&record)).unwrap();
    }
}

fn filters_find_their_records(store: &dyn Store) {
    mixed_log(store);
    let all = Filter::default;
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(seqs(store, all()), [1, 2, 3, 4, 5]);
    assert_eq!(seqs(store, Filter { session: text("s"), ..all() }), [1, 2, 5]);
    assert_eq!(seqs(store, Filter { session: text("s%"), ..all() }), [0; 0]);
    assert_eq!(seqs(store, Filter { guardrail: text("safety-001"), ..all() }), [2]);
    assert_eq!(seqs(store, Filter { guardrail: text("loud"), ..all() }), [2, 4]);
    assert_eq!(seqs(store, Filter { guardrail: text("quiet"), ..all() }), [0; 0]);
    assert_eq!(seqs(store, Filter { effect: Some(Effect::Block), ..all() }), [2, 4]);
    assert_eq!(seqs(store, Filter { effect: Some(Effect::Allow), ..all() }), [1, 3, 5]);
    assert_eq!(seqs(store, Filter { kind: Some(EventKind::BeforeTool), ..all() }).len(), 5);
    assert_eq!(seqs(store, Filter { kind: Some(EventKind::AfterTool), ..all() }), [0; 0]);
    assert_eq!(seqs(store, Filter { tool: text("Write"), ..all() }), [2, 4]);
    assert_eq!(seqs(store, Filter { since: Some(at(20)), ..all() }), [2, 3, 4]);
    assert_eq!(seqs(store, Filter { until: Some(at(20)), ..all() }), [1, 5]);
    assert_eq!(seqs(store, Filter { since: Some(at(15)), until: Some(at(30)), ..all() }), [2, 5]);
    assert_eq!(seqs(store, Filter { since: Some(at(50)), ..all() }), [0; 0]);
    let narrow = Filter {
        session: text("t"),
        guardrail: text("loud"),
        effect: Some(Effect::Block),
        kind: Some(EventKind::BeforeTool),
        tool: text("Write"),
        since: Some(at(1)),
        until: Some(at(100)),
        after_seq: Some(5),
        limit: Some(10),
        newest_first: true,
    };
    assert_eq!(seqs(store, narrow), [4]);
}

fn pages_go_through_the_log_both_ways(store: &dyn Store) {
    fill(store, 10);
    let page = |after_seq, newest_first| {
        seqs(store, Filter { after_seq, newest_first, limit: Some(4), ..Filter::default() })
    };
    assert_eq!(page(None, false), [1, 2, 3, 4]);
    assert_eq!(page(Some(4), false), [5, 6, 7, 8]);
    assert_eq!(page(Some(8), false), [9, 10]);
    assert_eq!(page(Some(10), false), [0; 0]);
    assert_eq!(page(None, true), [10, 9, 8, 7]);
    assert_eq!(page(Some(7), true), [6, 5, 4, 3]);
    assert_eq!(page(Some(1), true), [0; 0]);
    assert_eq!(page(Some(u64::MAX), false), [0; 0]);
    assert_eq!(page(Some(u64::MAX), true), [10, 9, 8, 7]);
    assert_eq!(seqs(store, Filter { limit: Some(0), ..Filter::default() }), [0; 0]);
}

fn records_come_back_as_written(store: &dyn Store) {
    mixed_log(store);
    let entry = store.entry(2).unwrap().unwrap();
    assert_eq!(entry.record().unwrap(), blocked("s", 20, "safety-001"));
    assert_eq!(entry.prev, store.entry(1).unwrap().unwrap().hash);
    assert_eq!(entry.body, serde_json::to_string(&blocked("s", 20, "safety-001")).unwrap());
    assert_eq!(entry.labels.guardrails, ["loud", "safety-001"]);
    assert_eq!(entry.labels.tool.as_deref(), Some("Write"));
    assert_eq!(store.entry(6).unwrap(), None);
}

fn checkpoints_are_signed_and_the_log_verifies(store: &dyn Store) {
    fill(store, 130);
    let now = store.checkpoint_now(at(500)).unwrap().unwrap();
    assert_eq!((now.seq, store.checkpoint_now(at(501)).unwrap()), (130, Some(now.clone())));
    fill(store, 133);
    let checkpoints = store.checkpoints(0, 100).unwrap();
    assert_eq!(checkpoints.iter().map(|checkpoint| checkpoint.seq).collect::<Vec<_>>(), [64, 128, 130]);
    assert_eq!(store.checkpoints(64, 1).unwrap(), checkpoints[1..2]);
    assert_eq!(store.last_checkpoint().unwrap(), Some(now));

    let mut heard = Vec::new();
    let found = store.verify(&Expect::default(), &mut |done, all| heard.push((done, all))).unwrap();
    assert_eq!(found.misfit, None);
    assert_eq!(
        (found.records, found.checkpoints, found.last_checkpoint, found.unsigned),
        (133, 3, Some(130), 3)
    );
    assert_eq!(found.head, store.head().unwrap());
    assert_eq!(found.keys, [store.public_key().unwrap().id]);
    assert_eq!(heard.last(), Some(&(133, 133)));
}

fn head_that_was_noted_down_must_be_there(store: &dyn Store) {
    fill(store, 5);
    let verify = |seq, hash: &str| {
        let expect = Expect { head: Some((seq, hash.to_owned())), keys: None };
        store.verify(&expect, &mut |_, _| ()).unwrap().misfit.map(|misfit| (misfit.seq, misfit.kind))
    };
    let hash = store.entry(3).unwrap().unwrap().hash;
    assert_eq!(verify(3, &hash), None);
    assert_eq!(verify(4, &hash), Some((4, MisfitKind::Head)));
    assert_eq!(verify(7, &hash), Some((6, MisfitKind::Truncated)));
}

fn keys_that_are_trusted_must_have_signed(store: &dyn Store) {
    fill(store, 64);
    let verify = |keys: Vec<String>| {
        let expect = Expect { head: None, keys: Some(keys) };
        store.verify(&expect, &mut |_, _| ()).unwrap().misfit.map(|misfit| (misfit.seq, misfit.kind))
    };
    assert_eq!(verify(vec![store.public_key().unwrap().id]), None);
    assert_eq!(verify(vec!["0123456789abcdef".to_owned()]), Some((64, MisfitKind::Signature)));
}

fn exported(store: &dyn Store, filter: &Filter) -> String {
    let mut out = Vec::new();
    store.export(filter, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn export_verifies_by_itself(store: &dyn Store) {
    assert!(
        verify_export(&mut exported(store, &Filter::default()).as_bytes(), &Expect::default())
            .unwrap()
            .is_sound()
    );
    fill(store, 600);
    let text = exported(store, &Filter::default());
    let found = verify_export(&mut text.as_bytes(), &Expect::default()).unwrap();
    assert_eq!(found, verify(store));
    assert_eq!((found.records, found.checkpoints, found.withheld), (600, 9, 0));
    // The bodies are there byte for byte.
    assert!(text.contains(&format!("\"body\":{}}}\n", store.entry(70).unwrap().unwrap().body)));
}

fn filtered_export_verifies_and_shows_no_other_content(store: &dyn Store) {
    mixed_log(store);
    fill(store, 70);
    let filter = Filter { session: Some("t".to_owned()), limit: Some(1), ..Filter::default() };
    let text = exported(store, &filter);
    assert!(!text.contains("\"session\":\"s\"") && !text.contains("safety-001\""), "{text}");
    assert_eq!(text.matches("\"session\":\"t\"").count(), 2);
    let found = verify_export(&mut text.as_bytes(), &Expect::default()).unwrap();
    assert_eq!(found.misfit, None);
    assert_eq!((found.records, found.withheld, found.head), (70, 68, store.head().unwrap()));
}

fn keys_stay_the_same(store: &dyn Store) {
    assert_eq!(store.fingerprint_key().unwrap(), store.fingerprint_key().unwrap());
    assert_eq!(store.public_key().unwrap(), store.public_key().unwrap());
    assert_ne!(store.fingerprint_key().unwrap(), MemoryStore::new().unwrap().fingerprint_key().unwrap());
}
