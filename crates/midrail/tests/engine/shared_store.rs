//! Engines on one SQLite file, as several processes would have them, with a manual clock.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use midrail::store::StoredNotice;
use midrail::{Engine, Event, ManualClock, SqliteStore, Store};
use serde_json::json;

use crate::sessions::policy;

/// A store, a clock, and engines on them.
pub(crate) struct SharedStore {
    folder: tempfile::TempDir,
    pub(crate) clock: Arc<ManualClock>,
}

impl SharedStore {
    pub(crate) fn new() -> Self {
        let start = "2026-11-15T10:00:00Z".parse().unwrap();
        SharedStore { folder: tempfile::tempdir().unwrap(), clock: Arc::new(ManualClock::at(start)) }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Another process.
    pub(crate) fn engine(&self, pack: &str) -> Arc<Engine> {
        let (policy, source) = policy(pack);
        let store = SqliteStore::open(self.path("midrail.db")).unwrap();
        let engine = Engine::builder(policy, &source).store(Arc::new(store)).clock(self.clock.clone());
        Arc::new(engine.build().unwrap())
    }

    pub(crate) fn clock_now(&self) -> jiff::Timestamp {
        midrail::Clock::now(&*self.clock)
    }

    /// Another look at the store.
    pub(crate) fn store(&self) -> SqliteStore {
        SqliteStore::open(self.path("midrail.db")).unwrap()
    }
}

/// A call of an agent in a session of its own.
pub(crate) fn call(agent: &str, tool: &str) -> Event {
    let mut event = Event::before_tool(tool, json!({})).in_session(format!("of-{agent}"));
    event.agent = Some(serde_json::from_value(json!({"id": agent})).unwrap());
    event
}

/// All notices of a kind.
pub(crate) fn notices(store: &dyn Store, kind: &str) -> Vec<StoredNotice> {
    let all = store.notices(0, 1000).unwrap();
    all.into_iter().filter(|notice| notice.kind == kind).collect()
}

/// Waits until something holds.
#[track_caller]
pub(crate) fn until(mut holds: impl FnMut() -> bool) {
    let started = std::time::Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(60), "the condition never became true");
        std::thread::yield_now();
    }
}
