//! Examples of what is kept between events: warnings, a halted run, and what guardrails learn.

use midrail_core::{Effect, Event, EventKind, HALTED, Mode, Session, Snapshot, Task, ToolResult, Verdict};
use serde_json::json;

use crate::plan::{Does, Learns, Plan, plan, says};
use crate::world::{SessionRun, write};

fn of_task(task: &str) -> Event {
    Event { task: Some(Task { id: Some(task.to_owned()), ..Task::default() }), ..write("a.rs") }
}

fn watching(id: &str, learns: Learns) -> Plan {
    Plan { learns, watches: EventKind::ALL.to_vec(), ..says(id, Effect::Allow) }
}

#[test]
fn warnings_become_escalations_at_the_third() {
    let mut run = SessionRun::new(&[says("a", Effect::Warn)]);
    let effects: Vec<Effect> = (0..4).map(|_| run.feed(&write("a.rs")).effect).collect();
    assert_eq!(effects, [Effect::Warn, Effect::Warn, Effect::Escalate, Effect::Escalate]);
    let reason = run.feed(&write("a.rs")).reason;
    assert_eq!(reason, "a says warn (warning 3 of this guardrail in this task)");
}

#[test]
fn warnings_are_counted_for_each_guardrail_and_task() {
    let mut run = SessionRun::new(&[says("a", Effect::Warn)]);
    for event in [of_task("t-1"), of_task("t-1"), of_task("t-2"), of_task("t-2"), write("a.rs")] {
        assert_eq!(run.feed(&event).effect, Effect::Warn);
    }
    assert_eq!(run.feed(&of_task("t-1")).effect, Effect::Escalate);
    run.policy = crate::plan::policy(&[says("b", Effect::Warn)]);
    assert_eq!(run.feed(&of_task("t-1")).effect, Effect::Warn);
}

#[test]
fn warning_counts_only_if_the_action_is_allowed() {
    let key = "var/open".to_owned();
    let (present, absent) = (Verdict::allow(), Verdict::block("not now"));
    let mut run =
        SessionRun::new(&[says("a", Effect::Warn), plan("b", Does::Reads { key, present, absent })]);
    for _ in 0..5 {
        assert_eq!(run.feed(&write("a.rs")).effect, Effect::Block);
    }
    run.backing.slices.insert("var/open".to_owned(), json!(true));
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Warn);
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Warn);
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Escalate);
}

#[test]
fn without_a_limit_warnings_stay_warnings() {
    let mut run = SessionRun::new(&[Plan { warn_limit: 0, ..says("a", Effect::Warn) }]);
    assert!((0..9).all(|_| run.feed(&write("a.rs")).effect == Effect::Warn));
}

#[test]
fn counter_does_not_overflow() {
    for (effect, key) in [(Effect::Warn, "warn/a/"), (Effect::Retry, "retry/a/before_tool/Write")] {
        let mut run = SessionRun::new(&[says("a", effect)]);
        run.backing.slices.insert(key.to_owned(), json!(u64::MAX));
        assert_eq!(run.feed(&write("a.rs")).effect, Effect::Escalate, "{effect}");
    }
    // Tries without an end have none.
    let mut run = SessionRun::new(&[Plan { max_attempts: u32::MAX, ..says("a", Effect::Retry) }]);
    run.backing.slices.insert("retry/a/before_tool/Write".to_owned(), json!(u64::MAX));
    assert_eq!(run.feed(&write("a.rs")).retry.unwrap().attempt, u32::MAX);
}

#[test]
fn a_task_cannot_reach_into_another_guardrails_count() {
    let mut run = SessionRun::new(&[says("a", Effect::Warn)]);
    run.feed(&of_task("b/c"));
    run.feed(&of_task("b/c"));
    run.policy = crate::plan::policy(&[says("a/b", Effect::Warn)]);
    assert_eq!(run.feed(&of_task("c")).effect, Effect::Warn);
    assert_eq!(run.backing.slices, [("warn/a%2Fb/c", 1), ("warn/a/b/c", 2)].map(slice_of).into());
}

fn slice_of((key, count): (&str, u64)) -> (String, serde_json::Value) {
    (key.to_owned(), json!(count))
}

#[test]
fn state_is_separate_for_every_guardrail_id() {
    let ids =
        ["a", "a/b", "a@b", "a%2Fb", "%warn", "warn", "var", "halted", "shadow", "retry", "approval", ""];
    let plans = ids.map(|id| Plan { per_prompt: true, ..watching(id, Learns::Counts) });
    let of = |prompt: &str| Event { prompt: Some(prompt.to_owned()), ..write("a.rs") };
    let mut run = SessionRun::new(&plans);
    for event in [of("b"), of("b/seen"), of("warn"), write("a.rs")] {
        run.feed(&event);
    }
    assert_eq!(run.backing.slices.len(), 4 * ids.len());
    assert!(run.backing.slices.values().all(|seen| *seen == json!(1)), "{:?}", run.backing.slices);
    let words = ["approval/", "halted", "retry/", "shadow/", "var/", "warn/"];
    assert!(run.backing.slices.keys().all(|key| words.iter().all(|word| !key.starts_with(word))));
    for key in ["a%40b/seen", "a@b/seen", "%warn/seen", "%25warn/seen", "a@%warn/seen", "a@b%2Fseen/seen"] {
        assert!(run.backing.slices.contains_key(key), "{key}");
    }
}

#[test]
fn approved_third_warning_is_allowed_and_the_next_escalates() {
    let mut run = SessionRun::new(&[says("a", Effect::Warn)]);
    for _ in 0..3 {
        run.feed(&write("a.rs"));
    }
    run.backing.answer("approved");
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Allow);
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Escalate);
}

#[test]
fn warnings_of_shadow_mode_are_counted_separately() {
    let mut run = SessionRun::new(&[Plan { mode: Mode::Shadow, ..says("a", Effect::Warn) }]);
    let would: Vec<_> = (0..3).map(|_| run.feed(&write("a.rs")).would.unwrap()).collect();
    assert_eq!(would, [Effect::Warn, Effect::Warn, Effect::Escalate]);
    run.policy = crate::plan::policy(&[says("a", Effect::Warn)]);
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Warn);
}

#[test]
fn attempts_of_shadow_mode_are_always_counted() {
    let shadow = Plan { mode: Mode::Shadow, max_attempts: 2, ..says("a", Effect::Retry) };
    for decided in [Effect::Allow, Effect::Retry, Effect::Escalate] {
        let mut run = SessionRun::new(&[shadow.clone(), Plan { max_attempts: 9, ..says("b", decided) }]);
        for tries in [1, 2, 2] {
            let decision = run.feed(&write("a.rs"));
            assert_eq!(decision.effect, decided);
            assert!(decision.retry.is_none_or(|retry| retry.message == "b says retry"));
            assert_eq!(run.backing.slices["shadow/retry/a/before_tool/Write"], json!(tries));
        }
        assert!(!run.backing.slices.contains_key("retry/a/before_tool/Write"));
    }
}

#[test]
fn an_objection_of_shadow_mode_is_no_success() {
    let key = "var/x".to_owned();
    let (present, absent) = (Verdict::block("no"), Verdict::new(Effect::Retry, "not yet"));
    let does = Does::Reads { key: key.clone(), present, absent };
    let mut run = SessionRun::new(&[Plan { mode: Mode::Shadow, ..plan("a", does) }]);
    run.feed(&write("a.rs"));
    run.backing.slices.insert(key, json!(true));
    assert_eq!(run.feed(&write("a.rs")).would, Some(Effect::Block));
    assert_eq!(run.backing.slices.get("shadow/retry/a/before_tool/Write"), Some(&json!(1)));
}

#[test]
fn halted_run_halts_every_later_event() {
    let verdict =
        Verdict { user_message: Some("call ada".to_owned()), ..Verdict::new(Effect::Halt, "enough") };
    let halts = Plan { on: vec![EventKind::BeforeTool], ..plan("a", Does::Says(verdict)) };
    let mut run = SessionRun::new(&[halts, says("b", Effect::Warn)]);
    let decision = run.feed(&write("a.rs"));
    assert_eq!((decision.effect, decision.by.as_deref()), (Effect::Halt, Some("a")));
    assert_eq!(decision.user_message.as_deref(), Some("call ada"));
    assert_eq!(run.backing.slices[HALTED]["by"], json!("a"));
    for kind in EventKind::ALL {
        let decision = run.feed(&Event::new(*kind));
        assert_eq!((decision.effect, decision.by.as_deref()), (Effect::Halt, Some("midrail")), "{kind}");
        assert_eq!(decision.reason, "this run was halted by `a`: enough");
        assert_eq!(decision.user_message.as_deref(), Some("call ada"));
        assert_eq!(run.backing.slices[HALTED]["by"], json!("a"));
    }
}

#[test]
fn new_session_start_is_a_new_run() {
    let halts = Plan { on: vec![EventKind::BeforeTool], ..says("a", Effect::Halt) };
    let mut run = SessionRun::new(&[halts]);
    run.feed(&write("a.rs"));
    let start = |source: Option<&str>| Event {
        source: source.map(str::to_owned),
        ..Event::new(EventKind::SessionStart)
    };
    for goes_on in [None, Some("resume"), Some("compact"), Some("Startup"), Some("")] {
        assert_eq!(run.feed(&start(goes_on)).effect, Effect::Halt, "{goes_on:?}");
    }
    let other = Event { source: Some("startup".to_owned()), ..Event::new(EventKind::BeforeModel) };
    assert_eq!(run.feed(&other).effect, Effect::Halt, "nothing but a beginning begins");
    for begins in ["startup", "clear", "new"] {
        run.feed(&write("a.rs"));
        assert_eq!(run.feed(&start(Some(begins))).effect, Effect::Allow, "{begins}");
        assert_eq!(run.feed(&Event::new(EventKind::BeforeModel)).effect, Effect::Allow);
    }
}

#[test]
fn result_of_a_denied_call_is_no_success() {
    let denied = |id: &str| -> Event {
        serde_json::from_value(json!({"kind": "before_tool", "tool": {"name": "Write", "call_id": id}}))
            .unwrap()
    };
    let mut run = SessionRun::new(&[says("a", Effect::Block)]);
    run.feed(&denied("c-1"));
    assert_eq!(run.backing.slices.get("denied/c-1"), Some(&json!(true)));
    run.policy = crate::plan::policy(&[]);
    run.feed(&denied("c-1"));
    assert_eq!(run.backing.slices.get("denied/c-1"), None, "a denial is removed once the call is allowed");
}

#[test]
fn result_that_is_reported_twice_is_counted_once() {
    let event = |kind: &str, id: Option<&str>| -> Event {
        let tool = json!({"name": "Write", "call_id": id});
        let usage = json!({"call": {"tokens": 10}});
        let task = json!({"id": "t-1", "token_budget": 1000});
        serde_json::from_value(json!({"kind": kind, "tool": tool, "usage": usage, "task": task})).unwrap()
    };
    let mut run = SessionRun::new(&[]);
    let mut report = |kind: &str, id: Option<&str>, session: &str| {
        run.backing.session = session.to_owned();
        run.feed(&event(kind, id));
        run.backing.slices["shared/spent/t-1"]["tokens"].as_f64().unwrap_or(0.0)
    };
    assert_eq!(report("after_tool", Some("c-1"), "s-1"), 10.0);
    assert_eq!(report("after_tool", Some("c-1"), "s-1"), 10.0, "the same call");
    assert_eq!(report("after_tool", Some("c-2"), "s-1"), 20.0);
    assert_eq!(report("after_tool", Some("c-1"), "s-2"), 30.0, "a call of another session");
    assert_eq!(report("after_tool", None, "s-1"), 40.0);
    assert_eq!(report("after_tool", None, "s-1"), 50.0, "calls without an id are all counted");
    report("before_tool", Some("c-1"), "s-1");
    assert_eq!(report("after_tool", Some("c-1"), "s-1"), 60.0, "a new call under an old name");
    for id in 0..100 {
        report("after_tool", Some(&format!("d-{id}")), "s-1");
    }
    let kept = run.backing.slices["shared/spent/t-1"]["counted"].as_array().unwrap().len();
    assert!(kept <= 64, "{kept}");
}

#[test]
fn a_guardrail_named_midrail_can_halt_a_run() {
    let mut run = SessionRun::new(&[says("midrail", Effect::Halt)]);
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Halt);
    assert_eq!(run.backing.slices[HALTED]["by"], json!("midrail"));
    let reason = run.feed(&write("a.rs")).reason;
    assert_eq!(reason, "this run was halted by `midrail`: midrail says halt");
    assert_eq!(run.backing.slices[HALTED]["reason"], json!("midrail says halt"));
}

#[test]
fn a_halt_in_shadow_mode_halts_nothing() {
    let mut run = SessionRun::new(&[Plan { mode: Mode::Shadow, ..says("a", Effect::Halt) }]);
    assert_eq!(run.feed(&write("a.rs")).would, Some(Effect::Halt));
    assert!(!run.backing.slices.contains_key(HALTED));
}

#[test]
fn observe_is_not_called_for_tools_that_it_does_not_govern() {
    let governs = Some(vec!["Read".to_owned()]);
    let mut run = SessionRun::new(&[Plan { governs, ..watching("a", Learns::Counts) }]);
    run.feed(&write("a.rs"));
    assert!(run.backing.slices.is_empty());
    run.feed(&Event::after_tool("Read", json!({}), ToolResult::ok("text")));
    assert_eq!(run.backing.slices["a/seen"], json!(1));
    run.feed(&Event::new(EventKind::BeforeStop));
    assert_eq!(run.backing.slices["a/seen"], json!(2), "an event without a tool concerns everyone");
}

#[test]
fn guardrail_observes_tools_that_it_does_not_check() {
    // Read-before-write is asked about writes and learns from reads.
    let tools = Some(vec!["Write".to_owned()]);
    let mut run = SessionRun::new(&[Plan { tools, ..watching("a", Learns::Counts) }]);
    let decision = run.feed(&Event::after_tool("Read", json!({}), ToolResult::ok("text")));
    assert!(decision.verdicts.is_empty());
    assert_eq!(run.backing.slices["a/seen"], json!(1));
}

#[test]
fn skipped_guardrail_observes_the_effect() {
    let mut run = SessionRun::new(&[says("blocks", Effect::Block), watching("a", Learns::Remembers)]);
    let decision = run.feed(&write("a.rs"));
    assert!(decision.verdicts.iter().any(|said| &*said.guardrail == "a" && said.skipped));
    assert_eq!(run.backing.slices["a/last"], json!("block"));
}

#[test]
fn observe_is_called_for_the_kinds_that_it_watches_only() {
    let watches = vec![EventKind::AfterTool];
    let mut run = SessionRun::new(&[Plan { watches, ..watching("a", Learns::Counts) }]);
    run.feed(&write("a.rs"));
    assert!(run.backing.slices.is_empty());
}

#[test]
fn a_shadow_guardrail_learns_from_events_and_of_the_enforced_effect() {
    let shadow = Plan { mode: Mode::Shadow, ..says("a", Effect::Block) };
    let mut run = SessionRun::new(&[Plan { mode: Mode::Shadow, ..watching("b", Learns::Remembers) }, shadow]);
    run.feed(&write("a.rs"));
    assert_eq!(run.backing.slices["b/last"], json!("allow"));
}

#[test]
fn per_prompt_separates_state() {
    let of = |prompt: &str| Event { prompt: Some(prompt.to_owned()), ..write("a.rs") };
    let apart = Plan { per_prompt: true, ..watching("apart", Learns::Counts) };
    let mut run = SessionRun::new(&[apart, watching("together", Learns::Counts)]);
    for event in [of("p-1"), of("p-1"), of("p-2"), write("a.rs")] {
        run.feed(&event);
    }
    let seen = |key: &str| run.backing.slices[key].clone();
    assert_eq!((seen("apart@p-1/seen"), seen("apart@p-2/seen")), (json!(2), json!(1)));
    assert_eq!((seen("apart/seen"), seen("together/seen")), (json!(1), json!(4)));
}

#[test]
fn a_snapshot_is_a_value_that_serialises() {
    let mut run = SessionRun::new(&[says("a", Effect::Warn), watching("b", Learns::Counts)]);
    run.feed(&of_task("t-1"));
    let snapshot = Snapshot { session: "s-1".to_owned(), slices: run.backing.slices.clone() };
    let text = serde_json::to_string(&snapshot).unwrap();
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&text).unwrap(),
        json!({"session": "s-1", "slices": {"b/seen": 1, "warn/a/t-1": 1}})
    );
    let read: Snapshot = serde_json::from_str(&text).unwrap();
    assert_eq!(read, snapshot);

    // A restored session continues where it was.
    run.feed(&of_task("t-1"));
    assert_eq!(run.feed(&of_task("t-1")).effect, Effect::Escalate);
    run.backing.slices = read.slices;
    assert_eq!(run.feed(&of_task("t-1")).effect, Effect::Warn);
}

#[test]
fn applied_changes_are_loaded_slices() {
    let mut run = SessionRun::new(&[says("a", Effect::Warn)]);
    let changes = run.feed(&write("a.rs")).changes;
    let mut session = Session::new("s-1");
    session.apply(&changes);
    assert_eq!(session.get("warn/a/"), Some(Some(&json!(1))));
    assert_eq!(session.get("warn/b/"), None);
}
