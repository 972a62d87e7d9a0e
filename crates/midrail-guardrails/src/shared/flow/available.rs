//! Facts that may be unavailable.

use midrail_core::{Context, Missing};

/// The value of a fact, or `None` if it cannot be fetched. Missing if it has yet to be fetched.
pub(crate) fn available<T>(context: &Context<'_>, value: Result<T, Missing>) -> Result<Option<T>, Missing> {
    match value {
        Ok(value) => Ok(Some(value)),
        Err(missing) if context.has_pending_needs() => Err(missing),
        Err(_) => Ok(None),
    }
}
