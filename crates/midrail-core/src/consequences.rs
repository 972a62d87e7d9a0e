//! What verdicts lead to beyond the decision itself: strikes, flags and alerts, and answers that came late.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::ask::{self, Answer};
use crate::context::World;
use crate::decision::{Decision, Mode};
use crate::effect::Effect;
use crate::policy::Entry;
use crate::verdict::{Notice, Verdict};

/// The slice that holds the strikes of a session, by guardrail.
pub const STRIKES: &str = "strikes";

/// The slice that says why a session was flagged for people to look at.
pub const FLAGGED: &str = "flagged";

/// The slice that holds answers that came too late for the event that they were asked about.
pub const LATE: &str = "late";

/// The consequence that counts a strike.
pub const INCREMENT_STRIKE: &str = "increment_strike";
/// The consequence that flags the session.
pub const FLAG_TRAJECTORY: &str = "flag_trajectory";
/// The consequence that tells whoever runs the agents.
pub const EMIT_ALERT: &str = "emit_alert";

/// What a number of strikes leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrikeRule {
    /// The number, counted over the session.
    pub count: u64,
    /// The guardrail whose strikes count. `None`: those of all.
    pub of: Option<String>,
    /// What follows.
    pub effect: Effect,
    /// What the user is told, where the run ends.
    pub user_message: Option<String>,
}

/// The strikes of one decision, by the guardrails that asked for them.
#[derive(Default)]
pub(crate) struct Strikes(Vec<Arc<str>>);

impl Strikes {
    /// Notes what a verdict asks for beyond its effect.
    pub(crate) fn note(&mut self, id: &Arc<str>, verdict: &Verdict, decision: &mut Decision) {
        let asks = |effect: &str| verdict.effects.iter().any(|asked| asked == effect);
        if asks(INCREMENT_STRIKE) {
            self.0.push(id.clone());
        }
        if asks(FLAG_TRAJECTORY) {
            decision.changes.set(FLAGGED, json!({"by": id, "reason": verdict.reason}));
        }
        if asks(EMIT_ALERT) {
            let message = format!("`{id}`: {}", verdict.reason);
            decision.notices.push(Notice { to: "orchestrator".to_owned(), message });
        }
    }

    /// Counts them, and tells what the numbers lead to: the strongest of what the policy says.
    pub(crate) fn count(&self, world: &World<'_>, decision: &mut Decision) -> Option<Verdict> {
        if self.0.is_empty() {
            return None;
        }
        let before = match world.slice(STRIKES) {
            Ok(before) => before.and_then(Value::as_object).cloned().unwrap_or_default(),
            Err(missing) => return Some(Verdict::block(format!("strikes could not be counted: {missing}"))),
        };
        let mut after = before.clone();
        for id in &self.0 {
            let count = number(&after, id).saturating_add(1);
            after.insert(id.to_string(), count.into());
        }
        let verdict = verdict(world, &before, &after);
        decision.changes.set(STRIKES, Value::Object(after));
        verdict
    }
}

fn verdict(world: &World<'_>, before: &Map<String, Value>, after: &Map<String, Value>) -> Option<Verdict> {
    let reached = world.policy.strikes().iter().filter_map(|rule| {
        let of = |counts: &Map<String, Value>| match &rule.of {
            Some(id) => number(counts, id),
            None => counts.values().filter_map(Value::as_u64).fold(0, u64::saturating_add),
        };
        let count = of(after);
        // Each strike from that number on has the same consequence, and only a strike has one.
        if count < rule.count || count == of(before) {
            return None;
        }
        let of = rule.of.as_ref().map(|id| format!(" of `{id}`")).unwrap_or_default();
        let mut verdict = Verdict::new(
            rule.effect,
            format!("this is strike {count}{of} in this session, and {} are the limit", rule.count),
        );
        verdict.user_message.clone_from(&rule.user_message);
        Some(verdict)
    });
    reached.max_by_key(|verdict| verdict.effect)
}

fn number(counts: &Map<String, Value>, id: &str) -> u64 {
    counts.get(id).and_then(Value::as_u64).unwrap_or(0)
}

/// What guardrails make of answers that came too late for the event that they were asked about.
pub(crate) fn late<'p>(world: &World<'p>, decision: &mut Decision) -> Vec<(&'p Entry, Answer)> {
    if !world.policy.asks_outside() || world.event.kind.is_engines_own() {
        return Vec::new();
    }
    let Ok(Some(Value::Array(answers))) = world.slice(LATE) else { return Vec::new() };
    decision.changes.remove(LATE);
    let heard = answers.iter().filter_map(|answer| {
        let id = answer.get("guardrail")?.as_str()?;
        let entry = world.policy.get(id)?;
        world.in_shadow.set(entry.spec.mode == Mode::Shadow);
        Some((entry, ask::late(entry, world, answer)))
    });
    heard.collect()
}
