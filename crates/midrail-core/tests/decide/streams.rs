//! Examples of chunks: what of one passes on, and what becomes of a stream that was stopped.

use midrail_core::{Effect, Event, EventKind, Redaction, Verdict, stopped_stream_key};
use serde_json::json;

use crate::plan::{Does, Plan, plan, policy, says};
use crate::world::{SessionRun, minute, once};

fn chunk(text: &str) -> Event {
    Event {
        text: Some(text.to_owned()),
        stream: Some("m".to_owned()),
        time: Some(minute(0)),
        ..Event::new(EventKind::ModelChunk)
    }
}

fn last(text: &str) -> Event {
    Event { last: Some(true), ..chunk(text) }
}

fn redacts(id: &str, start: usize, end: usize) -> Plan {
    let redactions = vec![Redaction::new(start, end, format!("[{id}]"))];
    plan(id, Does::Says(Verdict { redactions, ..Verdict::new(Effect::Redact, "a secret") }))
}

#[test]
fn chunk_always_has_content() {
    assert_eq!(once(&[], &chunk("hello")).content.as_deref(), Some("hello"));
    let lone = Event { stream: None, ..chunk("hello") };
    assert_eq!(once(&[], &lone).content, None);
    let other = Event { kind: EventKind::AfterModel, ..chunk("hello") };
    assert_eq!(once(&[], &other).content, None);
    for effect in [Effect::Retry, Effect::Escalate, Effect::Block, Effect::Halt] {
        assert_eq!(once(&[redacts("r", 0, 1), says("a", effect)], &chunk("hello")).content, None);
    }
}

#[test]
fn sent_text_is_neither_repeated_nor_changed() {
    let content = |passed: usize, plans: &[Plan]| {
        let mut run = SessionRun::new(plans);
        run.backing.sent_bytes = passed;
        run.feed(&chunk("one two é")).content.unwrap()
    };
    assert_eq!(content(4, &[]), "two é");
    assert_eq!(content(4, &[redacts("a", 0, 3)]), "two é");
    assert_eq!(content(4, &[redacts("a", 2, 5), redacts("b", 6, 7)]), "[a]w[b] é");
    // Where the two do not fit together nothing passes.
    assert_eq!(content(9, &[]), "");
    assert_eq!(content(99, &[redacts("a", 0, 3)]), "");
    let replacement = Some("one 2 é".to_owned());
    let replaces = plan("r", Does::Says(Verdict { replacement, ..Verdict::new(Effect::Redact, "better") }));
    assert_eq!(content(4, std::slice::from_ref(&replaces)), "2 é");
    assert_eq!(content(2, std::slice::from_ref(&replaces)), "e 2 é");
    assert_eq!(content(99, &[replaces]), "");
}

#[test]
fn a_stopped_stream_is_blocked_until_its_last_chunk() {
    let mut run = SessionRun::new(&[says("a", Effect::Block)]);
    run.feed(&chunk("x"));
    assert_eq!(run.backing.slices[&stopped_stream_key("m")], json!({"by": "a", "reason": "a says block"}));
    run.policy = policy(&[]);
    let decision = run.feed(&chunk("y"));
    assert_eq!((decision.effect, decision.by.as_deref()), (Effect::Block, Some("midrail")));
    assert_eq!(decision.reason, "this stream was stopped by `a`: a says block");
    assert_eq!(run.feed(&Event { stream: Some("other".into()), ..chunk("y") }).effect, Effect::Allow);
    assert_eq!(run.feed(&last("")).effect, Effect::Block);
    assert_eq!(run.feed(&chunk("y")).effect, Effect::Allow);
}

#[test]
fn chunk_that_waits_for_an_approval_is_checked_again() {
    let mut run = SessionRun::new(&[says("a", Effect::Escalate)]);
    assert_eq!(run.feed(&last("x")).effect, Effect::Escalate);
    assert_eq!(run.feed(&chunk("y")).effect, Effect::Block);
    assert_eq!(run.feed(&last("x")).effect, Effect::Escalate);
    run.backing.answer("approved");
    let decision = run.feed(&last("x"));
    assert_eq!((decision.effect, decision.content.as_deref()), (Effect::Allow, Some("x")));
    assert!(!run.backing.slices.contains_key(&stopped_stream_key("m")));
}

#[test]
fn overlong_stream_is_stopped() {
    let mut run = SessionRun::new(&[]);
    run.backing.overlong = true;
    assert_eq!(run.feed(&chunk("x")).effect, Effect::Block);
    run.backing.overlong = false;
    assert!(run.feed(&chunk("x")).reason.contains("it may all be one secret"));
}
