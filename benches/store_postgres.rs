//! Benchmarks of the PostgreSQL store: commits per second with several threads, single and grouped, for one project and many.

#[path = "../crates/midrail-store/tests/postgres/server.rs"]
mod server;

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use midrail_store::{AuditLog, Commit, PostgresOptions, PostgresStore, Slices, Store};

use crate::common::verify;
use crate::{KEYS, times, typical};

pub(crate) fn run() {
    // The default: every commit is on the disk before it is acknowledged.
    let Some(server) = server::Server::start(&["shared_buffers=256MB"]) else { return };
    let connect = |batch| {
        PostgresStore::connect(&PostgresOptions { batch, ..PostgresOptions::new(server.url()) }).unwrap()
    };
    let store = connect(128);
    let one = store.project("one");
    decide(&one, 0, 0);
    times("load 5", 5000, |_| drop(one.load("s0", &KEYS).unwrap()));
    times("head", 5000, |_| drop(one.head().unwrap()));
    times("load 5, commit", 1000, |round| decide(&one, 0, round));
    cost_stays_flat_as_projects_are_added(&store);
    let single = connect(1);
    for threads in [1, 8, 64, 256] {
        load(&format!("{threads} threads, each commit by itself"), threads, &|_| single.project("alone"));
        load(&format!("{threads} threads, written together"), threads, &|_| store.project("together"));
    }
    load("64 threads on 8 projects", 64, &|thread| store.project(&format!("p{}", thread % 8)));
    let other = connect(128);
    load("64 threads on one project by two pools", 64, &|thread| {
        if thread % 2 == 0 { store.project("both") } else { other.project("both") }
    });
    let started = Instant::now();
    let found = verify(&store.project("together"));
    println!("verify: {} records, sound: {}, in {:.1?}", found.records, found.is_intact(), started.elapsed());
}

fn decide(store: &PostgresStore, thread: usize, round: i64) {
    let record = typical(&format!("s{thread}"), round);
    let slices = store.load(&record.session, &KEYS).unwrap();
    let mut commit = Commit::new(&record);
    commit.read = KEYS.iter().zip(&slices).map(|(key, slice)| ((*key).to_owned(), slice.version)).collect();
    commit.changes.set("calls", slices[1].value.as_ref().and_then(|value| value.as_u64()).unwrap_or(0) + 1);
    commit.changes.set("read/src/a.rs", "0123456789abcdef");
    store.commit(&commit).unwrap();
}

/// Decisions that go round one project, and round a thousand.
fn cost_stays_flat_as_projects_are_added(store: &PostgresStore) {
    for projects in [1_usize, 1_000] {
        let stores: Vec<PostgresStore> =
            (0..projects).map(|at| store.project(&format!("{projects}-{at}"))).collect();
        stores.iter().for_each(|store| decide(store, 0, 0));
        let mut next = stores.iter().cycle();
        times(&format!("load 5, commit, {projects} projects"), 2000, |round| {
            decide(next.next().unwrap(), 0, round);
        });
    }
}

/// Commits from threads that each use a separate session, for a fixed time.
fn load(name: &str, threads: usize, store: &(dyn Fn(usize) -> PostgresStore + Sync)) {
    let done = AtomicU64::new(0);
    let slowest = AtomicU64::new(0);
    let started = Instant::now();
    let time = Duration::from_secs(4);
    thread::scope(|scope| {
        for thread in 0..threads {
            let (done, slowest) = (&done, &slowest);
            scope.spawn(move || {
                let store = store(thread);
                let mut round = 0;
                while started.elapsed() < time {
                    let begun = Instant::now();
                    let record = typical(&format!("s{thread}"), round);
                    let mut commit = Commit::new(&record);
                    commit.changes.set("calls", round);
                    store.commit(&commit).unwrap();
                    slowest.fetch_max(u64::try_from(begun.elapsed().as_micros()).unwrap(), Ordering::Relaxed);
                    done.fetch_add(1, Ordering::Relaxed);
                    round += 1;
                }
            });
        }
    });
    let rate =
        f64::from(u32::try_from(done.load(Ordering::Relaxed)).unwrap()) / started.elapsed().as_secs_f64();
    println!("{name:<44} {rate:>8.0} commits/s  slowest {:>6} us", slowest.load(Ordering::Relaxed));
}
