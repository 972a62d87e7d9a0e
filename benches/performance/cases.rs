//! The cases of the benchmark that run within one process. A name such as `default/shell/memory` selects a pack, an event and the
//! place of the record.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use midrail::core::{Facts, Session, decide};
use midrail::pack::{Layer, PackDocument};
use midrail::replay::start_time;
use midrail::{
    Effect, Engine, Event, Load, ManualClock, MemoryStore, Policy, PolicySource, PostgresOptions,
    PostgresStore, SqliteStore, Store, StreamOptions,
};
use midrail_adapters::wire;
use midrail_scan::{injection, personal, secrets};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::events::{FILE, Numbered, event, read_result, text};

/// Names the server for the record in PostgreSQL.
pub(crate) const POSTGRES: &str = "MIDRAIL_BENCH_POSTGRES";

const RM_RF: &str = "pack: p\nguardrails:\n  - {id: no-rm-rf, tools: Bash, check: \"NOT tool.args.command contains 'rm -rf'\"}\n";

/// A script that counts calls, so that its variables change with every event.
const SCRIPT: &str = r#"const calls = new Map();
export default { input: async (ctx) => {
  calls.set(ctx.tool.name, (calls.get(ctx.tool.name) ?? 0) + 1);
  return ctx.std.argMatches(ctx.tool.args, "path", /\.prod\.env$/) ? { allowed: false, message: "no" } : { allowed: true };
} };
"#;

/// Prepares a case. It receives the number of the repetition.
pub(crate) fn prepare(name: &str) -> Box<dyn FnMut(u64)> {
    match name.split('/').collect::<Vec<_>>()[..] {
        ["detector", detector] => detect(detector),
        ["stream", bytes] => stream(bytes.parse().unwrap()),
        [pack, event, "core"] => core(pack, event),
        [pack, event, place] => engine(pack, event, place),
        _ => panic!("no case {name}"),
    }
}

/// A pass over one megabyte of text without findings.
fn detect(detector: &str) -> Box<dyn FnMut(u64)> {
    let text = text(1_000_000);
    match detector {
        "secrets" => Box::new(move |_| drop(black_box(secrets::scan(&text)))),
        "personal" => Box::new(move |_| drop(black_box(personal::scan(&text)))),
        "injections" => Box::new(move |_| drop(black_box(injection::scan(&text)))),
        "sha256" => Box::new(move |_| {
            black_box(Sha256::digest(&text));
        }),
        _ => panic!("no detector {detector}"),
    }
}

/// Chunks of a dozen bytes, decided when so many bytes are collected; 0: each by itself.
fn stream(max_bytes: usize) -> Box<dyn FnMut(u64)> {
    let place = Place::new();
    let engine = Arc::new(place.engine("default", "memory"));
    let mut stream = engine.session("s-1").stream(StreamOptions { max_bytes, ..StreamOptions::default() });
    Box::new(move |_| {
        black_box(stream.push("a lazy dog, "));
        place.wait();
    })
}

/// An event from JSON, decided and recorded.
fn engine(pack: &str, name: &str, store: &str) -> Box<dyn FnMut(u64)> {
    let place = Place::new();
    let engine = place.engine(pack, store);
    place.play_history(&engine, pack);
    let mut event = Numbered::new(&event(name, place.path()));
    Box::new(move |number| {
        let event = wire::decode(event.with(number)).unwrap();
        let decision = engine.decide(event);
        assert_eq!(decision.effect, Effect::Allow, "{decision:?}");
        place.wait();
    })
}

/// An event from JSON, decided by the decision core with the slices and facts of the record of the same event.
fn core(pack: &str, name: &str) -> Box<dyn FnMut(u64)> {
    let place = Place::new();
    let engine = place.engine(pack, "memory");
    place.play_history(&engine, pack);
    let event = event(name, place.path()).to_string();
    let seq = engine.decide(wire::decode(event.as_bytes()).unwrap()).audit.0.unwrap().seq;
    let record = engine.store().entry(seq).unwrap().unwrap().record().unwrap();
    let (session, facts): (Session, Facts) =
        (Session { slices: record.slices, ..Session::new(record.session) }, record.facts);
    let time = record.event.time;
    let (policy, _) = policy(pack, place.path());
    Box::new(move |_| {
        let event = Event { time, ..wire::decode(event.as_bytes()).unwrap() };
        assert_eq!(decide(&policy, &session, &facts, &event).effect, Effect::Allow);
        place.wait();
    })
}

/// A project in a folder of fixed length, so that paths cost the same in every run, and a clock that a rate limit goes by.
struct Place {
    folder: TempDir,
    clock: Arc<ManualClock>,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("midrail-bench-").tempdir_in("/tmp").unwrap();
        std::fs::create_dir(folder.path().join("src")).unwrap();
        std::fs::write(folder.path().join("src/main.rs"), FILE).unwrap();
        Place { folder, clock: Arc::new(ManualClock::at(start_time())) }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Time passes until the next event.
    fn wait(&self) {
        self.clock.advance(1.0);
    }

    fn engine(&self, pack: &str, store: &str) -> Engine {
        let store: Arc<dyn Store> = match store {
            "memory" => Arc::new(MemoryStore::new().unwrap()),
            "sqlite" => Arc::new(SqliteStore::open(self.path().join("store.db")).unwrap()),
            "postgres" => {
                let options = PostgresOptions::new(std::env::var(POSTGRES).unwrap());
                Arc::new(
                    PostgresStore::connect(&options).unwrap().project(&self.path().display().to_string()),
                )
            }
            _ => panic!("no store {store}"),
        };
        let (policy, source) = policy(pack, self.path());
        Engine::builder(policy, &source)
            .store(store)
            .clock(self.clock.clone())
            .root(self.path())
            .build()
            .unwrap()
    }

    /// The agent reads the file that it writes later, and before it as many others as the pack's name ends with.
    fn play_history(&self, engine: &Engine, pack: &str) {
        let past: u64 = pack.strip_prefix("read-before-write-").map_or(1, |past| past.parse().unwrap());
        for number in 1..past {
            let path = format!("src/file_{number:06}.rs");
            std::fs::write(self.path().join(&path), FILE).unwrap();
            self.play(engine, &path);
        }
        self.play(engine, "src/main.rs");
    }

    fn play(&self, engine: &Engine, path: &str) {
        let event = read_result(path, self.path()).to_string();
        assert_eq!(engine.decide(wire::decode(event.as_bytes()).unwrap()).effect, Effect::Allow);
    }
}

fn policy(pack: &str, folder: &Path) -> (Policy, PolicySource) {
    match pack {
        "default" | "strict" => {
            let packs = vec![format!("midrail:{pack}").into()];
            let loaded = Load { packs, ..Load::default() }.documents().unwrap();
            (loaded.policy, loaded.source)
        }
        "script" => {
            let packs = folder.join("packs");
            std::fs::create_dir_all(&packs).unwrap();
            std::fs::write(packs.join("guardrails.js"), SCRIPT).unwrap();
            let loaded = Load { packs: vec![packs], ..Load::default() }.load().unwrap();
            (loaded.policy, loaded.source)
        }
        "rm-rf" => compile(RM_RF),
        "destructive-command" => compile("pack: p\nguardrails: [destructive_command]\n"),
        _ if pack.starts_with("read-before-write") => compile("pack: p\nguardrails: [read_before_write]\n"),
        _ => compile(&large(pack.strip_prefix("rules-").unwrap().parse().unwrap())),
    }
}

/// A pack of many guardrails, of which ten apply.
fn large(count: usize) -> String {
    let mut text = "pack: large\nguardrails:\n".to_owned();
    for number in 0..count {
        let tool = if number < 10 { "Edit".to_owned() } else { format!("tool_{number}_*") };
        text += &format!(
            "  - {{id: g{number}, tools: \"{tool}\", check: \"action.target_files none match ['secret/{number}/**']\"}}\n"
        );
    }
    text
}

fn compile(text: &str) -> (Policy, PolicySource) {
    let documents = PackDocument::read("pack.yaml", text, None).unwrap();
    let layered: Vec<_> = documents.into_iter().map(|document| (Layer::Project, document)).collect();
    midrail::pack::compile_policy(&layered).unwrap()
}
