//! Examples of what verdicts lead to beyond the decision: strikes, flags, alerts, and answers that came late.

use std::sync::Arc;

use midrail_core::{
    Context, Effect, Entry, EventKind, Fault, Guardrail, LATE, Mode, Policy, Spec, StrikeRule, Verdict,
};
use serde_json::{Value, json};

use crate::plan::{Does, Plan, plan, policy};
use crate::world::{Backing, Run, write};

fn strikes(id: &str, effect: Effect) -> Plan {
    let verdict = Verdict { effects: vec!["increment_strike".into()], ..Verdict::new(effect, "a try") };
    plan(id, Does::Says(verdict))
}

fn rule(count: u64, effect: Effect) -> StrikeRule {
    StrikeRule { count, of: None, effect, user_message: Some("This run ends here.".into()) }
}

fn under(plans: &[Plan], rules: Vec<StrikeRule>) -> Run {
    Run { policy: policy(plans).striking(rules), backing: Backing::new() }
}

#[test]
fn strikes_are_counted_by_guardrail_and_lead_to_what_the_policy_says() {
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
    let only = StrikeRule { of: Some("b".into()), ..rule(2, Effect::Block) };
    let mut run = under(&[strikes("a", Effect::Allow), strikes("b", Effect::Allow)], vec![only]);
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Allow);
    let decision = run.feed(&write("a.rs"));
    assert_eq!(decision.reason, "this is strike 2 of `b` in this session, and 2 are the limit");
}

#[test]
fn shadow_mode_strikes_nobody() {
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

/// Objects to every late answer that says so.
struct Late;

impl Guardrail for Late {
    fn check(&self, _: &Context<'_>) -> Result<Verdict, Fault> {
        Ok(Verdict::allow())
    }

    fn may_be_late(&self) -> bool {
        true
    }

    fn late(&self, _: &Context<'_>, answer: &Value) -> Result<Verdict, Fault> {
        Ok(if answer == &json!("bad") { Verdict::new(Effect::Halt, "bad") } else { Verdict::allow() })
    }
}

fn late(slice: Option<Value>) -> Run {
    let spec = Spec { on: vec![EventKind::BeforeTool], ..Spec::new("deep") };
    let policy = Policy::new(vec![Entry { spec, guardrail: Arc::new(Late) }], Vec::new(), b"test");
    let mut backing = Backing::new();
    backing.slices.extend(slice.map(|slice| (LATE.to_owned(), slice)));
    Run { policy, backing }
}

#[test]
fn an_answer_that_came_late_counts_for_the_next_event_whatever_its_kind_and_then_no_more() {
    let mut run =
        late(Some(json!([{"guardrail": "deep", "answer": "good"}, {"guardrail": "gone", "answer": "bad"}])));
    let decision = run.feed(&write("a.rs"));
    assert_eq!(decision.effect, Effect::Allow);
    assert_eq!(run.backing.slices.get(LATE), None);

    let mut run = late(Some(json!([{"guardrail": "deep", "answer": "bad"}])));
    let mut event = midrail_core::Event::new(EventKind::BeforeModel);
    event.text = Some("hi".into());
    let decision = run.feed(&event);
    assert_eq!((decision.effect, decision.by.as_deref()), (Effect::Halt, Some("deep")));
    assert_eq!(decision.reason, "bad (found about an earlier event of this run)");
    assert_eq!(run.backing.slices.get(LATE), None);
}

#[test]
fn a_question_that_failed_late_takes_the_fail_mode() {
    let mut run = late(Some(json!([{"guardrail": "deep", "error": "it answered 500"}])));
    let decision = run.feed(&write("a.rs"));
    assert_eq!(
        (decision.effect, decision.reason.as_str()),
        (Effect::Block, "`deep` failed: it answered 500")
    );
}
