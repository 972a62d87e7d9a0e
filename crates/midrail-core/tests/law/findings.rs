//! What the law does not do yet. Each test here says what the design asks for, and fails until the code does it;
//! then it moves to the examples that it belongs to.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use midrail_core::{
    Context, Effect, Entry, Event, EventKind, Facts, Fault, Guardrail, HALTED, Policy, Record, Redaction,
    Session, Spec, ToolResult, Verdict, decide,
};
use serde_json::{Value, json};

use crate::plan::{Does, Plan, plan, policy, says};
use crate::world::{Run, minute, once, write};

fn record(policy: &Policy, session: Session, event: Event) -> Record {
    let facts = Facts::default();
    let decision = decide(policy, &session, &facts, &event);
    Record {
        time: minute(0),
        session: session.id,
        event,
        slices: session.slices,
        facts,
        decision,
        denied: None,
    }
}

fn read_back(record: &Record) -> Record {
    serde_json::from_str(&serde_json::to_string(record).unwrap()).unwrap()
}

/// `Policy::chain` keeps the chain of "no tool" and of the tool named "" under one key, so whichever event comes
/// first decides who is asked about the other. After one call of a tool named "", an event that names no tool is put
/// to nobody who governs particular tools.
#[test]
fn a_tool_without_a_name_is_not_the_absence_of_a_tool() {
    let plans = [Plan { governs: Some(vec!["Write".to_owned()]), ..says("a", Effect::Block) }];
    let unknown = Event::new(EventKind::BeforeTool);
    assert_eq!(once(&plans, &unknown).effect, Effect::Block);
    let mut run = Run::new(&plans);
    run.feed(&Event::before_tool("", json!({})));
    assert_eq!(run.feed(&unknown).effect, Effect::Block);
}

/// `Tally::after_tries` looks for tries to give back only where the guardrail's strongest effect is exactly `retry`.
/// One that can also block (a script, by default everything) never gets them back.
#[test]
fn a_success_gives_the_tries_back_whatever_else_a_guardrail_can_say() {
    let key = "var/done".to_owned();
    let (present, absent) = (Verdict::allow(), Verdict::new(Effect::Retry, "not yet"));
    let mut run = Run::new(&[Plan {
        ceiling: Effect::Block,
        ..plan("a", Does::Reads { key: key.clone(), present, absent })
    }]);
    assert_eq!(run.feed(&write("a.rs")).retry.unwrap().attempt, 1);
    run.backing.slices.insert(key.clone(), json!(true));
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Allow);
    run.backing.slices.remove(&key);
    assert_eq!(run.feed(&write("a.rs")).retry.unwrap().attempt, 1);
}

/// `+ 1` on a stored count is outside of what is guarded: it panics with overflow checks, and starts from 0 without.
#[test]
fn a_count_at_its_end_does_not_end_the_law() {
    for (effect, key) in [(Effect::Warn, "warn/a/"), (Effect::Retry, "retry/a/Write")] {
        let mut session = Session::new("s-1");
        session.load(HALTED, None);
        session.load(key, Some(json!(u64::MAX)));
        let policy = policy(&[says("a", effect)]);
        let decided = catch_unwind(AssertUnwindSafe(|| {
            decide(&policy, &session, &Facts::default(), &write("a.rs")).effect
        }));
        assert_eq!(decided.ok(), Some(Effect::Escalate), "{effect}");
    }
}

/// `action_digest` holds tool, text and hand-off, and not what a result, an output or an error is about: an approval
/// of one lets another pass.
#[test]
fn another_result_output_or_error_needs_a_new_approval() {
    let result = |text: &str| Event::after_tool("Read", json!({}), ToolResult::ok(text));
    let stop = |text: &str| Event { output: Some(json!(text)), ..Event::new(EventKind::BeforeStop) };
    let error = |text: &str| -> Event {
        serde_json::from_value(json!({"kind": "on_error", "error": {"message": text}})).unwrap()
    };
    let mut passed = Vec::new();
    for (approved, other) in [
        (result("harmless"), result("the customer list")),
        (stop("a plan"), stop("a different plan")),
        (error("time-out"), error("disk full")),
    ] {
        let mut run = Run::new(&[says("a", Effect::Escalate)]);
        run.feed(&approved);
        run.backing.answer("approved");
        if run.feed(&other).effect != Effect::Escalate {
            passed.push(other.kind);
        }
    }
    assert_eq!(passed, []);
}

/// Section 6: "after_handoff never blocks: its strongest effect is warn, escalations are queued." They are dropped:
/// `conclude` clears `requests` and does not keep the pending approval.
#[test]
fn an_escalation_after_a_hand_off_is_queued() {
    let mut run = Run::new(&[says("a", Effect::Escalate)]);
    let decision = run.feed(&Event { time: Some(minute(0)), ..Event::new(EventKind::AfterHandoff) });
    assert_eq!(decision.effect, Effect::Warn);
    assert_eq!(decision.requests.len(), 1);
    assert_eq!(run.backing.approvals().len(), 1);
}

/// serde_json, without its feature `float_roundtrip`, reads some floats as their neighbour. A record with such a float
/// among the arguments replays as another action, and its approval is not found. Large whole numbers are read as
/// floats, so that a host's long id is enough.
#[test]
fn a_record_with_a_float_replays_to_the_same_decision() {
    let from_the_wire = serde_json::from_str("15972665364527374987982").unwrap();
    for amount in [from_the_wire, json!(985.6906946328695)] {
        let event = Event::before_tool("Pay", json!({"amount": amount}));
        let mut run = Run::new(&[says("a", Effect::Escalate)]);
        run.feed(&event);
        run.backing.answer("approved");
        let session = run.backing.settle(&run.policy, &event).session;
        let record = record(&run.policy, session, event);
        assert_eq!(record.decision.effect, Effect::Allow);
        assert_eq!(read_back(&record).replay(&run.policy), record.decision, "{amount}");
    }
}

/// A slice that holds null is there, and is read back from a record as not there.
#[test]
fn a_slice_that_holds_null_is_still_there_in_a_replay() {
    let (present, absent) = (Verdict::block("it is there"), Verdict::allow());
    let policy = policy(&[plan("a", Does::Reads { key: "var/x".to_owned(), present, absent })]);
    let mut session = Session::new("s-1");
    session.load(HALTED, None);
    session.load("var/x", Some(Value::Null));
    let record = record(&policy, session, write("a.rs"));
    assert_eq!(record.decision.effect, Effect::Block);
    assert_eq!(read_back(&record).replay(&policy), record.decision);
}

/// An event that is nested as deep as can be read becomes a record that is nested deeper, which cannot.
#[test]
fn the_record_of_an_event_that_was_read_can_be_read() {
    let policy = policy(&[]);
    for depth in 1..200 {
        let text = format!(
            r#"{{"kind": "before_tool", "tool": {{"name": "a", "args": {{"x": {}1{}}}}}}}"#,
            "[".repeat(depth),
            "]".repeat(depth)
        );
        let Ok(event) = serde_json::from_str::<Event>(&text) else { continue };
        let record = record(&policy, Session::new("s-1"), event);
        let text = serde_json::to_string(&record).unwrap();
        assert!(serde_json::from_str::<Record>(&text).is_ok(), "an event of depth {depth} has no record");
    }
}

/// Hides a word wherever the event has it.
struct Hides(&'static str);

impl Guardrail for Hides {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let text = context.event.text.clone().unwrap_or_default();
        let redactions: Vec<Redaction> = text
            .match_indices(self.0)
            .map(|(start, word)| Redaction {
                start,
                end: start + word.len(),
                replacement: "[secret]".to_owned(),
            })
            .collect();
        let effect = if redactions.is_empty() { Effect::Allow } else { Effect::Redact };
        Ok(Verdict { redactions, ..Verdict::new(effect, "a secret") })
    }
}

/// Section 6: "script overrides apply first; detection and redaction run on the resulting text." Guardrails see the
/// event's own text; their spans are applied to the replacement, where they hide something else.
#[test]
fn a_replacement_is_redacted_where_its_own_secrets_are() {
    let replaces = Verdict { replacement: Some("hunter2, replaced".to_owned()), ..Verdict::allow() };
    let spec = Spec { on: vec![EventKind::AfterModel], ..Spec::new("hides") };
    let hides = Entry { spec, guardrail: Arc::new(Hides("hunter2")) };
    let policy =
        Policy::new(vec![plan("replaces", Does::Says(replaces)).entry(), hides], Vec::new(), b"test");
    let event =
        Event { text: Some("the password is hunter2".to_owned()), ..Event::new(EventKind::AfterModel) };
    let mut session = Session::new("s-1");
    session.load(HALTED, None);
    let content = decide(&policy, &session, &Facts::default(), &event).content.unwrap();
    assert!(!content.contains("hunter2"), "{content}");
}

/// `conclude` tells its own voice from a guardrail's by the name `midrail`, which a guardrail can have.
#[test]
fn a_guardrail_named_midrail_can_halt_a_run() {
    let mut run = Run::new(&[says("midrail", Effect::Halt)]);
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Halt);
    assert!(run.backing.slices.contains_key(HALTED));
}

/// `decide` says that what is not known takes `on_missing`; a count of warnings that is not known takes the weakest
/// answer that there is, and the action goes on.
#[test]
fn an_unknown_count_of_warnings_is_not_taken_for_none() {
    let mut run = Run::new(&[says("a", Effect::Warn)]);
    run.backing.slices.insert("warn/a/".to_owned(), json!(2));
    assert_eq!(run.backing.settle(&run.policy, &write("a.rs")).decision.effect, Effect::Escalate);
    run.backing.unreadable.insert("warn/a/".to_owned());
    let effect = run.feed(&write("a.rs")).effect;
    assert!(!effect.goes_on(), "{effect}");
}

/// Slices are named `warn/<guardrail>/<task>`, and nothing keeps a slash out of either.
#[test]
fn a_task_cannot_reach_into_another_guardrails_count() {
    let of_task = |task: &str| -> Event {
        serde_json::from_value(json!({"kind": "before_tool", "task": {"id": task}})).unwrap()
    };
    let mut run = Run::new(&[Plan { tasks: vec!["b/c".to_owned()], ..says("a", Effect::Warn) }]);
    run.feed(&of_task("b/c"));
    run.feed(&of_task("b/c"));
    run.policy = policy(&[says("a/b", Effect::Warn)]);
    assert_eq!(run.feed(&of_task("c")).effect, Effect::Warn);
}
