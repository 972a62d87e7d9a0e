//! The store in memory: for tests, replays and agents whose state ends with the process. Its audit log is chained and
//! signed like any other.

mod instances;
mod notices;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use jiff::Timestamp;
use midrail_core::AuditRef;
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;

use crate::approval::{self, Approval, ApprovalCount, ApprovalFilter, ApprovalState};
use crate::approver::{self, StoredApprover};
use crate::audit_log::AuditLog;
use crate::audit_stats::AuditStats;
use crate::chain::{CHECKPOINT_EVERY, GENESIS};
use crate::checkpoint::{Checkpoint, PublicKey};
use crate::draft::{Draft, check_approval, check_slice, encode};
use crate::entry::{AuditEntry, whole_micros};
use crate::error::Result;
use crate::filter::AuditFilter;
use crate::instance::Instance;
use crate::key::StoreKey;
use crate::notice::{Alert, NewNotice, StoredNotice};
use crate::retention::Retention;
use crate::slice_keys::{SHARED_SESSION, is_shared, storage_session};
use crate::state_digests::{StateDigests, text_digest};
use crate::store::{
    Approvals, Commit, CommitCost, Keys, Policies, SessionFilter, SessionInfo, Slice, Slices, Store,
};

/// A store that ends with the process.
pub struct MemoryStore {
    key: StoreKey,
    state: Mutex<State>,
}

impl MemoryStore {
    /// An empty store with a random key.
    pub fn new() -> Result<Self> {
        Ok(MemoryStore { key: StoreKey::random()?, state: Mutex::default() })
    }

    /// An empty store whose keys are derived from a seed, so that its fingerprints and signatures are reproducible.
    pub fn with_seed(seed: &[u8; 32]) -> Self {
        MemoryStore { key: StoreKey::from_seed(seed), state: Mutex::default() }
    }

    // INVARIANT: `commit` checks everything before it changes anything, so a panic leaves a consistent state.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl Store for MemoryStore {
    fn commit(&self, commit: &Commit<'_>) -> Result<AuditRef> {
        let draft = Draft::new(&commit.record, digests(commit)?)?;
        let (session, time) = (&commit.record.session, commit.record.time);
        let mut state = self.state();
        for (key, version) in &commit.read {
            check_slice(key, *version, state.slice(session, key).map_or(0, |(_, version)| *version))?;
        }
        for change in &commit.approvals {
            check_approval(change, state.approvals.get(&change.now.id))?;
        }
        let before = digests_before(&state, commit)?;
        let mut changed = Vec::new();
        if !commit.approvers.is_empty() {
            let mut approvers = state.approvers.clone();
            changed = approver::apply_changes(&mut approvers, &commit.approvers, time, &self.key)?;
            state.approvers = approvers;
        }
        let head = state.head();
        let (seq, prev) = head.map_or((0, GENESIS.to_owned()), |head| (head.seq, head.hash));
        let entry = draft.entry(seq + 1, prev, &changed, before);
        if let Some(all) = &commit.replace_all {
            let slices = state.sessions.entry(session.clone()).or_default();
            slices.retain(|key, _| is_shared(key));
            let own = all.iter().filter(|(key, _)| !is_shared(key));
            slices.extend(own.map(|(key, value)| (key.clone(), (value.clone(), entry.seq))));
        }
        for (key, value) in &commit.changes.0 {
            let slices = state.sessions.entry(storage_session(session, key).to_owned()).or_default();
            match value {
                Some(value) => drop(slices.insert(key.clone(), (value.clone(), entry.seq))),
                None => drop(slices.remove(key)),
            }
        }
        state.add_notices(&commit.notices, Some(entry.seq), time);
        commit.approvals.iter().for_each(|change| state.set_approval(&change.now));
        if entry.seq.is_multiple_of(CHECKPOINT_EVERY) {
            state.checkpoints.insert(entry.seq, self.key.sign(entry.seq, &entry.hash, time));
        }
        let place = AuditRef { seq: entry.seq, hash: entry.hash.clone() };
        state.log.push(entry);
        Ok(place)
    }

    fn commit_cost(&self) -> CommitCost {
        CommitCost::Immediate
    }
}

/// The digests of the state that a commit changes, as the other stores compute them.
fn digests(commit: &Commit<'_>) -> Result<StateDigests> {
    let restored = commit.replace_all.iter().flatten().filter(|(key, _)| !is_shared(key));
    let restored = restored.map(|(key, value)| (key, Some(value)));
    let slices = restored.chain(commit.changes.0.iter().map(|(key, value)| (key, value.as_ref())));
    let text = |key: &String, value: &Value| encode(value, || format!("the slice `{key}`"));
    let slices = slices.map(|(key, value)| Ok((key, value.map(|value| text(key, value)).transpose()?)));
    let slices: Vec<_> = slices.collect::<Result<_>>()?;
    let approvals = commit.approvals.iter().map(|change| {
        Ok((&change.now.id, encode(&change.now, || format!("the approval `{}`", change.now.id))?))
    });
    let approvals: Vec<_> = approvals.collect::<Result<_>>()?;
    Ok(StateDigests::new(
        commit.replace_all.is_some(),
        slices.iter().map(|(key, text)| (*key, text.as_deref())),
        approvals.iter().map(|(id, text)| (*id, text.as_str())),
    ))
}

/// The digests of the slices that a commit changes, as far as they exist.
fn digests_before(state: &State, commit: &Commit<'_>) -> Result<BTreeMap<String, String>> {
    let restored = commit.replace_all.iter().flatten().map(|(key, _)| key).filter(|key| !is_shared(key));
    let changed = restored.chain(commit.changes.0.keys());
    let before = |key: &String| {
        let (value, _) = state.slice(&commit.record.session, key)?;
        let text = encode(value, || format!("the slice `{key}`"));
        Some(text.map(|text| (key.clone(), text_digest(&text))))
    };
    changed.filter_map(before).collect()
}

impl Slices for MemoryStore {
    fn load(&self, session: &str, keys: &[&str]) -> Result<Vec<Slice>> {
        let state = self.state();
        let find = |key: &&str| {
            state.slice(session, key).map_or_else(Slice::default, |(value, version)| Slice {
                value: Some(value.clone()),
                version: *version,
            })
        };
        Ok(keys.iter().map(find).collect())
    }

    fn load_prefix(&self, session: &str, prefix: &str) -> Result<BTreeMap<String, Value>> {
        let state = self.state();
        let wants_shared = is_shared(prefix);
        let session = if wants_shared { SHARED_SESSION } else { session };
        let Some(slices) = state.sessions.get(session) else { return Ok(BTreeMap::new()) };
        let from = slices.range(prefix.to_owned()..).take_while(|(key, _)| key.starts_with(prefix));
        let wanted = from.filter(|(key, _)| is_shared(key) == wants_shared);
        Ok(wanted.map(|(key, (value, _))| (key.clone(), value.clone())).collect())
    }

    fn shared_keys(&self, from: &str, before: &str, most: usize) -> Result<Vec<String>> {
        let state = self.state();
        let Some(slices) = state.sessions.get(SHARED_SESSION).filter(|_| from < before) else {
            return Ok(Vec::new());
        };
        let keys = slices.range(from.to_owned()..before.to_owned()).map(|(key, _)| key);
        Ok(keys.filter(|key| is_shared(key)).take(most).cloned().collect())
    }

    fn find_sessions(&self, filter: &SessionFilter) -> Result<Vec<SessionInfo>> {
        let state = self.state();
        let mut sessions: BTreeMap<&str, SessionInfo> = BTreeMap::new();
        for entry in &state.log {
            let name = entry.labels.session.as_str();
            let info = sessions.entry(name).or_insert_with(|| SessionInfo {
                session: name.to_owned(),
                records: 0,
                slices: u64::try_from(state.own_slices(name)).unwrap_or(u64::MAX),
                last_seq: 0,
                last_active: entry.labels.time,
            });
            info.records += 1;
            info.last_seq = entry.seq;
            info.last_active = entry.labels.time;
        }
        let mut sessions: Vec<_> =
            sessions.into_values().filter(|info| filter.matches(&info.session, info.last_seq)).collect();
        sessions.sort_by_key(|info| std::cmp::Reverse(info.last_seq));
        sessions.truncate(filter.limit.unwrap_or(usize::MAX));
        Ok(sessions)
    }
}

impl AuditLog for MemoryStore {
    fn entry(&self, seq: u64) -> Result<Option<AuditEntry>> {
        let at = seq.checked_sub(1).and_then(|at| usize::try_from(at).ok());
        Ok(at.and_then(|at| self.state().log.get(at).cloned()))
    }

    fn entries(&self, filter: &AuditFilter) -> Result<Vec<AuditEntry>> {
        let state = self.state();
        let after = filter.after_seq.and_then(|seq| usize::try_from(seq).ok());
        let matching = |entry: &&AuditEntry| filter.matches(&entry.labels);
        Ok(if filter.newest_first {
            let end = after.map_or(state.log.len(), |after| after.saturating_sub(1));
            let skipped = state.log.len().saturating_sub(end);
            state.log.iter().rev().skip(skipped).filter(matching).take(filter.page()).cloned().collect()
        } else {
            let rest = state.log.iter().skip(after.unwrap_or(0));
            rest.filter(matching).take(filter.page()).cloned().collect()
        })
    }

    fn head(&self) -> Result<Option<AuditRef>> {
        Ok(self.state().head())
    }

    fn checkpoints(&self, after_seq: u64, limit: usize) -> Result<Vec<Checkpoint>> {
        let state = self.state();
        let after = state.checkpoints.range(after_seq.saturating_add(1)..);
        Ok(after.take(limit).map(|(_, checkpoint)| checkpoint.clone()).collect())
    }

    fn last_checkpoint(&self) -> Result<Option<Checkpoint>> {
        Ok(self.state().checkpoints.values().next_back().cloned())
    }

    fn public_keys(&self) -> Result<Vec<PublicKey>> {
        Ok(vec![self.key.public().clone()])
    }

    fn checkpoint_now(&self, time: Timestamp) -> Result<Option<Checkpoint>> {
        let mut state = self.state();
        let Some(head) = state.head() else { return Ok(None) };
        let sign = || self.key.sign(head.seq, &head.hash, time);
        Ok(Some(state.checkpoints.entry(head.seq).or_insert_with(sign).clone()))
    }
}

impl Approvals for MemoryStore {
    fn approval(&self, id: &str) -> Result<Option<Approval>> {
        Ok(self.state().approvals.get(id).cloned())
    }

    fn approvals(&self, filter: &ApprovalFilter) -> Result<Vec<Approval>> {
        let state = self.state();
        let mut found: Vec<&Approval> = match filter.state {
            Some(ApprovalState::Pending) => {
                state.pending.iter().filter_map(|id| state.approvals.get(id)).collect()
            }
            _ => state.approvals.values().collect(),
        };
        found.retain(|row| filter.matches(row));
        found.sort_by(|one, other| (other.created, &other.id).cmp(&(one.created, &one.id)));
        Ok(found.into_iter().take(filter.page()).cloned().collect())
    }

    fn approval_counts(&self) -> Result<Vec<ApprovalCount>> {
        Ok(approval::counts(self.state().approvals.values().cloned()))
    }
}

impl Policies for MemoryStore {
    fn save_policy(&self, revision: &str, body: &str) -> Result<()> {
        self.state().policies.entry(revision.to_owned()).or_insert_with(|| body.to_owned());
        Ok(())
    }

    fn policy(&self, revision: &str) -> Result<Option<String>> {
        Ok(self.state().policies.get(revision).cloned())
    }
}

impl Retention for MemoryStore {}

impl Keys for MemoryStore {
    fn fingerprint_key(&self) -> Result<[u8; 32]> {
        Ok(self.key.fingerprint_key())
    }

    fn public_key(&self) -> Result<PublicKey> {
        Ok(self.key.public().clone())
    }
}

#[derive(Default)]
struct State {
    sessions: BTreeMap<String, BTreeMap<String, (Value, u64)>>,
    log: Vec<AuditEntry>,
    checkpoints: BTreeMap<u64, Checkpoint>,
    approvals: BTreeMap<String, Approval>,
    /// The pending ones, so that a decision does not search all approvals.
    pending: BTreeSet<String>,
    policies: BTreeMap<String, String>,
    approvers: Vec<StoredApprover>,
    notices: Vec<StoredNotice>,
    deliveries: BTreeMap<(String, u64), Delivery>,
    alerts: Vec<Alert>,
    stats: Option<AuditStats>,
    counters: BTreeMap<String, u64>,
    /// Running instances, and when they were last renewed.
    instances: BTreeMap<String, (Instance, Instant)>,
}

/// The delivery of a notice by a channel.
#[derive(Default)]
struct Delivery {
    attempts: u64,
    tried: Option<Timestamp>,
    delivered: Option<Timestamp>,
}

impl State {
    fn slice(&self, session: &str, key: &str) -> Option<&(Value, u64)> {
        self.sessions.get(storage_session(session, key)).and_then(|slices| slices.get(key))
    }

    /// The number of slices of a session, without shared ones.
    fn own_slices(&self, session: &str) -> usize {
        let slices = self.sessions.get(session).into_iter().flatten();
        slices.filter(|(key, _)| !is_shared(key)).count()
    }

    fn head(&self) -> Option<AuditRef> {
        self.log.last().map(|entry| AuditRef { seq: entry.seq, hash: entry.hash.clone() })
    }

    fn set_approval(&mut self, approval: &Approval) {
        if approval.state == ApprovalState::Pending {
            self.pending.insert(approval.id.clone());
        } else {
            self.pending.remove(&approval.id);
        }
        self.approvals.insert(approval.id.clone(), approval.clone());
    }

    fn add_notices(&mut self, notices: &[NewNotice], seq: Option<u64>, time: Timestamp) {
        for new in notices {
            let NewNotice { to, kind, message, body } = new.clone();
            let id = self.last_notice() + 1;
            self.notices.push(StoredNotice { id, seq, time: whole_micros(time), to, kind, message, body });
        }
    }

    fn last_notice(&self) -> u64 {
        self.notices.last().map_or(0, |notice| notice.id)
    }

    fn delivery(&mut self, id: u64, channel: &str) -> Option<&mut Delivery> {
        let exists = (1..=self.last_notice()).contains(&id);
        exists.then(|| self.deliveries.entry((channel.to_owned(), id)).or_default())
    }
}
