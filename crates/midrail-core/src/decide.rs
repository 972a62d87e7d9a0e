//! The decision function: `decide(policy, session, facts, event) -> decision`. Pure and total.
//!
//! It runs the chain of guardrails in order and collects their verdicts; the highest effect wins. `run` runs one guardrail, and
//! `tally` determines what its verdict leads to.

use crate::decision::Decision;
use crate::event::Event;
use crate::facts::{Facts, Needs, PrefetchedReads};
use crate::meter::{Meter, NoMeter};
use crate::pause::{PAUSES, Pause};
use crate::policy::Policy;
use crate::rewrite::rewrite;
use crate::run::{check, links, observe};
use crate::session::Session;
use crate::tally::Tally;

/// Decides one event. If a value is missing, the guardrail's `on_missing` applies.
pub fn decide(policy: &Policy, session: &Session, facts: &Facts, event: &Event) -> Decision {
    evaluate_once(policy, session, facts, event, &NoMeter, true).decision
}

/// A decision, and the values that it lacks. It is final if nothing is missing.
pub struct Evaluation {
    /// The decision with the known values.
    pub decision: Decision,
    /// Slices and facts that guardrails requested and that are not known.
    pub needs: Needs,
    /// The prefetched slices and facts that were read. They count as loaded and known from now on.
    pub prefetched: PrefetchedReads,
    /// The event as guardrails saw it, if its arguments or its result were changed before.
    pub rewritten: Option<Event>,
}

/// Decides with the known values and returns what is missing, so that the caller can fetch it and evaluate the event again.
/// Because `decide` is pure, evaluating twice is harmless; because needs come from the reads themselves, none is forgotten.
pub fn evaluate(
    policy: &Policy,
    session: &Session,
    facts: &Facts,
    event: &Event,
    meter: &dyn Meter,
) -> Evaluation {
    evaluate_once(policy, session, facts, event, meter, false)
}

/// Evaluates an event. `is_last`: it is not evaluated again, whatever is missing.
fn evaluate_once(
    policy: &Policy,
    session: &Session,
    facts: &Facts,
    event: &Event,
    meter: &dyn Meter,
    is_last: bool,
) -> Evaluation {
    let pauses = session.get(PAUSES);
    let pause = pauses.and_then(|slice| Pause::find(slice, facts.session_folder(), event.time));
    let paused = pause.as_ref().map(|_| policy.paused());
    let policy = paused.as_ref().unwrap_or(policy);
    let mut evaluation = run_chain(policy, session, facts, event, meter, is_last);
    if pauses.is_none() {
        evaluation.needs.slices.insert(PAUSES.to_owned());
    }
    evaluation.decision.paused = pause;
    evaluation
}

fn run_chain(
    policy: &Policy,
    session: &Session,
    facts: &Facts,
    event: &Event,
    meter: &dyn Meter,
    is_last: bool,
) -> Evaluation {
    let mut reading = policy.inputs(session, facts, event);
    let chain = links(policy, &reading, is_last);
    let entries = || chain.iter().filter_map(|(at, role)| Some((policy.entries().get(*at)?, role)));
    let checks = || entries().filter(|(_, role)| role.checks).map(|(entry, _)| entry);

    let mut rewritten = rewrite(checks(), policy.inputs(session, facts, event));
    rewritten.needs.append(reading.needs.get_mut());
    rewritten.prefetched.append(reading.prefetched.get_mut());
    let mut inputs = policy.inputs(session, facts, rewritten.event.as_ref().unwrap_or(event));
    rewritten.describe_to(&mut inputs, event);

    let mut tally = Tally::start(policy, &inputs, chain.len());
    for entry in checks() {
        if tally.is_settled_for(entry) {
            tally.skip(entry);
            continue;
        }
        let started = meter.micros();
        let outcome = check(entry, &inputs);
        let duration = meter.micros().zip(started).map(|(now, started)| now.saturating_sub(started));
        if let Some(outcome) = outcome {
            tally.apply(entry, outcome, duration);
        }
    }
    let mut decision = tally.conclude();
    // Usage is recorded whatever is decided. A missing slice is fetched, and the event is evaluated again.
    let _ = inputs.record_usage(decision.effect, &mut decision.changes);
    let _ = inputs.record_run_start(&mut decision.changes);
    for (entry, _) in entries().filter(|(_, role)| role.observes) {
        observe(entry, &inputs, &mut decision);
    }
    rewritten.prefetched.append(inputs.prefetched.get_mut());
    // A fact about a text that is about to be replaced would be fetched in vain.
    let needs = if rewritten.needs.is_empty() { inputs.needs.into_inner() } else { rewritten.needs };
    Evaluation { decision, needs, prefetched: rewritten.prefetched, rewritten: rewritten.event }
}
