//! A note of a feedback provider.

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
