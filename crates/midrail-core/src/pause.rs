//! A pause: for a while guardrails speak without consequence in a project, because a person said so. What is always on
//! stays on.

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::Event;
use crate::facts::Facts;
use crate::policy::Policy;
use crate::session::Session;

/// The slice that holds the pauses of all projects, as a list. It belongs to all sessions.
pub const PAUSES: &str = "shared/pause";

/// Who paused what, why, and until when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pause {
    /// The person.
    pub by: String,
    /// Why.
    pub reason: String,
    /// Since when.
    #[schemars(with = "String")]
    pub since: Timestamp,
    /// Until when. It ends by itself.
    #[schemars(with = "String")]
    pub until: Timestamp,
    /// The folder of the project, absolute. Absent: every project of the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

impl Pause {
    /// The longest that a pause lasts. The law takes a longer one for none.
    pub const MAX_DURATION: SignedDuration = SignedDuration::from_hours(1);

    /// The pauses in a slice. What cannot be read is none.
    pub fn all(slice: Option<&Value>) -> Vec<Pause> {
        let rows = slice.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        rows.iter().filter_map(|row| Pause::deserialize(row).ok()).collect()
    }

    /// Whether it holds at a time.
    pub fn is_active_at(&self, now: Timestamp) -> bool {
        self.since <= now && now < self.until && self.until.duration_since(self.since) <= Pause::MAX_DURATION
    }

    /// Whether it is for a folder: that of its project, or one below it.
    pub fn covers(&self, root: Option<&str>) -> bool {
        let Some(project) = self.project.as_deref().map(|project| project.trim_end_matches('/')) else {
            return true;
        };
        let below = root.and_then(|root| root.strip_prefix(project));
        below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
    }
}

/// What an event meets of pauses.
pub(crate) struct Paused {
    /// The one that it falls under.
    pub(crate) by: Option<Pause>,
    /// Nobody has looked yet. Until then nothing is paused.
    pub(crate) is_lacking: bool,
}

impl Paused {
    pub(crate) fn of(session: &Session, facts: &Facts, event: &Event) -> Self {
        let Some(slice) = session.get(PAUSES) else { return Paused { by: None, is_lacking: true } };
        let falls = |pause: &Pause| {
            event.time.is_some_and(|now| pause.is_active_at(now)) && pause.covers(facts.root.as_deref())
        };
        Paused { by: Pause::all(slice).into_iter().find(falls), is_lacking: false }
    }

    /// The policy as it speaks meanwhile, where that is otherwise.
    pub(crate) fn policy(&self, policy: &Policy) -> Option<Policy> {
        self.by.is_some().then(|| policy.paused())
    }
}
