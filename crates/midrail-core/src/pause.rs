//! A pause: for a limited time, the guardrails of a project run in shadow mode because a person paused them. Always-on guardrails
//! stay enforced.

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The slice with the pauses of all projects, as a list. All sessions share it.
pub const PAUSES: &str = "shared/pause";

/// A pause of a project's guardrails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pause {
    /// The person who paused them.
    pub by: String,
    /// Why.
    pub reason: String,
    /// When it began.
    #[schemars(with = "String")]
    pub since: Timestamp,
    /// When it ends.
    #[schemars(with = "String")]
    pub until: Timestamp,
    /// The folder of the project, absolute. Absent: every project of the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

impl Pause {
    /// The longest pause. A longer one has no effect.
    pub const MAX_DURATION: SignedDuration = SignedDuration::from_hours(1);

    /// The pauses in a slice. A malformed one is ignored.
    pub fn all(slice: Option<&Value>) -> Vec<Pause> {
        let rows = slice.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        rows.iter().filter_map(|row| Pause::deserialize(row).ok()).collect()
    }

    /// The pause of a slice that applies to a folder at a time.
    pub(crate) fn find(slice: Option<&Value>, root: Option<&str>, time: Option<Timestamp>) -> Option<Pause> {
        let now = time?;
        Pause::all(slice).into_iter().find(|pause| pause.is_active_at(now) && pause.covers(root))
    }

    /// Whether it is active at a time.
    pub fn is_active_at(&self, now: Timestamp) -> bool {
        self.since <= now && now < self.until && self.until.duration_since(self.since) <= Pause::MAX_DURATION
    }

    /// Whether it covers a folder: that of its project, or one below it.
    pub fn covers(&self, root: Option<&str>) -> bool {
        let Some(project) = self.project.as_deref().map(|project| project.trim_end_matches('/')) else {
            return true;
        };
        let below = root.and_then(|root| root.strip_prefix(project));
        below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
    }
}
