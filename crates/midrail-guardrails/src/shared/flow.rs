//! Where the texts of a session came from and where its calls go. All `flow` guardrails of a policy share this state: each computes
//! the same changes from the same event.

pub(crate) mod call;
pub(crate) mod files;
pub(crate) mod labels;
pub(crate) mod named;
pub(crate) mod observe;
mod rows;
mod seen;
mod words;

use midrail_core::{Context, Missing};

use self::call::Call;
use self::labels::Labels;

/// The value of a fact, or `None` if it cannot be fetched. Missing if it has yet to be fetched.
pub(crate) fn available<T>(context: &Context<'_>, value: Result<T, Missing>) -> Result<Option<T>, Missing> {
    match value {
        Ok(value) => Ok(Some(value)),
        Err(missing) if context.has_pending_needs() => Err(missing),
        Err(_) => Ok(None),
    }
}

/// The labels of the session, for expressions.
pub fn flow_labels(context: &Context<'_>) -> Result<Vec<String>, Missing> {
    Ok(Labels::from_context(context)?.names().map(str::to_owned).collect())
}

/// The sources of the labels of the session, for expressions: tools, hosts and files.
pub fn flow_sources(context: &Context<'_>) -> Result<Vec<String>, Missing> {
    Ok(Labels::from_context(context)?.source_names())
}

/// The classes of the event's call, and whether it may have further ones, for expressions.
pub fn call_classes(context: &Context<'_>) -> Result<(Vec<&'static str>, bool), Missing> {
    let call = Call::from_context(context)?;
    Ok((call.classes.iter().map(|class| class.as_str()).collect(), call.is_unclear))
}

/// The destinations of the event's call, and whether it may have further ones, for expressions.
pub fn call_destinations(context: &Context<'_>) -> Result<(Vec<String>, bool), Missing> {
    let call = Call::from_context(context)?;
    let is_partial = call.is_unclear || !(call.sends.is_complete && call.changes.is_complete);
    Ok((call.sends.list.into_iter().chain(call.changes.list).collect(), is_partial))
}
