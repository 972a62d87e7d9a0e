//! Examples of what verdicts lead to beyond the decision: strikes, flags, alerts, and answers that came late.

use std::sync::Arc;

use midrail_core::{
    Context, Effect, EventKind, Fault, Guardrail, LATE_ANSWERS, Mode, Policy, PolicyEntry, Spec, StrikeRule,
    Verdict,
};
use serde_json::{Value, json};

use crate::plan::{Does, Plan, plan, policy};
use crate::world::{Backing, SessionRun, minute, write};

fn strikes(id: &str, effect: Effect) -> Plan {
    let verdict = Verdict { effects: vec!["increment_strike".into()], ..Verdict::new(effect, "a try") };
    plan(id, Does::Says(verdict))
}

fn rule(count: u64, effect: Effect) -> StrikeRule {
    StrikeRule {
        count,
        guardrail: None,
        effect,
        user_message: Some("This run ends here.".into()),
        approver: "reviewer".into(),
        approval_timeout_s: 1_800,
    }
}

fn under(plans: &[Plan], rules: Vec<StrikeRule>) -> SessionRun {
    SessionRun { policy: policy(plans).with_strike_rules(rules), backing: Backing::new() }
}

#[test]
fn strikes_are_counted_by_guardrail_and_apply_their_rule() {
    let plans = [strikes("a", Effect::Block), strikes("b", Effect::Warn)];
    let mut run = under(&plans, vec![rule(3, Effect::Escalate), rule(6, Effect::Halt)]);
    assert_eq!(run.feed(&write("a.rs")).by.as_deref(), Some("a"));
    assert_eq!(run.backing.slices["strikes"], json!({"a": 1, "b": 1}));
    let decision = run.feed(&write("a.rs"));
    // A block is above what four strikes lead to.
    assert_eq!((decision.effect, decision.by.as_deref()), (Effect::Block, Some("a")));
    let decision = run.feed(&write("a.rs"));
    assert_eq!((decision.effect, decision.by.as_deref()), (Effect::Halt, Some("strikes")));
    assert_eq!(decision.reason, "this is strike 6 in this session, and 6 are the limit");
    assert_eq!(decision.user_message.as_deref(), Some("This run ends here."));
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Halt);
}

#[test]
fn strikes_of_one_guardrail_can_count_alone() {
    let only = StrikeRule { guardrail: Some("b".into()), ..rule(2, Effect::Block) };
    let mut run = under(&[strikes("a", Effect::Allow), strikes("b", Effect::Allow)], vec![only]);
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Allow);
    let decision = run.feed(&write("a.rs"));
    assert_eq!(decision.reason, "this is strike 2 of `b` in this session, and 2 are the limit");
}

#[test]
fn strike_escalation_is_approved_once_for_the_exact_action() {
    let ask = StrikeRule { approver: "security".into(), approval_timeout_s: 60, ..rule(2, Effect::Escalate) };
    let mut run = under(&[strikes("a", Effect::Warn)], vec![ask]);
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Warn);
    let decision = run.feed(&write("a.rs"));
    assert_eq!((decision.effect, decision.by.as_deref()), (Effect::Escalate, Some("strikes")));
    let request = decision.approval.unwrap();
    assert_eq!((request.approver.as_str(), request.expires), ("security", Some(minute(1))));
    assert_eq!(run.feed(&write("b.rs")).effect, Effect::Escalate, "another action, another question");
    run.backing.answer("approved");
    assert!(run.feed(&write("a.rs")).effect.allows());
    assert_eq!(run.backing.slices["strikes"], json!({"a": 3}), "an answer undoes no strike, and adds none");
    // An answer is used up, and the next strike asks anew. Without an answer it is a block.
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Escalate);
    run.backing.answer("denied");
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Block);
    assert_eq!(run.feed(&write("c.rs")).effect, Effect::Escalate);
    let later = midrail_core::Event { time: Some(minute(2)), ..write("c.rs") };
    let decision = run.feed(&later);
    assert_eq!(decision.effect, Effect::Block);
    assert!(decision.reason.contains("timed out with no answer"), "{}", decision.reason);
}

#[test]
fn action_that_waits_or_was_approved_counts_once() {
    // The guardrail itself asks a person.
    let mut run = under(&[strikes("a", Effect::Escalate)], vec![rule(2, Effect::Halt)]);
    for _ in 0..3 {
        assert_eq!(run.feed(&write("a.rs")).effect, Effect::Escalate, "waiting is no offence");
    }
    run.backing.answer("approved");
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Allow);
    assert_eq!(run.backing.slices["strikes"], json!({"a": 1}));
    assert_eq!(run.feed(&write("b.rs")).effect, Effect::Halt, "another action is another strike");

    // Another guardrail does, and the strike is of one that warns.
    let plans = [strikes("a", Effect::Warn), plan("b", Does::Says(Verdict::new(Effect::Escalate, "ask")))];
    let mut run = under(&plans, vec![rule(2, Effect::Halt)]);
    for _ in 0..3 {
        assert_eq!(run.feed(&write("a.rs")).effect, Effect::Escalate);
    }
    run.backing.answer("approved");
    assert!(run.feed(&write("a.rs")).effect.allows());
    assert_eq!(run.backing.slices["strikes"], json!({"a": 1}));

    // The strikes themselves do, and the request remains although nothing is counted.
    let mut run =
        under(&[strikes("a", Effect::Warn)], vec![rule(1, Effect::Escalate), rule(2, Effect::Halt)]);
    for _ in 0..3 {
        let decision = run.feed(&write("a.rs"));
        assert_eq!((decision.effect, decision.by.as_deref()), (Effect::Escalate, Some("strikes")));
    }
    run.backing.answer("approved");
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Warn);
    assert_eq!(run.backing.slices["strikes"], json!({"a": 1}));
}

#[test]
fn denied_and_blocked_actions_count_again() {
    let mut run = under(&[strikes("a", Effect::Escalate)], vec![rule(2, Effect::Halt)]);
    run.feed(&write("a.rs"));
    run.backing.answer("denied");
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Halt);
    // A question to one guardrail does not shield what another blocks.
    let plans = [strikes("a", Effect::Block), plan("b", Does::Says(Verdict::new(Effect::Escalate, "ask")))];
    let mut run = under(&plans, vec![rule(3, Effect::Halt)]);
    run.feed(&write("a.rs"));
    run.feed(&write("a.rs"));
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Halt);
}

#[test]
fn halted_run_counts_no_strikes_and_a_new_run_has_none() {
    let mut run = under(&[strikes("a", Effect::Warn)], vec![rule(2, Effect::Halt)]);
    run.feed(&write("a.rs"));
    for _ in 0..3 {
        assert_eq!(run.feed(&write("b.rs")).effect, Effect::Halt);
    }
    assert_eq!(run.backing.slices["strikes"], json!({"a": 2}));
    let start = |source: &str| midrail_core::Event {
        source: Some(source.to_owned()),
        ..event(EventKind::SessionStart)
    };
    assert_eq!(run.feed(&start("resume")).effect, Effect::Halt);
    // The start itself can be a strike, and is the first.
    assert_eq!(run.feed(&start("startup")).effect, Effect::Warn);
    assert_eq!(run.backing.slices["strikes"], json!({"a": 1}));

    let calls = Plan { on: vec![EventKind::BeforeTool], ..strikes("a", Effect::Warn) };
    let mut run = under(&[calls], vec![rule(2, Effect::Halt)]);
    run.feed(&write("a.rs"));
    run.feed(&start("clear"));
    assert_eq!(run.backing.slices.get("strikes"), None);
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Warn);
}

#[test]
fn request_of_an_earlier_run_does_not_hide_strikes_of_the_next() {
    let calls = Plan { on: vec![EventKind::BeforeTool], ..strikes("a", Effect::Warn) };
    let mut run = under(&[calls], vec![rule(2, Effect::Escalate)]);
    run.feed(&write("a.rs"));
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Escalate);
    let start = midrail_core::Event { source: Some("startup".to_owned()), ..event(EventKind::SessionStart) };
    run.feed(&start);
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Warn);
    assert_eq!(run.backing.slices["strikes"], json!({"a": 1}));
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Escalate);
}

#[test]
fn first_of_equal_strike_rules_names_the_approver() {
    let by = |approver: &str| StrikeRule { approver: approver.into(), ..rule(1, Effect::Escalate) };
    let mut run = under(&[strikes("a", Effect::Warn)], vec![by("security"), by("intern")]);
    assert_eq!(run.feed(&write("a.rs")).approval.unwrap().approver, "security");
}

#[test]
fn shadow_mode_counts_no_strikes() {
    let shadow = Plan { mode: Mode::Shadow, ..strikes("a", Effect::Block) };
    let mut run = under(&[shadow], vec![rule(1, Effect::Halt)]);
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Allow);
    assert_eq!(run.backing.slices.get("strikes"), None);
}

#[test]
fn flags_and_alerts_reach_people() {
    let effects = vec!["flag_trajectory".into(), "emit_alert".into()];
    let verdict = Verdict { effects, ..Verdict::warn("odd") };
    let mut run = under(&[plan("a", Does::Says(verdict))], Vec::new());
    let decision = run.feed(&write("a.rs"));
    assert_eq!(decision.notices[0].message, "`a`: odd");
    assert_eq!(run.backing.slices["flagged"], json!({"by": "a", "reason": "odd"}));
}

/// Objects to every late answer with an objection.
struct Late;

impl Guardrail for Late {
    fn check(&self, _: &Context<'_>) -> Result<Verdict, Fault> {
        Ok(Verdict::allow())
    }

    fn has_late_answers(&self) -> bool {
        true
    }

    fn check_late_answer(&self, _: &Context<'_>, answer: &Value) -> Result<Verdict, Fault> {
        Ok(match answer.as_str() {
            Some("bad") => Verdict::new(Effect::Halt, "bad"),
            Some("odd") => {
                let effects = vec!["increment_strike".to_owned()];
                Verdict { effects, ..Verdict::new(Effect::Escalate, "odd") }
            }
            _ => Verdict::allow(),
        })
    }
}

fn late(slice: Option<Value>) -> SessionRun {
    let spec = Spec { on: vec![EventKind::BeforeTool], ..Spec::new("deep") };
    let policy = Policy::new(vec![PolicyEntry::new(spec, Arc::new(Late))], Vec::new(), b"test");
    let mut backing = Backing::new();
    backing.slices.extend(slice.map(|slice| (LATE_ANSWERS.to_owned(), slice)));
    SessionRun { policy, backing }
}

#[test]
fn late_answer_counts_once_for_the_next_event() {
    let mut run =
        late(Some(json!([{"guardrail": "deep", "answer": "good"}, {"guardrail": "gone", "answer": "bad"}])));
    let decision = run.feed(&write("a.rs"));
    assert_eq!(decision.effect, Effect::Allow);
    assert_eq!(run.backing.slices.get(LATE_ANSWERS), None);

    let mut run = late(Some(json!([{"guardrail": "deep", "answer": "bad"}])));
    let mut event = midrail_core::Event::new(EventKind::BeforeModel);
    event.text = Some("hi".into());
    let decision = run.feed(&event);
    assert_eq!((decision.effect, decision.by.as_deref()), (Effect::Halt, Some("deep")));
    assert_eq!(decision.reason, "bad (found about an earlier event of this run)");
    assert_eq!(run.backing.slices.get(LATE_ANSWERS), None);
}

#[test]
fn late_failure_applies_on_error() {
    let mut run = late(Some(json!([{"guardrail": "deep", "error": "it answered 500"}])));
    let decision = run.feed(&write("a.rs"));
    assert_eq!(
        (decision.effect, decision.reason.as_str()),
        (Effect::Block, "`deep` failed: it answered 500")
    );
}

fn odd() -> SessionRun {
    late(Some(json!([{"guardrail": "deep", "answer": "odd"}])))
}

fn event(kind: EventKind) -> midrail_core::Event {
    midrail_core::Event { time: Some(minute(0)), ..midrail_core::Event::new(kind) }
}

#[test]
fn late_escalation_holds_the_run_until_it_is_answered() {
    let mut run = odd();
    let first = run.feed(&write("a.rs"));
    assert_eq!((first.effect, first.by.as_deref()), (Effect::Escalate, Some("deep")));
    let request = first.approval.unwrap();
    // Whatever comes next waits for the same answer, and nothing is counted twice.
    for event in [write("a.rs"), write("b.rs"), event(EventKind::BeforeModel), event(EventKind::AfterTool)] {
        let decision = run.feed(&event);
        assert_eq!((decision.effect, decision.approval.as_ref()), (Effect::Escalate, Some(&request)));
        assert_eq!(decision.reason, "odd (found about an earlier event of this run)");
        assert_eq!(run.backing.slices["strikes"], json!({"deep": 1}));
    }
    // A run that waits may end.
    for kind in [EventKind::BeforeStop, EventKind::OnError, EventKind::SessionEnd, EventKind::AfterHandoff] {
        assert_eq!(run.feed(&event(kind)).effect, Effect::Allow, "{kind}");
    }
    run.backing.answer("approved");
    assert_eq!(run.feed(&write("c.rs")).effect, Effect::Allow);
    assert_eq!((run.backing.slices.get("late/held"), run.backing.approvals().len()), (None, 0));
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Allow);
}

#[test]
fn denied_or_unanswered_late_escalation_blocks() {
    let mut run = odd();
    run.feed(&write("a.rs"));
    run.backing.answer("denied");
    for path in ["a.rs", "b.rs", "b.rs"] {
        assert_eq!(run.feed(&write(path)).effect, Effect::Block);
    }
    let mut run = odd();
    run.feed(&write("a.rs"));
    let later = midrail_core::Event { time: Some(minute(30)), ..write("b.rs") };
    assert_eq!(run.feed(&later).effect, Effect::Block);
    assert_eq!(run.feed(&later).effect, Effect::Escalate, "the next try asks anew");
}

#[test]
fn late_escalation_is_kept_if_the_event_is_blocked() {
    let mut run = odd();
    let slices = &mut run.backing.slices;
    slices.insert("shared/quarantine/session:s-1".to_owned(), json!({"reason": "it failed"}));
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Block);
    run.backing.slices.remove("shared/quarantine/session:s-1");
    assert_eq!(run.feed(&write("b.rs")).effect, Effect::Escalate);
}

#[test]
fn host_user_is_asked_once() {
    let host = midrail_core::Host { asks_user: true, ..Default::default() };
    let asks = |path: &str| midrail_core::Event { host: Some(host.clone()), ..write(path) };
    let mut run = odd();
    let decision = run.feed(&asks("a.rs"));
    assert_eq!((decision.effect, decision.approval), (Effect::Escalate, None));
    assert_eq!(run.feed(&asks("b.rs")).effect, Effect::Allow);
}

#[test]
fn hold_ends_with_its_run() {
    let mut run = odd();
    run.feed(&write("a.rs"));
    run.backing.answer("denied");
    assert_eq!(run.feed(&write("b.rs")).effect, Effect::Block);
    let start = |source: &str| midrail_core::Event {
        source: Some(source.to_owned()),
        ..event(EventKind::SessionStart)
    };
    run.feed(&start("resume"));
    assert_eq!(run.feed(&write("b.rs")).effect, Effect::Block);
    // A finding about the earlier run does not apply to the next one.
    run.backing.slices.insert(LATE_ANSWERS.to_owned(), json!([{"guardrail": "deep", "answer": "bad"}]));
    assert_eq!(run.feed(&start("startup")).effect, Effect::Allow);
    assert_eq!((run.backing.slices.get("late/held"), run.backing.slices.get(LATE_ANSWERS)), (None, None));
    assert_eq!(run.feed(&write("b.rs")).effect, Effect::Allow);
}

#[test]
fn equal_late_answers_request_one_approval() {
    let same = json!({"guardrail": "deep", "answer": "odd"});
    let mut run = late(Some(json!([same, same])));
    let decision = run.feed(&write("a.rs"));
    assert_eq!((decision.effect, decision.by.as_deref()), (Effect::Escalate, Some("deep")));
    assert_eq!(decision.requests.len(), 1, "{:?}", decision.requests);
    assert_eq!(decision.approval.as_ref().map(|asked| &asked.id), Some(&decision.requests[0].id));

    // Which event it was does not make it another question, and is kept for whoever answers.
    let about = |tool: &str| json!({"guardrail": "deep", "answer": "odd", "about": {"tool": tool}});
    let mut run = late(Some(json!([about("send"), about("mail")])));
    assert_eq!(run.feed(&write("a.rs")).requests.len(), 1);
    assert_eq!(run.backing.slices["late/held"][0]["about"], json!({"tool": "send"}));
    run.feed(&write("b.rs"));
    assert_eq!(run.backing.slices["late/held"][0]["about"], json!({"tool": "send"}));
}
