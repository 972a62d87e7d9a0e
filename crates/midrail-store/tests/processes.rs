//! Many processes on one file: none loses an update, none fails on a lock, and one that is killed takes nothing with
//! it. Each child is this test program, told by a variable what to do.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod common;

use std::collections::BTreeSet;
use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, SystemTime};

use common::{at, record, verify};
use midrail_core::AuditRef;
use midrail_store::{Alert, Alerts, AuditLog, Commit, Keys, Slices, SqliteStore, Stats, Store};
use serde_json::json;

const ROLE: &str = "MIDRAIL_TEST_ROLE";
const FILE: &str = "MIDRAIL_TEST_FILE";

fn child(role: &str, file: &Path) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["works_as_told", "--exact", "--nocapture"])
        .env(ROLE, role)
        .env(FILE, file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What a child does. In an ordinary run of the tests it is told nothing, and does nothing.
#[test]
fn works_as_told() {
    let Ok(role) = env::var(ROLE) else { return };
    let file = env::var(FILE).unwrap();
    match role.as_str() {
        "count in one go" => {
            let store = SqliteStore::open(file).unwrap();
            (0..100).for_each(|_| drop(count_one(&store)));
            println!("fingerprint {:?}", store.fingerprint_key().unwrap());
            store.increment_counter("children", 1).unwrap();
            let figures = store.audit_stats().unwrap();
            assert_eq!(figures.decisions, figures.seq);
            if store.fire_alert(&alert(), 600, &[]).unwrap() {
                println!("raised");
            }
        }
        "count and open anew" => (0..100).for_each(|_| drop(count_one(&SqliteStore::open(&file).unwrap()))),
        "commit until killed" => loop {
            // Opening is one of the moments at which it is killed.
            let store = SqliteStore::open(&file).unwrap();
            for _ in 0..10 {
                let place = count_one(&store);
                let mut out = std::io::stdout().lock();
                out.write_all(format!("\nack {} {}\n", place.seq, place.hash).as_bytes()).unwrap();
                out.flush().unwrap();
            }
        },
        role => panic!("{role}?"),
    }
}

fn alert() -> Alert {
    let (name, key, message) = ("high_block_rate".to_owned(), String::new(), String::new());
    Alert { name, key, fired_at: at(1), value: 0.5, message }
}

/// Adds one to a slice that all share, and to one of this process, as a decision would.
fn count_one(store: &SqliteStore) -> AuditRef {
    let own = format!("count/{}", std::process::id());
    let record = record("shared", 1);
    loop {
        let slices = store.load("shared", &["count", &own]).unwrap();
        let mut commit = Commit::new(&record);
        for (key, slice) in ["count", &own].into_iter().zip(slices) {
            commit.read.push((key.to_owned(), slice.version));
            commit.changes.set(key, slice.value.and_then(|value| value.as_u64()).unwrap_or(0) + 1);
        }
        match store.commit(&commit) {
            Ok(place) => return place,
            Err(error) => assert!(error.is_conflict(), "{error}"),
        }
    }
}

/// Tells how often the alert was raised.
fn sixteen(role: &str) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    // There is no file yet: making it is part of the race.
    let children: Vec<Child> = (0..16).map(|_| child(role, &file)).collect();
    let mut fingerprints = BTreeSet::new();
    let mut raised = 0;
    for child in children {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
        raised += text.lines().filter(|line| *line == "raised").count();
        fingerprints
            .extend(text.lines().filter_map(|line| line.strip_prefix("fingerprint ")).map(str::to_owned));
    }
    assert!(fingerprints.len() <= 1, "the processes have made several keys");
    let store = SqliteStore::open(&file).unwrap();
    let slices = store.load_prefix("shared", "").unwrap();
    assert_eq!(slices["count"], json!(1600));
    assert_eq!(slices.len(), 17);
    assert!(slices.iter().all(|(key, value)| key == "count" || *value == json!(100)));
    let found = verify(&store);
    assert_eq!((found.misfit, found.records, found.checkpoints), (None, 1600, 25));
    assert_eq!(found.keys.len(), 1);
    assert_eq!(store.audit_stats().unwrap().decisions, 1600);
    assert_eq!(
        store.counters().unwrap().get("children").copied().unwrap_or(0),
        if raised > 0 { 16 } else { 0 }
    );
    raised
}

#[test]
fn sixteen_processes_lose_no_update_and_raise_one_alert() {
    assert_eq!(sixteen("count in one go"), 1);
}

#[test]
fn sixteen_processes_that_open_anew_each_time_lose_no_update() {
    assert_eq!(sixteen("count and open anew"), 0);
}

#[test]
fn killed_processes_take_no_acknowledged_record_with_them() {
    let seed = env::var("MIDRAIL_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        u64::try_from(now.as_nanos() % u128::from(u64::MAX)).unwrap()
    });
    println!("MIDRAIL_TEST_SEED={seed}");
    let mut random = Random(seed | 1);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let mut acknowledged: Vec<(u64, String)> = Vec::new();
    let mut kills = 0;
    for _ in 0..40 {
        // Three at once, each killed at its own moment, so that others meet what the dead leave behind.
        let outputs: Vec<_> = (0..3)
            .map(|_| {
                let mut child = child("commit until killed", &file);
                let delay = Duration::from_micros(random.next() % 60_000);
                thread::spawn(move || {
                    let stdout = child.stdout.take().unwrap();
                    let reader = thread::spawn(move || acks(stdout));
                    thread::sleep(delay);
                    let was_alive = child.try_wait().unwrap().is_none();
                    child.kill().unwrap();
                    child.wait().unwrap();
                    let mut errors = String::new();
                    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
                    assert!(was_alive, "a child ended by itself: {errors}");
                    reader.join().unwrap()
                })
            })
            .collect();
        for output in outputs {
            acknowledged.extend(output.join().unwrap());
            kills += 1;
        }
    }

    let store = SqliteStore::open(&file).unwrap();
    let found = verify(&store);
    assert_eq!(found.misfit, None);
    println!("{kills} kills, {} records acknowledged, {} in the log", acknowledged.len(), found.records);
    assert!(acknowledged.len() > 10, "the children were killed before they did anything");
    for (seq, hash) in acknowledged {
        assert_eq!(store.entry(seq).unwrap().map(|entry| entry.hash), Some(hash), "record {seq}");
    }
    // What is not acknowledged may be there or not, but as a whole.
    assert_eq!(store.load("shared", &["count"]).unwrap()[0].value, Some(json!(found.records)));
}

/// The records that a child said were written. A line that the kill has cut short does not count.
fn acks(stdout: impl Read) -> Vec<(u64, String)> {
    let mut reader = BufReader::new(stdout);
    let mut acks = Vec::new();
    let mut line = String::new();
    while reader.read_line(&mut line).unwrap() > 0 {
        if let Some((seq, hash)) =
            line.strip_suffix('\n').and_then(|line| line.strip_prefix("ack ")?.split_once(' '))
        {
            acks.push((seq.parse().unwrap(), hash.to_owned()));
        }
        line.clear();
    }
    acks
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}
