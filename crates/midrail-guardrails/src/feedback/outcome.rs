//! The result of a call.

use midrail_core::{Context, EventKind, Missing, denied_key};

/// The result of a call, as far as feedback depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallOutcome {
    Success,
    Failure,
    /// It was blocked, or the result is unknown.
    Neither,
}

impl CallOutcome {
    pub(super) fn from_context(context: &Context<'_>) -> Result<Self, Missing> {
        let event = context.event;
        if event.kind != EventKind::AfterTool {
            return Ok(CallOutcome::Neither);
        }
        if let Some(id) = event.call_id()
            && context.slice(&denied_key(id))?.is_some()
        {
            return Ok(CallOutcome::Neither);
        }
        let failed = event
            .result
            .as_ref()
            .is_some_and(|result| result.ok == Some(false) || result.exit_code.is_some_and(|code| code != 0));
        Ok(match (event.is_success(), failed) {
            (true, _) => CallOutcome::Success,
            (false, true) => CallOutcome::Failure,
            (false, false) => CallOutcome::Neither,
        })
    }
}
