//! Idempotency keys: an event that is sent again under the same key is decided once.

use jiff::{SignedDuration, Timestamp};
use midrail_core::{AuditRef, Changes, Decision, Event, Record, Suppressed};
use midrail_scan::secrets;
use midrail_store::{Slice, Store};
use serde_json::Value;

use crate::error::{EngineError, EngineResult};
use crate::session_slices::session_id;

/// The prefix of the slices of used keys. They are shared, so that restoring a session does not remove them.
const PREFIX: &str = "shared/once";

/// A key is remembered at least until the end of the following day.
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// The expired keys that are removed with each use of a key: more than one, so that they do not pile up.
const REMOVED: usize = 2;

/// A key, and the event that it was used for.
pub(crate) struct IdempotencyKey {
    /// The slice of the key if it is used today, and if it was used yesterday.
    slices: [String; 2],
    digest: String,
    expired: Vec<String>,
}

impl IdempotencyKey {
    pub(crate) fn new(event: &Event, key: &str, store_key: &[u8], now: Timestamp) -> EngineResult<Self> {
        // Both are stored as keyed fingerprints: the key is the caller's, and the event may hold secrets.
        let digest = secrets::fingerprint(&serde_json::to_string(event)?, store_key);
        let id = secrets::fingerprint(&format!("{}\n{key}", session_id(event)), store_key);
        let slices = [now, day_before(now)].map(|day| format!("{}{id}", day_prefix(PREFIX, day)));
        Ok(IdempotencyKey { slices, digest, expired: Vec::new() })
    }

    /// The same key, which also removes some expired keys when it is written.
    pub(crate) fn with_expired(mut self, store: &dyn Store, now: Timestamp) -> EngineResult<Self> {
        self.expired = store.shared_keys(PREFIX, &day_prefix(PREFIX, day_before(now)), REMOVED)?;
        Ok(self)
    }

    /// The decision that was made under this key before.
    pub(crate) fn first_decision(&self, store: &dyn Store, session: &str) -> EngineResult<Option<Decision>> {
        let [today, yesterday] = &self.slices;
        let used = store.load(session, &[today, yesterday])?.into_iter().find(|slice| slice.value.is_some());
        let Some(Slice { value: Some(digest), version }) = used else { return Ok(None) };
        if digest.as_str() != Some(&self.digest) {
            return Err(EngineError::KeyReused);
        }
        // The version of a slice is the number of the record that wrote it.
        let Some(entry) = store.entry(version)? else { return Err(EngineError::KeyReused) };
        let record: Record = serde_json::from_str(&entry.body)?;
        let place = AuditRef { seq: entry.seq, hash: entry.hash };
        Ok(Some(Decision { audit: Suppressed(Some(place)), ..record.decision }))
    }

    /// Adds the key to a commit, so that only one of several concurrent commits succeeds, also around midnight.
    pub(crate) fn write(&self, read: &mut Vec<(String, u64)>, changes: &mut Changes) {
        read.extend(self.slices.iter().map(|slice| (slice.clone(), 0)));
        let [today, _] = &self.slices;
        changes.set(&**today, Value::from(&*self.digest));
        for key in &self.expired {
            changes.remove(&**key);
        }
    }
}

/// The prefix of the slices of a day, which are removed some days later.
pub(crate) fn day_prefix(prefix: &str, day: Timestamp) -> String {
    format!("{prefix}@{}/", day.strftime("%Y-%m-%d"))
}

pub(crate) fn day_before(now: Timestamp) -> Timestamp {
    now.checked_sub(DAY).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use serde_json::json;

    use super::*;
    use crate::clock::ManualClock;
    use crate::{Engine, Load};

    fn engine() -> Arc<Engine> {
        let loaded = Load { packs: vec!["midrail:default".into()], ..Load::default() }.load().unwrap();
        Arc::new(Engine::builder(loaded.policy, &loaded.source).build().unwrap())
    }

    fn event(file: &str) -> Event {
        Event::before_tool("Read", json!({"file_path": file})).in_session("s")
    }

    #[test]
    fn same_event_under_a_key_is_decided_once() {
        let engine = engine();
        let first = engine.decide_idempotent(event("a"), "k").unwrap();
        let again = engine.decide_idempotent(event("a"), "k").unwrap();
        assert_eq!(first.audit.0, again.audit.0);
        assert_eq!(first, again);
        assert_eq!(engine.store().head().unwrap().unwrap().seq, 1);
        assert_eq!(engine.decide_idempotent(event("a"), "other").unwrap().audit.0.unwrap().seq, 2);
    }

    #[test]
    fn used_key_with_another_event_is_an_error() {
        let engine = engine();
        engine.decide_idempotent(event("a"), "k").unwrap();
        assert!(matches!(engine.decide_idempotent(event("b"), "k"), Err(EngineError::KeyReused)));
        assert_eq!(engine.store().head().unwrap().unwrap().seq, 1);
    }

    #[test]
    fn concurrent_uses_of_a_key_record_one_decision() {
        let engine = engine();
        let all: Vec<_> = (0..16)
            .map(|_| {
                let engine = engine.clone();
                thread::spawn(move || engine.decide_idempotent(event("a"), "k").unwrap().audit.0.unwrap().seq)
            })
            .collect();
        for one in all {
            assert_eq!(one.join().unwrap(), 1);
        }
    }

    #[test]
    fn keys_are_remembered_for_a_day_and_then_removed() {
        let loaded = Load { packs: vec!["midrail:default".into()], ..Load::default() }.load().unwrap();
        let clock = Arc::new(ManualClock::at("2026-11-15T23:59:59Z".parse().unwrap()));
        let builder = Engine::builder(loaded.policy, &loaded.source).clock(clock.clone());
        let engine = builder.build().unwrap();
        let decide = |key: &str| engine.decide_idempotent(event("a"), key).unwrap().audit.0.unwrap().seq;
        for key in 0..10 {
            decide(&key.to_string());
        }
        let kept = || engine.store().shared_keys(PREFIX, "shared/oncf", 100).unwrap().len();
        assert_eq!((decide("0"), kept()), (1, 10));
        // The next day, at its start and shortly before its end.
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
    fn restored_session_keeps_its_keys() {
        let engine = engine();
        let session = engine.session("s");
        let snapshot = session.snapshot().unwrap();
        engine.decide_idempotent(event("a"), "k").unwrap();
        session.restore(&snapshot).unwrap();
        assert_eq!(engine.decide_idempotent(event("a"), "k").unwrap().audit.0.unwrap().seq, 1);
    }
}
