//! Many processes on one file: none loses an update, none fails on a lock, and a killed process loses no acknowledged
//! commit. Each child is this test program with a role in a variable.

use std::collections::BTreeSet;
use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::SystemTime;

use crate::common::{at, record, verify};
use midrail_core::AuditRef;
use midrail_store::{Alert, Alerts, AuditLog, Commit, Keys, Slices, SqliteStore, Stats, Store};
use serde_json::json;

const ROLE: &str = "MIDRAIL_TEST_ROLE";
const FILE: &str = "MIDRAIL_TEST_FILE";

fn child(role: &str, file: &Path) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["processes::child_process", "--exact", "--nocapture"])
        .env(ROLE, role)
        .env(FILE, file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// A child process. It does nothing in an ordinary run of the tests.
#[test]
fn child_process() {
    let Ok(role) = env::var(ROLE) else { return };
    let file = env::var(FILE).unwrap();
    match role.as_str() {
        "count in one go" => {
            let store = SqliteStore::open(file).unwrap();
            (0..100).for_each(|_| drop(count_one(&store)));
            println!("fingerprint {:?}", store.fingerprint_key().unwrap());
            store.increment_counter("children", 1).unwrap();
            let stats = store.audit_stats().unwrap();
            assert_eq!(stats.decisions, stats.seq);
            if store.fire_alert(&alert(), 600, &[]).unwrap() {
                println!("raised");
            }
        }
        "count and open anew" => (0..100).for_each(|_| drop(count_one(&SqliteStore::open(&file).unwrap()))),
        "commit until killed" => loop {
            // It can be killed while it opens the store.
            let store = SqliteStore::open(&file).unwrap();
            for _ in 0..10 {
                let place = count_one(&store);
                let mut out = std::io::stdout().lock();
                out.write_all(format!("\nack {} {}\n", place.seq, place.hash).as_bytes()).unwrap();
                out.flush().unwrap();
            }
        },
        role => panic!("unknown role {role}"),
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

/// Runs sixteen processes. Returns how often the alert was raised.
fn sixteen(role: &str) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    // The file does not exist yet: creating it is part of the race.
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
    assert!(fingerprints.len() <= 1, "the processes have created several keys");
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
fn sixteen_processes_that_reopen_the_store_lose_no_update() {
    assert_eq!(sixteen("count and open anew"), 0);
}

#[test]
fn killed_processes_lose_no_acknowledged_record() {
    let seed = match env::var("MIDRAIL_SEED") {
        Ok(seed) => seed.parse().unwrap_or_else(|_| {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
            u64::from(now.subsec_nanos())
        }),
        Err(_) => 23,
    };
    println!("MIDRAIL_SEED={seed}");
    let mut random = Random(seed | 1);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let mut acknowledged: Vec<(u64, String)> = Vec::new();
    let mut kills = 0;
    for _ in 0..40 {
        // Three at once, each killed after another number of commits, so that the others find an interrupted state.
        let outputs: Vec<_> = (0..3)
            .map(|_| {
                let mut child = child("commit until killed", &file);
                let commits = usize::try_from(random.next() % 12).unwrap();
                thread::spawn(move || {
                    let mut reader = BufReader::new(child.stdout.take().unwrap());
                    let mut records = acks(&mut reader, commits);
                    let was_running = child.try_wait().unwrap().is_none();
                    child.kill().unwrap();
                    child.wait().unwrap();
                    let mut errors = String::new();
                    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
                    assert!(was_running, "a child ended on its own: {errors}");
                    records.extend(acks(&mut reader, usize::MAX));
                    records
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
    // A commit that was not acknowledged is written completely or not at all.
    assert_eq!(store.load("shared", &["count"]).unwrap()[0].value, Some(json!(found.records)));
}

/// Reads the records that a child has acknowledged, at most `most`. A line that the kill has truncated does not count.
fn acks(reader: &mut impl BufRead, most: usize) -> Vec<(u64, String)> {
    let mut acks = Vec::new();
    let mut line = String::new();
    while acks.len() < most && reader.read_line(&mut line).unwrap() > 0 {
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
