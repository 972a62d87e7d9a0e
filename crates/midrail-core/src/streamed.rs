//! Chunks of a stream: what of one may pass on, and that a stream which was stopped stays so.
//!
//! The engine puts the end of what has passed on before each piece, so that guardrails see where it goes on. The law
//! knows from `Facts::passed` how much of the text that is.

use serde_json::{Value, json};

use crate::context::{Missing, World};
use crate::decision::Decision;
use crate::effect::Effect;
use crate::event::{Event, EventKind};
use crate::exact::current_action_digest;
use crate::redact;
use crate::verdict::{Redaction, Verdict};

/// The stream that an event is a chunk of, where its host tells.
pub fn chunk_stream(event: &Event) -> Option<&str> {
    event.stream.as_deref().filter(|_| event.kind == EventKind::ModelChunk)
}

/// The slice that says that a stream was stopped, and by whom.
pub fn stopped_stream_key(stream: &str) -> String {
    format!("stream/over/{stream}")
}

/// What the law says of a chunk whose stream was stopped before, or that is too long to be judged.
pub(crate) fn stopped(world: &World<'_>) -> Option<Verdict> {
    let verdict = match over(world)? {
        Ok(Some(over)) if !is_asked_again(world, over) => {
            let text = |key: &str| over.get(key).and_then(Value::as_str).unwrap_or_default();
            Verdict::block(format!("this stream was stopped by `{}`: {}", text("by"), text("reason"))).advise(
                "Nothing more of it passes on. What is to be said otherwise goes into a stream of its own.",
            )
        }
        Ok(_) if world.facts.overlong => Verdict::block(
            "More of this stream would have to be held back than can be: it may all be one secret.",
        )
        .advise("Leave long keys and tokens out of the answer."),
        Ok(_) => return None,
        Err(missing) => Verdict::block(missing.to_string()),
    };
    Some(verdict)
}

/// Whether this is the very chunk that a person was asked about: it is asked about again, and passes once approved.
fn is_asked_again(world: &World<'_>, over: &Value) -> bool {
    over.get("action").and_then(Value::as_str) == Some(&current_action_digest(world))
}

/// Remembers that a stream was stopped, until its last chunk has come.
pub(crate) fn note(world: &World<'_>, decision: &mut Decision) {
    let Some(stream) = chunk_stream(world.event) else { return };
    let Some(Ok(over)) = over(world) else { return };
    let goes_on = decision.effect.allows();
    // Whoever waits for a person sends the last chunk again.
    let is_done = world.event.last == Some(true) && decision.effect != Effect::Escalate;
    if is_done || goes_on {
        if over.is_some() {
            decision.changes.remove(stopped_stream_key(stream));
        }
    } else if over.is_none_or(|over| is_asked_again(world, over)) {
        let mut stopped = json!({"by": decision.by, "reason": decision.reason});
        if let (Effect::Escalate, Some(stopped)) = (decision.effect, stopped.as_object_mut()) {
            stopped.insert("action".to_owned(), current_action_digest(world).into());
        }
        decision.changes.set(stopped_stream_key(stream), stopped);
    }
}

fn over<'a>(world: &World<'a>) -> Option<Result<Option<&'a Value>, Missing>> {
    Some(world.slice(&stopped_stream_key(chunk_stream(world.event)?)))
}

/// What of a chunk passes on. It is always told: a host cannot know how much was held back.
pub(crate) fn passing(world: &World<'_>, replacement: Option<String>, redactions: &[Redaction]) -> String {
    let text = world.event.text.as_deref().unwrap_or_default();
    let passed = world.facts.sent_bytes;
    // Where the two do not fit together, nothing passes.
    let Some((before, piece)) = text.split_at_checked(passed) else { return String::new() };
    match replacement {
        // What has passed cannot be changed any more.
        None => {
            let parts = redactions.iter().map(|part| Redaction {
                start: part.start.max(passed) - passed,
                end: part.end.max(passed) - passed,
                replacement: part.replacement.clone(),
            });
            redact::apply(piece, &parts.collect::<Vec<_>>())
        }
        Some(replacement) => {
            let piece = replacement.strip_prefix(before).unwrap_or(&replacement);
            redact::apply_elsewhere(text, redactions, piece)
        }
    }
}
