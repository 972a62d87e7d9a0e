//! A soak test of streams: eight at a time, split at random, with planted secrets. Nothing leaks, nothing is lost, and memory
//! stays flat.
//!
//! `cargo run --release -p midrail --example soak_streams` pushes a million chunks; another number can be given.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::{fs, thread};

use midrail::{Engine, Load, SqliteStore, StreamOptions};

/// Streams at a time.
const STREAMS: usize = 8;

/// Chunks per stream.
const CHUNKS: usize = 4_000;

/// Counts of a soak test.
#[derive(Debug, Default, Clone, Copy)]
pub struct Soaked {
    /// Chunks sent.
    pub chunks: usize,
    /// Bytes sent.
    pub bytes: usize,
    /// Decisions made.
    pub decisions: usize,
    /// Planted secrets, all of which were replaced.
    pub secrets: usize,
    /// Kilobytes of memory after a tenth of the run and at the end; `None` where the system does not report it.
    pub memory: Option<(u64, u64)>,
}

#[allow(dead_code, reason = "the tests of the library run a small soak, and not this")]
fn main() -> Result<(), Box<dyn Error>> {
    let chunks = std::env::args().nth(1).map_or(Ok(1_000_000), |count| count.parse())?;
    let folder = tempfile::tempdir()?;
    let soaked = soak(folder.path(), chunks)?;
    println!("{soaked:#?}");
    Ok(())
}

/// Pushes chunks through eight streams, with the default pack and a store in a folder.
pub fn soak(folder: &Path, chunks: usize) -> Result<Soaked, Box<dyn Error>> {
    let loaded = Load { packs: vec!["midrail:default".into()], ..Load::default() }.documents()?;
    let store = Arc::new(SqliteStore::open(folder.join("soak.db"))?);
    let engine = Arc::new(Engine::builder(loaded.policy, &loaded.source).store(store).build()?);
    let mut all = Soaked::default();
    let mut early = None;
    // In ten parts, to compare the memory of the first with that of the last.
    for leg in 0..10 {
        let threads: Vec<_> = (0..STREAMS)
            .map(|thread| {
                let engine = engine.clone();
                let seed = u64::try_from(leg * STREAMS + thread + 1).unwrap_or(1);
                thread::spawn(move || run(&engine, seed, chunks / 10 / STREAMS))
            })
            .collect();
        for thread in threads {
            let soaked = thread.join().map_err(|_| "a thread panicked")??;
            all.chunks += soaked.chunks;
            all.bytes += soaked.bytes;
            all.decisions += soaked.decisions;
            all.secrets += soaked.secrets;
        }
        early = early.or_else(memory);
    }
    all.memory = early.zip(memory());
    drop(engine);
    // Neither the records nor the quarantine may contain a secret.
    for file in fs::read_dir(folder)? {
        if shows_secret(&fs::read(file?.path())?) {
            return Err("the store shows a secret".into());
        }
    }
    Ok(all)
}

fn run(engine: &Arc<Engine>, seed: u64, chunks: usize) -> Result<Soaked, String> {
    let mut numbers = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut soaked = Soaked::default();
    while soaked.chunks < chunks {
        let session = engine.session(format!("s-{seed}-{}", soaked.chunks));
        let mut stream = session.stream(StreamOptions { max_bytes: 512, ..StreamOptions::default() });
        let (mut passed, mut waiting, mut plain, mut planted) = (String::new(), String::new(), 0, 0);
        for _ in 0..CHUNKS.min(chunks - soaked.chunks) {
            while waiting.len() < 64 {
                if numbers.below(6) == 0 {
                    waiting += &numbers.secret();
                    planted += 1;
                } else {
                    let word = numbers.word();
                    plain += word.len();
                    waiting += word;
                }
            }
            let chunk: String = waiting.drain(..1 + numbers.below(24)).collect();
            soaked.bytes += chunk.len();
            soaked.chunks += 1;
            let step = stream.push(&chunk);
            if let Some(stopped) = step.stopped() {
                return Err(format!("seed {seed}: stopped: {}", stopped.reason));
            }
            soaked.decisions += usize::from(step.decision.is_some());
            passed += &step.text;
        }
        soaked.bytes += waiting.len();
        passed += &stream.push(&waiting).text;
        passed += &stream.finish().text;
        soaked.decisions += 1;
        soaked.secrets += planted;
        if shows_secret(passed.as_bytes()) {
            return Err(format!("seed {seed}: a secret leaked"));
        }
        let replaced = passed.matches("[redacted:").count();
        let left: usize =
            passed.split("[redacted:").map(|part| part.split_once(']').map_or(part, |it| it.1).len()).sum();
        if (replaced, left) != (planted, plain + planted) {
            return Err(format!("seed {seed}: {replaced} of {planted} replaced, {left} of {plain} left"));
        }
    }
    Ok(soaked)
}

/// Whether bytes contain the beginning of a planted secret.
fn shows_secret(bytes: &[u8]) -> bool {
    [&b"AKIA"[..], b"ghp_"].iter().any(|mark| bytes.windows(4).any(|window| window == *mark))
}

/// Kilobytes of memory that the process uses.
fn memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// A pseudo-random generator with a fixed seed, so that a failure can be reproduced.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let end = u64::try_from(end).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.0 % end).unwrap_or_default()
    }

    fn word(&mut self) -> &'static str {
        const WORDS: &[&str] = &["the ", "fox ", "jumps ", "over ", "a lazy ", "dog, ", "and ", "so on.\n"];
        let at = self.below(WORDS.len());
        WORDS.get(at).copied().unwrap_or(" ")
    }

    /// A key, followed by a space.
    fn secret(&mut self) -> String {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
        const BOTH: &[u8] = b"abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
        let (mark, letters, length) =
            if self.below(2) == 0 { ("AKIA", LETTERS, 16) } else { ("ghp_", BOTH, 36) };
        let mut secret = mark.to_owned();
        for _ in 0..length {
            let at = self.below(letters.len());
            secret.push(letters.get(at).map_or('x', |byte| char::from(*byte)));
        }
        secret + " "
    }
}
