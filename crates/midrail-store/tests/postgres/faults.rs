//! The database, the connections or the writers go away in the middle: nothing that was acknowledged is lost, nothing
//! is written twice, nobody waits for ever, and it goes on by itself.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use midrail_core::AuditRef;
use midrail_store::{Approvals, AuditLog, Commit, PostgresOptions, PostgresStore, Slices, Store, StoreError};

use crate::common::{record, verify};
use crate::server::{self, Server, until};
use crate::{count_one, counted, short_timeout};

const ROLE: &str = "MIDRAIL_TEST_WRITER";

/// What many threads have written, and what they were told.
#[derive(Default)]
struct Load {
    acknowledged: Mutex<Vec<AuditRef>>,
    failed: AtomicU64,
    uncertain: AtomicU64,
    is_over: AtomicBool,
}

const THREADS: u64 = 8;

impl Load {
    /// Eight threads count, each in a session of its own, until it is over, while something is done to the database.
    fn run(&self, store: &PostgresStore, meanwhile: impl FnOnce(&Self)) {
        thread::scope(|scope| {
            for thread in 0..THREADS {
                scope.spawn(move || {
                    while !self.is_over.load(Ordering::Relaxed) {
                        match count_one(store, &format!("s{thread}"), "count") {
                            Ok(place) => self.acknowledged.lock().unwrap().push(place),
                            Err(StoreError::Uncertain { .. }) => {
                                _ = self.uncertain.fetch_add(1, Ordering::Relaxed)
                            }
                            Err(StoreError::Unreachable { .. }) => {
                                _ = self.failed.fetch_add(1, Ordering::Relaxed)
                            }
                            Err(other) => panic!("{other}"),
                        }
                    }
                });
            }
            // Also if this panics, the threads end.
            struct Over<'a>(&'a AtomicBool);
            impl Drop for Over<'_> {
                fn drop(&mut self) {
                    self.0.store(true, Ordering::Relaxed);
                }
            }
            let _over = Over(&self.is_over);
            meanwhile(self);
        });
    }

    fn done(&self) -> usize {
        self.acknowledged.lock().unwrap().len()
    }

    fn wait_for_more(&self) {
        let now = self.done();
        until("commits succeed again", || self.done() > now + 50);
    }

    /// What is there is what was told.
    fn check(&self, store: &PostgresStore) {
        let found = verify(store);
        assert_eq!(found.misfit, None);
        for place in self.acknowledged.lock().unwrap().iter() {
            let entry = store.entry(place.seq).unwrap();
            assert_eq!(entry.map(|entry| entry.hash).as_ref(), Some(&place.hash), "record {}", place.seq);
        }
        let counted: u64 = (0..THREADS).map(|thread| counted(store, &format!("s{thread}"), "count")).sum();
        assert_eq!(counted, found.records, "a record and its slices come together");
        let acknowledged = u64::try_from(self.done()).unwrap();
        let uncertain = self.uncertain.load(Ordering::Relaxed);
        let failed = self.failed.load(Ordering::Relaxed);
        println!("{acknowledged} acknowledged, {uncertain} uncertain, {failed} failed, {counted} written");
        assert!((acknowledged..=acknowledged + uncertain).contains(&counted), "something is lost or doubled");
    }
}

#[test]
fn restarted_database_loses_nothing() {
    let Some(server) = Server::start(&["fsync=off"]) else { return };
    let store = PostgresStore::connect(&short_timeout(server.url())).unwrap();
    let load = Load::default();
    load.run(&store, |load| {
        for how in ["immediate", "fast", "immediate"] {
            load.wait_for_more();
            server.stop(how);
            let failed = || load.failed.load(Ordering::Relaxed) + load.uncertain.load(Ordering::Relaxed);
            let before = failed();
            until("the errors are returned", || failed() > before);
            assert!(matches!(store.head(), Err(StoreError::Unreachable { .. })));
            server.go();
        }
        load.wait_for_more();
    });
    load.check(&store);
}

#[test]
fn interrupted_connections_neither_lose_nor_repeat_records() {
    let Some(server) = Server::start(&["fsync=off"]) else { return };
    let store = PostgresStore::connect(&short_timeout(server.url())).unwrap();
    let load = Load::default();
    load.run(&store, |load| {
        for _ in 0..40 {
            let now = load.done();
            server.sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'midrail'",
            );
            until("commits succeed again", || load.done() > now);
        }
    });
    load.check(&store);
}

#[test]
fn hanging_database_is_an_error_in_bounded_time() {
    let Some(server) = Server::start(&["fsync=off"]) else { return };
    let store = PostgresStore::connect(&short_timeout(server.url())).unwrap();
    let load = Load::default();
    load.run(&store, |load| {
        load.wait_for_more();
        server.signal("STOP");
        let report = || load.failed.load(Ordering::Relaxed) + load.uncertain.load(Ordering::Relaxed);
        until("the errors are returned", || report() >= THREADS);
        assert!(store.load("s", &["a"]).is_err() && store.head().is_err() && store.approval("a").is_err());
        server.signal("CONT");
        load.wait_for_more();
    });
    load.check(&store);
}

#[test]
fn a_lock_that_is_held_for_too_long_is_an_error_and_writes_nothing() {
    let Some(server) = Server::start(&["fsync=off"]) else { return };
    let store = PostgresStore::connect(&short_timeout(server.url())).unwrap();
    store.commit(&Commit::new(&record("s", 1))).unwrap();
    thread::scope(|scope| {
        let hold = "SET search_path = midrail; BEGIN; SELECT 1 FROM projects FOR UPDATE; SELECT pg_sleep(20); COMMIT";
        let holder = scope.spawn(|| server.sql_in("postgres", hold));
        let held = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(20)%' AND wait_event = 'PgSleep'";
        until("the lock is held", || server.sql(held) == "1");
        let error = store.commit(&Commit::new(&record("s", 2))).unwrap_err();
        assert!(matches!(error, StoreError::Busy { .. } | StoreError::Unreachable { .. }), "{error}");
        server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(20)%' AND pid <> pg_backend_pid()");
        assert!(holder.join().unwrap().is_err());
    });
    assert_eq!(store.commit(&Commit::new(&record("s", 3))).unwrap().seq, 2);
    assert_eq!(verify(&store).records, 2);
}

/// What a child does. In an ordinary run of the tests it is told nothing, and does nothing.
#[test]
fn write_result_is_reported_correctly() {
    let Ok(url) = std::env::var(ROLE) else { return };
    let store = PostgresStore::connect(&PostgresOptions::new(url)).unwrap().project("killed");
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let store = &store;
            scope.spawn(move || {
                loop {
                    let place = count_one(store, &format!("s{thread}"), "count").unwrap();
                    let mut out = std::io::stdout().lock();
                    out.write_all(format!("\nack {} {}\n", place.seq, place.hash).as_bytes()).unwrap();
                    out.flush().unwrap();
                }
            });
        }
    });
}

#[test]
fn killed_writer_loses_no_acknowledged_record() {
    let Some(server) = Server::start(&["fsync=off"]) else { return };
    let store = PostgresStore::connect(&PostgresOptions::new(server.url())).unwrap().project("killed");
    let mut acknowledged: Vec<(u64, String)> = Vec::new();
    for round in 1..=5 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["faults::write_result_is_reported_correctly", "--exact", "--nocapture"])
            .env(ROLE, server.url())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).split(b'\n');
        let mut ack = || {
            let line = String::from_utf8(lines.next()?.unwrap()).unwrap();
            Some(
                line.strip_prefix("ack ")
                    .and_then(|line| line.split_once(' '))
                    .map(|(seq, hash)| (seq.to_owned(), hash.to_owned())),
            )
        };
        let mut acks = Vec::new();
        while acks.len() < 60 * round {
            acks.extend(ack().expect("the child ended by itself"));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // What it said before it died, except for a line that was cut short.
        while let Some(found) = ack() {
            acks.extend(found.filter(|(_, hash)| hash.len() == 64));
        }
        acknowledged.extend(acks.into_iter().map(|(seq, hash)| (seq.parse().unwrap(), hash)));
    }
    let found = verify(&store);
    assert_eq!(found.misfit, None);
    for (seq, hash) in acknowledged {
        assert_eq!(store.entry(seq).unwrap().map(|entry| entry.hash), Some(hash), "record {seq}");
    }
    let counted: u64 = (0..THREADS).map(|thread| counted(&store, &format!("s{thread}"), "count")).sum();
    assert_eq!(counted, found.records);
    // No one who died holds a lock.
    store.commit(&Commit::new(&record("s", 1))).unwrap();
}

#[test]
fn no_database_is_an_error_that_shows_no_password() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let options = short_timeout(format!("postgres://midrail:hunter2@127.0.0.1:{port}/db"));
    let error = PostgresStore::connect(&options).unwrap_err();
    assert!(matches!(error, StoreError::Unreachable { .. }));
    assert!(error.to_string().contains(&format!("postgres://127.0.0.1:{port}/db")), "{error}");
    assert!(error.help().is_some());
    assert!(!format!("{error} {error:?} {options:?}").contains("hunter2"));
    let Some(server) = server::own() else { return };
    server.sql("CREATE ROLE weak LOGIN PASSWORD 'right'");
    let error = PostgresStore::connect(&short_timeout(server.url().replace("midrail@", "weak:hunter2@")))
        .unwrap_err();
    // It is let in without its password being asked, and may not make a schema.
    assert!(matches!(error, StoreError::Database { .. }), "{error}");
    assert!(!format!("{error} {error:?}").contains("hunter2"));
}
