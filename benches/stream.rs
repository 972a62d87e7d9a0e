//! Benchmarks of streams: the cost per chunk of a dozen bytes where chunks are collected, and per event where every chunk is
//! decided, with the default pack, in memory and on disk.
//!
//! Run it: `cargo bench -p midrail-cli --bench stream`. No figure is asserted: timings vary between machines, so compare ratios.

#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use midrail::{Engine, Load, MemoryStore, SqliteStore, Store, StreamOptions};

const CHUNK: &str = "a lazy dog, ";

fn main() {
    let folder = tempfile::tempdir().unwrap();
    println!("machine: {} cores", std::thread::available_parallelism().map_or(0, usize::from));
    println!("chunks of {} bytes, default pack, prose without secrets\n", CHUNK.len());
    for max_bytes in [4096, 512, 0] {
        let memory = engine(Arc::new(MemoryStore::new().unwrap()));
        let disk =
            engine(Arc::new(SqliteStore::open(folder.path().join(format!("{max_bytes}.db"))).unwrap()));
        for (place, engine) in [("in memory", memory), ("on disk", disk)] {
            measure(&format!("{place}, decided every {max_bytes} bytes"), &engine, max_bytes);
        }
    }
}

fn engine(store: Arc<dyn Store>) -> Arc<Engine> {
    let loaded = Load { packs: vec!["midrail:default".into()], ..Load::default() }.documents().unwrap();
    Arc::new(Engine::builder(loaded.policy, &loaded.source).store(store).build().unwrap())
}

fn measure(what: &str, engine: &Arc<Engine>, max_bytes: usize) {
    let count = if max_bytes == 0 { 2_000 } else { 200_000 };
    let mut stream = engine.session("s-1").stream(StreamOptions { max_bytes, ..StreamOptions::default() });
    let (mut deciding, mut all, mut passed) = (Vec::new(), Duration::ZERO, 0);
    for _ in 0..count {
        let started = Instant::now();
        let step = stream.push(CHUNK);
        let took = started.elapsed();
        all += took;
        passed += step.text.len();
        if step.decision.is_some() {
            deciding.push(took);
        }
    }
    passed += stream.finish().text.len();
    assert_eq!(passed, usize::try_from(count).unwrap() * CHUNK.len());
    deciding.sort();
    let at = |share: usize| deciding.get(deciding.len() * share / 100).copied().unwrap_or_default();
    println!(
        "{what:<36} a chunk {:>9.1?} on average   an event {:>9.1?} median {:>9.1?} p99   ({} events)",
        all / count,
        at(50),
        at(99),
        deciding.len()
    );
}
