//! What expressions can read about information flow.

use midrail_core::{Context, Missing};

use super::call::Call;
use super::labels::Labels;

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
