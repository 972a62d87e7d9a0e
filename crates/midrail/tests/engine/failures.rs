//! Every failure is a block with a reason, and no change is half done.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use midrail::core::AuditRef;
use midrail::store::{
    ActionCounts, Alert, Alerts, Approval, ApprovalCount, ApprovalFilter, Approvals, Approver, Approvers,
    AuditEntry, AuditFilter, AuditLog, AuditStats, Checkpoint, Commit, Instance, Instances, Keys, NewNotice,
    Notices, PendingDelivery, Policies, PublicKey, SessionFilter, SessionInfo, Slice, Slices, Stats,
    StoredNotice,
};
use midrail::{Effect, Engine, Event, Files, MemoryStore, Store, StoreError};
use serde_json::{Value, json};

use crate::sessions::policy;

/// A store that fails on command.
struct Failing {
    inner: MemoryStore,
    on_load: AtomicBool,
    on_commit: AtomicBool,
    /// Commits that come upon a session which others changed.
    conflicts: AtomicUsize,
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
    fn shared_keys(&self, from: &str, before: &str, most: usize) -> Result<Vec<String>> {
        self.inner.shared_keys(from, before, most)
    }
    fn find_sessions(&self, wanted: &SessionFilter) -> Result<Vec<SessionInfo>> {
        self.inner.find_sessions(wanted)
    }
}

impl AuditLog for Failing {
    fn entry(&self, seq: u64) -> Result<Option<AuditEntry>> {
        self.inner.entry(seq)
    }
    fn entries(&self, filter: &AuditFilter) -> Result<Vec<AuditEntry>> {
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
    fn approval_counts(&self) -> Result<Vec<ApprovalCount>> {
        self.inner.approval_counts()
    }
}

impl Approvers for Failing {
    fn approvers(&self) -> Result<Vec<Approver>> {
        self.inner.approvers()
    }
    fn check_key(&self, name: &str, key: &str) -> Result<Option<Approver>> {
        self.inner.check_key(name, key)
    }
}

impl Notices for Failing {
    fn notices(&self, after_id: u64, limit: usize) -> Result<Vec<StoredNotice>> {
        self.inner.notices(after_id, limit)
    }
    fn pending_deliveries(&self, channel: &str, limit: usize) -> Result<Vec<PendingDelivery>> {
        self.inner.pending_deliveries(channel, limit)
    }
    fn claim_delivery(
        &self,
        id: u64,
        channel: &str,
        now: jiff::Timestamp,
        again_after_s: u64,
    ) -> Result<bool> {
        self.inner.claim_delivery(id, channel, now, again_after_s)
    }
    fn mark_delivered(&self, id: u64, channel: &str, now: jiff::Timestamp) -> Result<()> {
        self.inner.mark_delivered(id, channel, now)
    }
}

impl Alerts for Failing {
    fn fire_alert(&self, alert: &Alert, cooldown_s: u64, notices: &[NewNotice]) -> Result<bool> {
        self.inner.fire_alert(alert, cooldown_s, notices)
    }
    fn alerts(&self, limit: usize) -> Result<Vec<Alert>> {
        self.inner.alerts(limit)
    }
}

impl Stats for Failing {
    fn saved_stats(&self) -> Result<Option<AuditStats>> {
        self.inner.saved_stats()
    }
    fn save_stats(&self, figures: &AuditStats) -> Result<()> {
        self.inner.save_stats(figures)
    }
    fn action_counts(&self, since: jiff::Timestamp) -> Result<ActionCounts> {
        self.inner.action_counts(since)
    }
    fn increment_counter(&self, name: &str, by: u64) -> Result<()> {
        self.inner.increment_counter(name, by)
    }
    fn counters(&self) -> Result<BTreeMap<String, u64>> {
        self.inner.counters()
    }
}

impl Instances for Failing {
    fn join(&self, instance: &Instance, live_for: Duration, is_confirmed: bool) -> Result<Vec<Instance>> {
        self.inner.join(instance, live_for, is_confirmed)
    }
    fn renew(&self, instance: &Instance) -> Result<()> {
        self.inner.renew(instance)
    }
    fn live_instances(&self, live_for: Duration) -> Result<Vec<Instance>> {
        self.inner.live_instances(live_for)
    }
    fn leave(&self, id: &str) -> Result<()> {
        self.inner.leave(id)
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

impl midrail::store::Retention for Failing {}

impl Store for Failing {
    fn commit(&self, commit: &Commit<'_>) -> Result<AuditRef> {
        if self.on_commit.load(Ordering::SeqCst) {
            return Err(full());
        }
        let less = |left: usize| left.checked_sub(1);
        if self.conflicts.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok() {
            return Err(StoreError::Conflict { what: "a slice".into() });
        }
        self.inner.commit(commit)
    }
}

fn failing() -> (Arc<Engine>, Arc<Failing>) {
    let store = store();
    let (policy, source) = policy("pack: t\nguardrails:\n  - sequential: {deploy: [build]}\n");
    let engine = Engine::builder(policy, &source).store(store.clone()).build().unwrap();
    (Arc::new(engine), store)
}

fn store() -> Arc<Failing> {
    Arc::new(Failing {
        inner: MemoryStore::new().unwrap(),
        on_load: AtomicBool::new(false),
        on_commit: AtomicBool::new(false),
        conflicts: AtomicUsize::new(0),
    })
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

#[test]
fn a_command_runs_once_however_often_its_event_is_tried() {
    let folder = tempfile::tempdir().unwrap();
    let (policy, source) =
        policy("pack: t\nguardrails:\n  - {use: command, with: {run: echo ran >> count, files: [src]}}\n");
    let store = store();
    let engine = Engine::builder(policy, &source).store(store.clone()).root(folder.path()).build().unwrap();
    store.conflicts.store(3, Ordering::SeqCst);
    assert_eq!(engine.decide(Event::before_tool("t", json!({}))).effect, Effect::Allow);
    assert_eq!(store.conflicts.load(Ordering::SeqCst), 0);
    assert_eq!(std::fs::read_to_string(folder.path().join("count")).unwrap(), "ran\n");
}
