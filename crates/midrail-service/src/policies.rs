//! The policy in force, for all instances that share a store. Whoever puts one in force announces it: at its start, when
//! its packs change, when somebody tells it to read them again. The last announcement wins, whoever made it, and every
//! other instance takes that policy from the store within about a second.
//!
//! An instance that cannot make the policy that was announced keeps its own, and says so in the log.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use midrail::{Announced, Engine, Loaded, Mark};

use crate::access::random_name;
use crate::app::App;

/// How often it is looked whether another instance has announced a policy.
const LOOK: Duration = Duration::from_millis(500);

/// How a project's policy stands among the instances.
pub(crate) struct Standing {
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

impl Standing {
    pub(crate) fn new(engine: &Engine, is_shared: bool) -> Self {
        let by = format!("{}-{}", std::process::id(), random_name());
        let state = State { since: engine.now(), by: by.clone(), heeded: 0, pending: false };
        Standing { by, is_shared, state: Mutex::new(state) }
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
        match engine.announce_policy(&self.by) {
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
        let announced = match engine.announced_policy() {
            Ok(Some(announced)) if announced.seq > state.heeded && !state.pending => announced,
            Ok(_) => return,
            Err(error) => {
                log::warn!(project, error:%; "it cannot be told which policy was announced");
                return;
            }
        };
        if **engine.policy().revision() != *announced.revision {
            let made = match engine.kept_policy(&announced.revision) {
                Ok(made) => made,
                Err(error) => {
                    log::warn!(project, error:%; "the policy that was announced cannot be read");
                    return;
                }
            };
            match made.and_then(|(policy, source)| usable(policy, source)) {
                Ok(loaded) => {
                    engine.apply_policy_config(loaded);
                    let Announced { revision, by, .. } = &announced;
                    log::info!(project, policy:% = revision, by:%; "a policy is in force, as another announced");
                }
                // It is looked at once: the next announcement may be better.
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
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A policy that can be put in force here: one whose scripts are not here would stop everything.
fn usable(policy: midrail::Policy, source: midrail::PolicySource) -> Result<Loaded, String> {
    let loaded = Loaded { policy, source, documents: Vec::new(), mark: Mark::default() };
    match loaded.script_problems(false).first() {
        None => Ok(loaded),
        Some(report) => Err(report.to_string()),
    }
}

/// Follows what other instances announce, for all projects that are open, until the service ends.
pub(crate) fn follow(app: &App) -> std::io::Result<()> {
    let app = app.clone();
    thread::Builder::new().name("midrail-policies".to_owned()).spawn(move || {
        while !app.is_closing() {
            for project in app.projects.all() {
                let (standing, engine): (&Arc<Standing>, _) = (project.standing(), project.engine());
                standing.follow(project.name(), engine);
            }
            thread::sleep(LOOK);
        }
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use midrail::{Load, MemoryStore, Store};

    use super::*;

    fn engine(pack: &str, store: &Arc<dyn Store>) -> Engine {
        let loaded = Load { packs: vec![pack.into()], ..Load::default() }.load().unwrap();
        Engine::builder(loaded.policy, &loaded.source).store(store.clone()).build().unwrap()
    }

    #[test]
    fn last_announcement_wins_with_all_instances() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new().unwrap());
        let (one, other) = (engine("midrail:default", &store), engine("midrail:strict", &store));
        let (of_one, of_other) = (Standing::new(&one, true), Standing::new(&other, true));
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
        let of_one = Standing::new(&one, true);
        of_one.changed(&one);
        // A guardrail of a program is in no pack, so nobody else can make this policy.
        let other = engine("midrail:strict", &store);
        assert!(other.unregister("safety-001") || other.unregister("safety-002"));
        let of_other = Standing::new(&other, true);
        of_other.changed(&other);
        of_one.follow("p", &one);
        assert_eq!(*one.policy().revision(), own);
    }

    #[test]
    fn store_that_nobody_shares_has_no_announcement() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new().unwrap());
        let one = engine("midrail:default", &store);
        let standing = Standing::new(&one, false);
        standing.changed(&one);
        standing.follow("p", &one);
        assert_eq!(store.head().unwrap(), None);
    }
}
