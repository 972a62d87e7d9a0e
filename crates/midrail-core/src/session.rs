//! The state of a session, in keyed slices. Only loaded slices can be read; nothing is fetched from here.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The slices of one session that were loaded for a decision.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Session {
    /// The session's name.
    pub id: String,
    /// The loaded slices. `None`: the store has no such slice.
    pub slices: BTreeMap<String, Option<Value>>,
    /// Slices that were loaded before they were requested. Only those that are read count as loaded
    /// ([`crate::Evaluation::prefetched`]).
    #[serde(skip)]
    pub prefetched: BTreeMap<String, Option<Value>>,
}

impl Session {
    /// A session without loaded slices.
    pub fn new(id: impl Into<String>) -> Self {
        Session { id: id.into(), ..Session::default() }
    }

    /// A slice, if it was loaded: `Some(None)` if the store has no such slice. Null counts as none, as in a record.
    pub fn get(&self, key: &str) -> Option<Option<&Value>> {
        self.slices.get(key).map(present)
    }

    /// A slice that was loaded before it was requested.
    pub(crate) fn prefetched(&self, key: &str) -> Option<Option<&Value>> {
        self.prefetched.get(key).map(present)
    }

    /// Adds a loaded slice.
    pub fn load(&mut self, key: impl Into<String>, value: Option<Value>) {
        self.slices.insert(key.into(), value);
    }

    /// Applies changes to the loaded slices.
    pub fn apply(&mut self, changes: &Changes) {
        for (key, value) in &changes.0 {
            self.slices.insert(key.clone(), value.clone());
        }
    }
}

fn present(slice: &Option<Value>) -> Option<&Value> {
    slice.as_ref().filter(|value| !value.is_null())
}

/// The changes of a decision to the session. `None` removes a slice.
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

/// Prefixes of the slices of `decide` itself. Packs cannot use them as ids; ids from programs are escaped.
pub const RESERVED_IDS: &[&str] = &[
    "approval", "denied", "feedback", "flagged", "flow", "halted", "history", "late", "made", "retry",
    "root", "shadow", "shared", "snapshot", "spent", "stream", "strikes", "var", "warn", "written",
];

/// The prefix of slices that all sessions of a store share: locks, quarantined agents, reviews. They are read and written in
/// the same transaction as a session's own slices, and are not part of its snapshot.
pub const SHARED_PREFIX: &str = "shared/";

/// The slice with the holder of a lock on a file, by its absolute path.
pub fn lock_key(path: &str) -> String {
    [SHARED_PREFIX, "lock/", path].concat()
}

/// The slice that records that an agent is quarantined, by the name that [`crate::Inputs::actor`] gives it.
pub fn quarantine_key(actor: &str) -> String {
    [SHARED_PREFIX, "quarantine/", actor].concat()
}

/// The slice with the status of a task.
pub fn task_key(task: &str) -> String {
    [SHARED_PREFIX, "task/", task].concat()
}

/// The slice that records that the agent wrote the file at a place.
pub fn written_key(place: &str) -> String {
    ["written/", place].concat()
}

/// The slice that lists the places of files that came from the network and were not inspected since.
pub const FETCHED_FILES: &str = "written";

/// The prefix of the keys of a guardrail's own slices.
pub fn state_prefix(guardrail: &str, prompt: Option<&str>) -> String {
    let id = key_part(guardrail);
    match prompt {
        Some(prompt) => [&*id, "@", &*key_part(prompt), "/"].concat(),
        None => [&*id, "/"].concat(),
    }
}

/// The slice that records that a call was denied.
pub fn denied_key(call_id: &str) -> String {
    ["denied/", call_id].concat()
}

/// The slice of a session variable.
pub fn variable_key(name: &str) -> String {
    ["var/", name].concat()
}

/// A guardrail's id as a part of a key: without the separators of keys, and distinct from reserved ids.
pub(crate) fn key_part(id: &str) -> Cow<'_, str> {
    if RESERVED_IDS.contains(&id) {
        Cow::Owned(format!("%{id}"))
    } else if id.contains(['%', '/', '@']) {
        Cow::Owned(id.replace('%', "%25").replace('/', "%2F").replace('@', "%40"))
    } else {
        Cow::Borrowed(id)
    }
}

/// A whole session as one value, to be stored and restored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Snapshot {
    /// The session.
    pub session: String,
    /// Every slice.
    pub slices: BTreeMap<String, Value>,
}
