//! Synchronises the policy of instances that share a store. An instance announces its policy when it starts and
//! when its packs are reloaded. The last announcement wins, and the other instances apply it within about a second.
//!
//! An instance that cannot compile the announced policy keeps its own and logs an error.

use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use jiff::Timestamp;
use midrail::announcements::PolicyAnnouncement;
use midrail::load::{SourceMark, StoredPolicyError};
use midrail::{Engine, LoadedPolicy};

use crate::text::random_name;

/// How often it is looked whether another instance has announced a policy.
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
    /// The last announcement that was heeded: its record.
    heeded: u64,
    /// A change that is not announced yet, because the store could not be written.
    pending: bool,
}

impl PolicySync {
    pub(crate) fn new(engine: &Engine, is_shared: bool) -> Self {
        let by = format!("{}-{}", std::process::id(), random_name());
        let state = State { since: engine.now(), by: by.clone(), heeded: 0, pending: false };
        PolicySync { by, is_shared, state: Mutex::new(state) }
    }

    /// Since when the policy is in force, and which instance put it there.
    pub(crate) fn since(&self) -> (Timestamp, String) {
        let state = self.state();
        (state.since, state.by.clone())
    }

    /// Another policy was put in force here.
    pub(crate) fn changed(&self, engine: &Engine) {
        let mut state = self.state();
        (state.since, state.by) = (engine.now(), self.by.clone());
        state.pending = self.is_shared;
        self.announce(&mut state, engine);
    }

    fn announce(&self, state: &mut State, engine: &Engine) {
        if !state.pending {
            return;
        }
        match engine.announcements().announce(&self.by) {
            Ok(announced) => {
                state.heeded = announced.seq;
                // It may have been announced before, by another or in an earlier life.
                (state.since, state.by) = (announced.since, announced.by);
                state.pending = false;
            }
            Err(error) => log::error!(error:%; "the policy in force could not be announced yet"),
        }
    }

    /// Takes over what another instance has announced since. What is still to be announced here comes first: it is the
    /// later one.
    pub(crate) fn follow(&self, project: &str, engine: &Engine) {
        if !self.is_shared {
            return;
        }
        let mut state = self.state();
        self.announce(&mut state, engine);
        let announced = match engine.announcements().current() {
            Ok(Some(announced)) if announced.seq > state.heeded && !state.pending => announced,
            Ok(_) => return,
            Err(error) => {
                log::warn!(project, error:%; "it cannot be told which policy was announced");
                return;
            }
        };
        if **engine.policy().revision() != *announced.revision {
            let stored = match engine.announcements().policy(&announced.revision) {
                Err(StoredPolicyError::Store(error)) => {
                    log::warn!(project, error:%; "the announced policy cannot be read");
                    return;
                }
                stored => stored.map_err(|error| error.to_string()),
            };
            let usable = stored.and_then(|(policy, source)| usable(policy, source));
            let reloaded = usable.and_then(|loaded| {
                engine.reload(loaded.policy, &loaded.source).map_err(|error| error.to_string())
            });
            match reloaded {
                Ok(()) => {
                    let PolicyAnnouncement { revision, by, .. } = &announced;
                    log::info!(project, policy:% = revision, by:%; "a policy is in force, as another announced");
                }
                // The announcement is not tried again.
                Err(why) => {
                    log::error!(
                        project, by:% = announced.by, error:% = why;
                        "the policy that was announced cannot be used, and the one in force stays"
                    );
                    state.heeded = announced.seq;
                    return;
                }
            }
        }
        (state.since, state.by, state.heeded) = (announced.since, announced.by, announced.seq);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// A policy that can be put in force here: one whose scripts are not here would stop everything.
fn usable(policy: midrail::Policy, source: midrail::PolicySource) -> Result<LoadedPolicy, String> {
    let loaded = LoadedPolicy { policy, source, documents: Vec::new(), mark: SourceMark::default() };
    match loaded.script_problems(false).first() {
        None => Ok(loaded),
        Some(report) => Err(report.to_string()),
    }
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
    fn last_announcement_wins_with_all_instances() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new().unwrap());
        let (one, other) = (engine("midrail:default", &store), engine("midrail:strict", &store));
        let (of_one, of_other) = (PolicySync::new(&one, true), PolicySync::new(&other, true));
        of_one.changed(&one);
        of_one.follow("p", &one);
        let own = one.policy().revision().clone();
        of_other.changed(&other);
        of_other.follow("p", &other);
        assert_ne!(*other.policy().revision(), own, "an older announcement was followed");
        of_one.follow("p", &one);
        assert_eq!(one.policy().revision(), other.policy().revision());
        assert_eq!(of_one.since(), of_other.since());
        let head = store.head().unwrap();
        of_one.follow("p", &one);
        of_other.follow("p", &other);
        assert_eq!(store.head().unwrap(), head, "a record was written though nothing changed");
    }

    #[test]
    fn policy_that_cannot_be_made_leaves_the_one_in_force() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new().unwrap());
        let one = engine("midrail:default", &store);
        let own = one.policy().revision().clone();
        let of_one = PolicySync::new(&one, true);
        of_one.changed(&one);
        // A guardrail registered by a program is in no pack, so no other instance can compile this policy.
        let other = engine("midrail:strict", &store);
        assert!(other.unregister("safety-001") || other.unregister("safety-002"));
        let of_other = PolicySync::new(&other, true);
        of_other.changed(&other);
        of_one.follow("p", &one);
        assert_eq!(*one.policy().revision(), own);
    }

    #[test]
    fn store_that_nobody_shares_has_no_announcement() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new().unwrap());
        let one = engine("midrail:default", &store);
        let policy_sync = PolicySync::new(&one, false);
        policy_sync.changed(&one);
        policy_sync.follow("p", &one);
        assert_eq!(store.head().unwrap(), None);
    }
}
