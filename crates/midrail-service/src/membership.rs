//! The membership of an instance among those that share the store of a project. Each instance enforces the policy of its
//! own packs, and nothing that another process writes to the store changes it. An instance whose policy differs from
//! that of the others starts only if an administrator has confirmed it.

use std::time::Duration;

use jiff::Timestamp;
use midrail::store::{Alert, Instance, NewNotice};
use midrail::{Engine, EngineError, EngineResult};
use parking_lot::Mutex;
use serde_json::json;

/// How often an instance renews its membership.
pub(crate) const BEAT: Duration = Duration::from_secs(2);

/// How long an instance counts as running after its last renewal, so that several renewals may fail.
pub(crate) const LIVE_FOR: Duration = Duration::from_secs(15);

/// How long the same difference of policies is not reported again.
const QUIET_S: u64 = 3_600;

/// The membership of this instance in a project.
pub(crate) struct Membership {
    id: String,
    state: Mutex<State>,
}

struct State {
    /// Since when the policy is in force, and which instance put it in force first.
    since: Timestamp,
    by: String,
    /// This instance, while it is a member.
    own: Option<Instance>,
    /// All running instances.
    running: Vec<Instance>,
    /// A change of the policy that is not recorded yet, because the store could not be written.
    is_unrecorded: bool,
}

/// Why an instance cannot join the others.
#[derive(Debug)]
pub(crate) enum JoinError {
    /// They enforce another policy than this one, whose revision it is.
    Differs(String, Vec<Instance>),
    /// The store failed.
    Engine(EngineError),
}

impl Membership {
    /// An instance that has not joined yet.
    pub(crate) fn new(id: &str, engine: &Engine) -> Self {
        let (id, by) = (id.to_owned(), id.to_owned());
        let state = State { since: engine.now(), by, own: None, running: Vec::new(), is_unrecorded: false };
        Membership { id, state: Mutex::new(state) }
    }

    /// Checks that this instance may join the running ones. Nothing is written.
    pub(crate) fn check(&self, engine: &Engine) -> Result<(), JoinError> {
        let revision = engine.policy().revision().to_string();
        let mut others =
            engine.store().live_instances(LIVE_FOR).map_err(|error| JoinError::Engine(error.into()))?;
        others.retain(|other| other.id != self.id && other.revision != revision);
        if others.is_empty() || is_confirmed(engine, &revision)? {
            return Ok(());
        }
        Err(JoinError::Differs(revision, others))
    }

    /// Joins the running instances, and records the policy. Nothing is written if they enforce another policy that no
    /// administrator has confirmed.
    pub(crate) fn join(&self, engine: &Engine, address: &str) -> Result<(), JoinError> {
        let mut state = self.state.lock();
        let revision = engine.policy().revision().to_string();
        let is_confirmed = is_confirmed(engine, &revision)?;
        let own = Instance {
            id: self.id.clone(),
            revision: revision.clone(),
            address: address.to_owned(),
            started: engine.now(),
        };
        let joined = engine.store().join(&own, LIVE_FOR, is_confirmed);
        let others = joined.map_err(|error| JoinError::Engine(error.into()))?;
        if !others.is_empty() && !is_confirmed {
            return Err(JoinError::Differs(revision, others));
        }
        state.own = Some(own);
        state.record(engine).map_err(JoinError::Engine)
    }

    /// Records a policy that came into force in this instance.
    pub(crate) fn changed(&self, project: &str, engine: &Engine) {
        let mut state = self.state.lock();
        (state.since, state.by) = (engine.now(), self.id.clone());
        state.is_unrecorded = true;
        state.renew(project, engine);
    }

    /// Renews the membership, and reports a difference of policies.
    pub(crate) fn beat(&self, project: &str, engine: &Engine) {
        self.state.lock().renew(project, engine);
    }

    /// Ends the membership.
    pub(crate) fn leave(&self, project: &str, engine: &Engine) {
        // Under the lock, so that the thread that renews it does not add it again.
        let mut state = self.state.lock();
        let Some(own) = state.own.take() else { return };
        if let Err(error) = engine.store().leave(&own.id) {
            log::warn!(project, error:%; "this instance still counts as running for {} s", LIVE_FOR.as_secs());
        }
    }

    /// Since when the policy is in force, and which instance put it in force.
    pub(crate) fn since(&self) -> (Timestamp, String) {
        let state = self.state.lock();
        (state.since, state.by.clone())
    }

    /// All running instances.
    pub(crate) fn running(&self) -> Vec<Instance> {
        self.state.lock().running.clone()
    }

    /// The running instances that enforce another policy than a revision.
    pub(crate) fn drifted(&self, revision: &str) -> Vec<Instance> {
        let mut running = self.running();
        running.retain(|instance| instance.revision != revision);
        running
    }
}

/// Whether an administrator has confirmed a policy.
fn is_confirmed(engine: &Engine, revision: &str) -> Result<bool, JoinError> {
    let confirmed = engine.admin().confirmed_policy().map_err(JoinError::Engine)?;
    Ok(confirmed.is_some_and(|confirmed| confirmed.revision == revision))
}

impl State {
    fn renew(&mut self, project: &str, engine: &Engine) {
        if let Err(error) = self.try_renew(engine) {
            log::warn!(project, error:%; "the membership of this instance is not renewed yet");
        }
    }

    fn try_renew(&mut self, engine: &Engine) -> EngineResult {
        let Some(own) = &mut self.own else { return Ok(()) };
        own.revision = engine.policy().revision().to_string();
        engine.store().renew(own)?;
        self.running = engine.store().live_instances(LIVE_FOR)?;
        if self.is_unrecorded {
            self.record(engine)?;
        }
        self.report_drift(engine)
    }

    fn record(&mut self, engine: &Engine) -> EngineResult {
        self.is_unrecorded = true;
        let Some(own) = &self.own else { return Ok(()) };
        let change = engine.record_policy(&own.id)?;
        (self.since, self.by, self.is_unrecorded) = (change.since, change.by, false);
        self.running = engine.store().live_instances(LIVE_FOR)?;
        self.report_drift(engine)
    }

    /// Raises an alert while instances enforce different policies. Of all instances, one succeeds.
    fn report_drift(&self, engine: &Engine) -> EngineResult {
        let mut revisions: Vec<&str> = self.running.iter().map(|instance| &*instance.revision).collect();
        revisions.sort_unstable();
        revisions.dedup();
        if revisions.len() < 2 {
            return Ok(());
        }
        let places: Vec<String> = self
            .running
            .iter()
            .map(|instance| format!("{} ({})", instance.address, instance.revision))
            .collect();
        let message = format!("instances enforce different policies: {}", places.join(", "));
        let alert = Alert {
            name: "policy_drift".to_owned(),
            key: revisions.join(" "),
            fired_at: engine.now(),
            value: f64::from(u32::try_from(revisions.len()).unwrap_or(u32::MAX)),
            message: message.clone(),
        };
        let notice = NewNotice {
            to: "human_operator".to_owned(),
            kind: "policy".to_owned(),
            message,
            body: json!({"instances": self.running}),
        };
        if engine.store().fire_alert(&alert, QUIET_S, &[notice])? {
            log::warn!("{}", alert.message);
            engine.background().deliver_notices();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use midrail::{Load, MemoryStore, Store};

    use super::*;

    fn engine(pack: &str, store: &Arc<dyn Store>) -> Engine {
        let loaded = Load { packs: vec![pack.into()], ..Load::default() }.load().unwrap();
        Engine::builder(loaded.policy, &loaded.source).store(store.clone()).build().unwrap()
    }

    fn store() -> Arc<dyn Store> {
        Arc::new(MemoryStore::new().unwrap())
    }

    #[test]
    fn instance_with_another_policy_changes_nothing() {
        let store = store();
        let (one, other) = (engine("midrail:default", &store), engine("midrail:strict", &store));
        let (first, second) = (Membership::new("a", &one), Membership::new("b", &other));
        first.join(&one, "http://a").unwrap();
        let head = store.head().unwrap();
        let Err(JoinError::Differs(revision, others)) = second.join(&other, "http://b") else {
            panic!("it joined")
        };
        assert_eq!((&*revision, &*others[0].id), (&**other.policy().revision(), "a"));
        assert_eq!(store.head().unwrap(), head, "a record was written");
        assert_eq!(store.policy(&revision).unwrap(), None, "its packs were stored");
        first.beat("p", &one);
        assert_eq!(first.drifted(one.policy().revision()), []);
        first.leave("p", &one);
        second.join(&other, "http://b").unwrap();
    }

    #[test]
    fn confirmed_policy_joins_and_drift_is_reported_once() {
        let store = store();
        let (one, other) = (engine("midrail:default", &store), engine("midrail:strict", &store));
        let (first, second) = (Membership::new("a", &one), Membership::new("b", &other));
        first.join(&one, "http://a").unwrap();
        one.admin().confirm_policy(other.policy().revision(), None).unwrap();
        let before = one.policy().revision().clone();
        second.join(&other, "http://b").unwrap();
        first.beat("p", &one);
        second.beat("p", &other);
        assert_eq!(*one.policy().revision(), before, "an instance keeps its own policy");
        assert_eq!(first.drifted(&before)[0].address, "http://b");
        let alerts = store.alerts(10).unwrap();
        assert_eq!((alerts.len(), &*alerts[0].name), (1, "policy_drift"));
        let head = store.head().unwrap();
        first.beat("p", &one);
        second.beat("p", &other);
        assert_eq!(store.head().unwrap(), head, "a record was written though nothing changed");
    }
}
