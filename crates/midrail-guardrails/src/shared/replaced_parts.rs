//! Replaces parts of what an event passes on: of its text, inside a structured result, or inside the arguments of a call.

use std::ops::Range;

use midrail_core::{ArgumentChange, Context, Effect, Event, EventKind, Fault, Redaction, Verdict};

use super::sensitive_data::{ARGUMENTS, CONTENT, TEXT, is_at};

/// A part of a text.
pub(crate) struct Part {
    /// What it is, for people.
    pub(crate) what: String,
    /// The text, as a JSON pointer from the event.
    pub(crate) at: String,
    /// The bytes of the text.
    pub(crate) range: Range<usize>,
    /// What replaces them.
    pub(crate) replacement: String,
}

impl Part {
    fn redaction(&self) -> Redaction {
        Redaction::new(self.range.start, self.range.end, &*self.replacement)
    }
}

/// A verdict that replaces parts, for this reason. Only what is passed on can be changed: a part elsewhere withholds the text.
pub(crate) fn replace(context: &Context<'_>, parts: &[Part], reason: String) -> Verdict {
    let base = passed_on(context.event);
    if parts.is_empty() {
        return Verdict::allow();
    }
    if let Some(part) = parts.iter().find(|part| !is_at(&part.at, base)) {
        let reason = format!(
            "The text was withheld because it contains a sensitive value ({}) at `{}`, which cannot be replaced.",
            part.what, part.at
        );
        return Verdict::block(reason).advise("Request only the part that you need, without the value.");
    }
    let redaction = |part: &Part| match part.at == base {
        true => part.redaction(),
        false => part.redaction().at(&*part.at),
    };
    Verdict { redactions: parts.iter().map(redaction).collect(), ..Verdict::new(Effect::Redact, reason) }
}

/// The changes that replace parts of the arguments of a call. All guardrails judge the changed call.
pub(crate) fn changes(parts: &[Part]) -> Vec<ArgumentChange> {
    let change = |part: &Part| Some(part.redaction().at(part.at.strip_prefix(ARGUMENTS)?));
    parts.iter().filter_map(change).map(ArgumentChange::Redact).collect()
}

/// The verdict on a call whose arguments were changed like this.
pub(crate) fn changed_call(context: &Context<'_>, reason: &str) -> Result<Verdict, Fault> {
    let changes = context.modification()?;
    let other = changes.iter().find_map(|change| change.conflicts_with.as_ref());
    Ok(match other {
        Some(other) => {
            Verdict::new(Effect::Escalate, format!("{reason} But `{other}` changes the same argument."))
        }
        None if changes.is_empty() => Verdict::allow(),
        None => Verdict::new(Effect::Redact, reason),
    })
}

/// The pointer to what an event passes on.
fn passed_on(event: &Event) -> &'static str {
    match event.kind {
        EventKind::BeforeTool => ARGUMENTS,
        _ if event.result.is_some() => CONTENT,
        _ => TEXT,
    }
}
