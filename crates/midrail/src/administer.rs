//! What somebody changes outside of events: always one record and one transaction.

use std::sync::Arc;

use jiff::Timestamp;
use midrail_core::{Decision, Event, EventKind, Record};
use midrail_detect::secrets::{self, Mask};
use midrail_store::Commit;
use serde_json::{Map, Value};

use crate::engine::{Engine, EngineError};

/// The session of acts that belong to none.
pub(crate) const NO_SESSION: &str = "midrail";

/// An act, as it is recorded.
pub(crate) struct Act {
    session: String,
    kind: EventKind,
    parts: Map<String, Value>,
}

impl Act {
    /// An act of a name.
    pub(crate) fn of(what: &str) -> Self {
        let parts = Map::from_iter([("what".to_owned(), Value::from(what))]);
        Act { session: NO_SESSION.to_owned(), kind: EventKind::Administered, parts }
    }

    pub(crate) fn in_session(mut self, session: &str) -> Self {
        self.session = session.to_owned();
        self
    }

    pub(crate) fn of_kind(mut self, kind: EventKind) -> Self {
        self.kind = kind;
        self
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.parts.insert(name.to_owned(), value.into());
        self
    }
}

/// The record of an act under a policy. Secrets in what was said are replaced.
pub(crate) fn recorded(act: Act, now: Timestamp, key: &[u8], policy: &Arc<str>) -> Record {
    let value = Value::Object(act.parts);
    let mask = Mask::of(&value, &secrets::scan_json(&value, key));
    let mut event = Event::new(act.kind).in_session(&*act.session);
    event.time = Some(now);
    if let Value::Object(parts) = mask.value(value) {
        event.extra.extend(parts);
    }
    Record {
        time: now,
        session: act.session,
        event,
        slices: Default::default(),
        facts: Default::default(),
        decision: Decision { policy: policy.clone(), ..Decision::default() },
        denied: None,
    }
}

impl Engine {
    /// The record of an act. Secrets in what was said are replaced.
    pub(crate) fn administered(&self, act: Act) -> Result<Record, EngineError> {
        Ok(recorded(act, self.now(), self.fingerprint_key(), self.policy().revision()))
    }

    /// Commits an act, and delivers what it tells to others.
    pub(crate) fn commit(&self, commit: &Commit<'_>) -> Result<(), EngineError> {
        self.store().commit(commit)?;
        self.tell_others(&commit.notices);
        Ok(())
    }
}
