//! Several pools on one project, as several machines have them, and several threads of one.

use std::thread;

use midrail_store::{
    ApprovalChange, AuditLog, Commit, PostgresOptions, PostgresStore, Slices, Stats, Store, StoreError,
};
use serde_json::json;

use crate::common::{record, request, verify};
use crate::{connect, count_one, counted, project, server};

#[test]
fn two_pools_on_one_project_lose_no_update() {
    let (Some(one), Some(other)) = (connect(), connect()) else { return };
    let name = server::unique("both");
    let stores = [one.project(&name), other.project(&name)];
    thread::scope(|scope| {
        for thread in 0..8 {
            let store = &stores[thread % 2];
            scope.spawn(move || {
                for _ in 0..40 {
                    count_one(store, "s", "count").unwrap();
                    count_one(store, "s", "shared/count").unwrap();
                    count_one(store, &format!("s{thread}"), "own").unwrap();
                }
            });
        }
    });
    let [store, _] = &stores;
    assert_eq!((counted(store, "s", "count"), counted(store, "x", "shared/count")), (320, 320));
    (0..8).for_each(|thread| assert_eq!(counted(store, &format!("s{thread}"), "own"), 40));
    let found = verify(store);
    assert_eq!((found.misfit, found.records, found.checkpoints), (None, 960, 15));
    assert_eq!(found.keys.len(), 1, "both sign with one key");
    assert_eq!(store.audit_stats().unwrap().decisions, 960);
    let records: u64 = store.sessions().unwrap().iter().map(|info| info.records).sum();
    assert_eq!(records, 960);
}

#[test]
fn commits_that_are_written_together_keep_their_own_outcomes() {
    let Some(store) = project("batch") else { return };
    count_one(&store, "s", "seen").unwrap();
    let outcomes = thread::scope(|scope| {
        let commits: Vec<_> = (0..64)
            .map(|thread| {
                let store = &store;
                scope.spawn(move || {
                    let record = record("s", thread);
                    let mut commit = Commit::new(&record);
                    match thread % 4 {
                        // Of these, one wins; they all read the same version.
                        0 => commit.read.push(("seen".to_owned(), 1)),
                        1 => commit.read.push(("never".to_owned(), 9)),
                        _ => {}
                    }
                    if thread % 4 == 0 {
                        commit.changes.set("seen", thread);
                        commit.approvals.push(ApprovalChange::create(request("r", "s", thread)));
                    } else {
                        commit.changes.set(format!("own/{thread}"), thread);
                    }
                    (thread, store.commit(&commit))
                })
            })
            .collect();
        commits.into_iter().map(|commit| commit.join().unwrap()).collect::<Vec<_>>()
    });
    let won: Vec<_> =
        outcomes.iter().filter(|(thread, outcome)| thread % 4 == 0 && outcome.is_ok()).collect();
    assert_eq!(won.len(), 1);
    for (thread, outcome) in &outcomes {
        match thread % 4 {
            0 => assert!(outcome.as_ref().map_or_else(StoreError::is_conflict, |_| true)),
            1 => assert!(outcome.as_ref().is_err_and(StoreError::is_conflict)),
            _ => {
                let place = outcome.as_ref().unwrap();
                assert_eq!(store.entry(place.seq).unwrap().unwrap().hash, place.hash);
                let slice = store.load("s", &[&format!("own/{thread}")]).unwrap().remove(0);
                assert_eq!((slice.value, slice.version), (Some(json!(thread)), place.seq));
            }
        }
    }
    let place = won[0].1.as_ref().unwrap();
    assert_eq!(store.load("s", &["seen"]).unwrap()[0].version, place.seq);
    assert_eq!((verify(&store).misfit, verify(&store).records), (None, 34));
}

#[test]
fn rejected_commit_fails_alone() {
    let Some(store) = project("poison") else { return };
    // An id that is too long for its index, and cannot be made shorter.
    let mut random = 88_172_645_463_325_252_u64;
    let long: String = std::iter::repeat_with(|| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        char::from(b'a' + u8::try_from(random % 26).unwrap())
    })
    .take(20_000)
    .collect();
    let outcomes = thread::scope(|scope| {
        let commits: Vec<_> = (0..32)
            .map(|thread| {
                let (store, long) = (&store, &long);
                scope.spawn(move || {
                    let record = record("s", thread);
                    let mut commit = Commit::new(&record);
                    if thread % 8 == 0 {
                        commit.approvals.push(ApprovalChange::create(request(
                            &format!("{thread}{long}"),
                            "s",
                            1,
                        )));
                    }
                    store.commit(&commit).map(|_| ()).map_err(|error| error.to_string())
                })
            })
            .collect();
        commits.into_iter().map(|commit| commit.join().unwrap()).collect::<Vec<_>>()
    });
    for (thread, outcome) in outcomes.iter().enumerate() {
        assert_eq!(outcome.is_err(), thread % 8 == 0, "{outcome:?}");
        assert!(!outcome.as_ref().is_err_and(|text| text.contains(&long[..50])), "{outcome:?}");
    }
    assert_eq!((verify(&store).misfit, verify(&store).records), (None, 28));
}

#[test]
fn odd_and_long_texts_are_kept_as_they_are() {
    let Some(store) = project("odd") else { return };
    let mut random = 1_u32;
    let long: String = std::iter::repeat_with(|| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b' ' + u8::try_from(random >> 24).unwrap() % 90)
    })
    .take(9000)
    .collect();
    for text in ["", "\0", "a\0b", "\u{fdd0}0", "'\"\\%_", "\u{10ffff}", &long] {
        let session = format!("s{text}");
        let mut record = record(&session, 1);
        record.event.tool.as_mut().unwrap().name = format!("T{text}");
        let mut commit = Commit::new(&record);
        commit.changes.set(format!("k/{text}"), text);
        commit.changes.set(format!("shared/{text}"), text);
        let place = store.commit(&commit).unwrap();
        let found = store.load(&session, &[&format!("k/{text}"), &format!("shared/{text}")]).unwrap();
        assert!(found.iter().all(|slice| slice.value == Some(json!(text)) && slice.version == place.seq));
        assert_eq!(store.load_prefix(&session, "k/").unwrap()[&format!("k/{text}")], json!(text));
        assert!(store.load_prefix("x", "shared/").unwrap().contains_key(&format!("shared/{text}")));
        let entry = store.entry(place.seq).unwrap().unwrap();
        assert_eq!((entry.labels.session, entry.labels.tool), (session.clone(), Some(format!("T{text}"))));
        assert_eq!(store.sessions().unwrap()[0].session, session);
    }
    assert_eq!(verify(&store).misfit, None);
}

#[test]
fn a_batch_of_one_is_the_same() {
    let Some(url) = server::url() else { return };
    let options = PostgresOptions { batch: 1, pool: 2, ..PostgresOptions::new(url) };
    let store = PostgresStore::connect(&options).unwrap().project(&server::unique("single"));
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..10).for_each(|_| drop(count_one(&store, "s", "count").unwrap())));
        }
    });
    assert_eq!((counted(&store, "s", "count"), verify(&store).records), (80, 80));
}
