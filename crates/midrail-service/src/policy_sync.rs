//! Synchronises the policy of instances that share a store. An instance announces its policy when it starts and
//! when its packs are reloaded. The last announcement wins, and the other instances apply it within about a second.
//!
//! An instance that cannot compile the announced policy keeps its own and logs an error.

use std::error::Error;
use std::time::Duration;

use jiff::Timestamp;
use midrail::announcements::PolicyAnnouncement;
use midrail::load::{SourceMark, StoredPolicyError};
use midrail::{Engine, LoadedPolicy, Policy, PolicySource};
use parking_lot::Mutex;

use crate::text::random_name;

/// How often announcements of other instances are read.
pub(crate) const POLL: Duration = Duration::from_millis(500);

/// The state of a project's policy among instances.
pub(crate) struct PolicySync {
    /// This instance, in announcements.
    by: String,
    /// Whether others can share the store.
    is_shared: bool,
    state: Mutex<State>,
}

struct State {
    since: Timestamp,
    by: String,
    /// The record of the last applied announcement.
    applied: u64,
    /// A change that is not announced yet, because the store could not be written.
    pending: bool,
}

impl PolicySync {
    pub(crate) fn new(engine: &Engine, is_shared: bool) -> Self {
        let by = format!("{}-{}", std::process::id(), random_name());
        let state = State { since: engine.now(), by: by.clone(), applied: 0, pending: false };
        PolicySync { by, is_shared, state: Mutex::new(state) }
    }

    /// Since when the policy is in force, and which instance put it there.
    pub(crate) fn since(&self) -> (Timestamp, String) {
        let state = self.state.lock();
        (state.since, state.by.clone())
    }

    /// Announces a policy that came into force here.
    pub(crate) fn changed(&self, engine: &Engine) {
        let mut state = self.state.lock();
        (state.since, state.by) = (engine.now(), self.by.clone());
        state.pending = self.is_shared;
        self.announce(&mut state, engine);
    }

    fn announce(&self, state: &mut State, engine: &Engine) {
        if !state.pending {
            return;
        }
        match engine.announce_policy(&self.by) {
            Ok(announced) => {
                state.applied = announced.seq;
                // It may have been announced before, by another instance or by an earlier process.
                (state.since, state.by) = (announced.since, announced.by);
                state.pending = false;
            }
            Err(error) => log::error!(error:%; "the policy in force could not be announced yet"),
        }
    }

    /// Applies the policy that another instance has announced. A pending announcement of this instance comes first,
    /// because it is later.
    pub(crate) fn follow(&self, project: &str, engine: &Engine) {
        if !self.is_shared {
            return;
        }
        let mut state = self.state.lock();
        self.announce(&mut state, engine);
        let announced = match engine.announced_policy() {
            Ok(Some(announced)) if announced.seq > state.applied && !state.pending => announced,
            Ok(_) => return,
            Err(error) => {
                log::warn!(project, error:%; "the announced policy is unknown");
                return;
            }
        };
        if **engine.policy().revision() != *announced.revision {
            let stored = match engine.stored_policy(&announced.revision) {
                Err(StoredPolicyError::Store(error)) => {
                    log::warn!(project, error:%; "the announced policy cannot be read");
                    return;
                }
                stored => stored.map_err(Box::from),
            };
            match stored.and_then(|(policy, source)| apply(engine, policy, source)) {
                Ok(()) => {
                    let PolicyAnnouncement { revision, by, .. } = &announced;
                    log::info!(project, policy:% = revision, by:%; "a policy of another instance is in force");
                }
                // The announcement is not tried again.
                Err(why) => {
                    log::error!(
                        project, by:% = announced.by, error:% = why;
                        "the announced policy is invalid, and the one in force stays"
                    );
                    state.applied = announced.seq;
                    return;
                }
            }
        }
        (state.since, state.by, state.applied) = (announced.since, announced.by, announced.seq);
    }
}

/// Puts a policy in force if it can be used here: one with missing scripts would block everything.
fn apply(engine: &Engine, policy: Policy, source: PolicySource) -> Result<(), Box<dyn Error>> {
    let loaded = LoadedPolicy { policy, source, documents: Vec::new(), mark: SourceMark::default() };
    if let Some(problem) = loaded.script_problems(false).first() {
        return Err(problem.to_string().into());
    }
    Ok(engine.reload(loaded.policy, &loaded.source)?)
}

#[cfg(test)]
mod tests {
    use midrail::{Load, MemoryStore, Store};

    use std::sync::Arc;

    use super::*;

    fn engine(pack: &str, store: &Arc<dyn Store>) -> Engine {
        let loaded = Load { packs: vec![pack.into()], ..Load::default() }.load().unwrap();
        Engine::builder(loaded.policy, &loaded.source).store(store.clone()).build().unwrap()
    }

    #[test]
    fn last_announcement_wins_for_all_instances() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new().unwrap());
        let (one, other) = (engine("midrail:default", &store), engine("midrail:strict", &store));
        let (sync_one, sync_other) = (PolicySync::new(&one, true), PolicySync::new(&other, true));
        sync_one.changed(&one);
        sync_one.follow("p", &one);
        let own = one.policy().revision().clone();
        sync_other.changed(&other);
        sync_other.follow("p", &other);
        assert_ne!(*other.policy().revision(), own, "an older announcement was followed");
        sync_one.follow("p", &one);
        assert_eq!(one.policy().revision(), other.policy().revision());
        assert_eq!(sync_one.since(), sync_other.since());
        let head = store.head().unwrap();
        sync_one.follow("p", &one);
        sync_other.follow("p", &other);
        assert_eq!(store.head().unwrap(), head, "a record was written though nothing changed");
    }

    #[test]
    fn invalid_announcement_keeps_the_policy_in_force() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new().unwrap());
        let one = engine("midrail:default", &store);
        let own = one.policy().revision().clone();
        let sync_one = PolicySync::new(&one, true);
        sync_one.changed(&one);
        // A guardrail registered by a program is in no pack, so no other instance can compile this policy.
        let other = engine("midrail:strict", &store);
        assert!(other.unregister("safety-001") || other.unregister("safety-002"));
        let sync_other = PolicySync::new(&other, true);
        sync_other.changed(&other);
        sync_one.follow("p", &one);
        assert_eq!(*one.policy().revision(), own);
    }

    #[test]
    fn unshared_store_has_no_announcements() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new().unwrap());
        let one = engine("midrail:default", &store);
        let policy_sync = PolicySync::new(&one, false);
        policy_sync.changed(&one);
        policy_sync.follow("p", &one);
        assert_eq!(store.head().unwrap(), None);
    }
}
