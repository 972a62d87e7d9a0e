//! Many events at once, for a process that decides for many: each is decided for itself, and they are put on record
//! together. What would have to wait for a command, a script or somebody outside is handed back, so that it holds up
//! nobody else.

use midrail_core::{AuditRef, Decision, Event, stream_of};
use midrail_store::StoreError;

use crate::engine::{Engine, EngineError, InForce};
use crate::walk::{Prepared, Ready, Walk};

/// What came of an event.
#[derive(Debug)]
pub enum AtOnce {
    /// It is decided and on record.
    Decided(Box<Decision>),
    /// It takes time, and nothing was recorded. [`Engine::decide`] takes that time.
    TakesTime(Box<Event>),
}

impl Engine {
    /// Decides events that came at the same time. The answers are in their order, and each is what [`Engine::decide`]
    /// answers; events that take time are handed back.
    ///
    /// ```
    /// use midrail::{AtOnce, Engine, Event, Load};
    /// use serde_json::json;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let loaded = Load { packs: vec!["midrail:default".into()], ..Load::default() }.load()?;
    /// let engine = Engine::builder(loaded.policy, &loaded.source).build()?;
    /// let call = |session: &str| Event::before_tool("Bash", json!({"command": "ls"})).in_session(session);
    /// for answer in engine.decide_at_once(vec![call("a"), call("b")]) {
    ///     let decision = match answer {
    ///         AtOnce::Decided(decision) => *decision,
    ///         AtOnce::TakesTime(event) => engine.decide(*event),
    ///     };
    ///     assert!(decision.effect.goes_on());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn decide_at_once(&self, events: Vec<Event>) -> Vec<AtOnce> {
        let in_force = self.in_force();
        if let Err(error) = self.save_policy(&in_force) {
            let error = EngineError::from(error);
            return events.iter().map(|_| decided(self.refusal(&error))).collect();
        }
        let begun: Vec<Begun<'_>> = events.into_iter().map(|event| self.begin(&in_force, event)).collect();
        let commits: Vec<_> = begun.iter().filter_map(|begun| Some(&begun.ready()?.commit)).collect();
        let mut written = self.store().commit_all(&commits).into_iter();
        let mut end = |begun| match begun {
            Begun::Ready(walk, ready) => {
                let outcome = written.next().unwrap_or(Err(StoreError::Abandoned));
                self.ended(*walk, *ready, outcome)
            }
            Begun::Ended(ended) => ended,
        };
        begun.into_iter().map(&mut end).collect()
    }

    fn begin<'e>(&'e self, in_force: &'e InForce, event: Event) -> Begun<'e> {
        let failed = |error: EngineError| Begun::Ended(decided(self.refusal(&error)));
        if event.kind.is_engines_own() {
            return failed(EngineError::OwnKind(event.kind));
        }
        // What is held back of a stream is joined to the event by a walk of its own.
        if stream_of(&event).is_some() {
            return Begun::Ended(AtOnce::TakesTime(Box::new(event)));
        }
        let walk = match Walk::new(self, &in_force.policy, event, None) {
            Ok(walk) => walk.in_a_hurry(),
            Err(error) => return failed(error),
        };
        match walk.prepare(None, &mut None) {
            Ok(Prepared::Ready(ready)) => Begun::Ready(Box::new(walk), ready),
            Ok(Prepared::Decided(decision)) => Begun::Ended(AtOnce::Decided(decision)),
            Err(EngineError::TakesTime) => Begun::Ended(AtOnce::TakesTime(Box::new(walk.into_event()))),
            Err(error) => failed(error),
        }
    }

    /// What comes of an event, now that it is on record or could not be put there.
    fn ended(&self, walk: Walk<'_>, ready: Ready, written: Result<AuditRef, StoreError>) -> AtOnce {
        match written {
            Ok(place) => decided(walk.conclude(ready, place)),
            // Somebody else was first, maybe another event of the same session: it has to be decided anew.
            Err(StoreError::Conflict { .. }) => AtOnce::TakesTime(Box::new(walk.into_event())),
            Err(error) => decided(self.refusal(&error.into())),
        }
    }
}

/// An event that is decided, but for what the store says to it.
enum Begun<'e> {
    Ready(Box<Walk<'e>>, Box<Ready>),
    Ended(AtOnce),
}

impl Begun<'_> {
    fn ready(&self) -> Option<&Ready> {
        match self {
            Begun::Ready(_, ready) => Some(ready),
            Begun::Ended(_) => None,
        }
    }
}

fn decided(decision: Decision) -> AtOnce {
    AtOnce::Decided(Box::new(decision))
}
