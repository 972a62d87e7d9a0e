//! Chunks of a stream: which part of one is passed on, and that a stopped stream stays stopped.
//!
//! The engine puts the end of the text that was already passed on before each chunk, so that guardrails see the context.
//! `Facts::sent_bytes` is the length of that part.

use serde_json::{Value, json};

use crate::action_digest::current_action_digest;
use crate::decision::Decision;
use crate::effect::Effect;
use crate::event::{Event, EventKind};
use crate::inputs::{Inputs, Missing};
use crate::redact;
use crate::verdict::{Redaction, Verdict};

/// The stream that an event is a chunk of, if its host names one.
pub fn chunk_stream(event: &Event) -> Option<&str> {
    event.stream.as_deref().filter(|_| event.kind == EventKind::ModelChunk)
}

/// The slice that records that a stream was stopped, and by which guardrail.
pub fn stopped_stream_key(stream: &str) -> String {
    format!("stream/over/{stream}")
}

/// The verdict on a chunk whose stream was stopped before, or that is too long to be checked.
pub(super) fn check_stream(inputs: &Inputs<'_>) -> Option<Verdict> {
    let verdict = match stopped(inputs)? {
        Ok(Some(stopped)) if !is_same_chunk(inputs, stopped) => {
            let text = |key: &str| stopped.get(key).and_then(Value::as_str).unwrap_or_default();
            Verdict::block(format!("this stream was stopped by `{}`: {}", text("by"), text("reason")))
                .advise("Midrail passes on nothing more of it. Start a new stream to say something else.")
        }
        Ok(_) if inputs.facts.overlong => Verdict::block(
            "More of this stream would have to be held back than can be: it may all be one secret.",
        )
        .advise("Leave long keys and tokens out of the answer."),
        Ok(_) => return None,
        Err(missing) => Verdict::block(missing.to_string()),
    };
    Some(verdict)
}

/// Whether this is the chunk that waits for an approval: it is checked again, and passes once approved.
fn is_same_chunk(inputs: &Inputs<'_>, stopped: &Value) -> bool {
    stopped.get("action").and_then(Value::as_str) == Some(&current_action_digest(inputs))
}

/// Records that a stream was stopped, until its last chunk.
pub(super) fn record_stop(inputs: &Inputs<'_>, decision: &mut Decision) {
    let Some(stream) = chunk_stream(inputs.event) else { return };
    let Some(Ok(before)) = stopped(inputs) else { return };
    // A host that waits for an approval sends the last chunk again.
    let is_last = inputs.event.last == Some(true) && decision.effect != Effect::Escalate;
    if is_last || decision.effect.allows() {
        if before.is_some() {
            decision.changes.remove(stopped_stream_key(stream));
        }
    } else if before.is_none_or(|before| is_same_chunk(inputs, before)) {
        let mut stopped = json!({"by": decision.by, "reason": decision.reason});
        if let (Effect::Escalate, Some(stopped)) = (decision.effect, stopped.as_object_mut()) {
            stopped.insert("action".to_owned(), current_action_digest(inputs).into());
        }
        decision.changes.set(stopped_stream_key(stream), stopped);
    }
}

fn stopped<'a>(inputs: &Inputs<'a>) -> Option<Result<Option<&'a Value>, Missing>> {
    Some(inputs.slice(&stopped_stream_key(chunk_stream(inputs.event)?)))
}

/// The part of a chunk that is passed on. It is always returned: a host cannot know how much was held back.
pub(super) fn passed_chunk(
    inputs: &Inputs<'_>,
    replacement: Option<String>,
    redactions: &[Redaction],
) -> String {
    let text = inputs.event.text.as_deref().unwrap_or_default();
    let sent = inputs.facts.sent_bytes;
    // If text and length do not match, nothing is passed on.
    let Some((before, piece)) = text.split_at_checked(sent) else { return String::new() };
    match replacement {
        // Text that was already sent cannot be changed.
        None => {
            let parts = redactions.iter().map(|part| {
                let (start, end) = (part.start.max(sent) - sent, part.end.max(sent) - sent);
                Redaction::new(start, end, &*part.replacement)
            });
            redact::apply(piece, &parts.collect::<Vec<_>>())
        }
        Some(replacement) => {
            let piece = replacement.strip_prefix(before).unwrap_or(&replacement);
            redact::apply_elsewhere(text, redactions, piece)
        }
    }
}
