//! The program that an agent runs in: what it can do with an answer, and what follows where it cannot.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::context::World;
use crate::decision::Decision;
use crate::effect::Effect;
use crate::event::{Event, EventKind};
use crate::session::{Changes, key_part};

/// The program that the agent runs in, and what it can do with the answer to this one event.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// What it cannot do with the answer. Absent: it can do everything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(rename = "lacks")]
    pub limits: Vec<HostLimit>,
    /// It asks its own user where a person has to decide.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[serde(rename = "asks")]
    pub asks_user: bool,
    /// What the host calls this moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// What a host sent beyond this format.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Value>,
}

/// Something that a host cannot do with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HostLimit {
    /// Tell the agent something beside an answer that lets pass. It is told with the next answer that can.
    Notes,
    /// Pass on a changed text. Nothing passes on.
    Redact,
    /// Stop anything: what was done is done. It is on record.
    Block,
    /// End the run. Each later action is blocked.
    Halt,
    /// Ask about what is typed into a program that runs on. What opens such a program is looked at more closely.
    Typing,
}

/// The most notes that wait for an answer that can carry them.
const MAX_OWED: usize = 32;

/// How often in a row a host sends an agent back to work that wants to stop. Not every host has a limit of its own.
const MAX_FORCED: u64 = 25;

/// An effect as the host of the event can bring it about. Guidance and people belong to the guardrail that asks for them,
/// so that whatever cannot be done becomes a block and nothing in between.
pub(crate) fn expressed(world: &World<'_>, effect: Effect) -> Effect {
    let event = world.event;
    let effect = match effect {
        Effect::Redact if lacks(event, HostLimit::Redact) => Effect::Block,
        Effect::Halt if lacks(event, HostLimit::Halt) => Effect::Block,
        _ => effect,
    };
    match effect < Effect::Halt && forced(world) >= MAX_FORCED {
        true => effect.min(Effect::Warn),
        false => effect,
    }
}

/// How often in a row this agent was sent back to work, where it wants to stop.
fn forced(world: &World<'_>) -> u64 {
    if world.event.host.is_none() || world.event.kind != EventKind::BeforeStop {
        return 0;
    }
    // Where it is not known yet it is asked for, and the event decided again.
    world.slice(&forced_key(&world.actor())).ok().flatten().and_then(Value::as_u64).unwrap_or(0)
}

/// Counts how often an agent that wants to stop is sent back to work. A new prompt begins anew.
pub(crate) fn count_forced(world: &World<'_>, effect: Effect, changes: &mut Changes) {
    if !is_counted(world.event) {
        return;
    }
    let key = forced_key(&world.actor());
    let is_sent_back =
        world.event.kind == EventKind::BeforeStop && effect > Effect::Redact && effect < Effect::Halt;
    match world.slice(&key) {
        Ok(_) if is_sent_back => changes.set(key, forced(world).saturating_add(1)),
        Ok(Some(_)) => changes.remove(key),
        Ok(None) | Err(_) => {}
    }
}

fn is_counted(event: &Event) -> bool {
    event.host.is_some() && matches!(event.kind, EventKind::BeforeStop | EventKind::BeforeModel)
}

/// The slice that counts how often an agent was sent back to work.
fn forced_key(actor: &str) -> String {
    format!("forced/{}", key_part(actor))
}

/// The slices that are read for the host of an event.
pub(crate) fn keys(event: &Event, actor: &str) -> Vec<String> {
    let owed = event.host.is_some().then(|| pending_notes_key(actor));
    let forced = is_counted(event).then(|| forced_key(actor));
    owed.into_iter().chain(forced).collect()
}

pub(crate) fn lacks(event: &Event, what: HostLimit) -> bool {
    event.host.as_ref().is_some_and(|host| host.limits.contains(&what))
}

/// Whether the host asks its own user where a person has to decide.
pub(crate) fn asks(event: &Event) -> bool {
    event.host.as_ref().is_some_and(|host| host.asks_user)
}

/// The slice of notes that an agent has not been told yet.
pub fn pending_notes_key(actor: &str) -> String {
    format!("owed/{}", key_part(actor))
}

/// Notes that this answer cannot carry are kept for the next one that can; those that were kept come first.
pub(crate) fn settle_notes(world: &World<'_>, decision: &mut Decision) {
    if world.event.host.is_none() {
        return;
    }
    let key = pending_notes_key(&world.actor());
    let owed = match world.slice(&key) {
        Ok(Some(Value::Array(notes))) => notes.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Ok(_) => Vec::new(),
        // It is asked for, and the event decided again. Where it cannot be had, nothing is lost by leaving it.
        Err(_) => return,
    };
    let can_tell = !decision.effect.allows() || !lacks(world.event, HostLimit::Notes);
    if can_tell {
        if !owed.is_empty() {
            decision.changes.remove(key);
            decision.feedback.splice(0..0, owed);
        }
        return;
    }
    let new: Vec<String> = decision.feedback.iter().cloned().chain(decision.warning()).collect();
    if !new.is_empty() {
        let all: Vec<String> = owed.into_iter().chain(new).collect();
        let skip = all.len().saturating_sub(MAX_OWED);
        decision.changes.set(key, all.into_iter().skip(skip).collect::<Vec<_>>());
    }
}
