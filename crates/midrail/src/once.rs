//! Events that are decided once, however often they are sent: whoever lost the answer asks again under the same key.

use midrail_core::{Aside, AuditRef, Changes, Decision, Event, Record};
use midrail_detect::secrets;
use midrail_store::Store;
use serde_json::Value;

use crate::engine::{Engine, EngineError};
use crate::walk::session_of;

/// The slices of keys that were used. They are no session's own, so that none is taken back with one.
const ONCE: &str = "shared/once/";

/// A key, and what it was first used for.
pub(crate) struct Once {
    slice: String,
    digest: String,
}

impl Once {
    pub(crate) fn new(event: &Event, key: &str, store_key: &[u8]) -> Result<Self, EngineError> {
        // Neither may be read from the store: the key is the caller's, and the event may hold secrets.
        let digest = secrets::fingerprint(&serde_json::to_string(event)?, store_key);
        let place = format!("{}\n{key}", session_of(event));
        Ok(Once { slice: format!("{ONCE}{}", secrets::fingerprint(&place, store_key)), digest })
    }

    /// What was decided under this key before, if anything was.
    pub(crate) fn decided(&self, store: &dyn Store, session: &str) -> Result<Option<Decision>, EngineError> {
        let slice = store.load(session, &[&self.slice])?.into_iter().next().unwrap_or_default();
        let Some(digest) = slice.value else { return Ok(None) };
        if digest.as_str() != Some(&self.digest) {
            return Err(EngineError::OtherEvent);
        }
        // A slice's version is the record that it was written with.
        let Some(entry) = store.entry(slice.version)? else { return Err(EngineError::OtherEvent) };
        let record: Record = serde_json::from_str(&entry.body)?;
        let place = AuditRef { seq: entry.seq, hash: entry.hash };
        Ok(Some(Decision { audit: Aside(Some(place)), ..record.decision }))
    }

    /// What a commit reads and writes, so that of two that decide at once one does.
    pub(crate) fn write(&self, read: &mut Vec<(String, u64)>, changes: &mut Changes) {
        read.push((self.slice.clone(), 0));
        changes.set(&*self.slice, Value::from(&*self.digest));
    }
}

impl Engine {
    /// Decides one event under a key: sent again with the same key in the same session, it is not decided again, and the
    /// answer is the same. The same key with another event is [`EngineError::OtherEvent`]; whatever else goes wrong is a
    /// block that says so.
    pub fn decide_once(&self, event: Event, key: &str) -> Result<Decision, EngineError> {
        if event.kind.is_engines_own() {
            return Err(EngineError::OwnKind(event.kind));
        }
        let once = Once::new(&event, key, self.fingerprint_key())?;
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
    use crate::Load;

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
    fn restored_session_still_knows_its_keys() {
        let engine = engine();
        let session = engine.session("s");
        let snapshot = session.snapshot().unwrap();
        engine.decide_once(event("a"), "k").unwrap();
        session.restore(&snapshot).unwrap();
        assert_eq!(engine.decide_once(event("a"), "k").unwrap().audit.0.unwrap().seq, 1);
    }
}
