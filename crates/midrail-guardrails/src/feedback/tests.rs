//! Tests of feedback: intervals, histories and sources.

use std::sync::Arc;

use midrail_core::{Decision, Event, EventKind, ToolCall, ToolResult, denied_key};
use serde_json::{Value, json};

use super::*;
use crate::tests::Run;
use jiff::Timestamp;

fn run_of(settings: Value) -> Run {
    let settings: Feedback = serde_json::from_value(settings).unwrap();
    let provider = settings.provider("A", None).unwrap();
    Run::on(Arc::new(provider), vec![EventKind::AfterTool])
}

fn call(tool: &str, args: Value, ok: bool) -> Event {
    let result = if ok { ToolResult::ok("fine") } else { ToolResult::failed("no") };
    Event::after_tool(tool, args, result)
}

fn at(seconds: i64, event: Event) -> Event {
    let start: Timestamp = "2026-11-15T10:00:00Z".parse().unwrap();
    Event { time: Some(start + jiff::SignedDuration::from_secs(seconds)), ..event }
}

fn has_note(decision: &Decision) -> bool {
    assert_eq!(decision.effect, Effect::Allow);
    assert!(decision.verdicts.iter().all(|verdict| verdict.error.is_none()), "{:?}", decision.verdicts);
    !decision.feedback.is_empty()
}

/// The numbers of the calls with a note.
fn calls_with_notes(run: &mut Run, events: impl IntoIterator<Item = Event>) -> Vec<usize> {
    let noted = events
        .into_iter()
        .enumerate()
        .filter_map(|(i, event)| has_note(&run.decide(&event)).then_some(i + 1));
    noted.collect()
}

#[test]
fn calls_are_counted_since_the_last_note() {
    let mut run = run_of(json!({"static": "x", "every_n_calls": 3}));
    assert_eq!(calls_with_notes(&mut run, (0..10).map(|_| call("t", json!({}), true))), [3, 6, 9]);
}

#[test]
fn text_without_a_trigger_is_never_added() {
    let mut run = run_of(json!({"static": "x"}));
    assert!(calls_with_notes(&mut run, (0..10).map(|_| call("t", json!({}), true))).is_empty());
}

#[test]
fn seconds_are_counted_since_the_last_note_and_the_first_is_immediate() {
    let mut run = run_of(json!({"static": "x", "every_n_seconds": 60}));
    let times = [0, 59, 60, 119, 130, 189, 190];
    assert_eq!(
        calls_with_notes(&mut run, times.map(|time| at(time, call("t", json!({}), true)))),
        [1, 3, 5, 7]
    );
}

#[test]
fn failed_and_denied_calls_count_unless_only_successful_ones_do() {
    for (counts, expected) in [("all", vec![2, 4]), ("successful", vec![5])] {
        let mut run = run_of(json!({"static": "x", "every_n_calls": 2, "counts": counts}));
        run.set(&denied_key("c-1"), json!(true));
        let named = ToolCall { call_id: Some("c-1".into()), ..ToolCall::new("t", json!({})) };
        let denied = Event { tool: Some(named), ..call("t", json!({}), true) };
        let events = [
            call("t", json!({}), false),
            denied,
            call("t", json!({}), true),
            call("t", json!({}), false),
            call("t", json!({}), true),
        ];
        assert_eq!(calls_with_notes(&mut run, events), expected, "{counts}");
    }
}

#[test]
fn file_triggers_once_per_session() {
    let mut run = run_of(json!({"static": "x", "on_file_created": "./A.md", "counts": "successful"}));
    assert!(!has_note(&run.decide(&call("t", json!({}), true))));
    let mut run = run.with_file("A.md", "");
    assert!(!has_note(&run.decide(&call("t", json!({}), false))), "not with a call that failed");
    assert!(has_note(&run.decide(&call("t", json!({}), true))));
    assert!(!has_note(&run.decide(&call("t", json!({}), true))));
    let other = call("t", json!({}), true).in_session("other");
    assert!(has_note(&run.decide(&other)), "another session gets the note as well");
    run.decide(&Event::new(EventKind::Restored));
    assert!(!has_note(&run.decide(&call("t", json!({}), true))), "a restored slice remembers the note");
    let mut run = run_of(json!({"static": "x", "on_file_created": "A.md"})).without_files();
    assert!(!has_note(&run.decide(&call("t", json!({}), true))));
}

#[test]
fn calls_are_counted_while_should_run_is_false() {
    let settings: Feedback = serde_json::from_value(json!({"static": "x", "every_n_calls": 2})).unwrap();
    let is_go = |context: &Context<'_>| Ok(context.event.tool_name() == Some("go"));
    let provider = settings.provider("A", Some(Arc::new(is_go))).unwrap();
    let mut run = Run::on(Arc::new(provider), vec![EventKind::AfterTool]);
    let tools = ["t", "t", "t", "go", "go", "go"];
    assert_eq!(calls_with_notes(&mut run, tools.map(|tool| call(tool, json!({}), true))), [4, 6]);
}

#[test]
fn deadline_note_becomes_a_warning_near_the_end() {
    let mut run = run_of(json!({"deadline": {}, "every_n_calls": 1}));
    let deadline = at(600, Event::new(EventKind::AfterTool)).time;
    let mut text = |seconds: i64| {
        let event = Event { deadline, ..at(seconds, call("t", json!({}), true)) };
        run.decide(&event).feedback.concat()
    };
    assert!(
        text(0).contains(
            "The work so far took 0 seconds. You have 10 minutes remaining to complete the task.\n<"
        )
    );
    assert!(!text(479).contains("->"));
    assert_eq!(text(480).matches("\n-> ").count(), 2, "the threshold belongs to the warning");
    assert!(text(600).contains(
        "The work took 10 minutes. You have reached the time deadline.\n\n-> Wrap up immediately."
    ));
    let mut run = run_of(json!({"deadline": {}, "every_n_calls": 1}));
    assert!(
        !has_note(&run.decide(&at(0, call("t", json!({}), true)))),
        "without a deadline there is nothing to say"
    );
}

#[test]
fn arguments_are_compared_by_meaning() {
    let same = [
        json!({"path": "src/a.rs", "n": 1, "deep": {"x": [1, "y"], "z": null}}),
        json!({"deep": {"x": [1.0, " y "]}, "n": 1.0, "path": "./src//a.rs"}),
        json!({"n": 1, "path": "src/b/../a.rs ", "deep": {"x": [1, "y"]}}),
    ];
    let mut run = run_of(json!({"repeated_calls": {}}));
    assert_eq!(calls_with_notes(&mut run, same.clone().map(|args| call("t", args, true))), [3]);
    for other in [
        json!({"path": "src/a.rs", "n": 2, "deep": {"x": [1, "y"]}}),
        json!({"path": "src/A.rs", "n": 1, "deep": {"x": [1, "y"]}}),
        json!({"path": "src/a.rs", "n": "1", "deep": {"x": [1, "y"]}}),
        json!({"path": "src/a.rs", "n": 1, "deep": {"x": ["1", "y"]}}),
        json!({"path": "src/a.rs", "n": 1, "deep": {"x": [1], "y": "y"}}),
    ] {
        let mut run = run_of(json!({"repeated_calls": {}}));
        let [first, second, _] = same.clone();
        let events = [first, second, other.clone()].map(|args| call("t", args, true));
        assert!(calls_with_notes(&mut run, events).is_empty(), "{other}");
    }
}

#[test]
fn cycles_are_detected_and_ignored_tools_are_skipped() {
    let around = |tools: &[&str], times: usize| -> Vec<Event> {
        let round = tools.iter().map(|tool| call(tool, json!({}), true)).collect::<Vec<_>>();
        round.iter().cycle().take(round.len() * times).cloned().collect()
    };
    let mut run = run_of(json!({"repeated_calls": {}}));
    assert_eq!(calls_with_notes(&mut run, around(&["a", "b", "c"], 3)), [9]);
    let mut run = run_of(json!({"repeated_calls": {"circle": 2}}));
    assert!(calls_with_notes(&mut run, around(&["a", "b", "c"], 5)).is_empty());
    let mut run = run_of(json!({"repeated_calls": {"ignore": ["wait*"]}}));
    assert!(calls_with_notes(&mut run, around(&["wait_for"], 9)).is_empty());
    let mut run = run_of(json!({"repeated_calls": {"ignore": ["wait*"]}}));
    assert_eq!(calls_with_notes(&mut run, around(&["a", "wait_for"], 3)), [5]);
    let mut run = run_of(json!({"repeated_calls": {}}));
    assert_eq!(calls_with_notes(&mut run, around(&["a"], 9)), [3, 6, 9], "not with every call");
}

#[test]
fn errors_of_a_streak_contain_no_secrets() {
    let mut run = run_of(json!({"failing_streak": {"failures": 2}}));
    let failed = |text: &str| Event::after_tool("fetch", json!({}), ToolResult::failed(text));
    let secret = concat!("ghp_", "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5");
    assert!(!has_note(&run.decide(&failed(&format!("denied for {secret}")))));
    let decision = run.decide(&failed("<timed out>"));
    let text = decision.feedback.concat();
    assert!(
        text.contains("`fetch` has failed 2 times in a row") && text.contains("- &lt;timed out>"),
        "{text}"
    );
    assert!(text.contains("denied for") && !text.contains(secret), "{text}");
    assert!(!has_note(&run.decide(&failed("no"))));
    assert!(has_note(&run.decide(&failed("no"))), "again after as many");
    assert!(!has_note(&run.decide(&failed("no"))));
    run.decide(&call("fetch", json!({}), true));
    assert!(!has_note(&run.decide(&failed("no"))), "a success resets the count");
    assert!(!has_note(&run.decide(&call("other", json!({}), false))));
}

#[test]
fn failing_test_is_progress_and_reading_is_not() {
    let mut run = run_of(json!({"no_progress": {"calls": 3, "tools": ["deploy"]}}));
    let read = || call("Read", json!({"file_path": "a"}), true);
    let test = call("Bash", json!({"command": "cargo test"}), false);
    let events =
        [read(), read(), test, read(), read(), call("deploy", json!({}), true), read(), read(), read()];
    assert_eq!(calls_with_notes(&mut run, events), [9]);
}

#[test]
fn lists_of_several_tools_are_parsed() {
    for (tool, list, is_open) in [
        ("TodoWrite", json!({"todos": [{"status": "in_progress"}]}), true),
        ("TodoWrite", json!({"todos": [{"status": "completed"}]}), false),
        ("update_plan", json!({"plan": [{"step": "a", "status": "pending"}]}), true),
        ("write_todos", json!({"items": [{"done": true}]}), false),
        ("write_todos", json!({"items": ["a"]}), true),
        ("Other", json!({"todos": [{"status": "pending"}]}), false),
    ] {
        let mut run = run_of(json!({"stale_plan": {"calls": 2}}));
        let events = [call(tool, list, true), call("t", json!({}), true), call("t", json!({}), true)];
        assert_eq!(calls_with_notes(&mut run, events) == [3], is_open, "{tool}");
    }
}

#[test]
fn failing_command_keeps_the_interval() {
    let mut run = run_of(json!({"command": {"run": "./slow"}, "every_n_calls": 2}));
    assert_eq!(calls_with_notes(&mut run, (0..4).map(|_| call("t", json!({}), true))), [2, 4]);
    run.ends("./slow", 0, "");
    assert!(calls_with_notes(&mut run, (0..4).map(|_| call("t", json!({}), true))).is_empty());
    run.ends("./slow", 0, "all is well");
    assert!(run.decide(&call("t", json!({}), true)).feedback.concat().contains("\nall is well\n"));
}

#[test]
fn stored_state_is_bounded() {
    let mut run = run_of(json!({"repeated_calls": {}}));
    let mut sizes = Vec::new();
    for i in 0..400 {
        run.decide(&call("tool", json!({"n": i}), i % 3 != 0));
        sizes.push(run.slice("feedback/calls").unwrap().to_string().len());
    }
    assert!(sizes[399] <= sizes[100] + 8, "{} {}", sizes[100], sizes[399]);
}

#[test]
fn numbers_out_of_range_are_rejected() {
    for wrong in [
        json!({"every_n_calls": 0}),
        json!({"every_n_seconds": 0}),
        json!({"every_n_seconds": "0s"}),
        json!({"max_chars": 0}),
        json!({"repeated_calls": {"times": 1}}),
        json!({"repeated_calls": {"circle": 5}}),
        json!({"no_progress": {"calls": 0}}),
        json!({"command": {}}),
        json!({"budget": {"at": [2]}}),
        json!({"statik": "x"}),
    ] {
        assert!(serde_json::from_value::<Feedback>(wrong.clone()).is_err(), "{wrong}");
    }
    assert!(
        serde_json::from_value::<Feedback>(json!({"every_n_calls": 1}))
            .unwrap()
            .provider("A", None)
            .is_none()
    );
}

#[test]
fn list_with_single_item_updates_is_parsed() {
    let mut run = run_of(json!({"stale_plan": {"calls": 2}}));
    let made = |id: u32| {
        let result = ToolResult::ok(format!("Task #{id} created"));
        Event::after_tool("TaskCreate", json!({"subject": "a"}), result)
    };
    let done = |id: u32| call("TaskUpdate", json!({"taskId": id.to_string(), "status": "completed"}), true);
    let other = || call("t", json!({}), true);
    assert_eq!(calls_with_notes(&mut run, [made(1), made(2), done(1), other(), other()]), [5]);
    assert!(calls_with_notes(&mut run, [done(2), other(), other(), other()]).is_empty());
}

#[test]
fn usage_of_a_call_is_reported_with_that_call() {
    let mut run = run_of(json!({"budget": {}}));
    let task = Some(midrail_core::Task { token_budget: Some(100), ..Default::default() });
    let spends = |tokens: u64| {
        let call_usage = midrail_core::CallUsage { tokens: Some(tokens), ..Default::default() };
        let usage = midrail_core::Usage { call: Some(call_usage), ..Default::default() };
        Event { task: task.clone(), usage: Some(usage), ..call("t", json!({}), true) }
    };
    assert!(!has_note(&run.decide(&spends(40))));
    let text = run.decide(&spends(10)).feedback.concat();
    assert!(text.contains("Tokens: 50 of 100 used (50%). At 25 per call"), "{text}");
    assert!(!has_note(&run.decide(&spends(10))));
    assert!(has_note(&run.decide(&spends(15))));
}
