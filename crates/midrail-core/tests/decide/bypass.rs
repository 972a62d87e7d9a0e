//! Examples of lifting a guardrail for one action, of emergencies, and of what restrains an agent as a whole.

use std::sync::Arc;

use midrail_core::{
    Agent, Authorities, Autonomy, Bypass, Context, Effect, Emergency, ErrorInfo, Event, EventKind, Facts,
    Missing, Mode, Recovery, Risk, Session, Task, Usage, Verdict, action_digest, allows_emergency_override,
    approval_key, quarantine_key, task_key,
};
use serde_json::{Value, json};

use crate::plan::{Does, Plan, plan, policy, says};
use crate::world::{SessionRun, minute, write};

fn liftable() -> Plan {
    Plan { bypass: Bypass::By("architect".to_owned()), ..says("a", Effect::Block) }
}

/// What an engine keeps of a request to lift `a` for this action.
fn hold(run: &mut SessionRun, event: &Event, request: Value) {
    let key = approval_key("a", &action_digest(&Facts::default(), event, &run.backing.session));
    let mut held = json!({
        "id": "b-1", "kind": "bypass", "state": "approved", "by": "ada", "role": "architect",
        "urgency": "normal", "expires": minute(15).to_string(),
    });
    for (name, value) in request.as_object().unwrap() {
        held[name] = value.clone();
    }
    run.backing.slices.insert(key, held);
}

fn at(event: Event, minutes: i64) -> Event {
    Event { time: Some(minute(minutes)), ..event }
}

#[test]
fn bypass_allows_one_action() {
    let mut run = SessionRun::new(&[liftable()]);
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Block);
    hold(&mut run, &write("a.rs"), json!({}));
    assert_eq!(run.feed(&write("b.rs")).effect, Effect::Block, "another action");
    let decision = run.feed(&write("a.rs"));
    assert_eq!(decision.effect, Effect::Allow);
    assert_eq!(decision.verdicts[0].reason, "lifted by ada (b-1): a says block");
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Block, "it is used up");
}

#[test]
fn bypass_is_kept_if_another_guardrail_blocks() {
    let mut run = SessionRun::new(&[liftable(), says("b", Effect::Block)]);
    hold(&mut run, &write("a.rs"), json!({}));
    assert_eq!(run.feed(&write("a.rs")).by.as_deref(), Some("b"));
    assert_eq!(run.backing.approvals().len(), 1);
}

#[test]
fn reason_reports_the_state_of_a_request() {
    for (request, minutes, report) in [
        (json!({"state": "pending"}), 0, "a says block (the bypass b-1 waits for an answer)"),
        (json!({"state": "pending"}), 15, "the bypass b-1 timed out with no answer: a says block"),
        (json!({}), 15, "the bypass b-1 timed out before it was used: a says block"),
        (json!({"state": "denied"}), 20, "bypass denied by ada (b-1): a says block"),
        (json!({"state": "denied", "taken_back": true}), 0, "bypass taken back by ada (b-1): a says block"),
    ] {
        let mut run = SessionRun::new(&[liftable()]);
        hold(&mut run, &write("a.rs"), request);
        let decision = run.feed(&at(write("a.rs"), minutes));
        assert_eq!((decision.effect, decision.reason.as_str()), (Effect::Block, report));
    }
}

#[test]
fn approved_escalation_does_not_bypass_a_block() {
    let mut run = SessionRun::new(&[liftable()]);
    hold(&mut run, &write("a.rs"), json!({"kind": "escalation"}));
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Block);
}

#[test]
fn not_every_guardrail_can_be_bypassed() {
    for (bypass, urgency, effect) in [
        (Bypass::Never, "normal", Effect::Block),
        (Bypass::Never, "emergency", Effect::Block),
        (Bypass::Emergency, "normal", Effect::Block),
        (Bypass::Emergency, "urgent", Effect::Block),
        (Bypass::Emergency, "emergency", Effect::Allow),
        (Bypass::By("architect".to_owned()), "normal", Effect::Allow),
    ] {
        let mut run = SessionRun::new(&[Plan { bypass: bypass.clone(), ..says("a", Effect::Block) }]);
        hold(&mut run, &write("a.rs"), json!({"urgency": urgency}));
        assert_eq!(run.feed(&write("a.rs")).effect, effect, "{bypass:?} {urgency}");
    }
}

fn with_budget(used: u64) -> Event {
    let task = Some(Task { token_budget: Some(100), ..Task::default() });
    Event { task, usage: Some(Usage { tokens: Some(used), ..Usage::default() }), ..write("a.rs") }
}

#[test]
fn bypass_needs_more_authority_with_less_budget() {
    for (used, reviewer, architect, human) in [
        (49, true, true, true),
        (50, false, true, true),
        (80, false, true, true),
        (81, false, false, true),
        (100, false, false, false),
    ] {
        for (role, may) in [("reviewer", reviewer), ("architect", architect), ("human_operator", human)] {
            let mut run = SessionRun::new(&[liftable()]);
            hold(&mut run, &with_budget(used), json!({"role": role}));
            let effect = run.feed(&with_budget(used)).effect;
            assert_eq!(effect == Effect::Allow, may, "{role} at {used}");
        }
    }
    let mut run = SessionRun::new(&[liftable()]);
    hold(&mut run, &with_budget(100), json!({"role": "architect", "urgency": "emergency"}));
    assert_eq!(run.feed(&with_budget(100)).effect, Effect::Allow);
}

fn in_an_emergency(only_for: fn(&Context<'_>) -> Result<bool, Missing>) -> SessionRun {
    let emergency = Emergency {
        only_for: Arc::new(only_for),
        description: String::new(),
        wait_s: 60,
        review_within_s: 86_400,
    };
    let mut run = SessionRun::new(&[Plan { bypass: Bypass::Emergency, ..says("a", Effect::Block) }]);
    run.policy = policy(&[Plan { bypass: Bypass::Emergency, ..says("a", Effect::Block) }])
        .with_authorities(Authorities { emergency: Some(emergency), ..Authorities::default() });
    let request = json!({"state": "pending", "urgency": "emergency", "override_at": minute(1).to_string()});
    hold(&mut run, &write("a.rs"), request);
    run
}

#[test]
fn unanswered_emergency_grants_itself_and_sends_notices() {
    let mut run = in_an_emergency(|_| Ok(true));
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Block, "somebody may still answer");
    let decision = run.feed(&at(write("a.rs"), 1));
    assert_eq!(decision.effect, Effect::Allow);
    assert_eq!(decision.effects, ["emergency_override"]);
    let report: Vec<&str> = decision.notices.iter().map(|notice| notice.to.as_str()).collect();
    assert_eq!(report, ["architect", "human_operator"]);
    assert_eq!(run.feed(&at(write("a.rs"), 1)).effect, Effect::Block, "for one action");
}

#[test]
fn denied_emergency_does_not_grant_itself() {
    let mut run = in_an_emergency(|_| Ok(true));
    let [key] = &run
        .backing
        .slices
        .keys()
        .filter(|key| key.starts_with("approval/"))
        .cloned()
        .collect::<Vec<_>>()[..]
    else {
        panic!("one request is held")
    };
    run.backing.slices.get_mut(key).unwrap()["denied_before"] = json!("b-0");
    let decision = run.feed(&at(write("a.rs"), 1));
    assert_eq!((decision.effect, decision.effects.len()), (Effect::Block, 0));
    assert!(decision.reason.contains("waits for an answer"), "{}", decision.reason);
}

#[test]
fn emergency_override_can_be_checked_in_advance() {
    let report = |only_for: fn(&Context<'_>) -> Result<bool, Missing>, guardrail: &str| {
        let run = in_an_emergency(only_for);
        allows_emergency_override(
            &run.policy,
            &Session::new("s"),
            &Facts::default(),
            &write("a.rs"),
            guardrail,
        )
    };
    assert!(report(|_| Ok(true), "a").0);
    assert!(!report(|_| Ok(false), "a").0);
    assert!(!report(|_| Ok(true), "no-such").0);
    let (fits, needs) = report(|context| Ok(context.variable("on_call")?.is_some()), "a");
    assert!(!fits && needs.slices.contains("var/on_call"), "what is lacking is told");
}

#[test]
fn unknown_action_is_no_emergency() {
    for only_for in [|_: &Context<'_>| Ok(false), |_: &Context<'_>| Err(Missing("no idea".to_owned()))] {
        let mut run = in_an_emergency(only_for);
        assert_eq!(run.feed(&at(write("a.rs"), 1)).effect, Effect::Block);
    }
    let mut run = in_an_emergency(|_| Ok(true));
    run.policy = policy(&[Plan { bypass: Bypass::Emergency, ..says("a", Effect::Block) }]);
    assert_eq!(run.feed(&at(write("a.rs"), 1)).effect, Effect::Block, "the packs know no emergency");
}

#[test]
fn quarantined_agent_is_blocked() {
    let failed = Does::Says(Verdict {
        recovery: Some(Recovery::Quarantine),
        ..Verdict::warn("it failed three times")
    });
    let agent = Some(Agent { id: Some("impl-1".to_owned()), ..Agent::default() });
    let mut run = SessionRun::new(&[Plan { on: vec![EventKind::OnError], ..plan("a", failed) }]);
    let error = Event {
        agent: agent.clone(),
        error: Some(ErrorInfo::default()),
        time: Some(minute(0)),
        ..Event::new(EventKind::OnError)
    };
    let decision = run.feed(&error);
    assert_eq!(decision.recovery, Some(Recovery::Quarantine));
    assert_eq!(decision.notices[0].to, "human_operator");
    run.backing.session = "another".to_owned();
    let decision = run.feed(&Event { agent: agent.clone(), ..write("a.rs") });
    assert_eq!((decision.effect, decision.by.as_deref()), (Effect::Block, Some("midrail")));
    assert!(decision.reason.contains("it failed three times"), "{}", decision.reason);
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Allow, "another agent");
    run.backing.slices.remove(&quarantine_key("impl-1"));
    assert_eq!(run.feed(&Event { agent, ..write("a.rs") }).effect, Effect::Allow, "it was lifted");
}

#[test]
fn quarantine_covers_sub_agents_and_sessions() {
    let by = |agent: &str, parent: Option<&str>| Event {
        agent: Some(Agent { id: Some(agent.to_owned()), ..Agent::default() }),
        parent: parent.map(str::to_owned),
        ..write("a.rs")
    };
    for (who, rests, works) in [
        // A parent is an agent or a session.
        (
            "zed",
            vec![by("sub", Some("zed")), by("sub", Some(" zed "))],
            vec![by("sub", Some("ann")), by("ann", None)],
        ),
        (
            "session:zed",
            vec![by("sub", Some("zed")), by("sub", Some("session:zed"))],
            vec![by("sub", Some("ann"))],
        ),
        (
            "session:s-1",
            vec![by("sub", Some("s-1")), by("sub", Some("ann")), by("ann", None), write("a.rs")],
            vec![],
        ),
        // A sub-agent that rests keeps neither its parent nor its siblings from work.
        ("sub", vec![by("sub", Some("zed"))], vec![by("zed", None), by("other", Some("zed")), write("a.rs")]),
        ("session:s-2", vec![], vec![by("sub", Some("s-1")), by("s-2", None), write("a.rs")]),
    ] {
        let mut run = SessionRun::new(&[]);
        run.backing.slices.insert(quarantine_key(who), json!({"reason": "it failed"}));
        for event in rests {
            let decision = run.feed(&event);
            assert_eq!(
                (decision.effect, decision.by.as_deref()),
                (Effect::Block, Some("midrail")),
                "{event:?}"
            );
            assert_eq!(decision.reason, format!("`{who}` is quarantined: it failed"));
            assert!(decision.advice.unwrap().contains("Stop here and report."));
            let stop = Event { kind: EventKind::BeforeStop, tool: None, ..event };
            assert_eq!(run.feed(&stop).effect, Effect::Allow, "an agent can always end");
        }
        for event in works {
            assert_eq!(run.feed(&event).effect, Effect::Allow, "{who}: {event:?}");
        }
    }
}

#[test]
fn quarantine_covers_sub_agents_of_sub_agents() {
    let by = |id: &str, parent: Option<&str>| Event {
        agent: Some(Agent { id: Some(id.to_owned()), ..Agent::default() }),
        parent: parent.map(str::to_owned),
        ..write("a.rs")
    };
    let mut run = SessionRun::new(&[]);
    for event in [by("c1", Some("bad")), by("c2", Some("c1")), by("d1", Some("good"))] {
        assert_eq!(run.feed(&event).effect, Effect::Allow);
    }
    run.backing.slices.insert(quarantine_key("bad"), json!({"reason": "it failed"}));
    for event in [by("c1", Some("bad")), by("c2", Some("c1")), by("c3", Some("c2"))] {
        let decision = run.feed(&event);
        assert_eq!((decision.effect, &*decision.reason), (Effect::Block, "`bad` is quarantined: it failed"));
    }
    // Of others, and of those of whom the session has not heard, nothing is known.
    for event in [by("d2", Some("d1")), by("c1", None), by("e", Some("unheard"))] {
        assert_eq!(run.feed(&event).effect, Effect::Allow, "{event:?}");
    }
}

#[test]
fn handoff_to_a_quarantined_agent_is_blocked() {
    let mut run = SessionRun::new(&[]);
    run.backing.slices.insert(quarantine_key("rev-1"), json!({"reason": "it failed"}));
    let handoff = |kind: EventKind, handoff: Value| Event {
        handoff: Some(serde_json::from_value(handoff).unwrap()),
        ..Event::new(kind)
    };
    for to in [json!({"to": "rev-1"}), json!({"to": " rev-1 "}), json!({"receiver": {"id": "rev-1"}})] {
        let decision = run.feed(&handoff(EventKind::BeforeHandoff, to.clone()));
        assert_eq!((decision.effect, decision.by.as_deref()), (Effect::Block, Some("midrail")), "{to}");
        assert!(decision.reason.contains("`rev-1` is quarantined: it failed"), "{}", decision.reason);
        assert!(decision.advice.unwrap().starts_with("Hand over to another agent"));
        assert_eq!(run.feed(&handoff(EventKind::AfterHandoff, to)).effect, Effect::Allow);
    }
    let other = handoff(EventKind::BeforeHandoff, json!({"to": "rev-2"}));
    assert_eq!(run.feed(&other).effect, Effect::Allow, "another agent");
}

#[test]
fn inactive_task_blocks_actions() {
    let of = |kind: EventKind| Event {
        task: Some(Task { id: Some("t-1".to_owned()), ..Task::default() }),
        ..Event::new(kind)
    };
    for (status, effect) in [
        ("draft", Effect::Block),
        ("active", Effect::Allow),
        ("suspended", Effect::Block),
        ("completed", Effect::Block),
        ("handed_off", Effect::Allow),
    ] {
        let mut run = SessionRun::new(&[]);
        run.backing.slices.insert(task_key("t-1"), json!({"status": status}));
        assert_eq!(run.feed(&of(EventKind::BeforeHandoff)).effect, effect, "{status}");
        assert_eq!(run.feed(&of(EventKind::BeforeStop)).effect, Effect::Allow, "{status}");
    }
}

#[test]
fn decision_has_the_mode() {
    let mut run = SessionRun::new(&[]);
    for (used, mode) in [
        (49, None),
        (50, Some(Autonomy::Strict)),
        (80, Some(Autonomy::Strict)),
        (81, Some(Autonomy::Lockdown)),
        (100, Some(Autonomy::Halt)),
    ] {
        assert_eq!(run.feed(&with_budget(used)).autonomy, mode, "{used}");
    }
    let task = Some(Task { risk: Some(Risk::High), ..Task::default() });
    assert_eq!(run.feed(&Event { task, ..write("a.rs") }).risk, Some(Risk::High));
}

#[test]
fn in_lockdown_a_warning_stops_unless_it_is_the_budget_s_own() {
    let warns = says("w", Effect::Warn);
    let budget = Plan { category: midrail_core::Category::Budget, ..warns.clone() };
    let shadow = Plan { mode: Mode::Shadow, ..warns.clone() };
    for (plan, effect) in [(&warns, Effect::Block), (&budget, Effect::Warn), (&shadow, Effect::Allow)] {
        let decision = SessionRun::new(std::slice::from_ref(plan)).feed(&with_budget(81));
        assert_eq!(decision.effect, effect);
    }
    let stop = Event { kind: EventKind::BeforeStop, tool: None, ..with_budget(81) };
    assert_eq!(SessionRun::new(&[warns]).feed(&stop).effect, Effect::Warn, "an agent can always end");
}

#[test]
fn usage_of_calls_is_summed_for_their_task() {
    let mut run = SessionRun::new(&[]);
    let used = |tokens: u64, task: &str| Event {
        task: Some(Task { id: Some(task.to_owned()), token_budget: Some(100), ..Task::default() }),
        usage: serde_json::from_value(json!({"call": {"tokens": tokens}})).unwrap(),
        ..Event::new(EventKind::AfterModel)
    };
    run.feed(&used(30, "t-1"));
    run.feed(&used(30, "t-1"));
    run.feed(&used(5, "t-2"));
    let asks = |task: &str| Event { usage: None, kind: EventKind::BeforeTool, ..used(0, task) };
    assert_eq!(run.feed(&asks("t-1")).autonomy, Some(Autonomy::Strict));
    assert_eq!(run.feed(&asks("t-2")).autonomy, None);
}
