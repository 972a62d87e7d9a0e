//! Secrets in folders, tasks and locks are replaced in records like everywhere else.

use std::sync::Arc;
use std::time::Duration;

use midrail::store::{AuditLog, MemoryStore, Notices};
use midrail::{Engine, Event, Load};
use serde_json::json;

#[test]
fn records_contain_no_secret_of_a_name() {
    let secret = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let store = Arc::new(MemoryStore::new().unwrap());
    let loaded = Load { packs: vec!["midrail:default".into()], ..Load::default() }.load().unwrap();
    let engine =
        Arc::new(Engine::builder(loaded.policy, &loaded.source).store(store.clone()).build().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let cwd = folder.path().join(&secret);
    std::fs::create_dir(&cwd).unwrap();
    let event = |session: Option<&str>, tool: &str, args| -> Event {
        serde_json::from_value(json!({
            "kind": "before_tool", "session": session, "cwd": cwd, "tool": {"name": tool, "args": args},
            "task": {"id": format!("deploy-{secret}"), "token_budget": 1000},
        }))
        .unwrap()
    };
    engine.decide(event(Some("s"), "Bash", json!({"command": "rm -rf src"})));
    engine.decide(event(Some("s"), "Write", json!({"file_path": "a.txt", "content": "x"})));
    engine.decide(event(None, "Read", json!({"file_path": "a.txt"})));
    engine.admin().take_lock(&cwd.join("a.txt"), "agent", "s", Duration::from_secs(60)).unwrap();
    engine.admin().set_task(&format!("deploy-{secret}"), midrail::admin::TaskStatus::Draft, "ann").unwrap();
    let locks = engine.admin().list::<midrail::admin::Lock>().unwrap();
    let tasks = engine.admin().list::<midrail::admin::TaskState>().unwrap();
    assert_eq!((locks.len(), tasks.len()), (1, 1));
    let shown = serde_json::to_string(&(locks, tasks)).unwrap();
    assert!(!shown.contains(&secret), "{shown}");
    // The lock holds for the agent's own name of the file.
    let other = engine.admin().take_lock(&cwd.join("a.txt"), "other", "s-2", Duration::from_secs(60));
    assert!(other.is_err_and(|error| !error.to_string().contains(&secret)));
    engine.admin().release_lock(&cwd.join("a.txt"), "ann").unwrap();
    let notices = format!("{:?}", store.notices(0, 100).unwrap());
    assert!(!notices.contains(&secret), "{notices}");
    let last = store.head().unwrap().unwrap().seq;
    for seq in 1..=last {
        let entry = store.entry(seq).unwrap().unwrap();
        let record = format!("{}{:?}", entry.body, entry.labels);
        let at = record.find(&secret);
        assert!(at.is_none(), "record {seq}: …{}", &record[at.unwrap_or(0).saturating_sub(120)..]);
    }
    assert!(last >= 6, "{last}");
}
