//! Examples of guardrails that cannot answer: they err, they panic, they lack something. Nobody else suffers.

use midrail_core::{Decision, Effect, Event, EventKind, Fact, FactKey, OnFault, Verdict, approval_key};
use serde_json::json;

use crate::plan::{Does, Learns, Plan, When, plan, says};
use crate::world::{SessionRun, once, write};

fn panics(id: &str) -> Plan {
    plan(id, Does::Panics("index out of bounds".to_owned()))
}

fn reads_what_cannot_be_loaded(id: &str) -> Plan {
    let (present, absent) = (Verdict::allow(), Verdict::allow());
    plan(id, Does::Reads { key: "lost".to_owned(), present, absent })
}

fn run_without(key: &str, plans: &[Plan]) -> SessionRun {
    let mut run = SessionRun::new(plans);
    run.backing.unreadable.insert(key.to_owned());
    run
}

/// `on_missing` decided for the guardrail `a`, and the reason states it.
fn could_not_be_checked(decision: &Decision, missing: &str) {
    assert_eq!(decision.reason, format!("`a` could not be checked: {missing}"));
    assert_eq!(decision.verdicts[0].error.as_deref(), Some(missing));
}

#[test]
fn a_panicking_guardrail_blocks_with_its_message_and_the_others_still_run() {
    let strikes = Plan { has_consequences: true, ..says("strikes", Effect::Warn) };
    let decision = once(&[panics("a"), says("halts", Effect::Halt), strikes], &write("a.rs"));
    let said = &decision.verdicts[0];
    assert_eq!((&*said.guardrail, said.effect), ("a", Some(Effect::Block)));
    assert!(
        said.reason.contains("`a` failed: it panicked: scripted: index out of bounds"),
        "{}",
        said.reason
    );
    assert!(said.error.as_ref().unwrap().contains("index out of bounds"));
    assert_eq!((decision.effect, decision.by.as_deref()), (Effect::Halt, Some("halts")));
    assert_eq!(decision.verdicts[2].effect, Some(Effect::Warn));
    assert_eq!(once(&[panics("a")], &write("a.rs")).effect, Effect::Block);
}

#[test]
fn failing_guardrail_applies_on_error() {
    for (on_error, expected) in [
        (OnFault::Block, Effect::Block),
        (OnFault::Escalate, Effect::Escalate),
        (OnFault::Allow, Effect::Allow),
    ] {
        let fails = plan("a", Does::Fails("disk on fire".to_owned()));
        for failing in [fails, panics("a")] {
            let decision = once(&[Plan { on_error, ..failing }], &write("a.rs"));
            assert_eq!(decision.effect, expected);
            assert!(decision.verdicts[0].error.is_some());
        }
    }
}

#[test]
fn stronger_verdict_before_a_failure_counts() {
    for (on_error, said, expected) in [
        (OnFault::Allow, Effect::Allow, Effect::Allow),
        (OnFault::Allow, Effect::Block, Effect::Block),
        (OnFault::Allow, Effect::Retry, Effect::Retry),
        (OnFault::Escalate, Effect::Warn, Effect::Escalate),
        (OnFault::Block, Effect::Escalate, Effect::Block),
        (OnFault::Block, Effect::Block, Effect::Block),
    ] {
        let does = Does::FailsAfter(Verdict::new(said, "not today"), "disk on fire".to_owned());
        let decision = once(&[Plan { on_error, ..plan("a", does) }], &write("a.rs"));
        assert_eq!(decision.effect, expected);
        assert_eq!(decision.verdicts[0].error.as_deref(), Some("disk on fire"));
        let is_its_own = said != Effect::Allow && said == expected;
        assert_eq!(decision.reason.contains("not today"), is_its_own, "{}", decision.reason);
    }
}

#[test]
fn failure_is_at_most_a_block_without_overrides() {
    let dressed = Plan {
        effect: Some(Effect::Halt),
        ceiling: Effect::Halt,
        reason: Some("house rule".to_owned()),
        ..panics("a")
    };
    let decision = once(&[dressed], &write("a.rs"));
    assert_eq!(decision.effect, Effect::Block);
    assert!(decision.reason.starts_with("`a` failed"), "{}", decision.reason);
}

#[test]
fn a_missing_slice_is_block_by_default_and_allow_with_on_missing_allow() {
    let plan = reads_what_cannot_be_loaded("a");
    let decision = run_without("lost", std::slice::from_ref(&plan)).feed(&write("a.rs"));
    assert_eq!(decision.effect, Effect::Block);
    assert_eq!(decision.reason, "`a` could not be checked: the session's `lost` was not loaded");
    let lenient = Plan { on_missing: OnFault::Allow, ..plan };
    assert_eq!(run_without("lost", &[lenient]).feed(&write("a.rs")).effect, Effect::Allow);
}

#[test]
fn on_error_and_on_missing_are_separate() {
    let plan = Plan { on_error: OnFault::Allow, ..reads_what_cannot_be_loaded("a") };
    assert_eq!(run_without("lost", &[plan]).feed(&write("a.rs")).effect, Effect::Block);
    let plan = Plan { on_missing: OnFault::Allow, ..panics("a") };
    assert_eq!(once(&[plan], &write("a.rs")).effect, Effect::Block);
}

#[test]
fn unavailable_fact_is_missing() {
    let asks = plan(
        "a",
        Does::Asks { name: "tests".to_owned(), yes: Verdict::allow(), no: Verdict::warn("they fail") },
    );
    let mut run = SessionRun::new(&[asks]);
    let mut with = |fact: Option<Fact>| {
        run.backing.facts =
            fact.into_iter().map(|fact| (FactKey::Answer("tests".to_owned()), fact)).collect();
        run.feed(&write("a.rs"))
    };
    assert_eq!(with(Some(Fact::Answer(json!(true)))).effect, Effect::Allow);
    assert_eq!(with(Some(Fact::Answer(json!(false)))).effect, Effect::Warn);
    let decision = with(Some(Fact::Unavailable("timed out".to_owned())));
    assert_eq!(decision.reason, "`a` could not be checked: `answer:tests` is not known: timed out");
    assert_eq!(with(Some(Fact::Secrets(Vec::new()))).effect, Effect::Block);
    assert_eq!(with(None).effect, Effect::Block);
}

#[test]
fn unknown_condition_applies() {
    let when = When::Slice("var/strict".to_owned());
    let mut run = SessionRun::new(&[Plan { when, ..says("a", Effect::Block) }]);
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Allow);
    run.backing.slices.insert("var/strict".to_owned(), json!(true));
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Block);
    run.backing.slices.clear();
    run.backing.unreadable.insert("var/strict".to_owned());
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Block);
}

#[test]
fn false_condition_leaves_no_verdict() {
    let decision = once(&[Plan { when: When::Never, ..says("a", Effect::Block) }], &write("a.rs"));
    assert!(decision.effect == Effect::Allow && decision.verdicts.is_empty());
}

#[test]
fn panicking_condition_is_a_failure_of_its_guardrail() {
    let decision = once(&[Plan { when: When::Panics, ..says("a", Effect::Warn) }], &write("a.rs"));
    assert_eq!(decision.effect, Effect::Block);
}

#[test]
fn unnamed_agent_or_task_could_be_any() {
    let plan =
        Plan { agents: vec!["impl-*".to_owned()], tasks: vec!["t-1".to_owned()], ..says("a", Effect::Block) };
    let event: Event = serde_json::from_value(json!({"kind": "before_tool"})).unwrap();
    assert_eq!(once(std::slice::from_ref(&plan), &event).effect, Effect::Block);
    for (agent, task, expected) in [
        ("impl-3", "t-1", Effect::Block),
        ("impl-3", "t-2", Effect::Allow),
        ("reviewer", "t-1", Effect::Allow),
    ] {
        let event = serde_json::from_value(
            json!({"kind": "before_tool", "agent": {"id": agent}, "task": {"id": task}}),
        );
        assert_eq!(once(std::slice::from_ref(&plan), &event.unwrap()).effect, expected, "{agent} {task}");
    }
}

#[test]
fn failing_observer_is_recorded_and_changes_nothing() {
    for learns in [Learns::Fails, Learns::Panics] {
        let observer = Plan { learns, watches: EventKind::ALL.to_vec(), ..says("a", Effect::Allow) };
        let other =
            Plan { learns: Learns::Counts, watches: EventKind::ALL.to_vec(), ..says("b", Effect::Allow) };
        let mut run = SessionRun::new(&[observer, other]);
        let decision = run.feed(&write("a.rs"));
        assert_eq!(decision.effect, Effect::Allow);
        assert!(decision.verdicts.iter().any(|said| &*said.guardrail == "a" && said.error.is_some()));
        assert_eq!(run.backing.slices.len(), 1, "what it had half written is dropped");
        assert_eq!(run.backing.slices["b/seen"], json!(1));
    }
}

#[test]
fn unreadable_session_blocks() {
    let decision = run_without("halted", &[]).feed(&write("a.rs"));
    assert_eq!((decision.effect, decision.by.as_deref()), (Effect::Block, Some("midrail")));
}

#[test]
fn missing_warning_count_applies_on_missing() {
    for (on_missing, expected) in [
        (OnFault::Block, Effect::Block),
        (OnFault::Escalate, Effect::Escalate),
        (OnFault::Allow, Effect::Warn),
    ] {
        let mut run = run_without("warn/a/", &[Plan { on_missing, ..says("a", Effect::Warn) }]);
        run.backing.slices.insert("warn/a/".to_owned(), json!(2));
        let decision = run.feed(&write("a.rs"));
        assert_eq!(decision.effect, expected);
        if on_missing == OnFault::Allow {
            assert_eq!((decision.reason.as_str(), &decision.verdicts[0].error), ("a says warn", &None));
            assert_eq!(run.backing.slices["warn/a/"], json!(1), "it counts from nothing");
        } else {
            could_not_be_checked(&decision, "the session's `warn/a/` was not loaded");
            assert_eq!(run.backing.slices["warn/a/"], json!(2), "it was no warning");
        }
    }
}

#[test]
fn missing_attempts_apply_on_missing() {
    for (on_missing, expected) in [
        (OnFault::Block, Effect::Block),
        (OnFault::Escalate, Effect::Escalate),
        (OnFault::Allow, Effect::Retry),
    ] {
        let retries = Plan { on_missing, ..says("a", Effect::Retry) };
        let decision = run_without("retry/a/before_tool/Write", &[retries]).feed(&write("a.rs"));
        assert_eq!(decision.effect, expected);
        if on_missing == OnFault::Allow {
            assert_eq!((decision.reason.as_str(), &decision.verdicts[0].error), ("a says retry", &None));
            assert_eq!(decision.retry.unwrap().attempt, 1);
        } else {
            could_not_be_checked(&decision, "the session's `retry/a/before_tool/Write` was not loaded");
            assert_eq!(decision.retry, None);
        }
    }
}

#[test]
fn retry_with_missing_attempts_still_has_guidance() {
    let retries = Plan { on_missing: OnFault::Allow, ..says("a", Effect::Retry) };
    let decision = run_without("retry/a/before_tool/Write", &[retries]).feed(&write("a.rs"));
    let retry = decision.retry.unwrap();
    assert_eq!((retry.message.as_str(), retry.attempt), ("a says retry", 1));
}

#[test]
fn missing_approval_applies_on_missing() {
    let mut run = SessionRun::new(&[says("a", Effect::Escalate)]);
    let (action, _) = run.backing.names("a", &write("a.rs"), None);
    let key = approval_key("a", &action);
    run.backing.unreadable.insert(key.clone());
    let decision = run.feed(&write("a.rs"));
    could_not_be_checked(&decision, &format!("the session's `{key}` was not loaded"));
    assert_eq!((decision.effect, decision.approval), (Effect::Block, None));
}

#[test]
fn on_missing_never_weakens_a_verdict() {
    let block = Verdict::block("no");
    let done =
        Does::Reads { key: "var/x".to_owned(), present: Verdict::new(Effect::Retry, ""), absent: block };
    let lenient = Plan { on_missing: OnFault::Allow, ..plan("a", done) };
    assert_eq!(
        run_without("retry/a/before_tool/Write", &[lenient]).feed(&write("a.rs")).effect,
        Effect::Block
    );
}

#[test]
fn missing_attempts_do_not_affect_other_verdicts() {
    for effect in [Effect::Allow, Effect::Warn, Effect::Redact] {
        let (present, absent) = (Verdict::new(Effect::Retry, "again"), Verdict::new(effect, "fine"));
        let done = Does::Reads { key: "var/x".to_owned(), present, absent };
        let mut run = run_without("retry/a/before_tool/Write", &[plan("a", done)]);
        run.backing.slices.insert("retry/a/before_tool/Write".to_owned(), json!(2));
        let decision = run.feed(&write("a.rs"));
        assert_eq!((decision.effect, &decision.verdicts[0].error), (effect, &None));
        assert_eq!(
            run.backing.slices["retry/a/before_tool/Write"],
            json!(2),
            "tries that are not seen are not given back"
        );
    }
}

#[test]
fn fault_is_neither_an_attempt_nor_a_success() {
    let key = "var/x".to_owned();
    let (present, absent) = (Verdict::allow(), Verdict::new(Effect::Retry, "not yet"));
    let does = Does::Reads { key: key.clone(), present, absent };
    let mut run = SessionRun::new(&[Plan { on_missing: OnFault::Allow, ..plan("a", does) }]);
    assert_eq!(run.feed(&write("a.rs")).retry.unwrap().attempt, 1);
    run.backing.unreadable.insert(key);
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Allow);
    run.backing.unreadable.clear();
    assert_eq!(run.feed(&write("a.rs")).retry.unwrap().attempt, 2);
}

#[test]
fn missing_value_before_a_guardrail_prevents_skipping() {
    let missing = reads_what_cannot_be_loaded("a");
    let plans = [missing, says("blocks", Effect::Block), says("warns", Effect::Warn)];
    let skipped = |decision: &Decision| decision.verdicts.iter().any(|said| said.skipped);
    let decision = run_without("lost", &plans).feed(&write("a.rs"));
    assert!(decision.effect == Effect::Block && !skipped(&decision));
    let decision = once(&plans, &write("a.rs"));
    assert!(decision.effect == Effect::Block && skipped(&decision));
}
