//! The fold of past events, in keyed slices. Only what was loaded can be read; nothing is fetched from here.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The slices of one session that were loaded for a decision.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Session {
    /// The session's name.
    pub id: String,
    /// What was loaded. `None`: looked for, and there is none.
    pub slices: BTreeMap<String, Option<Value>>,
    /// What was loaded because it may well be asked for. Only what is read of it counts as loaded, and is told
    /// ([`crate::Evaluation::prefetched`]).
    #[serde(skip)]
    pub prefetched: BTreeMap<String, Option<Value>>,
}

impl Session {
    /// A session of which nothing is loaded yet.
    pub fn new(id: impl Into<String>) -> Self {
        Session { id: id.into(), ..Session::default() }
    }

    /// A slice, if it was loaded: `Some(None)` where it was looked for and there is none. Null is none, as it is in a
    /// record.
    pub fn get(&self, key: &str) -> Option<Option<&Value>> {
        self.slices.get(key).map(present)
    }

    /// A slice that was loaded before anybody asked for it.
    pub(crate) fn prefetched(&self, key: &str) -> Option<Option<&Value>> {
        self.prefetched.get(key).map(present)
    }

    /// Puts a slice in place as loaded.
    pub fn load(&mut self, key: impl Into<String>, value: Option<Value>) {
        self.slices.insert(key.into(), value);
    }

    /// Plays changes onto the loaded slices.
    pub fn apply(&mut self, changes: &Changes) {
        for (key, value) in &changes.0 {
            self.slices.insert(key.clone(), value.clone());
        }
    }
}

fn present(slice: &Option<Value>) -> Option<&Value> {
    slice.as_ref().filter(|value| !value.is_null())
}

/// What a decision changes in the session. `None` removes a slice.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Changes(pub BTreeMap<String, Option<Value>>);

impl Changes {
    /// Sets a slice.
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<Value>) {
        self.0.insert(key.into(), Some(value.into()));
    }

    /// Removes a slice.
    pub fn remove(&mut self, key: impl Into<String>) {
        self.0.insert(key.into(), None);
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Words that the law keeps its own slices under. Packs may not use them as ids; those of programs are escaped.
pub const RESERVED_IDS: &[&str] = &[
    "approval", "denied", "feedback", "flagged", "halted", "history", "late", "retry", "root", "shadow",
    "shared", "snapshot", "spent", "stream", "strikes", "var", "warn", "written",
];

/// What the keys of slices begin with that belong to all sessions of a store: locks, quarantined agents, reviews. They
/// are read and written like a session's own, under the same transaction, and are no part of its snapshot.
pub const SHARED_PREFIX: &str = "shared/";

/// The slice that says who has locked a file, by its absolute path.
pub fn lock_key(path: &str) -> String {
    format!("{SHARED_PREFIX}lock/{path}")
}

/// The slice that says that an agent is quarantined, by the name that [`crate::Context::actor`] gives it.
pub fn quarantine_key(actor: &str) -> String {
    format!("{SHARED_PREFIX}quarantine/{actor}")
}

/// The slice that says how far a task has come.
pub fn task_key(task: &str) -> String {
    format!("{SHARED_PREFIX}task/{task}")
}

/// The slice that says that the agent wrote the file at a place.
pub fn written_key(place: &str) -> String {
    format!("written/{place}")
}

/// The slice that lists the places of files that came from the network, and that nobody has looked at since.
pub const FETCHED_FILES: &str = "written";

/// A guardrail's id as a part of a key: without the separators of keys, and apart from the law's own.
pub(crate) fn key_part(id: &str) -> Cow<'_, str> {
    if RESERVED_IDS.contains(&id) {
        Cow::Owned(format!("%{id}"))
    } else if id.contains(['%', '/', '@']) {
        Cow::Owned(id.replace('%', "%25").replace('/', "%2F").replace('@', "%40"))
    } else {
        Cow::Borrowed(id)
    }
}

/// A whole session as one value, to be kept and put back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Snapshot {
    /// The session it was taken of.
    pub session: String,
    /// Every slice.
    pub slices: BTreeMap<String, Value>,
}
