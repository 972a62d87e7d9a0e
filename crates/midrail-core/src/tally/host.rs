//! Adapts a decision to the host: effects that it cannot carry out, notes that it cannot pass on, and agents that it sends back
//! to work.

use serde_json::Value;

use crate::decision::Decision;
use crate::effect::Effect;
use crate::event::{Event, EventKind};
use crate::host::HostLimit;
use crate::inputs::Inputs;
use crate::session::{Changes, key_part};

/// The number of notes that wait for an answer that can carry them.
const MAX_PENDING_NOTES: usize = 32;

/// How often in a row a host sends an agent back to work that wants to stop. Not every host has its own limit.
const MAX_FORCED: u64 = 25;

/// An effect as the host of the event can carry it out. Guidance and approvals belong to the guardrail that requests them, so an
/// effect that the host does not support becomes a block.
pub(super) fn supported_effect(inputs: &Inputs<'_>, effect: Effect) -> Effect {
    let event = inputs.event;
    let effect = match effect {
        Effect::Redact if has_limit(event, HostLimit::Redact) => Effect::Block,
        Effect::Halt if has_limit(event, HostLimit::Halt) => Effect::Block,
        Effect::Contain if !inputs.can_contain() => Effect::Block,
        _ => effect,
    };
    let is_exhausted = || event.kind == EventKind::BeforeStop && forced_stops(inputs) >= MAX_FORCED;
    if effect < Effect::Halt && is_exhausted() { effect.min(Effect::Warn) } else { effect }
}

/// How often in a row this agent was sent back to work.
fn forced_stops(inputs: &Inputs<'_>) -> u64 {
    if inputs.event.host.is_none() {
        return 0;
    }
    // If it is not known, it is fetched and the event is evaluated again.
    inputs.slice(&forced_key(&inputs.actor())).ok().flatten().and_then(Value::as_u64).unwrap_or(0)
}

/// Counts how often an agent that wants to stop is sent back to work. A new prompt resets the count.
pub(super) fn count_forced_stops(inputs: &Inputs<'_>, effect: Effect, changes: &mut Changes) {
    if !counts_forced_stops(inputs.event) {
        return;
    }
    let key = forced_key(&inputs.actor());
    let is_sent_back =
        inputs.event.kind == EventKind::BeforeStop && effect > Effect::Redact && effect < Effect::Halt;
    match inputs.slice(&key) {
        Ok(_) if is_sent_back => changes.set(key, forced_stops(inputs).saturating_add(1)),
        Ok(Some(_)) => changes.remove(key),
        Ok(None) | Err(_) => {}
    }
}

fn counts_forced_stops(event: &Event) -> bool {
    event.host.is_some() && matches!(event.kind, EventKind::BeforeStop | EventKind::BeforeModel)
}

fn forced_key(actor: &str) -> String {
    format!("forced/{}", key_part(actor))
}

/// The slices that are read for the host of an event.
pub(super) fn slice_keys(event: &Event, actor: &str) -> impl Iterator<Item = String> {
    let notes = event.host.is_some().then(|| pending_notes_key(actor));
    notes.into_iter().chain(counts_forced_stops(event).then(|| forced_key(actor)))
}

fn has_limit(event: &Event, limit: HostLimit) -> bool {
    event.host.as_ref().is_some_and(|host| host.limits.contains(&limit))
}

/// The slice of notes that the agent has not received yet.
pub fn pending_notes_key(actor: &str) -> String {
    format!("owed/{}", key_part(actor))
}

/// Stores notes that this answer cannot carry for the next one that can, and adds stored notes to this one if it can.
pub(super) fn deliver_notes(inputs: &Inputs<'_>, decision: &mut Decision) {
    if inputs.event.host.is_none() {
        return;
    }
    let key = pending_notes_key(&inputs.actor());
    let mut notes: Vec<String> = match inputs.slice(&key) {
        Ok(Some(Value::Array(notes))) => notes.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Ok(_) => Vec::new(),
        // It is fetched and the event is evaluated again. If it cannot be loaded, nothing is lost.
        Err(_) => return,
    };
    if !decision.effect.allows() || !has_limit(inputs.event, HostLimit::Notes) {
        if !notes.is_empty() {
            decision.changes.remove(key);
            decision.feedback.splice(0..0, notes);
        }
        return;
    }
    let stored = notes.len();
    notes.extend(decision.feedback.iter().cloned().chain(decision.warning()));
    if notes.len() > stored {
        notes.drain(..notes.len().saturating_sub(MAX_PENDING_NOTES));
        decision.changes.set(key, notes);
    }
}
