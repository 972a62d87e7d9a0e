//! Benchmarks of the SQLite store: a short process and a long one, a log of 200,000 records, pages of it, several threads.
//!
//! Run it: `cargo bench -p midrail-store --bench store`, or for PostgreSQL on a private server
//! `cargo bench -p midrail-store --features postgres --bench store -- postgres`. No figure is asserted.
//!
//! `-- hook FILE` opens a store and commits one record, as a hook process does, for use with a profiler:
//! `valgrind --tool=callgrind --toggle-collect='*hook_process*'`. `-- fill FILE` creates it, with 100 records.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, missing_docs, reason = "a benchmark")]

#[path = "../crates/midrail-store/tests/store/common.rs"]
mod common;
#[cfg(feature = "postgres")]
mod store_postgres;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::{blocked, record, verify};
use midrail_core::{Effect, Record};
use midrail_store::{
    ApprovalFilter, ApprovalState, Approvals, Approvers, AuditFilter, AuditLog, Commit, Keys, Policies,
    Slices, SqliteStore, Store,
};

fn main() {
    #[cfg(feature = "postgres")]
    if std::env::args().any(|argument| argument == "postgres") {
        return store_postgres::run();
    }
    let arguments: Vec<String> = std::env::args().collect();
    let after = |mode: &str| arguments.get(arguments.iter().position(|argument| argument == mode)? + 1);
    if let Some(path) = after("fill") {
        let store = SqliteStore::open(path).unwrap();
        store.save_policy("sha256:1", "{}").unwrap();
        return (0..100).for_each(|round| decide(&store, &typical("s", round)));
    }
    if let Some(path) = after("hook") {
        return hook_process(Path::new(path), &typical("s", 101));
    }
    // `-- threads` measures the last part alone.
    if !std::env::args().any(|arg| arg == "threads") {
        short_process_and_long_one();
        cost_stays_flat_as_the_log_grows();
    }
    many_threads();
}

const KEYS: [&str; 5] = ["halted", "calls", "read/src/a.rs", "warn/scope-001/t-9", "var/phase"];

/// A record of about two kilobytes.
fn typical(session: &str, seconds: i64) -> Record {
    let mut record =
        if seconds % 50 == 0 { blocked(session, seconds, "safety-001") } else { record(session, seconds) };
    record.event.text = Some("x".repeat(1500));
    record
}

fn decide(store: &SqliteStore, record: &Record) {
    let slices = store.load(&record.session, &KEYS).unwrap();
    let mut commit = Commit::new(record);
    commit.read = KEYS.iter().zip(&slices).map(|(key, slice)| ((*key).to_owned(), slice.version)).collect();
    commit.changes.set("calls", slices[1].value.as_ref().and_then(|value| value.as_u64()).unwrap_or(0) + 1);
    commit.changes.set("read/src/a.rs", "0123456789abcdef");
    store.commit(&commit).unwrap();
}

/// What a hook process does with its store.
#[inline(never)]
fn hook_process(path: &Path, record: &Record) {
    let store = SqliteStore::open(path).unwrap();
    store.fingerprint_key().unwrap();
    store.save_policy("sha256:1", "{}").unwrap();
    let pending = ApprovalFilter { state: Some(ApprovalState::Pending), ..ApprovalFilter::default() };
    assert!(store.approvals(&pending).unwrap().is_empty());
    assert!(store.approvers().unwrap().is_empty());
    decide(&store, record);
    // It ends without closing the store.
    std::mem::forget(store);
}

fn times(name: &str, rounds: i64, mut work: impl FnMut(i64)) {
    let mut all: Vec<Duration> = (0..rounds)
        .map(|round| {
            let started = Instant::now();
            work(round);
            started.elapsed()
        })
        .collect();
    let total: Duration = all.iter().sum();
    all.sort();
    let part = |share: usize| all[(all.len() - 1) * share / 100];
    let rate = 1.0 / (total / u32::try_from(rounds).unwrap()).as_secs_f64();
    println!(
        "{name:<44} median {:>9.1?}  p99 {:>9.1?}  max {:>9.1?}  {rate:>8.0}/s",
        part(50),
        part(99),
        part(100)
    );
}

fn short_process_and_long_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    times("make a store", 20, |round| {
        drop(SqliteStore::open(folder.path().join(round.to_string())).unwrap())
    });
    SqliteStore::open(&path).unwrap().save_policy("sha256:1", "{}").unwrap();
    times("open, load 5, commit, close", 2000, |round| {
        let store = SqliteStore::open(&path).unwrap();
        store.save_policy("sha256:1", "{}").unwrap();
        decide(&store, &typical("s", round));
    });
    times("open, close", 2000, |_| drop(SqliteStore::open(&path).unwrap()));
    let store = SqliteStore::open(&path).unwrap();
    times("load 5", 20_000, |_| drop(store.load("s", &KEYS).unwrap()));
    times("load 5, commit", 5000, |round| decide(&store, &typical("s", round)));
}

fn cost_stays_flat_as_the_log_grows() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
    for thousands in 0..20 {
        let name = format!("load 5, commit from record {}", thousands * 10_000);
        times(&name, 10_000, |round| {
            decide(&store, &typical(&format!("s{}", round % 100), thousands * 10_000 + round));
        });
    }
    let size = std::fs::metadata(store.path()).unwrap().len();
    println!("{} bytes a record", size / store.head().unwrap().unwrap().seq);
    let started = Instant::now();
    let found = verify(&store);
    let rate = f64::from(u32::try_from(found.records).unwrap()) / started.elapsed().as_secs_f64();
    println!("verify: {rate:.0} records/s, sound: {}", found.is_intact());
    let page = AuditFilter { limit: Some(50), newest_first: true, ..AuditFilter::default() };
    let text = |text: &str| Some(text.to_owned());
    times("page of 50", 20, |_| drop(store.entries(&page).unwrap()));
    let filter = AuditFilter { session: text("s7"), ..page.clone() };
    times("page of a session", 20, |_| drop(store.entries(&filter).unwrap()));
    let filter = AuditFilter { guardrail: text("safety-001"), ..page.clone() };
    times("page of a guardrail", 20, |_| drop(store.entries(&filter).unwrap()));
    let filter = AuditFilter { guardrail: text("none"), ..page.clone() };
    times("page of a guardrail that never spoke", 20, |_| drop(store.entries(&filter).unwrap()));
    let filter = AuditFilter { effect: Some(Effect::Block), ..page.clone() };
    times("page of an effect", 20, |_| drop(store.entries(&filter).unwrap()));
    let filter = AuditFilter { until: Some(common::at(1000)), ..page.clone() };
    times("page of the first 1000 seconds", 20, |_| drop(store.entries(&filter).unwrap()));
    let filter = AuditFilter { since: Some(common::at(1000)), ..page.clone() };
    times("page since the first 1000 seconds", 20, |_| drop(store.entries(&filter).unwrap()));
    let filter = AuditFilter { tool: text("none"), ..page };
    times("page of a tool that was never called", 5, |_| drop(store.entries(&filter).unwrap()));
    times("sessions", 5, |_| drop(store.sessions().unwrap()));
}

/// Durable commits of threads that each use a separate session.
fn many_threads() {
    type Open = fn(&Path) -> SqliteStore;
    let one: Open = |path| SqliteStore::open(path).unwrap();
    let many: Open = |path| SqliteStore::open_with_readers(path, 4).unwrap();
    let with = |name, open| [1, 8, 64, 256].map(|count| (name, open, count));
    for (name, open, count) in [with("one connection", one), with("4 readers", many)].into_iter().flatten() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder.path().join("store.db"));
        let (done, is_over) = (AtomicU32::new(0), AtomicBool::new(false));
        let started = Instant::now();
        thread::scope(|scope| {
            for number in 0..count {
                let (store, done, is_over) = (&store, &done, &is_over);
                scope.spawn(move || {
                    let session = format!("s{number}");
                    for round in 0.. {
                        if is_over.load(Ordering::Relaxed) {
                            break;
                        }
                        decide(store, &typical(&session, round));
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            thread::sleep(Duration::from_secs(4));
            is_over.store(true, Ordering::Relaxed);
        });
        let rate = f64::from(done.into_inner()) / started.elapsed().as_secs_f64();
        println!("{:<44} {rate:>8.0}/s", format!("load 5, commit, {name}, {count} threads"));
        let log = std::fs::metadata(folder.path().join("store.db-wal")).map_or(0, |file| file.len());
        println!("{:<44} {:>8} kB", "  write-ahead log", log >> 10);
        assert!(verify(&store).is_intact());
    }
}
