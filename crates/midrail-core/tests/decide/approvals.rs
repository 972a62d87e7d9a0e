//! Examples of asking a person: escalations, what answers lead to, and when they are used up.

use midrail_core::{
    Bypass, Effect, ErrorInfo, Event, EventKind, Handoff, Mode, OnFault, StopFinding, Task, ToolResult,
    Verdict, approval_key,
};
use serde_json::json;

use crate::plan::{Does, Plan, plan, says};
use crate::world::{SessionRun, minute, once, write};

fn blocks_unless(key: &str) -> Plan {
    let key = key.to_owned();
    plan("blocks", Does::Reads { key, present: Verdict::allow(), absent: Verdict::block("not now") })
}

#[test]
fn escalation_requests_an_approval_with_id_approver_and_expiry() {
    let mut run = SessionRun::new(&[says("a", Effect::Escalate)]);
    let decision = run.feed(&write("a.rs"));
    assert_eq!((decision.effect, decision.by.as_deref()), (Effect::Escalate, Some("a")));
    let request = decision.approval.unwrap();
    assert_eq!((request.approver.as_str(), request.expires), ("reviewer", Some(minute(30))));
    assert!(!request.id.is_empty());
    let held = run.backing.approvals();
    assert_eq!(held, [&json!({"id": request.id, "state": "pending", "expires": minute(30).to_string()})]);
}

#[test]
fn pending_action_keeps_its_request_id() {
    let mut run = SessionRun::new(&[says("a", Effect::Escalate)]);
    let first = run.feed(&write("a.rs")).approval.unwrap();
    let later = Event { time: Some(minute(7)), ..write("a.rs") };
    assert_eq!(run.feed(&later).approval.unwrap(), first);
}

#[test]
fn approval_is_used_once() {
    let mut run = SessionRun::new(&[says("a", Effect::Escalate)]);
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Escalate);
    run.backing.answer("approved");
    let decision = run.feed(&write("a.rs"));
    assert_eq!(decision.effect, Effect::Allow);
    assert!(decision.verdicts[0].reason.contains("approved by ada"));
    assert!(run.backing.approvals().is_empty());
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Escalate);
}

#[test]
fn approval_is_kept_if_another_guardrail_blocks() {
    let mut run = SessionRun::new(&[says("a", Effect::Escalate), blocks_unless("var/open")]);
    run.backing.slices.insert("var/open".to_owned(), json!(true));
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Escalate);
    run.backing.answer("approved");
    run.backing.slices.remove("var/open");
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Block);
    assert_eq!(run.backing.approvals().len(), 1);
    run.backing.slices.insert("var/open".to_owned(), json!(true));
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Allow);
    assert!(run.backing.approvals().is_empty());
}

#[test]
fn changed_arguments_need_a_new_approval() {
    let mut run = SessionRun::new(&[says("a", Effect::Escalate)]);
    let first = run.feed(&write("a.rs")).approval.unwrap();
    run.backing.answer("approved");
    let other = run.feed(&write("b.rs"));
    assert_eq!(other.effect, Effect::Escalate);
    let second = other.approval.unwrap();
    assert_ne!((&first.id, &first.action), (&second.id, &second.action));
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Allow);
}

#[test]
fn another_tool_task_session_text_or_receiver_needs_a_new_approval() {
    let to = |to: &str| Event {
        handoff: Some(Handoff { to: Some(to.to_owned()), ..Handoff::default() }),
        ..Event::new(EventKind::BeforeHandoff)
    };
    let prompt = |text: &str| Event { text: Some(text.to_owned()), ..Event::new(EventKind::BeforeModel) };
    let task = Task { id: Some("t-2".to_owned()), ..Task::default() };
    let args = json!({"file_path": "a.rs"});
    for (approved, other) in [
        (write("a.rs"), Event::before_tool("Edit", args)),
        (write("a.rs"), Event { task: Some(task), ..write("a.rs") }),
        (to("ada"), to("bob")),
        (prompt("one"), prompt("two")),
    ] {
        let mut run = SessionRun::new(&[says("a", Effect::Escalate)]);
        run.feed(&approved);
        run.backing.answer("approved");
        assert_eq!(run.feed(&other).effect, Effect::Escalate, "{other:?}");
    }
    let mut run = SessionRun::new(&[says("a", Effect::Escalate)]);
    run.feed(&write("a.rs"));
    run.backing.answer("approved");
    run.backing.session = "s-2".to_owned();
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Escalate);
}

#[test]
fn another_result_output_or_error_needs_a_new_approval() {
    let result = |text: &str| Event::after_tool("Read", json!({}), ToolResult::ok(text));
    let stop = |text: &str| Event { output: Some(json!(text)), ..Event::new(EventKind::BeforeStop) };
    let error = |text: &str| Event {
        error: Some(ErrorInfo { message: Some(text.to_owned()), ..ErrorInfo::default() }),
        ..Event::new(EventKind::OnError)
    };
    for (approved, other) in [
        (result("harmless"), result("the customer list")),
        (stop("a plan"), stop("a different plan")),
        (error("time-out"), error("disk full")),
    ] {
        let mut run = SessionRun::new(&[says("a", Effect::Escalate)]);
        run.feed(&approved);
        run.backing.answer("approved");
        assert_eq!(run.feed(&other).effect, Effect::Escalate, "{other:?}");
        assert_eq!(run.feed(&approved).effect, Effect::Allow, "{approved:?}");
    }
}

/// A guardrail that finds one thing while a slice is there, and another while it is not.
fn finds(effect: Effect, present: StopFinding, absent: StopFinding) -> SessionRun {
    let verdict = |found| Verdict::new(effect, "not done").with_stop_finding(found);
    let does = Does::Reads { key: "var/one".to_owned(), present: verdict(present), absent: verdict(absent) };
    SessionRun::new(&[Plan { bypass: Bypass::By("architect".to_owned()), ..plan("a", does) }])
}

fn stop(output: &str) -> Event {
    Event { output: Some(json!(output)), time: Some(minute(0)), ..Event::new(EventKind::BeforeStop) }
}

#[test]
fn approval_to_stop_is_bound_to_the_finding() {
    let mut run = finds(Effect::Escalate, StopFinding::new("lint"), StopFinding::new("tests: a, b"));
    let asked = run.feed(&stop("I am done")).approval.unwrap();
    assert_eq!(run.feed(&stop("I am done, really")).approval.unwrap(), asked);
    run.backing.answer("approved");
    run.backing.slices.insert("var/one".to_owned(), json!(1));
    let other = run.feed(&stop("I am done"));
    assert_eq!(other.effect, Effect::Escalate);
    assert_ne!(other.approval.unwrap().action, asked.action);
    run.backing.slices.remove("var/one");
    let passed = run.feed(&stop("Done, with two tests that fail"));
    assert_eq!(passed.effect, Effect::Allow);
    assert_eq!(passed.verdicts[0].action.as_deref(), Some(&*asked.action));
    assert_eq!(run.feed(&stop("I am done")).effect, Effect::Escalate, "it is used up");
}

#[test]
fn finding_in_the_output_is_approved_with_the_output() {
    let mut run =
        finds(Effect::Escalate, StopFinding::in_output("judgement"), StopFinding::in_output("form"));
    run.feed(&stop("a plan"));
    run.backing.answer("approved");
    assert_eq!(run.feed(&stop("another plan")).effect, Effect::Escalate);
    run.backing.slices.insert("var/one".to_owned(), json!(1));
    assert_eq!(run.feed(&stop("a plan")).effect, Effect::Escalate, "something else was found in it");
    run.backing.slices.remove("var/one");
    assert_eq!(run.feed(&stop("a plan")).effect, Effect::Allow);
}

#[test]
fn another_task_and_a_secret_in_the_output_are_other_stops() {
    let task = Task { id: Some("t-2".to_owned()), ..Task::default() };
    let found = || StopFinding::new("tests");
    let mut run = finds(Effect::Escalate, found(), found());
    run.feed(&stop("done"));
    run.backing.answer("approved");
    assert_eq!(run.feed(&Event { task: Some(task), ..stop("done") }).effect, Effect::Escalate);
    run.backing.action_digest = Some("keyed".to_owned());
    assert_eq!(run.feed(&stop("done")).effect, Effect::Escalate);
    run.backing.action_digest = None;
    assert_eq!(run.feed(&stop("done")).effect, Effect::Allow);
}

#[test]
fn bypass_of_a_stop_is_bound_to_the_finding() {
    let mut run = finds(Effect::Block, StopFinding::new("lint"), StopFinding::new("tests"));
    let blocked = run.feed(&stop("done"));
    assert_eq!(blocked.effect, Effect::Block);
    let action = blocked.verdicts[0].action.clone().unwrap();
    let lifted =
        json!({"id": "b-1", "kind": "bypass", "state": "approved", "by": "ada", "role": "architect"});
    run.backing.slices.insert(approval_key("a", &action), lifted);
    run.backing.slices.insert("var/one".to_owned(), json!(1));
    assert_eq!(run.feed(&stop("done")).effect, Effect::Block);
    run.backing.slices.remove("var/one");
    assert_eq!(run.feed(&stop("done, so to speak")).effect, Effect::Allow);
}

#[test]
fn approval_of_other_events_is_bound_to_the_event() {
    let mut run = finds(Effect::Escalate, StopFinding::new("lint"), StopFinding::new("tests"));
    let asked = run.feed(&write("a.rs"));
    assert_eq!(asked.verdicts[0].action, None);
    run.backing.answer("approved");
    run.backing.slices.insert("var/one".to_owned(), json!(1));
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Allow);
}

#[test]
fn approval_is_bound_to_the_recorded_digest() {
    let mut run = SessionRun::new(&[says("a", Effect::Escalate)]);
    run.backing.action_digest = Some("d-1".to_owned());
    assert_eq!(run.feed(&write("a.rs")).approval.unwrap().action, "d-1");
    assert!(run.backing.slices.contains_key(&approval_key("a", "d-1")));
    run.backing.answer("approved");
    run.backing.action_digest = Some("d-2".to_owned());
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Escalate);
    run.backing.action_digest = Some("d-1".to_owned());
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Allow);
}

#[test]
fn call_id_and_time_are_not_part_of_the_action() {
    let mut run = SessionRun::new(&[says("a", Effect::Escalate)]);
    let mut event = write("a.rs");
    run.feed(&event);
    run.backing.answer("approved");
    event.time = Some(minute(5));
    event.tool.as_mut().unwrap().call_id = Some("c-2".to_owned());
    assert_eq!(run.feed(&event).effect, Effect::Allow);
}

#[test]
fn each_guardrail_asks_for_itself() {
    let mut run = SessionRun::new(&[says("a", Effect::Escalate), says("b", Effect::Escalate)]);
    let decision = run.feed(&write("a.rs"));
    assert_eq!(decision.requests.len(), 2);
    assert_eq!(decision.approval.as_ref(), decision.requests.first());
    let first = run.backing.slices.values_mut().next().unwrap();
    first["state"] = json!("approved");
    let decision = run.feed(&write("a.rs"));
    assert_eq!((decision.effect, decision.by.as_deref()), (Effect::Escalate, Some("b")));
    assert_eq!(run.backing.approvals().len(), 2, "an approval that did not help yet is kept");
    run.backing.answer("approved");
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Allow);
    assert!(run.backing.approvals().is_empty());
}

#[test]
fn denied_approval_blocks() {
    let mut run = SessionRun::new(&[says("a", Effect::Escalate)]);
    run.feed(&write("a.rs"));
    run.backing.answer("denied");
    let decision = run.feed(&write("a.rs"));
    assert_eq!(decision.effect, Effect::Block);
    assert!(decision.reason.starts_with("denied by ada ("), "{}", decision.reason);
    assert!(decision.reason.ends_with("): a says escalate"), "{}", decision.reason);
    assert_eq!(run.feed(&write("b.rs")).effect, Effect::Escalate);
}

#[test]
fn timed_out_approval_blocks_once_and_is_requested_again() {
    let mut run = SessionRun::new(&[says("a", Effect::Escalate)]);
    let at = |minutes| Event { time: Some(minute(minutes)), ..write("a.rs") };
    let first = run.feed(&at(0)).approval.unwrap();
    assert_eq!(run.feed(&at(29)).effect, Effect::Escalate);
    let decision = run.feed(&at(30));
    assert_eq!((decision.effect, decision.approval), (Effect::Block, None));
    assert!(decision.reason.contains("timed out with no answer"), "{}", decision.reason);
    let anew = run.feed(&at(31)).approval.unwrap();
    assert_ne!(anew.id, first.id);
    assert_eq!(anew.expires, Some(minute(61)));
}

#[test]
fn expired_approval_blocks() {
    let mut run = SessionRun::new(&[says("a", Effect::Escalate)]);
    run.feed(&write("a.rs"));
    run.backing.answer("approved");
    let late = Event { time: Some(minute(30)), ..write("a.rs") };
    let decision = run.feed(&late);
    assert_eq!(decision.effect, Effect::Block);
    assert!(
        decision.reason.ends_with(" timed out before it was used: a says escalate"),
        "{}",
        decision.reason
    );
    assert_eq!(run.feed(&late).effect, Effect::Escalate);
}

#[test]
fn blocked_event_requests_no_approval() {
    let mut run = SessionRun::new(&[says("a", Effect::Escalate), says("b", Effect::Block)]);
    let decision = run.feed(&write("a.rs"));
    assert_eq!((decision.effect, decision.approval), (Effect::Block, None));
    assert!(decision.requests.is_empty() && run.backing.approvals().is_empty());
}

#[test]
fn shadow_mode_requests_no_approval() {
    let decision = once(&[Plan { mode: Mode::Shadow, ..says("a", Effect::Escalate) }], &write("a.rs"));
    assert_eq!((decision.effect, decision.would), (Effect::Allow, Some(Effect::Escalate)));
    assert!(decision.requests.is_empty() && decision.changes.is_empty());
}

fn handed_off() -> Event {
    Event { time: Some(minute(0)), ..Event::new(EventKind::AfterHandoff) }
}

#[test]
fn an_escalation_after_a_hand_off_is_queued() {
    let mut run = SessionRun::new(&[says("a", Effect::Escalate), says("b", Effect::Escalate)]);
    let decision = run.feed(&handed_off());
    assert_eq!((decision.effect, decision.by.as_deref()), (Effect::Warn, Some("a")));
    let asking: Vec<&str> = decision.requests.iter().map(|request| &*request.guardrail).collect();
    assert_eq!(asking, ["a", "b"]);
    assert!(run.backing.approvals().iter().all(|held| held["state"] == json!("pending")));
    assert_eq!(run.backing.approvals().len(), 2);
    assert_eq!(run.feed(&handed_off()).requests, decision.requests, "it keeps its name until it is decided");

    run.backing.answer("approved");
    let decision = run.feed(&handed_off());
    assert!(decision.effect == Effect::Allow && decision.requests.is_empty());
    assert!(run.backing.approvals().is_empty());
}

#[test]
fn denial_after_a_handoff_is_a_warning() {
    let mut run = SessionRun::new(&[says("a", Effect::Escalate)]);
    run.feed(&handed_off());
    run.backing.answer("denied");
    let decision = run.feed(&handed_off());
    assert_eq!(decision.effect, Effect::Warn);
    assert!(decision.reason.starts_with("denied by ada"), "{}", decision.reason);
}

#[test]
fn handoff_in_a_halted_run_requests_no_approval() {
    for has_consequences in [false, true] {
        let mut run = SessionRun::new(&[Plan { has_consequences, ..says("a", Effect::Escalate) }]);
        run.backing.slices.insert("halted".to_owned(), json!({"by": "b", "reason": "enough"}));
        let decision = run.feed(&handed_off());
        assert_eq!(decision.effect, Effect::Halt);
        assert!(decision.requests.is_empty() && run.backing.approvals().is_empty(), "{has_consequences}");
    }
}

#[test]
fn escalation_with_a_missing_approval_still_requests_one() {
    for on_missing in [OnFault::Allow, OnFault::Escalate] {
        let mut run = SessionRun::new(&[Plan { on_missing, ..says("a", Effect::Escalate) }]);
        let (action, id) = run.backing.names("a", &write("a.rs"), None);
        run.backing.unreadable.insert(approval_key("a", &action));
        let decision = run.feed(&write("a.rs"));
        assert_eq!((decision.effect, decision.reason.as_str()), (Effect::Escalate, "a says escalate"));
        assert_eq!(decision.approval.unwrap().id, id);
        assert_eq!(run.backing.approvals()[0]["state"], json!("pending"));
    }
}
