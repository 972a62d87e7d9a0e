//! The notes of a feedback provider, and its stored state.

use jiff::Timestamp;

use crate::prelude::*;

/// A note of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) text: String,
    pub(super) is_warning: bool,
}

impl Note {
    pub(super) fn info(text: impl Into<String>) -> Self {
        Note { text: text.into(), is_warning: false }
    }

    pub(super) fn warning(text: impl Into<String>) -> Self {
        Note { text: text.into(), is_warning: true }
    }
}

/// The state of a provider. Its size is bounded.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ProviderState {
    /// Calls since its last note.
    pub(super) since: u64,
    /// Whether it has added a note.
    pub(super) has_noted: bool,
    /// The time of its last note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) last: Option<Timestamp>,
    /// Calls since the last progress: a file, a test, the list.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) idle: u64,
    /// Open entries of the list.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) open: u64,
    /// Budget shares that were reported.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) steps: u64,
    /// Failing tools, the latest at the end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) streaks: Vec<Streak>,
}

/// The failures of one tool.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Streak {
    pub(super) tool: String,
    pub(super) failures: u64,
    /// The last errors, shortened and without secrets.
    pub(super) errors: Vec<String>,
}

impl ProviderState {
    /// The slice with the state of a provider.
    pub(super) fn key(context: &Context<'_>) -> Key<ProviderState> {
        Key::own(context, "own")
    }

    pub(super) fn from_context(context: &Context<'_>) -> Result<Self, Missing> {
        Ok(Self::key(context).read(context)?.unwrap_or_default())
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
