//! Waiting for records, and using a store on all kinds of threads.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use midrail_store::{AuditLog, Commit, PostgresOptions, PostgresStore, Slices, Store};

use crate::common::record;
use crate::server::{self, Server, until};
use crate::{connect, project, short_timeout};

const LONG: Duration = Duration::from_secs(60);

#[test]
fn waiting_thread_returns_when_another_process_writes() {
    let (Some(one), Some(other)) = (connect(), connect()) else { return };
    let name = server::unique("wait");
    let (here, there) = (one.project(&name), other.project(&name));
    // By another pool, by this one, and the first record of all.
    for (seq, writer) in (0..).zip([&there, &here, &there]) {
        let waits: Vec<_> = (0..4)
            .map(|_| {
                let here = here.clone();
                thread::spawn(move || here.wait_for_record(seq, LONG).unwrap().unwrap())
            })
            .collect();
        let place = writer.commit(&Commit::new(&record("s", 1))).unwrap();
        for wait in waits {
            assert_eq!(wait.join().unwrap(), place);
        }
    }
    // It returns at once if the record exists, and after the given time if there is none.
    assert_eq!(here.wait_for_record(0, LONG).unwrap().unwrap().seq, 3);
    assert_eq!(here.wait_for_record(3, Duration::from_millis(5)).unwrap().unwrap().seq, 3);
    assert_eq!(here.wait_for_record(9, Duration::ZERO).unwrap().unwrap().seq, 3);
}

#[test]
fn record_of_one_project_wakes_no_other() {
    let (Some(one), Some(other)) = (connect(), connect()) else { return };
    let (quiet, loud) = (server::unique("quiet"), server::unique("loud"));
    let waits = {
        let quiet = one.project(&quiet);
        thread::spawn(move || quiet.wait_for_record(0, Duration::from_millis(300)).unwrap())
    };
    (0..5).for_each(|n| drop(other.project(&loud).commit(&Commit::new(&record("s", n))).unwrap()));
    assert_eq!(waits.join().unwrap(), None);
}

#[test]
fn waiting_thread_continues_after_the_database_was_down() {
    let Some(server) = Server::start(&["fsync=off"]) else { return };
    let here = PostgresStore::connect(&short_timeout(server.url())).unwrap();
    let there = PostgresStore::connect(&short_timeout(server.url())).unwrap();
    there.commit(&Commit::new(&record("s", 1))).unwrap();
    assert_eq!(here.wait_for_record(0, LONG).unwrap().unwrap().seq, 1);
    server.stop("immediate");
    assert!(here.wait_for_record(1, LONG).is_err(), "the error is returned");
    server.go();
    until("the database is back", || there.commit(&Commit::new(&record("s", 2))).is_ok());
    assert!(here.wait_for_record(1, LONG).unwrap().unwrap().seq > 1);
}

#[test]
fn store_works_and_ends_on_threads_of_another_runtime() {
    let Some(url) = server::url() else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let name = server::unique("runtime");
    runtime.block_on(async {
        let store = Arc::new(PostgresStore::connect(&PostgresOptions::new(url)).unwrap().project(&name));
        let blocking = store.clone();
        let place = tokio::task::spawn_blocking(move || blocking.commit(&Commit::new(&record("s", 1))));
        assert_eq!(place.await.unwrap().unwrap().seq, 1);
        // It blocks a thread of the runtime, which is discouraged but works.
        let careless = store.clone();
        let place = tokio::spawn(async move { careless.commit(&Commit::new(&record("s", 2))) });
        assert_eq!(place.await.unwrap().unwrap().seq, 2);
        assert_eq!(store.load("s", &["a"]).unwrap().len(), 1);
        tokio::spawn(async move { drop(store) }).await.unwrap();
    });
}

#[test]
fn clone_is_the_same_project() {
    let Some(store) = project("clone") else { return };
    let (copy, again) = (store.clone(), store.project(store.name()));
    store.commit(&Commit::new(&record("s", 1))).unwrap();
    drop(store);
    assert_eq!((copy.head().unwrap().unwrap().seq, again.head().unwrap()), (1, copy.head().unwrap()));
    assert!(!format!("{copy:?}").contains("midrail@"), "{copy:?}");
}
