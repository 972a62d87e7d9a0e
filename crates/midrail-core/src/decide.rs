//! The law: `decide(policy, session, facts, event) -> decision`. Pure and total.
//!
//! The chain is asked in order, what each guardrail says is tallied, and the highest step of the ladder wins.
//! How one guardrail is asked is in `ask`; what its verdict leads to is in `tally`.

use crate::ask::{ask, observe};
use crate::context::World;
use crate::decision::{Decision, Mode};
use crate::event::Event;
use crate::facts::{Facts, Needs};
use crate::pause::{PAUSES, Paused};
use crate::policy::Policy;
use crate::rewrite::{Rewritten, can_be_rewritten, rewritten};
use crate::session::Session;
use crate::tally::Tally;

/// Decides one event. What is not known takes each guardrail's `on_missing`.
pub fn decide(policy: &Policy, session: &Session, facts: &Facts, event: &Event) -> Decision {
    evaluate(policy, session, facts, event, &NoMeter).decision
}

/// A decision, and what it still lacks. It is final once nothing is lacking.
pub struct Evaluation {
    /// The decision with what is known.
    pub decision: Decision,
    /// Slices and facts that guardrails asked for and did not get.
    pub needs: Needs,
    /// Those that it read of the session's `prefetched`. They belong to what is known from here on.
    pub prefetched: std::collections::BTreeSet<String>,
    /// The event as guardrails saw it, where its result was replaced before they looked at it.
    pub rewritten: Option<Event>,
}

/// Decides with what is known and tells what is lacking, so that it can be fetched and the event decided again.
/// Because the law is pure, asking twice is harmless; because needs come from the reads themselves, they cannot
/// be forgotten.
pub fn evaluate(
    policy: &Policy,
    session: &Session,
    facts: &Facts,
    event: &Event,
    meter: &dyn Meter,
) -> Evaluation {
    let paused = Paused::of(session, facts, event);
    let meanwhile = paused.policy(policy);
    let mut evaluation = heard(meanwhile.as_ref().unwrap_or(policy), session, facts, event, meter);
    if paused.is_lacking {
        evaluation.needs.slices.insert(PAUSES.to_owned());
    }
    evaluation.decision.paused = paused.by;
    evaluation
}

/// Hears the chain, and concludes.
fn heard(policy: &Policy, session: &Session, facts: &Facts, event: &Event, meter: &dyn Meter) -> Evaluation {
    let chain = policy.chain(event);
    let links = || chain.iter().filter_map(|(at, part)| Some((policy.entries().get(*at)?, part)));
    let asked = || links().filter(|(_, part)| part.asked).map(|(entry, _)| entry);

    let Rewritten { event: rewritten, by, needs, mut prefetched } = if can_be_rewritten(event) {
        rewritten(asked(), World::new(policy, session, facts, event))
    } else {
        Rewritten::default()
    };
    let mut world = World::new(policy, session, facts, rewritten.as_ref().unwrap_or(event));
    world.rewritten_by = by.into();

    let mut tally = Tally::new(&world);
    tally.hear_late();
    for entry in asked() {
        if tally.is_settled_for(entry) {
            tally.skip(entry);
            continue;
        }
        world.in_shadow.set(entry.spec.mode == Mode::Shadow);
        let started = meter.micros();
        let answer = ask(entry, &world);
        let took = meter.micros().zip(started).map(|(now, started)| now.saturating_sub(started));
        if let Some(answer) = answer {
            tally.count(entry, answer, took);
        }
    }
    let mut decision = tally.conclude();
    // What was used up is used up, whatever is decided. What is not known is asked for, and the event decided again.
    let _ = world.spend(&mut decision.changes);
    let _ = world.begin(&mut decision.changes);
    for (entry, _) in links().filter(|(_, part)| part.watches) {
        observe(entry, &world, &mut decision);
    }
    prefetched.append(world.prefetched.get_mut());
    // What is looked up for a text that is about to be replaced is looked up in vain.
    let needs = if needs.is_empty() { world.needs.into_inner() } else { needs };
    Evaluation { decision, needs, prefetched, rewritten }
}

/// Measures durations for the record. No verdict reads it.
pub trait Meter {
    /// Microseconds since some fixed moment, or nothing.
    fn micros(&self) -> Option<u64>;
}

/// Measures nothing.
pub struct NoMeter;

impl Meter for NoMeter {
    fn micros(&self) -> Option<u64> {
        None
    }
}
