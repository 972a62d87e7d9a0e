//! `decide` agrees with its specification, on single events and along whole sessions.

use std::collections::{BTreeMap, BTreeSet};

use midrail_core::{Decision, Effect, Event, Mode, VerdictRecord, sandbox_key};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

use crate::generate::{cases, events};
use crate::plan::policy;
use crate::reference;
use crate::world::key_part;

fn agrees(real: &Decision, (model, expired): &(Decision, BTreeSet<String>)) -> Result<(), TestCaseError> {
    prop_assert_eq!(real.effect, model.effect, "effect");
    prop_assert_eq!(&real.by, &model.by, "by");
    prop_assert_eq!(&real.reason, &model.reason, "reason");
    prop_assert_eq!(&real.advice, &model.advice, "advice");
    prop_assert_eq!(&real.user_message, &model.user_message, "user_message");
    prop_assert_eq!(real.would, model.would, "would");
    prop_assert_eq!(real.requested, model.requested, "requested");
    prop_assert_eq!(&real.paused, &model.paused, "paused");
    prop_assert!(model.paused.is_none() || real.mode == Mode::Shadow, "mode");
    prop_assert_eq!(&real.retry, &model.retry, "retry");
    let sandbox = real.sandbox.as_deref().unwrap_or_default();
    let content = real.content.as_ref().map(|content| match real.effect {
        Effect::Contain => content.replace(sandbox, reference::SANDBOX),
        _ => content.clone(),
    });
    prop_assert_eq!(&content, &model.content, "content");
    prop_assert_eq!(real.sandbox.is_some(), real.effect == Effect::Contain, "sandbox");
    prop_assert!(model.vouched || !real.vouched, "vouched");
    prop_assert_eq!(real.grounds.is_some(), real.vouched, "grounds");
    prop_assert_eq!(real.rollback_requested, model.rollback_requested, "rollback_requested");

    let mut changes: BTreeMap<String, Option<Value>> = real.changes.0.clone();
    let grant = changes.remove(&sandbox_key(sandbox)).flatten();
    prop_assert_eq!(grant.is_some(), real.effect == Effect::Contain, "grant");
    for key in expired {
        prop_assert!(changes.remove(key).is_none_or(|value| value.is_none()), "an expired approval changed");
    }
    // A shadow guardrail that was skipped counts nothing for this event, though it may for an earlier one.
    let skipped: Vec<String> = real
        .verdicts
        .iter()
        .filter(|record| record.skipped && record.shadow)
        .map(|record| key_part(&record.guardrail))
        .collect();
    let is_uncounted = |key: &str| {
        let id = key.strip_prefix("shadow/").and_then(|rest| rest.split('/').nth(1));
        id.is_some_and(|id| skipped.iter().any(|other| other == id))
    };
    let mut expected = model.changes.0.clone();
    expected.retain(|key, _| !is_uncounted(key));
    changes.retain(|key, _| !is_uncounted(key));
    prop_assert_eq!(&changes, &expected, "changes");
    prop_assert_eq!(&real.requests, &model.requests, "requests");
    prop_assert_eq!(&real.approval, &model.approval, "approval");

    // Every recorded verdict is one of the model's. A record without effect is an observer's failure.
    for record in real.verdicts.iter().filter(|record| record.effect.is_some()) {
        let record = VerdictRecord { action: None, ..record.clone() };
        prop_assert!(model.verdicts.contains(&record), "{record:?} is not in {:?}", model.verdicts);
    }

    if real.verdicts.iter().any(|record| record.skipped) {
        prop_assert!(real.effect >= Effect::Block, "skipped before a block");
    } else {
        let unique = |effects: &[String]| effects.iter().cloned().collect::<BTreeSet<_>>();
        prop_assert_eq!(&real.feedback, &model.feedback, "feedback");
        prop_assert_eq!(unique(&real.effects), unique(&model.effects), "effects");
        prop_assert_eq!(real.recovery, model.recovery, "recovery");
        prop_assert!(expired.iter().all(|key| real.changes.0.contains_key(key)), "not removed");
    }
    Ok(())
}

/// More cases than usual, or as many as `PROPTEST_CASES` requests.
fn at_least(cases: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig { cases: config.cases.max(cases), ..config }
}

/// A step of a session.
#[derive(Debug, Clone)]
enum Step {
    Event(Box<Event>),
    /// A person answers whatever is pending.
    Answer(&'static str),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => events().prop_map(|event| Step::Event(Box::new(event))),
        1 => Just(Step::Answer("approved")),
        1 => Just(Step::Answer("denied")),
    ];
    // A few events that come again and again, so that counts, approvals and answers meet.
    let again = (vec(events(), 1..3), vec((0_usize..5, 0_usize..2), 1..12)).prop_map(|(events, order)| {
        order
            .into_iter()
            .map(|(what, at)| match what {
                0 => Step::Answer("approved"),
                _ => Step::Event(Box::new(events[at % events.len()].clone())),
            })
            .collect()
    });
    prop_oneof![vec(step, 1..10), again]
}

proptest! {
    #![proptest_config(at_least(1_500))]

    #[test]
    fn event_matches_the_model(case in cases(12), event in events()) {
        let backing = case.backing(&event);
        let real = backing.settle(&policy(&case.plans).with_strike_rules(case.rules.clone()), &event).decision;
        agrees(&real, &reference::decide(&case.plans, &case.rules, &backing, &event))?;
    }
}

proptest! {
    #![proptest_config(at_least(300))]

    #[test]
    fn session_matches_the_model(case in cases(8), steps in steps()) {
        let policy = policy(&case.plans).with_strike_rules(case.rules.clone());
        let mut backing = case.backing.clone();
        for step in steps {
            match step {
                Step::Answer(state) => backing.answer(state),
                Step::Event(event) => {
                    let real = backing.settle(&policy, &event).decision;
                    agrees(&real, &reference::decide(&case.plans, &case.rules, &backing, &event))?;
                    backing.apply(&real.changes);
                }
            }
        }
    }
}
