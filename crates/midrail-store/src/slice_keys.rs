//! Which slices belong to all sessions, and where they are stored.

use midrail_core::SHARED_PREFIX;

/// The session that shared slices are stored under. A session may have this name: its own keys begin differently.
pub(crate) const SHARED_SESSION: &str = "";

/// Whether a slice belongs to all sessions.
pub(crate) fn is_shared(key: &str) -> bool {
    key.starts_with(SHARED_PREFIX)
}

/// The session that a slice is stored under.
pub(crate) fn storage_session<'a>(session: &'a str, key: &str) -> &'a str {
    if is_shared(key) { SHARED_SESSION } else { session }
}
