//! Calls about which no person needs to be asked.

use midrail_core::{
    Decision, Effect, Event, EventKind, Fact, FactKey, Grounds, Host, Mode, OnFault, SandboxLauncher,
    SandboxNetwork, Verdict,
};
use proptest::prelude::*;
use serde_json::json;

use crate::generate::{cases, events, plans};
use crate::plan::{Does, Plan, plan, policy, says};
use crate::world::Backing;

fn vouches(id: &str, sandbox: Option<SandboxNetwork>) -> Plan {
    let reason = format!("`{id}` knows it");
    plan(id, Does::Says(Verdict::vouch(Grounds { reason, sandbox })))
}

fn allows(id: &str) -> Plan {
    plan(id, Does::Says(Verdict::allow()))
}

fn contains(id: &str, sandbox: &str) -> Plan {
    let verdict = Verdict::new(Effect::Contain, "it runs code of the project");
    plan(id, Does::Says(Verdict { sandbox: Some(sandbox.into()), ..verdict }))
}

fn decide_on(plans: &[Plan], event: &Event) -> Decision {
    let mut backing = Backing::new();
    let launcher = SandboxLauncher {
        argument: "command".into(),
        command: vec!["midrail".into(), "run".into(), "--box".into()],
        shell: "bash".into(),
    };
    backing.facts.insert(FactKey::Sandbox, Fact::Sandbox(Some(launcher)));
    backing.settle(&policy(plans), event).decision
}

fn call() -> Event {
    Event::before_tool("Bash", json!({"command": "make test"}))
}

#[test]
fn call_with_grounds_is_vouched_for() {
    let decision = decide_on(&[vouches("a", None), allows("b")], &call());
    assert!(decision.vouched);
    assert_eq!(decision.grounds.as_deref(), Some("`a` knows it"));
    assert_eq!((decision.effect, decision.reason.as_str()), (Effect::Allow, ""));
    assert!(!decide_on(&[allows("b")], &call()).vouched);
}

#[test]
fn any_objection_withholds_it() {
    for effect in [Effect::Warn, Effect::Redact, Effect::Retry, Effect::Escalate, Effect::Block, Effect::Halt]
    {
        let plans = [vouches("a", None), says("b", effect)];
        assert!(!decide_on(&plans, &call()).vouched, "{effect}");
        let shadow = [vouches("a", None), Plan { mode: Mode::Shadow, ..says("b", effect) }];
        assert!(!decide_on(&shadow, &call()).vouched, "{effect} in shadow mode");
    }
}

#[test]
fn failure_and_missing_value_withhold_it() {
    for does in [Does::Fails("it broke".to_owned()), Does::Panics("it broke".to_owned())] {
        let fails = Plan { on_error: OnFault::Allow, ..plan("b", does) };
        let decision = decide_on(&[vouches("a", None), fails], &call());
        assert_eq!((decision.effect, decision.vouched), (Effect::Allow, false));
    }
}

#[test]
fn grounds_in_shadow_mode_do_not_count() {
    let shadow = Plan { mode: Mode::Shadow, ..vouches("a", None) };
    assert!(!decide_on(&[shadow, allows("b")], &call()).vouched);
}

#[test]
fn only_calls_are_vouched_for() {
    for kind in EventKind::ALL.iter().filter(|kind| **kind != EventKind::BeforeTool) {
        assert!(!decide_on(&[vouches("a", None)], &Event { kind: *kind, ..call() }).vouched, "{kind}");
    }
}

#[test]
fn host_that_asks_in_any_case_is_not_vouched_to() {
    let on = |takes_vouches: bool| {
        let host = Some(Host { takes_vouches, ..Host::default() });
        decide_on(&[vouches("a", None)], &Event { host, ..call() }).vouched
    };
    assert!(on(true));
    assert!(!on(false));
}

#[test]
fn grounds_may_need_a_sandbox() {
    let vouched = |plans: &[Plan]| decide_on(plans, &call()).vouched;
    for needed in [Some(SandboxNetwork::None), Some(SandboxNetwork::All)] {
        assert!(!vouched(&[vouches("a", needed)]), "{needed:?}");
        assert!(vouched(&[vouches("a", needed), contains("b", "default")]), "{needed:?}");
    }
    assert!(!vouched(&[vouches("a", Some(SandboxNetwork::None)), contains("b", "install")]));
    assert!(vouched(&[vouches("a", Some(SandboxNetwork::All)), contains("b", "install")]));
    // A rule that contains what it objects to is an objection.
    assert!(!vouched(&[vouches("a", None), says("b", Effect::Contain)]));
}

#[test]
fn each_guardrail_has_its_own_grounds() {
    let plans = [vouches("a", Some(SandboxNetwork::None)), vouches("b", None)];
    assert_eq!(decide_on(&plans, &call()).grounds.as_deref(), Some("`b` knows it"));
}

proptest! {
    #[test]
    fn one_more_guardrail_never_vouches_for_more(
        case in cases(6), more in plans(), at in 0_usize..8, event in events(),
    ) {
        let backing = case.backing(&event);
        let mut plans = vec![vouches("knows-it", None)];
        plans.extend(case.plans.iter().cloned());
        let mut longer = plans.clone();
        let more = Plan { id: "one-more".to_owned(), ..more };
        let has_grounds = matches!(&more.does, Does::Says(verdict) if verdict.grounds.is_some());
        longer.insert(at.min(plans.len()), more);
        let without = backing.settle(&policy(&plans), &event).decision;
        let with = backing.settle(&policy(&longer), &event).decision;
        prop_assert!(without.vouched || has_grounds || !with.vouched);
    }

    #[test]
    fn what_is_vouched_for_has_no_objection(case in cases(4), event in events()) {
        let backing = case.backing(&event);
        let mut plans = vec![vouches("knows-it", None)];
        plans.extend(case.plans.iter().cloned());
        let decision = backing.settle(&policy(&plans), &event).decision;
        if decision.vouched {
            prop_assert!(matches!(decision.effect, Effect::Allow | Effect::Contain));
            prop_assert!(decision.would.is_none() && decision.mode == Mode::Enforce);
            for verdict in &decision.verdicts {
                prop_assert!(verdict.error.is_none(), "{verdict:?}");
                prop_assert!(matches!(verdict.effect, Some(Effect::Allow | Effect::Contain)), "{verdict:?}");
            }
        }
    }
}
