//! Many threads and processes on one session: nothing is lost, nothing is counted twice.

use std::sync::Arc;
use std::thread;

use midrail::store::AuditLog;
use midrail::{Effect, Engine, SqliteStore};
use serde_json::json;

use crate::sessions::policy;

#[test]
fn warnings_of_many_threads_are_each_counted_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    // The hundredth warning escalates: 8 threads of 12 give 96, so that none does, and the four after them do.
    let pack = "pack: t\nguardrails:\n  - {id: w, tools: t, effect: warn, warn_limit: 97}\n";
    let run = |path: std::path::PathBuf| {
        let (policy, source) = policy(pack);
        let store = Arc::new(SqliteStore::open(path).unwrap());
        Arc::new(Engine::builder(policy, &source).store(store).build().unwrap())
    };
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let path = path.clone();
            thread::spawn(move || {
                // Each thread has a connection of its own, as processes do.
                let engine = run(path);
                let session = engine.session("shared");
                (0..12).map(|_| session.check("t", json!({})).effect).collect::<Vec<_>>()
            })
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), vec![Effect::Warn; 12]);
    }
    let engine = run(path.clone());
    assert_eq!(engine.session("shared").check("t", json!({})).effect, Effect::Escalate);
    let store = SqliteStore::open(path).unwrap();
    let verification = store.verify(&Default::default(), &mut |_, _| {}).unwrap();
    assert!(verification.is_intact(), "{verification:?}");
    assert_eq!(verification.records, 97);
}
