//! The law: `decide(policy, session, facts, event) -> decision`. Pure and total.
//!
//! The chain is asked in order, what each guardrail says is tallied, and the highest step of the ladder wins.
//! How one guardrail is asked is in `ask`; what its verdict leads to is in `tally`.

use std::cell::{Cell, RefCell};

use crate::ask::{ask, observe};
use crate::context::World;
use crate::decision::{Decision, Mode};
use crate::event::Event;
use crate::facts::{Facts, Needs};
use crate::policy::Policy;
use crate::session::Session;
use crate::tally::Tally;

/// Decides one event. What is not known takes each guardrail's `on_missing`.
pub fn decide(policy: &Policy, session: &Session, facts: &Facts, event: &Event) -> Decision {
    evaluate(policy, session, facts, event, &Unmetered).decision
}

/// A decision, and what it still lacks. It is final once nothing is lacking.
pub struct Evaluation {
    /// The decision with what is known.
    pub decision: Decision,
    /// Slices and facts that guardrails asked for and did not get.
    pub needs: Needs,
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
    let world = World {
        policy,
        session,
        facts,
        event,
        needs: RefCell::default(),
        lacks: Cell::new(false),
        in_shadow: Cell::new(false),
        asks_too_early: Cell::new(false),
    };
    let chain = policy.chain(event);
    let links = || chain.iter().filter_map(|(at, part)| Some((policy.entries().get(*at)?, part)));

    let mut tally = Tally::new(&world);
    for (entry, _) in links().filter(|(_, part)| part.asked) {
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
    Evaluation { decision, needs: world.needs.into_inner() }
}

/// Measures durations for the record. No verdict reads it.
pub trait Meter {
    /// Microseconds since some fixed moment, or nothing.
    fn micros(&self) -> Option<u64>;
}

/// Measures nothing.
pub struct Unmetered;

impl Meter for Unmetered {
    fn micros(&self) -> Option<u64> {
        None
    }
}
