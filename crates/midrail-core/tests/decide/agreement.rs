//! The law and the naive model of it agree, on single events and along whole sessions.

use std::collections::{BTreeMap, BTreeSet};

use midrail_core::{Decision, Effect, Event, Mode};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

use crate::generate::{cases, events};
use crate::plan::policy;
use crate::reference::{self, Outcome, VerdictRecord};
use crate::seed::config_with_cases;
use crate::world::key_part;

fn agrees(real: &Decision, model: &Outcome) -> Result<(), TestCaseError> {
    prop_assert_eq!(real.effect, model.effect, "effect");
    prop_assert_eq!(real.by.as_deref(), model.by.as_deref(), "by");
    prop_assert_eq!(&real.reason, &model.reason, "reason");
    prop_assert_eq!(&real.advice, &model.advice, "advice");
    prop_assert_eq!(&real.user_message, &model.user_message, "user_message");
    prop_assert_eq!(real.would, model.would, "would");
    prop_assert_eq!(real.requested, model.meant, "meant");
    prop_assert_eq!(real.paused.as_ref().map(|pause| &pause.by), model.paused_by.as_ref(), "paused");
    prop_assert!(model.paused_by.is_none() || real.mode == Mode::Shadow, "mode");
    prop_assert_eq!(&real.retry, &model.retry, "retry");
    prop_assert_eq!(&real.content, &model.content, "content");
    prop_assert_eq!(real.rollback_requested, model.rollback_requested, "rollback_requested");

    let mut changes: BTreeMap<String, Option<Value>> = real.changes.0.clone();
    for key in &model.tidied {
        prop_assert!(changes.remove(key).is_none_or(|value| value.is_none()), "a timed out approval changed");
    }
    // A shadow guardrail that was skipped keeps no count.
    let skipped: Vec<String> = real
        .verdicts
        .iter()
        .filter(|said| said.skipped && said.shadow)
        .map(|said| key_part(&said.guardrail))
        .collect();
    let is_uncounted = |key: &str| {
        let id = key.strip_prefix("shadow/").and_then(|rest| rest.split('/').nth(1));
        id.is_some_and(|id| skipped.iter().any(|other| other == id))
    };
    let mut expected = model.changes.clone();
    expected.retain(|key, _| !is_uncounted(key));
    // It may have been heard about an earlier event all the same.
    changes.retain(|key, _| !is_uncounted(key));
    prop_assert_eq!(&changes, &expected, "changes");
    prop_assert_eq!(&real.requests, &model.requests, "requests");
    prop_assert_eq!(&real.approval, &model.approval, "approval");

    // Everyone who was heard said what the model heard. What has no effect is an observer's failure.
    for said in &real.verdicts {
        if let Some(effect) = said.effect {
            let (reason, is_shadow, error) = (said.reason.clone(), said.shadow, said.error.clone());
            let heard = VerdictRecord { effect, reason, is_shadow, error };
            let all = model.said.get(&*said.guardrail).cloned().unwrap_or_default();
            prop_assert!(all.contains(&heard), "what `{}` said: {heard:?} is not in {all:?}", said.guardrail);
        }
    }

    if real.verdicts.iter().any(|said| said.skipped) {
        prop_assert!(real.effect >= Effect::Block, "skipped before a block");
    } else {
        prop_assert_eq!(&real.feedback, &model.feedback, "feedback");
        prop_assert_eq!(&real.effects.iter().cloned().collect::<BTreeSet<_>>(), &model.effects, "effects");
        prop_assert_eq!(real.recovery, model.recovery, "recovery");
        prop_assert!(model.tidied.iter().all(|key| real.changes.0.contains_key(key)), "not tidied");
    }
    Ok(())
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
    #![proptest_config(config_with_cases(1_500))]

    #[test]
    fn one_event_is_decided_as_the_model_does(case in cases(12), event in events()) {
        let backing = case.backing(&event);
        let real = backing.settle(&policy(&case.plans).with_strike_rules(case.rules.clone()), &event).decision;
        agrees(&real, &reference::decide(&case.plans, &case.rules, &backing, &event))?;
    }
}

proptest! {
    #![proptest_config(config_with_cases(300))]

    #[test]
    fn a_session_goes_as_the_model_does(case in cases(8), steps in steps()) {
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
