//! Examples of records: what was decided can be written down, read back, and decided again.

use midrail_core::{
    Effect, Event, Facts, Policy, Record, Session, Suppressed, ToolResult, Verdict, VerdictRecord,
    builtin_slice_keys, decide, to_compact_json,
};
use serde_json::{Value, json};

use crate::plan::{Does, plan, policy, says};
use crate::world::{SessionRun, minute, write};

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

/// The record of an event that a person has approved.
fn approved(event: Event) -> (Policy, Record) {
    let mut run = SessionRun::new(&[says("a", Effect::Escalate)]);
    run.feed(&event);
    run.backing.answer("approved");
    let session = run.backing.settle(&run.policy, &event).session;
    let record = record(&run.policy, session, event);
    assert_eq!(record.decision.effect, Effect::Allow);
    (run.policy, record)
}

#[test]
fn an_approved_action_with_a_float_is_the_same_action_in_a_replay() {
    let from_the_wire = serde_json::from_str("15972665364527374987982").unwrap();
    for amount in [from_the_wire, json!(985.6906946328695)] {
        let (policy, record) = approved(Event::before_tool("Pay", json!({"amount": amount})));
        assert_eq!(read_back(&record).replay(&policy), record.decision, "{amount}");
    }
}

#[test]
fn an_approved_result_of_null_is_the_same_action_in_a_replay() {
    let event = Event::after_tool("Read", json!({}), ToolResult::ok(Value::Null));
    let (policy, record) = approved(event);
    assert_eq!(read_back(&record).replay(&policy), record.decision);
}

#[test]
fn null_slice_is_none_now_and_in_a_replay() {
    let (present, absent) = (Verdict::block("it is there"), Verdict::allow());
    let policy = policy(&[plan("a", Does::Reads { key: "var/x".to_owned(), present, absent })]);
    let mut session = Session::new("s-1");
    for key in builtin_slice_keys(&write("a.rs"), "s-1") {
        session.load(key, Some(Value::Null));
    }
    session.load("var/x", Some(Value::Null));
    assert_eq!((session.get("var/x"), session.get("var/y")), (Some(None), None));
    let record = record(&policy, session, write("a.rs"));
    assert_eq!(record.decision.effect, Effect::Allow);
    assert_eq!(read_back(&record).replay(&policy), record.decision);
}

#[test]
fn redacted_action_with_a_digest_replays() {
    let event = Event::before_tool("Login", json!({"password": "hunter2"}));
    let mut run = SessionRun::new(&[says("a", Effect::Escalate)]);
    run.backing.action_digest = Some("d-1".to_owned());
    run.feed(&event);
    run.backing.answer("approved");
    let settled = run.backing.settle(&run.policy, &event);
    let record = Record {
        time: minute(0),
        session: settled.session.id,
        event: Event::before_tool("Login", json!({"password": "[secret]"})),
        slices: settled.session.slices,
        facts: settled.facts,
        decision: settled.decision,
        denied: None,
    };
    assert_eq!(record.decision.effect, Effect::Allow);
    assert_eq!(read_back(&record).replay(&run.policy), record.decision);
}

#[test]
fn plain_allow_is_only_a_name_in_the_log() {
    let said = |guardrail: &str, effect: Effect, duration_us| VerdictRecord {
        guardrail: guardrail.into(),
        effect: Some(effect),
        duration_us: Suppressed(duration_us),
        ..VerdictRecord::default()
    };
    let plain = |duration_us| said("a", Effect::Allow, Some(duration_us));
    let whole = |more: Value| {
        let mut whole = json!({"guardrail": "a", "effect": "allow", "duration_us": 0});
        whole.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        whole
    };
    let skipped = VerdictRecord { guardrail: "a".into(), skipped: true, ..VerdictRecord::default() };
    let forms = [
        (plain(0), json!("a")),
        (plain(41), json!(["a", 41])),
        (said("a", Effect::Allow, None), json!({"guardrail": "a", "effect": "allow"})),
        (said("a", Effect::Block, Some(7)), json!({"guardrail": "a", "effect": "block", "duration_us": 7})),
        (skipped, json!({"guardrail": "a", "skipped": true})),
        (VerdictRecord { reason: "r".to_owned(), ..plain(0) }, whole(json!({"reason": "r"}))),
        (VerdictRecord { shadow: true, ..plain(0) }, json!(["a", 0, "shadow"])),
        (VerdictRecord { error: Some("e".to_owned()), ..plain(0) }, whole(json!({"error": "e"}))),
        (VerdictRecord { action: Some("d".to_owned()), ..plain(0) }, whole(json!({"action": "d"}))),
    ];
    let policy = policy(&[says("b", Effect::Block)]);
    let mut record = record(&policy, Session::new("s-1"), write("a.rs"));
    record.decision.verdicts = forms.iter().map(|(verdict, _)| verdict.clone()).collect();
    let text = to_compact_json(&record).unwrap();
    let mut written: Value = serde_json::from_str(&text).unwrap();
    let short = written.pointer_mut("/decision/verdicts").unwrap();
    assert_eq!(*short, Value::from(forms.iter().map(|(_, form)| form.clone()).collect::<Vec<_>>()));
    // Everything else is as in other JSON, which has only one form, and each form is read.
    let long = serde_json::to_value(&record).unwrap();
    *short = long.pointer("/decision/verdicts").unwrap().clone();
    assert_eq!(written, long);
    for text in [text, serde_json::to_string(&record).unwrap()] {
        let read: Record = serde_json::from_str(&text).unwrap();
        assert_eq!(read, record);
        let durations = |record: &Record| -> Vec<_> {
            record.decision.verdicts.iter().map(|verdict| verdict.duration_us.0).collect()
        };
        assert_eq!(durations(&read), durations(&record));
    }
    for odd in
        [json!(1), json!(["a"]), json!(["a", 1, 2]), json!(["a", 1, "shadow", 2]), json!([1, "a"]), json!({})]
    {
        assert!(serde_json::from_value::<VerdictRecord>(odd).is_err());
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(items) => 1 + items.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

#[test]
fn every_event_that_is_not_too_deep_has_a_record_that_can_be_read() {
    let nested = |levels: usize| (0..levels).fold(json!(1), |value, _| json!([value]));
    let places: [fn(Value) -> Value; 5] = [
        |value| json!({"kind": "before_tool", "tool": {"name": "a", "args": {"x": value}}}),
        |value| json!({"kind": "after_tool", "result": {"ok": true, "content": value}}),
        |value| json!({"kind": "before_stop", "output": value}),
        |value| json!({"kind": "before_handoff", "handoff": {"context": value}}),
        |value| json!({"kind": "session_start", "from_a_host": value}),
    ];
    let policy = policy(&[says("a", Effect::Escalate)]);
    for place in places {
        let deepest = (1..).take_while(|levels| depth(&place(nested(*levels))) <= Event::MAX_DEPTH).last();
        for levels in 1..=deepest.unwrap() {
            let event: Event = serde_json::from_str(&place(nested(levels)).to_string()).unwrap();
            let record = record(&policy, Session::new("s-1"), event);
            assert_eq!(read_back(&record).event, record.event);
            // In a log it may stand in something that holds it.
            let held = json!([record]).to_string();
            assert!(serde_json::from_str::<Vec<Record>>(&held).is_ok());
        }
    }
}
