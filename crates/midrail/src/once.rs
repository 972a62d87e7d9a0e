//! Events that are decided once, however often they are sent: whoever lost the answer asks again under the same key.

use jiff::{SignedDuration, Timestamp};
use midrail_core::{Aside, AuditRef, Changes, Decision, Event, Record};
use midrail_detect::secrets;
use midrail_store::{Slice, Store};
use serde_json::Value;

use crate::engine::{Engine, EngineError};
use crate::walk::session_of;

/// The slices of keys that were used, by the day. They are no session's own, so that none is taken back with one. Keys of
/// before there were days stand under `shared/once/`, and so come before all of these.
const ONCE: &str = "shared/once";

/// How long a key is remembered at least: until the day after it was used is over.
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// Keys that are forgotten with each one that is used: more than come, so that none piles up, and few, so that nobody
/// waits for it.
const FORGOTTEN: usize = 2;

/// A key, and what it was first used for.
pub(crate) struct Once {
    /// Where it stands if it is used today, and where it does if it was yesterday.
    slices: [String; 2],
    digest: String,
    /// Keys whose time is over.
    forgotten: Vec<String>,
}

impl Once {
    pub(crate) fn new(
        event: &Event,
        key: &str,
        store_key: &[u8],
        now: Timestamp,
    ) -> Result<Self, EngineError> {
        // Neither may be read from the store: the key is the caller's, and the event may hold secrets.
        let digest = secrets::fingerprint(&serde_json::to_string(event)?, store_key);
        let place = secrets::fingerprint(&format!("{}\n{key}", session_of(event)), store_key);
        let slices = [now, day_before(now)].map(|day| format!("{}{place}", of_day(day)));
        Ok(Once { slices, digest, forgotten: Vec::new() })
    }

    /// The same, with some keys whose time is over, to be forgotten with it.
    fn forgetting(mut self, store: &dyn Store, now: Timestamp) -> Result<Self, EngineError> {
        self.forgotten = store.shared_keys(ONCE, &of_day(day_before(now)), FORGOTTEN)?;
        Ok(self)
    }

    /// What was decided under this key before, if anything was.
    pub(crate) fn decided(&self, store: &dyn Store, session: &str) -> Result<Option<Decision>, EngineError> {
        let [today, yesterday] = &self.slices;
        let used = store.load(session, &[today, yesterday])?.into_iter().find(|slice| slice.value.is_some());
        let Some(Slice { value: Some(digest), version }) = used else { return Ok(None) };
        if digest.as_str() != Some(&self.digest) {
            return Err(EngineError::OtherEvent);
        }
        // A slice's version is the record that it was written with.
        let Some(entry) = store.entry(version)? else { return Err(EngineError::OtherEvent) };
        let record: Record = serde_json::from_str(&entry.body)?;
        let place = AuditRef { seq: entry.seq, hash: entry.hash };
        Ok(Some(Decision { audit: Aside(Some(place)), ..record.decision }))
    }

    /// What a commit reads and writes, so that of two that decide at once one does, also around midnight.
    pub(crate) fn write(&self, read: &mut Vec<(String, u64)>, changes: &mut Changes) {
        read.extend(self.slices.iter().map(|slice| (slice.clone(), 0)));
        let [today, _] = &self.slices;
        changes.set(&**today, Value::from(&*self.digest));
        for key in &self.forgotten {
            changes.remove(&**key);
        }
    }
}

/// What the keys of a day begin with.
fn of_day(day: Timestamp) -> String {
    format!("{ONCE}@{}/", day.strftime("%Y-%m-%d"))
}

fn day_before(now: Timestamp) -> Timestamp {
    now.checked_sub(DAY).unwrap_or(now)
}

impl Engine {
    /// Decides one event under a key: sent again with the same key in the same session, it is not decided again, and the
    /// answer is the same. The same key with another event is [`EngineError::OtherEvent`]; whatever else goes wrong is a
    /// block that says so. A key is remembered until the day after it was used is over (UTC).
    pub fn decide_once(&self, event: Event, key: &str) -> Result<Decision, EngineError> {
        if event.kind.is_engines_own() {
            return Err(EngineError::OwnKind(event.kind));
        }
        let now = self.now();
        let once = Once::new(&event, key, self.fingerprint_key(), now)?;
        let once = match once.forgetting(&**self.store(), now) {
            Ok(once) => once,
            Err(error) => return Ok(self.refusal(&error)),
        };
        match self.decide_with(event, None, Some(&once)) {
            Err(EngineError::OtherEvent) => Err(EngineError::OtherEvent),
            ended => Ok(ended.unwrap_or_else(|error| self.refusal(&error))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use serde_json::json;

    use super::*;
    use crate::{Load, ManualClock};

    fn engine() -> Arc<Engine> {
        let loaded = Load { packs: vec!["midrail:default".into()], ..Load::default() }.load().unwrap();
        Arc::new(Engine::builder(loaded.policy, &loaded.source).build().unwrap())
    }

    fn event(file: &str) -> Event {
        Event::before_tool("Read", json!({"file_path": file})).in_session("s")
    }

    #[test]
    fn the_same_event_under_a_key_is_decided_once() {
        let engine = engine();
        let first = engine.decide_once(event("a"), "k").unwrap();
        let again = engine.decide_once(event("a"), "k").unwrap();
        assert_eq!(first.audit.0, again.audit.0);
        assert_eq!(first, again);
        assert_eq!(engine.store().head().unwrap().unwrap().seq, 1);
        assert_eq!(engine.decide_once(event("a"), "other").unwrap().audit.0.unwrap().seq, 2);
    }

    #[test]
    fn another_event_under_a_used_key_is_refused() {
        let engine = engine();
        engine.decide_once(event("a"), "k").unwrap();
        assert!(matches!(engine.decide_once(event("b"), "k"), Err(EngineError::OtherEvent)));
        assert_eq!(engine.store().head().unwrap().unwrap().seq, 1);
    }

    #[test]
    fn of_many_that_ask_at_once_one_is_recorded() {
        let engine = engine();
        let all: Vec<_> = (0..16)
            .map(|_| {
                let engine = engine.clone();
                thread::spawn(move || engine.decide_once(event("a"), "k").unwrap().audit.0.unwrap().seq)
            })
            .collect();
        for one in all {
            assert_eq!(one.join().unwrap(), 1);
        }
    }

    #[test]
    fn keys_are_remembered_for_a_day_and_do_not_pile_up() {
        let loaded = Load { packs: vec!["midrail:default".into()], ..Load::default() }.load().unwrap();
        let clock = Arc::new(ManualClock::at("2026-11-15T23:59:59Z".parse().unwrap()));
        let builder = Engine::builder(loaded.policy, &loaded.source).clock(clock.clone());
        let engine = builder.build().unwrap();
        let decide = |key: &str| engine.decide_once(event("a"), key).unwrap().audit.0.unwrap().seq;
        for key in 0..10 {
            decide(&key.to_string());
        }
        let kept = || engine.store().shared_keys(ONCE, "shared/oncf", 100).unwrap().len();
        assert_eq!((decide("0"), kept()), (1, 10));
        // It is the next day, and then almost the one after.
        for time in ["2026-11-16T00:00:01Z", "2026-11-16T23:59:58Z"] {
            clock.advance_to(time.parse().unwrap());
            assert_eq!(decide("0"), 1);
        }
        clock.advance_to("2026-11-17T00:00:01Z".parse().unwrap());
        assert_eq!(decide("0"), 11);
        for key in 1..5 {
            decide(&format!("new {key}"));
        }
        assert_eq!(kept(), 5);
    }

    #[test]
    fn restored_session_still_knows_its_keys() {
        let engine = engine();
        let session = engine.session("s");
        let snapshot = session.snapshot().unwrap();
        engine.decide_once(event("a"), "k").unwrap();
        session.restore(&snapshot).unwrap();
        assert_eq!(engine.decide_once(event("a"), "k").unwrap().audit.0.unwrap().seq, 1);
    }
}
