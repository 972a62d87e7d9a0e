//! Whatever fails, the answer is a block that says so, and nothing is half done.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use midrail::store::{
    Approval, ApprovalFilter, Approvals, AuditLog, Checkpoint, Commit, Entry, Filter, Keys, Policies,
    PublicKey, SessionInfo, Slice, Slices,
};
use midrail::{AuditRef, Effect, Engine, Event, Files, MemoryStore, Store, StoreError};
use serde_json::{Value, json};

use crate::sessions::policy;

/// A store that fails on command.
struct Failing {
    inner: MemoryStore,
    on_load: AtomicBool,
    on_commit: AtomicBool,
}

fn full() -> StoreError {
    StoreError::Full { path: "midrail.db".into() }
}

type Result<T> = std::result::Result<T, StoreError>;

impl Slices for Failing {
    fn load(&self, session: &str, keys: &[&str]) -> Result<Vec<Slice>> {
        if self.on_load.load(Ordering::SeqCst) { Err(full()) } else { self.inner.load(session, keys) }
    }
    fn load_prefix(&self, session: &str, prefix: &str) -> Result<BTreeMap<String, Value>> {
        self.inner.load_prefix(session, prefix)
    }
    fn sessions(&self) -> Result<Vec<SessionInfo>> {
        self.inner.sessions()
    }
}

impl AuditLog for Failing {
    fn entry(&self, seq: u64) -> Result<Option<Entry>> {
        self.inner.entry(seq)
    }
    fn entries(&self, filter: &Filter) -> Result<Vec<Entry>> {
        self.inner.entries(filter)
    }
    fn head(&self) -> Result<Option<AuditRef>> {
        self.inner.head()
    }
    fn checkpoints(&self, after_seq: u64, limit: usize) -> Result<Vec<Checkpoint>> {
        self.inner.checkpoints(after_seq, limit)
    }
    fn last_checkpoint(&self) -> Result<Option<Checkpoint>> {
        self.inner.last_checkpoint()
    }
    fn public_keys(&self) -> Result<Vec<PublicKey>> {
        self.inner.public_keys()
    }
    fn checkpoint_now(&self, time: jiff::Timestamp) -> Result<Option<Checkpoint>> {
        self.inner.checkpoint_now(time)
    }
}

impl Approvals for Failing {
    fn approval(&self, id: &str) -> Result<Option<Approval>> {
        self.inner.approval(id)
    }
    fn approvals(&self, filter: &ApprovalFilter) -> Result<Vec<Approval>> {
        self.inner.approvals(filter)
    }
}

impl Policies for Failing {
    fn save_policy(&self, revision: &str, body: &str) -> Result<()> {
        self.inner.save_policy(revision, body)
    }
    fn policy(&self, revision: &str) -> Result<Option<String>> {
        self.inner.policy(revision)
    }
}

impl Keys for Failing {
    fn fingerprint_key(&self) -> Result<[u8; 32]> {
        self.inner.fingerprint_key()
    }
    fn public_key(&self) -> Result<PublicKey> {
        self.inner.public_key()
    }
}

impl Store for Failing {
    fn commit(&self, commit: &Commit<'_>) -> Result<AuditRef> {
        if self.on_commit.load(Ordering::SeqCst) { Err(full()) } else { self.inner.commit(commit) }
    }
}

fn failing() -> (Arc<Engine>, Arc<Failing>) {
    let store = Arc::new(Failing {
        inner: MemoryStore::new().unwrap(),
        on_load: AtomicBool::new(false),
        on_commit: AtomicBool::new(false),
    });
    let (policy, source) = policy("pack: t\nguardrails:\n  - sequential: {deploy: [build]}\n");
    let engine = Engine::builder(policy, &source).store(store.clone()).build().unwrap();
    (Arc::new(engine), store)
}

#[test]
fn no_record_means_no_allow() {
    let (engine, store) = failing();
    let session = engine.session("s");
    for switch in [&store.on_load, &store.on_commit] {
        assert_eq!(session.check("harmless", json!({})).effect, Effect::Allow);
        switch.store(true, Ordering::SeqCst);
        let decision = session.check("harmless", json!({}));
        assert_eq!(decision.effect, Effect::Block);
        assert_eq!(decision.by.as_deref(), Some("midrail"));
        assert!(decision.reason.contains("no space left"), "{}", decision.reason);
        assert!(decision.advice.unwrap().contains("free some space"));
        switch.store(false, Ordering::SeqCst);
        assert_eq!(session.check("harmless", json!({})).effect, Effect::Allow);
    }
}

#[test]
fn a_result_that_was_not_recorded_does_not_count() {
    let (engine, store) = failing();
    let session = engine.session("s");
    store.on_commit.store(true, Ordering::SeqCst);
    session.notify_result("build", json!({}), midrail::ToolResult::ok(""));
    store.on_commit.store(false, Ordering::SeqCst);
    assert_eq!(session.check("deploy", json!({})).effect, Effect::Block);
}

#[test]
fn an_event_too_deep_to_record_is_refused() {
    let (engine, _) = failing();
    let deep = (0..200).fold(json!(1), |value, _| json!([value]));
    let decision = engine.decide(Event::before_tool("t", json!({"x": deep})));
    assert_eq!(decision.effect, Effect::Block);
    assert!(decision.reason.contains("nested more than 100 levels deep"), "{}", decision.reason);
}

#[test]
fn without_a_file_system_gates_that_need_one_close() {
    let (policy, source) = policy("pack: t\nguardrails:\n  - read_before_write\n");
    let engine = Engine::builder(policy, &source).files(Arc::new(Files::Unavailable)).build().unwrap();
    let decision = engine.decide(Event::before_tool("write_file", json!({"path": "a"})));
    assert_eq!(decision.effect, Effect::Block);
    assert!(decision.reason.contains("there is no file system"), "{}", decision.reason);
}
