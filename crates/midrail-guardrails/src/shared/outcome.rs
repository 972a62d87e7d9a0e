//! The result of a call.

use std::borrow::Cow;

use midrail_core::{Context, Event, EventKind, Missing, denied_key};

use super::text::plain_text;

/// The result of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallOutcome {
    Success,
    Failure,
    /// It was blocked, or the result is unknown.
    Neither,
}

impl CallOutcome {
    pub(crate) fn from_context(context: &Context<'_>) -> Result<Self, Missing> {
        let event = context.event;
        if let Some(id) = event.call_id()
            && context.slice(&denied_key(id))?.is_some()
        {
            // Midrail blocked the call: the tool has not failed.
            return Ok(CallOutcome::Neither);
        }
        Ok(match event.kind {
            EventKind::OnError => CallOutcome::Failure,
            _ if event.is_success() => CallOutcome::Success,
            EventKind::AfterTool if has_failed(event) => CallOutcome::Failure,
            _ => CallOutcome::Neither,
        })
    }
}

/// Whether the result of a call reports a failure.
pub(crate) fn has_failed(event: &Event) -> bool {
    let result = event.result.as_ref();
    result.is_some_and(|it| it.ok == Some(false) || it.exit_code.is_some_and(|code| code != 0))
}

/// The error of a failed call as text.
pub(crate) fn error_text(event: &Event) -> Cow<'_, str> {
    let error = event.error.as_ref().and_then(|error| error.message.as_deref().or(error.kind.as_deref()));
    let content = event.result.as_ref().and_then(|result| result.content.as_ref());
    match (error, content) {
        (Some(error), _) if event.kind == EventKind::OnError => Cow::Borrowed(error),
        (_, Some(content)) if !content.is_null() => plain_text(content),
        _ => Cow::Borrowed(""),
    }
}
