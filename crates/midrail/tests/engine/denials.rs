//! Denials: a repeated request does not undo one, a denial revokes an approval, and no person approves their own request.

use std::thread;

use midrail::store::{ApprovalState, Urgency};
use midrail::{Agent, Decision, Effect, ErrorInfo, Event, EventKind};
use serde_json::{Value, json};

use crate::approvals::{EMERGENCY, World, call, person, refusal};

fn importer() -> Value {
    json!({"target": "importer"})
}

fn records(world: &World) -> u64 {
    world.approver.store().head().unwrap().unwrap().seq
}

#[test]
fn denied_action_never_grants_itself() {
    let world = World::new(EMERGENCY);
    let stopped = world.deploy(importer());
    let asked = world.ask(&stopped, Urgency::Normal);
    world
        .approver
        .approvals()
        .answer(&asked.id, false, &person("ann", "reviewer"), Some("not today"))
        .unwrap();
    let denied = world.deploy(importer());
    let advice = world.agent.approvals().guidance(&denied).unwrap();
    assert!(advice.contains("A person denied") && !advice.contains("emergency"), "{advice}");

    let again = world.ask(&denied, Urgency::Emergency);
    assert_eq!((again.override_at, again.denied_before.as_deref()), (None, Some(&*asked.id)));
    world.minutes(2.0);
    assert_eq!(world.status(&again.id).1, "pending");
    assert_eq!(world.deploy(importer()).effect, Effect::Block);
    world.approve(&again.id, "reviewer").unwrap();
    assert_eq!(world.deploy(importer()).effect, Effect::Allow, "a person may change their mind");

    // Nor where another request ran out in between, or one that waits becomes an emergency.
    let normal = world.ask(&world.deploy(importer()), Urgency::Normal);
    world.minutes(16.0);
    assert!(world.deploy(importer()).reason.contains("timed out"));
    assert_eq!(world.status(&normal.id).1, "timed out");
    let waiting = world.ask(&world.deploy(importer()), Urgency::Normal);
    let raised = world.ask(&world.deploy(importer()), Urgency::Emergency);
    assert_eq!((&raised.id, raised.override_at), (&waiting.id, None));
    world.minutes(2.0);
    assert_eq!(world.deploy(importer()).effect, Effect::Block);
    // Another action is another matter.
    let other = json!({"target": "importer", "force": true});
    assert!(world.ask(&world.deploy(other), Urgency::Emergency).override_at.is_some());
}

#[test]
fn a_block_that_is_lifted_in_emergencies_only_advises_none_once_it_is_denied() {
    const BUILT_IN: &str = "  - {id: stop, tools: kill, effect: block}\n";
    let world = World::new(&format!("{BUILT_IN}{EMERGENCY}"));
    let kill = || world.agent.decide(call("kill", importer()));
    let stopped = kill();
    assert!(world.agent.approvals().guidance(&stopped).unwrap().contains("--urgency emergency"));
    let asked = world.ask(&stopped, Urgency::Emergency);
    world.approver.approvals().answer(&asked.id, false, &person("ann", "human_operator"), None).unwrap();
    let advice = world.agent.approvals().guidance(&kill()).unwrap();
    assert!(advice.contains("denied") && !advice.contains("--urgency"), "{advice}");
}

#[test]
fn a_pending_bypass_becomes_urgent_and_an_emergency() {
    let world = World::new(EMERGENCY);
    let stopped = world.deploy(importer());
    let asked = world.ask(&stopped, Urgency::Normal);
    world.minutes(5.0);
    let urgent = world.ask(&stopped, Urgency::Urgent);
    assert_eq!((&urgent.id, urgent.urgency), (&asked.id, Urgency::Urgent));
    world.minutes(15.0);
    assert_eq!(world.approver.approvals().settle(&asked.id).unwrap().recorded_authority(), "architect");
    let emergency = world.ask(&stopped, Urgency::Emergency);
    assert!(emergency.override_at.is_some() && emergency.severity.is_some());
    let before = records(&world);
    assert_eq!(world.ask(&stopped, Urgency::Normal), emergency, "it does not become less urgent");
    assert_eq!(records(&world), before);
    world.minutes(1.0);
    assert_eq!(world.deploy(importer()).effects, ["emergency_override"]);
}

#[test]
fn repeated_escalation_is_recorded_once() {
    let world = World::new("");
    let held = world.refund(1);
    let said = world.ask(&held, Urgency::Normal);
    let before = records(&world);
    assert_eq!(world.ask(&held, Urgency::Normal), said);
    assert_eq!(records(&world), before);
    world.ask(&held, Urgency::Urgent);
    assert_eq!(records(&world), before + 1);
}

#[test]
fn unused_approval_is_revoked() {
    let world = World::new("");
    let asked = world.ask(&world.deploy(json!({})), Urgency::Normal);
    world.approve(&asked.id, "reviewer").unwrap();
    let deny = |name: &str, role: &str| {
        world.approver.approvals().answer(&asked.id, false, &person(name, role), Some("the disk is full"))
    };
    refusal(deny("ivy", "intern"), "is for the role `reviewer`");
    refusal(deny("Coder", "reviewer"), "cannot answer it");
    let back = deny("bob", "architect").unwrap();
    assert_eq!((back.state, back.decided_by.as_deref()), (ApprovalState::Denied, Some("bob")));
    let was = back.taken_back.unwrap();
    assert_eq!(
        (was.by.as_deref(), was.role.as_deref(), was.note.as_deref()),
        (Some("ann"), Some("reviewer"), Some("fine"))
    );
    let next = world.deploy(json!({}));
    assert_eq!(next.effect, Effect::Block);
    assert!(next.reason.contains(&format!("bypass taken back by bob ({})", asked.id)), "{}", next.reason);
    refusal(deny("bob", "architect"), "is denied");
    refusal(world.approve(&asked.id, "reviewer"), "is denied");
    let report = world.bodies(EventKind::ApprovalDecided);
    assert_eq!(report[1]["event"]["what"], json!("approval_taken_back"));
    // What was used is done.
    let id = world.refund(1).approval.unwrap().id;
    world.approve(&id, "reviewer").unwrap();
    assert_eq!(world.refund(1).effect, Effect::Allow);
    refusal(world.approver.approvals().answer(&id, false, &person("ann", "reviewer"), None), "is used");
    assert!(world.approver.store().verify(&Default::default(), &mut |_, _| {}).unwrap().is_intact());
}

#[test]
fn using_and_revoking_an_approval_exclude_each_other() {
    for order in 0..6 {
        let world = World::new("");
        let id = world.refund(order).approval.unwrap().id;
        world.approve(&id, "reviewer").unwrap();
        let (used, back) = thread::scope(|scope| {
            let used = scope.spawn(|| world.refund(order).effect == Effect::Allow);
            let back = scope.spawn(|| {
                world.approver.approvals().answer(&id, false, &person("bob", "reviewer"), None).is_ok()
            });
            (used.join().unwrap(), back.join().unwrap())
        });
        assert_ne!(used, back);
        assert_eq!(world.status(&id).0, if used { ApprovalState::Used } else { ApprovalState::Denied });
    }
}

#[test]
fn revoking_an_approver_revokes_their_approvals() {
    let world = World::new("");
    let add = |name: &str, role: &str, by| {
        world.approver.admin().add_approver(name, &[role.to_owned()], by).unwrap()
    };
    let boss = world.approver.admin().authenticate("boss", &add("boss", "human_operator", None)).unwrap();
    let ann = world.approver.admin().authenticate("ann", &add("ann", "reviewer", Some(&boss))).unwrap();
    let ids: Vec<String> = (0..4).map(|order| world.refund(order).approval.unwrap().id).collect();
    for (id, by) in ids.iter().zip([&ann, &ann, &ann, &boss]) {
        world.approver.approvals().answer(id, true, by, None).unwrap();
    }
    assert_eq!(world.refund(0).effect, Effect::Allow);
    refusal(world.approver.admin().revoke_approver("boss", Some(&ann)), "may change this");
    assert_eq!(world.approver.admin().revoke_approver("ann", Some(&boss)).unwrap(), 2);
    let states = ids.iter().map(|id| world.status(id).1).collect::<Vec<_>>();
    assert_eq!(states, ["used", "denied", "denied", "approved"]);
    let next = world.refund(1);
    assert!(next.reason.contains("approval taken back by boss"), "{}", next.reason);
    assert_eq!(world.refund(3).effect, Effect::Allow);
    refusal(world.approver.admin().revoke_approver("ann", Some(&boss)), "there is no approver `ann`");
}

fn of_agent(id: &str, parent: Option<&str>) -> Event {
    let mut event = call("refund", json!({"by": id}));
    event.agent = Some(Agent { id: Some(id.to_owned()), ..Agent::default() });
    event.parent = parent.map(str::to_owned);
    event
}

#[test]
fn requesters_cannot_answer_their_own_requests() {
    let world = World::new("");
    let approve = |decision: Decision, name: &str| {
        world.approver.approvals().answer(
            &decision.approval.unwrap().id,
            true,
            &person(name, "reviewer"),
            None,
        )
    };
    refusal(approve(world.agent.decide(of_agent("Ann", None)), "ann"), "cannot answer it");
    let helper = || world.agent.decide(of_agent("helper", Some("ANN")));
    refusal(approve(helper(), "ann"), "a sub-agent of `ann` requested");
    approve(helper(), "bob").unwrap();
}

#[test]
fn approver_of_two_guardrails_receives_both_requests() {
    let world = World::new("  - {id: ask-too, tools: refund, effect: escalate, approver: architect}\n");
    let held = world.refund(1);
    let advice = world.agent.approvals().guidance(&held).unwrap();
    assert_eq!(held.requests.len(), 2);
    for request in &held.requests {
        let report = format!("midrail approvals approve {} --as NAME", request.id);
        assert!(advice.contains(&report), "{advice}");
    }
    assert!(advice.contains("`architect`") && advice.contains("`reviewer`"), "{advice}");
}

#[test]
fn escalated_error_allows_no_call() {
    let world = World::new("  - {id: errors, on: on_error, effect: escalate, approver: reviewer}\n");
    let mut event = call("refund", json!({}));
    event.kind = EventKind::OnError;
    event.error = Some(ErrorInfo { message: Some("disk full".to_owned()), ..ErrorInfo::default() });
    let held = world.agent.decide(event);
    assert_eq!(held.effect, Effect::Escalate);
    let advice = world.agent.approvals().guidance(&held).unwrap();
    assert!(advice.contains("has to look at this error") && !advice.contains("passes once"), "{advice}");
}

#[test]
fn every_request_says_how_urgent_it_is() {
    let world = World::new("");
    let id = world.refund(1).approval.unwrap().id;
    let row = serde_json::to_value(world.approver.approvals().get(&id).unwrap()).unwrap();
    assert_eq!(row["urgency"], json!("normal"));
}

#[test]
fn emergencies_are_shown_with_their_current_state() {
    const BY_SESSION: &str = "
approvals:
  emergency: {only_for: session.outage == true}
";
    let world = World::new(BY_SESSION);
    let ask = |order: u64| world.ask(&world.deploy(json!({"order": order})), Urgency::Emergency);
    assert_eq!(ask(1).override_at, None, "what is not known does not fit");
    world.agent.session("s").set("outage", json!(true)).unwrap();
    assert!(ask(2).override_at.is_some());
}
