//! Messages of a conversation that arrives whole with every request: decided once, redacted each time.

use std::sync::Arc;
use std::thread;

use midrail::{DecidedMessage, Effect, Engine, Event, EventKind, StreamOptions, ToolResult};
use serde_json::json;

use crate::sessions::{engine, policy};

const KEY: &str = "AKIAQ4ZTX7RK2MPLWN3J";

const PACK: &str = "pack: t
extends: none
guardrails:
  - {id: customers, on: [before_model, after_tool], redact: [{match: 'customer-*', as: '[customer]'}]}
  - {use: secret-redaction, on: [before_model, after_tool, after_model, model_chunk]}
  - {id: bad-words, on: before_model, when: \"text contains 'darn'\", effect: warn, effects: [increment_strike], reason: Mind the words}
  - {id: never, on: before_model, when: \"text contains 'erase everything'\", effect: block, effects: [increment_strike], reason: Nothing is erased}
  - {id: ask, on: before_model, when: \"text contains 'refund'\", effect: escalate, approver: reviewer}
strikes:
  - {count: 4, effect: halt}
";

fn prompt(text: &str) -> Event {
    Event { text: Some(text.to_owned()), ..Event::new(EventKind::BeforeModel) }.in_session("s")
}

fn records(engine: &Engine) -> u64 {
    engine.store().head().unwrap().map_or(0, |head| head.seq)
}

fn decide(engine: &Arc<Engine>, text: &str) -> DecidedMessage {
    engine.decide_message(prompt(text), 0)
}

#[test]
fn message_is_decided_and_counted_once() {
    let engine = engine(PACK);
    for is_new in [true, false, false, false, false] {
        let decided = decide(&engine, "darn it");
        assert_eq!((decided.is_new, decided.decision.effect.allows()), (is_new, true));
    }
    assert_eq!(records(&engine), 1);
    assert!(engine.decide_message(prompt("darn it"), 1).is_new, "the same words once more are a new message");
    assert!(engine.decide_message(prompt("darn it").in_session("other"), 0).is_new);
    assert_eq!(records(&engine), 3);
}

#[test]
fn redaction_is_repeated_and_no_text_is_kept() {
    let engine = engine(PACK);
    let text = format!("Ask customer-17 about {KEY}.");
    let first = decide(&engine, &text).decision.content.unwrap();
    assert!(!first.contains("customer-17") && !first.contains(KEY), "{first}");
    for _ in 0..3 {
        let again = decide(&engine, &text);
        assert_eq!((again.is_new, again.decision.content.unwrap()), (false, first.clone()));
    }
    assert_eq!(records(&engine), 1);
    let slices = engine.store().load_prefix("s", "").unwrap();
    assert!(!format!("{slices:?}").contains(KEY));
    let result = |content: &str| {
        let event = Event::after_tool(
            "Read",
            json!({}),
            ToolResult { content: Some(content.into()), ..ToolResult::default() },
        );
        engine.decide_message(event.in_session("s"), 0)
    };
    assert!(result("customer-1").is_new);
    assert_eq!(result("customer-1").decision.content.as_deref(), Some("[customer]"));
}

#[test]
fn stopped_message_stays_stopped_without_another_strike() {
    let engine = engine(PACK);
    for is_new in [true, false, false, false, false, false] {
        let decided = decide(&engine, "erase everything");
        assert_eq!((decided.is_new, decided.decision.effect >= Effect::Block), (is_new, true));
    }
    assert_eq!(records(&engine), 1);
    assert!(decide(&engine, "hello").decision.effect.allows(), "the run is not halted");
}

#[test]
fn held_message_is_decided_again_and_uses_its_approval() {
    let engine = engine(PACK);
    let first = decide(&engine, "refund it").decision;
    assert_eq!(first.effect, Effect::Escalate);
    let id = first.approval.unwrap().id;
    assert_eq!(decide(&engine, "refund it").decision.approval.unwrap().id, id);
    let by = midrail::admin::Person::authenticated("ann", ["reviewer"]);
    engine.approvals().answer(&id, true, &by, None).unwrap();
    assert!(decide(&engine, "refund it").decision.effect.allows());
    let again = decide(&engine, "refund it");
    assert!(again.decision.effect.allows() && !again.is_new, "the approval is for this message");
}

#[test]
fn another_policy_decides_again() {
    let engine = engine(PACK);
    decide(&engine, "hello");
    let (stricter, source) = policy(&PACK.replace("erase everything", "hello"));
    engine.reload(stricter, &source).unwrap();
    let again = decide(&engine, "hello");
    assert_eq!((again.is_new, again.decision.effect), (true, Effect::Block));
}

#[test]
fn concurrent_requests_with_one_message_record_it_once() {
    let engine = engine(PACK);
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let engine = engine.clone();
            thread::spawn(move || decide(&engine, "darn it"))
        })
        .collect();
    let decided: Vec<DecidedMessage> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(decided.iter().filter(|decided| decided.is_new).count(), 1);
    assert!(decided.iter().all(|decided| decided.decision.effect.allows()));
    assert_eq!(records(&engine), 1);
}

#[test]
fn answer_is_always_new_and_known_when_it_arrives_again() {
    let engine = engine(PACK);
    let answer = |text: &str| {
        Event { text: Some(text.to_owned()), ..Event::new(EventKind::AfterModel) }.in_session("s")
    };
    let text = format!("It is {KEY}.");
    let first = engine.decide_new_message(answer(&text), 0).content.unwrap();
    assert_eq!(engine.decide_new_message(answer(&text), 0).content.as_ref(), Some(&first));
    assert_eq!(records(&engine), 2);
    let again = engine.decide_message(answer(&first), 0);
    assert!(!again.is_new && again.decision.content.is_none(), "{again:?}");
    let in_clear = engine.decide_message(answer(&text), 0);
    assert_eq!((in_clear.is_new, in_clear.decision.content), (false, Some(first)));
    assert_eq!(records(&engine), 2);
}

fn conversation(engine: &Engine, texts: &[&str], new: usize) -> Vec<(Effect, Option<String>)> {
    let events = texts.iter().map(|text| prompt(text)).collect();
    engine.decide_conversation(events, new).map(|decision| (decision.effect, decision.content)).collect()
}

#[test]
fn conversation_is_decided_once_and_changed_each_time() {
    let engine = engine(PACK);
    let first = conversation(&engine, &["hello", "I am customer-7"], 1);
    assert_eq!(first[1].1.as_deref(), Some("I am [customer]"));
    for _ in 0..3 {
        let again = conversation(&engine, &["hello", "I am customer-7"], 0);
        assert_eq!(again[1].1.as_deref(), Some("I am [customer]"));
    }
    assert_eq!(records(&engine), 2);
    conversation(&engine, &["hello", "I am [customer]"], 0);
    assert_eq!(records(&engine), 2, "a program may keep it as it was changed");
    conversation(&engine, &["hello", "I am customer-7", "hello"], 1);
    assert_eq!(records(&engine), 3);
    conversation(&engine, &["hello", "I am customer-7", "hello"], 0);
    assert_eq!(records(&engine), 3);
}

#[test]
fn new_message_of_a_conversation_is_decided_whatever_it_says() {
    let engine = engine(PACK);
    for strikes in 1..3 {
        assert_eq!(conversation(&engine, &["darn it"], 1)[0].0, Effect::Warn, "{strikes}");
    }
    assert!(!conversation(&engine, &["darn it"], 1)[0].0.allows(), "the third strike stops the run");
    assert!(!conversation(&engine, &["darn it"], 0)[0].0.allows(), "and conversations that are known");
}

#[test]
fn warning_is_repeated_and_counted_once() {
    let engine = engine(PACK);
    for new in [1, 0, 0, 0, 0, 0] {
        assert_eq!(conversation(&engine, &["darn it"], new)[0].0, Effect::Warn);
    }
    assert_eq!(records(&engine), 1);
}

#[test]
fn conversation_ends_with_what_stops_it() {
    let engine = engine(PACK);
    let decided = conversation(&engine, &["hello", "erase everything", "I am customer-7"], 1);
    assert_eq!(decided.len(), 2);
    assert!(!decided[1].0.allows());
    assert_eq!(conversation(&engine, &["hello", "erase everything"], 0).len(), 2);
    assert_eq!(records(&engine), 2);
}

#[test]
fn preview_records_nothing() {
    let engine = engine(PACK);
    assert_eq!(engine.preview(prompt("erase everything")).unwrap().effect, Effect::Block);
    assert!(engine.preview(Event::new(EventKind::Administered)).is_err());
    assert_eq!(records(&engine), 0);
}

/// What `rest` shows and what `finish` returns is the same, at every length of the text.
#[test]
fn rest_of_a_stream_is_what_its_end_would_be() {
    let engine = engine(PACK);
    let text = format!("The key is {KEY}, and that is all. ");
    for length in 1..=text.len() {
        let session = engine.session(format!("s-{length}"));
        let mut stream = session.stream(StreamOptions { max_bytes: 0, ..StreamOptions::default() });
        let mut shown = String::new();
        for letter in text[..length].chars() {
            shown += &stream.push(&letter.to_string()).text;
        }
        let before = records(&engine);
        let rest = stream.rest();
        assert_eq!(records(&engine), before);
        assert!(!rest.over && rest.decision.unwrap().effect.allows());
        assert_eq!(rest.text, stream.finish().text, "{length}");
        assert!(!(shown + &rest.text).contains(KEY));
    }
}
