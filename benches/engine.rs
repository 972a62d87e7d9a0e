//! Benchmarks of the engine in a long-running process: the default pack, in memory and in SQLite, with one thread and with
//! several.
//!
//! Run it: `cargo bench -p midrail --bench engine`. `-- profile bash 100000` decides one event 100,000 times, for use
//! with a profiler. `mixed` decides three reads per command and starts a new session after every hundred events; `sqlite` as the
//! last argument uses SQLite. No figure is asserted.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a benchmark")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use midrail::{Effect, Engine, Event, Load, MemoryStore, SqliteStore, Store};
use serde_json::json;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("src")).unwrap();
    std::fs::write(folder.path().join("src/main.rs"), "fn main() {}").unwrap();
    let args: Vec<String> = std::env::args().collect();
    if let Some(at) = args.iter().position(|arg| arg == "profile") {
        let kind = args.get(at + 1).map_or("bash", String::as_str);
        let rounds = args.get(at + 2).and_then(|rounds| rounds.parse().ok()).unwrap_or(20_000);
        return profile(folder.path(), kind, rounds);
    }
    for kind in ["bash", "read"] {
        for threads in [1, 2, 8] {
            let engine = engine(Arc::new(MemoryStore::new().unwrap()));
            report(&format!("{kind}, in memory"), threads, &engine, folder.path(), kind);
        }
        for threads in [1, 8, 64] {
            let path = folder.path().join(format!("{kind}-{threads}.db"));
            let engine = engine(Arc::new(SqliteStore::open_with_readers(path, 4).unwrap()));
            report(&format!("{kind}, in SQLite"), threads, &engine, folder.path(), kind);
        }
    }
}

fn engine(store: Arc<dyn Store>) -> Engine {
    let loaded = Load { packs: vec!["midrail:default".into()], ..Load::default() }.documents().unwrap();
    Engine::builder(loaded.policy, &loaded.source).store(store).build().unwrap()
}

/// A frequent event.
fn event(kind: &str, session: &str, folder: &Path) -> Event {
    let (tool, args) = match kind {
        "bash" => {
            ("Bash", json!({"command": "cargo test --workspace 2>&1 | tail -20", "description": "Run tests"}))
        }
        "read" => ("Read", json!({"file_path": folder.join("src/main.rs")})),
        kind => panic!("{kind}?"),
    };
    let mut event = Event::before_tool(tool, args);
    event.session = Some(session.to_owned());
    event.cwd = Some(folder.to_string_lossy().into_owned());
    event.agent = serde_json::from_value(json!({"id": "implementer-3", "role": "implementer"})).unwrap();
    event
}

fn profile(folder: &Path, kind: &str, rounds: u32) {
    let engine = match std::env::args().any(|arg| arg == "sqlite") {
        true => engine(Arc::new(SqliteStore::open_with_readers(folder.join("store.db"), 4).unwrap())),
        false => engine(Arc::new(MemoryStore::new().unwrap())),
    };
    let started = Instant::now();
    for round in 0..rounds {
        match kind {
            "mixed" => {
                let kind = if round % 4 == 3 { "bash" } else { "read" };
                engine.decide(event(kind, &format!("s-{}", round / 100), folder))
            }
            kind => engine.decide(event(kind, "s", folder)),
        };
    }
    println!("{kind}: {:.1?} a decision", started.elapsed() / rounds);
}

/// Runs threads that each use a separate session.
fn report(name: &str, threads: usize, engine: &Engine, folder: &Path, kind: &str) {
    let (done, is_over) = (AtomicU32::new(0), AtomicBool::new(false));
    let started = Instant::now();
    thread::scope(|scope| {
        for number in 0..threads {
            let (done, is_over) = (&done, &is_over);
            scope.spawn(move || {
                let session = format!("s{number}");
                while !is_over.load(Ordering::Relaxed) {
                    assert_eq!(engine.decide(event(kind, &session, folder)).effect, Effect::Allow);
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        thread::sleep(Duration::from_secs(3));
        is_over.store(true, Ordering::Relaxed);
    });
    let rate = f64::from(done.into_inner()) / started.elapsed().as_secs_f64();
    println!("{:<40} {rate:>8.0}/s  {:>8.1} us a decision", format!("{name}, {threads} threads"), 1e6 / rate);
}
