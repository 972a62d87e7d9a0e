//! Tests of completion.

use super::*;
use crate::tests::Run;
use midrail_core::{CommandOutcome, Decision, Event, Task, ToolResult, Usage};
use serde_json::Value;
use serde_json::json;

const ASKED: [EventKind; 3] = [EventKind::BeforeStop, EventKind::SessionEnd, EventKind::AfterTool];

fn run_of(settings: Value) -> Run {
    let completion: Completion = serde_json::from_value(settings).unwrap();
    Run::on(completion.compiled(&mut |_, _| None).unwrap(), ASKED.to_vec())
}

fn stop() -> Event {
    Event::new(EventKind::BeforeStop)
}

fn end() -> Event {
    Event::new(EventKind::SessionEnd)
}

/// The reason in the verdict of the guardrail itself.
fn reason(decision: &Decision) -> &str {
    &decision.verdicts[0].reason
}

#[track_caller]
fn is_incomplete(run: &mut Run, parts: &[&str]) {
    let decision = run.decide(&stop());
    assert_eq!(decision.effect, Effect::Retry, "{}", decision.reason);
    for part in parts {
        assert!(decision.reason.contains(part), "{}", decision.reason);
    }
    let message = decision.retry.unwrap().message;
    assert!(message.starts_with(&decision.reason) && message.ends_with("then stop."), "{message}");
}

#[track_caller]
fn is_complete(run: &mut Run) {
    let decision = run.decide(&stop());
    assert_eq!((decision.effect, decision.reason.as_str()), (Effect::Allow, ""));
}

#[test]
fn at_most_three_files_are_named() {
    let names = |count: usize| (0..count).map(|i| format!("f{i}.txt")).collect::<Vec<_>>();
    is_incomplete(&mut run_of(json!({"files": names(1)})), &["1 required output file is missing: f0.txt."]);
    is_incomplete(&mut run_of(json!({"files": names(3)})), &["3 required", "f0.txt, f1.txt, f2.txt"]);
    let mut run = run_of(json!({"files": names(4)}));
    is_incomplete(&mut run, &["4 required", "f0.txt, f1.txt, f2.txt..."]);
    assert!(!run.decide(&stop()).reason.contains("f3.txt"));
    // Only what is missing counts.
    let mut run = run_of(json!({"files": names(4)})).with_file("f1.txt", "");
    is_incomplete(&mut run, &["3 required", "f0.txt, f2.txt, f3.txt"]);
    assert!(!run.decide(&stop()).reason.contains("..."));
}

#[test]
fn paths_are_relative_to_the_root() {
    let mut run = run_of(json!({"files": ["./out/../a.txt"]})).with_file("a.txt", "");
    assert_eq!(run.decide(&Event { cwd: Some("/elsewhere".into()), ..stop() }).effect, Effect::Allow);
    // An ordinary file is no folder.
    is_incomplete(&mut run_of(json!({"files": ["a.txt/"]})).with_file("a.txt", ""), &["a.txt/"]);
}

#[test]
fn without_a_file_system_only_an_empty_list_is_complete() {
    is_incomplete(
        &mut run_of(json!({"files": ["report.md"]})).without_files(),
        &["No filesystem", "cannot verify the 1 required output file "],
    );
    is_incomplete(
        &mut run_of(json!({"files": ["a", "b"]})).without_files(),
        &["the 2 required output files"],
    );
    is_incomplete(&mut run_of(json!({"glob": "*.md"})).without_files(), &["No filesystem", "`*.md`"]);
    is_complete(&mut run_of(json!({"files": []})).without_files());
    is_complete(&mut run_of(json!({})).without_files());
}

#[test]
fn all_reports_the_first_failing_check() {
    let settings = json!({"all": [{"files": ["a"]}, {"files": ["b"]}, {"command": "make"}]});
    let mut run = run_of(settings.clone());
    is_incomplete(&mut run, &["missing: a."]);
    assert!(!run.decide(&stop()).reason.contains('b'));
    is_incomplete(&mut run_of(settings.clone()).with_file("a", ""), &["missing: b."]);
    // Only now the command runs, which does not end in time.
    let mut run = run_of(settings).with_file("a", "").with_file("b", "");
    is_incomplete(&mut run, &["`make`", "did not end in time"]);
    run.ends("make", 0, "");
    is_complete(&mut run);
    is_complete(&mut run_of(json!({"all": []})));
}

#[test]
fn any_passes_with_the_first_passing_check() {
    let settings = json!({"any": [{"command": "one"}, {"command": "two"}]});
    let mut run = run_of(settings.clone());
    run.ends("one", 0, "");
    run.ends("two", 1, "");
    is_complete(&mut run);
    // The second was never run, so that nothing is kept of it.
    assert!(run.slice("under-test/command-any-0/ran").is_some());
    assert!(run.slice("under-test/command-any-1/ran").is_none());
    let mut run = run_of(settings);
    run.ends("one", 1, "");
    run.ends("two", 2, "");
    is_incomplete(
        &mut run,
        &["One of these must be fixed", "`one` exited with code 1", "`two` exited with code 2"],
    );
    // Files and a command in the same map are both needed.
    let both = json!({"any": [{"files": ["a"], "command": "one"}, {"files": ["b"]}]});
    let mut run = run_of(both).with_file("a", "");
    run.ends("one", 1, "");
    is_incomplete(&mut run, &["`one` exited", "missing: b."]);
}

#[test]
fn commands_have_separate_results() {
    let mut run = run_of(json!({"all": [{"command": "one"}, {"command": "two"}], "command": "three"}));
    for command in ["one", "two", "three"] {
        run.ends(command, 0, "");
    }
    is_complete(&mut run);
    run.ends("two", 1, "");
    is_complete(&mut run);
    run.tree("1");
    is_incomplete(&mut run, &["`two` exited with code 1"]);
    let mut run = run_of(json!({"command": "one", "when_changed": []}));
    run.ends("one", 0, "");
    is_complete(&mut run);
    run.ends_as("one", CommandOutcome { exit_code: None, ..CommandOutcome::default() });
    is_incomplete(&mut run, &["was ended by a signal"]);
}

#[test]
fn only_successful_calls_of_to_do_tools_count() {
    let mut run = run_of(json!({"todos": "none_open"}));
    is_complete(&mut run);
    let todos = |status: &str| json!({"todos": [{"content": "test", "status": status}]});
    run.fail("TodoWrite", todos("pending"));
    is_complete(&mut run);
    run.succeed("TodoWrite", todos("pending"));
    is_incomplete(&mut run, &["1 item of the to-do list is open: test."]);
    run.succeed("Other", todos("completed"));
    is_incomplete(&mut run, &[]);
    run.succeed("update_plan", json!({"plan": [{"step": "a", "status": "in_progress"}, {"step": "b"}]}));
    is_incomplete(&mut run, &["2 items of the to-do list are open: a, b"]);
    run.succeed("TodoWrite", todos("completed"));
    is_complete(&mut run);
}

#[test]
#[cfg(feature = "json-schema")]
fn output_must_conform_to_its_schema() {
    let settings = json!({"output": {"schema": {"type": "object", "required": ["summary"]}}});
    let mut run = run_of(settings);
    is_incomplete(&mut run, &["does not conform to its schema"]);
    let with = |output: Value| Event { output: Some(output), ..stop() };
    assert_eq!(run.decide(&with(json!({"summary": 1}))).effect, Effect::Allow);
    assert_eq!(run.decide(&with(json!("{\"summary\": 1}"))).effect, Effect::Allow);
    let decision = run.decide(&with(json!({"other": "hunter2"})));
    assert_eq!(decision.effect, Effect::Retry);
    assert!(!decision.reason.contains("hunter2"), "{}", decision.reason);
    // At the end of a session the last output counts.
    assert!(run.decide(&end()).reason.contains("does not conform to its schema"));
    run.decide(&with(json!({"summary": 1})));
    assert_eq!(run.decide(&end()).effect, Effect::Allow);
    // A sub-agent's output is not that of the run, and neither is that of an agent whom it is not about.
    run.decide(&Event { parent: Some("main".into()), ..stop() });
    assert_eq!(run.decide(&end()).effect, Effect::Allow);
    let last = Event { output: Some(json!({})), ..end() };
    assert_eq!(run.decide(&last).effect, Effect::Warn, "what comes with the end is the last");
    let mut silent = run_of(json!({"output": {"schema": {"type": "object"}}}));
    assert!(silent.decide(&end()).reason.contains("There was no output"));
}

#[test]
#[cfg(feature = "json-schema")]
fn last_output_counts_even_if_the_stop_was_not_checked() {
    let mut run = run_of(json!({"output": {"schema": {"type": "object"}}}));
    let time: jiff::Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
    let late = Event { time: Some(time), deadline: Some(time), output: Some(json!("prose")), ..stop() };
    assert_eq!(reason(&run.decide(&late)), "not checked: the deadline has passed");
    assert_eq!(run.decide(&end()).effect, Effect::Warn);
}

#[test]
fn expression_must_be_true() {
    let bound = |answer: Result<bool, Missing>| {
        let completion: Completion = serde_json::from_value(json!({"all": [{"check": "it holds"}]})).unwrap();
        let mut places = Vec::new();
        let guardrail = completion
            .compiled(&mut |at, source| {
                places.push(format!("{at} {source}"));
                let answer = answer.clone();
                Some(Arc::new(move |_: &Context<'_>| answer.clone()))
            })
            .unwrap();
        assert_eq!(places, ["/all/0/check it holds"]);
        Run::on(guardrail, ASKED.to_vec())
    };
    is_complete(&mut bound(Ok(true)));
    is_incomplete(&mut bound(Ok(false)), &["This must be true: it holds"]);
    let mut unknown = bound(Err(Missing("`x` is not known".into())));
    is_incomplete(&mut unknown, &["`x` is not known"]);
    assert_eq!(unknown.decide(&end()).effect, Effect::Allow);
    // An expression that was not compiled is never complete.
    is_incomplete(&mut run_of(json!({"check": "it holds"})), &["the expression is invalid"]);
}

#[test]
fn nothing_is_checked_once_the_time_or_a_budget_is_used_up() {
    let at = |text: &str| -> jiff::Timestamp { format!("2026-11-15T{text}Z").parse().unwrap() };
    let stop_at = |time: &str| Event { time: Some(at(time)), deadline: Some(at("12:00:00")), ..stop() };
    let mut run = run_of(json!({"files": ["a"]}));
    assert_eq!(run.decide(&stop_at("11:00:00")).effect, Effect::Retry);
    assert_eq!(run.decide(&stop_at("11:59:59")).effect, Effect::Retry);
    let decision = run.decide(&stop_at("12:00:00"));
    assert_eq!((decision.effect, reason(&decision)), (Effect::Allow, "not checked: the deadline has passed"));

    let task = Some(Task { token_budget: Some(100), ..Task::default() });
    let with = |tokens: u64| Event {
        task: task.clone(),
        usage: Some(Usage { tokens: Some(tokens), ..Usage::default() }),
        ..stop()
    };
    let mut run = run_of(json!({"files": ["a"]}));
    assert_eq!(run.decide(&with(99)).effect, Effect::Retry);
    let decision = run.decide(&with(100));
    assert_eq!((decision.effect, reason(&decision)), (Effect::Allow, "not checked: the budget is used up"));
}

#[test]
fn sub_agents_are_exempt_by_default() {
    let sub = Event { parent: Some("main".into()), ..stop() };
    let decision = run_of(json!({"files": ["a"]})).decide(&sub);
    assert_eq!((decision.effect, reason(&decision)), (Effect::Allow, "not checked: sub-agents are exempt"));
    let mut checked = run_of(json!({"files": ["a"], "sub_agents": "check"}));
    assert_eq!(checked.decide(&sub).effect, Effect::Retry);
    let no_one = Event { parent: Some(String::new()), ..stop() };
    assert_eq!(run_of(json!({"files": ["a"]})).decide(&no_one).effect, Effect::Retry);
}

#[test]
fn incomplete_work_at_the_end_warns_and_notifies_the_orchestrator() {
    let mut run = run_of(json!({"files": ["a"]}));
    let decision = run.decide(&end());
    assert_eq!(decision.effect, Effect::Warn);
    assert_eq!(decision.notices[0].to, "orchestrator");
    assert!(decision.notices[0].message.contains("missing: a."), "{:?}", decision.notices);
    let decision = run_of(json!({"files": ["a"]})).with_file("a", "").decide(&end());
    assert_eq!((decision.effect, decision.notices.len()), (Effect::Allow, 0));
}

#[test]
fn last_result_of_a_command_counts_at_the_end() {
    let mut run = run_of(json!({"command": "make"}));
    run.ends("make", 0, "");
    assert!(run.decide(&end()).reason.contains("has not run"));
    is_complete(&mut run);
    assert_eq!(run.decide(&end()).effect, Effect::Allow);
    run.tree("1");
    assert!(run.decide(&end()).reason.contains("has not run since the files changed"));
    let mut run = run_of(json!({"command": "make", "when_changed": []}));
    run.ends("make", 1, "");
    assert_eq!(run.decide(&end()).effect, Effect::Allow, "it never ran, and it has no relevant files");
    is_incomplete(&mut run, &["`make` exited with code 1"]);
    assert!(run.decide(&end()).reason.contains("`make` exited with code 1 when it last ran."));
    run.ends("make", 0, "");
    is_complete(&mut run);
    assert_eq!(run.decide(&end()).effect, Effect::Allow);
}

#[test]
fn failed_command_runs_again_and_passed_command_does_not() {
    let mut run = run_of(json!({"command": "make"}));
    run.ends("make", 2, "no database");
    is_incomplete(&mut run, &["`make` exited with code 2", "no database"]);
    assert!(!run.decide(&stop()).reason.contains("have not changed"), "it ran again");
    let last = run.decide(&end()).reason;
    assert!(last.contains("exited with code 2 when it last ran; the files have not changed since"), "{last}");
    // The cause lay outside the files.
    run.ends("make", 0, "");
    is_complete(&mut run);
    run.ends("make", 2, "");
    is_complete(&mut run);
}

#[test]
fn changes_are_reported_after_calls() {
    let mut run = run_of(json!({"files": ["a<b", "c"], "command": "make", "also_after_tool": true}));
    let report = run.succeed("Read", json!({}));
    assert_eq!(report.effect, Effect::Allow);
    let expected = "<feedback provider='under-test'>\nStill missing: 2 required output files are missing: a&lt;b, \
                    c\n</feedback>";
    assert_eq!(report.feedback, [expected]);
    assert_eq!(run.succeed("Read", json!({})).feedback, [""; 0]);
    assert_eq!(run.fail("Read", json!({})).feedback, [""; 0]);
    let mut run = run.with_file("c", "");
    assert!(run.succeed("Write", json!({})).feedback[0].contains("missing: a&lt;b."));
    let mut run = run.with_file("a<b", "");
    assert_eq!(run.succeed("Write", json!({})).feedback, [""; 0]);
    assert_eq!(run.slice("under-test/told/session:s"), None);
    // Changes of the list by a call are reported with that call.
    let mut listed = run_of(json!({"todos": "none_open", "also_after_tool": true}));
    let todos = |status: &str| json!({"todos": [{"content": "test", "status": status}]});
    assert!(listed.succeed("TodoWrite", todos("pending")).feedback[0].contains("is open: test."));
    assert_eq!(listed.succeed("TodoWrite", todos("completed")).feedback, [""; 0]);
    // Each agent has its own report.
    let mut two = run_of(json!({"files": ["a"], "also_after_tool": true, "sub_agents": "check"}));
    let by = |id: &str| Event {
        agent: Some(midrail_core::Agent { id: Some(id.into()), ..Default::default() }),
        ..Event::after_tool("Read", json!({}), ToolResult::ok("x"))
    };
    assert_eq!(["one", "two", "one"].map(|id| two.decide(&by(id)).feedback.len()), [1, 1, 0]);
    // Without the setting nothing is reported.
    assert_eq!(run_of(json!({"files": ["a"]})).succeed("Read", json!({})).feedback, [""; 0]);
    // What is not looked at between calls may be complete.
    let either = json!({"any": [{"files": ["a"]}, {"command": "make"}], "also_after_tool": true});
    assert_eq!(run_of(either).succeed("Read", json!({})).feedback, [""; 0]);
}

#[test]
fn meaningless_settings_are_rejected() {
    for (settings, at) in [
        (json!({"any": []}), "/any"),
        (json!({"at_least": 2}), "/at_least"),
        (json!({"glob": "*", "at_least": 0}), "/at_least"),
        (json!({"all": [{"timeout": "1m"}]}), "/all/0/timeout"),
        (json!({"when_changed": ["*"]}), "/when_changed"),
        (json!({"files": ["a", " "]}), "/files/1"),
        (json!({"all": [{"command": "a"}, {"command": "b"}, {"command": "c"}], "command": "d"}), ""),
    ] {
        let completion: Completion = serde_json::from_value(settings.clone()).unwrap();
        let Err(problems) = completion.compiled(&mut |_, _| None) else { panic!("{settings}") };
        assert_eq!(
            problems.iter().map(|problem| problem.at.as_str()).collect::<Vec<_>>(),
            [at],
            "{settings}"
        );
        let problem = BUILTIN.settings.build(&settings).err().unwrap();
        assert_eq!(problem.at, at, "{settings}");
    }
    let deep = (0..20).fold(json!({}), |inner, _| json!({"all": [inner]}));
    let completion: Completion = serde_json::from_value(deep).unwrap();
    assert!(completion.compiled(&mut |_, _| None).is_err());
    for settings in
        [json!({"file": []}), json!({"todos": "some"}), json!({"glob": "["}), json!({"command": ""})]
    {
        assert!(serde_json::from_value::<Completion>(settings.clone()).is_err(), "{settings}");
    }
}

#[test]
fn settings_survive_serialization() {
    let settings = json!({"files": ["a"], "any": [{"check": "x == 1"}], "sub_agents": "check"});
    let completion: Completion = serde_json::from_value(settings.clone()).unwrap();
    assert_eq!(serde_json::to_value(&completion).unwrap(), settings);
    assert_eq!(completion, completion.clone());
    assert_ne!(completion, Completion::default());
    assert!(completion.compiled(&mut |_, _| None).unwrap().summary().unwrap().contains("`a`"));
}

#[test]
fn unsuccessful_call_adds_no_report() {
    let mut run = run_of(json!({"files": ["a"], "also_after_tool": true}));
    let unknown = Event::after_tool("Read", json!({}), ToolResult::default());
    assert_eq!(run.decide(&unknown).feedback, [""; 0]);
}

#[test]
fn summary_lists_requirements_and_alternatives() {
    let report = |settings: Value| {
        let completion: Completion = serde_json::from_value(settings).unwrap();
        completion.compiled(&mut |_, _| None).unwrap().summary()
    };
    let settings =
        json!({"files": ["a", "b"], "any": [{"command": "make"}, {"files": ["c"], "todos": "none_open"}]});
    assert_eq!(
        report(settings).as_deref(),
        Some(
            "Before you stop, this is required: `a`, `b`; one of these (a successful run of `make`, or `c`; no open item on the \
             to-do list)."
        )
    );
    assert_eq!(
        report(json!({"any": [{"files": ["a"]}]})).unwrap(),
        "Before you stop, this is required: `a`."
    );
    for nothing in [json!({}), json!({"all": []}), json!({"any": [{"files": ["a"]}, {}]})] {
        assert_eq!(report(nothing.clone()), None, "{nothing}");
        assert!(serde_json::from_value::<Completion>(nothing).unwrap().is_empty());
    }
    assert!(!serde_json::from_value::<Completion>(json!({"all": [{}, {"glob": "*"}]})).unwrap().is_empty());
}

fn session_start() -> Event {
    Event { source: Some("startup".into()), ..Event::new(EventKind::SessionStart) }
}

#[test]
fn changes_count_from_the_beginning_of_the_session() {
    for first in [session_start(), Event::new(EventKind::BeforeModel), Event::before_tool("Bash", json!({}))]
    {
        let mut run = run_of(json!({"changed": "CHANGELOG.md"})).with_file("CHANGELOG.md", "1");
        assert_eq!(run.decide(&first).effect, Effect::Allow);
        is_incomplete(&mut run, &["`CHANGELOG.md` has not changed since the session began."]);
        let mut run = run.with_file("CHANGELOG.md", "2");
        is_complete(&mut run);
        assert_eq!(run.decide(&end()).effect, Effect::Allow);
        // Later events do not move the beginning.
        run.before("Read", json!({}));
        is_complete(&mut run);
        // Changed and changed back.
        let mut run = run.with_file("CHANGELOG.md", "1");
        is_incomplete(&mut run, &["has not changed"]);
        assert!(run.decide(&end()).reason.contains("has not changed since the session began"));
    }
}

#[test]
fn created_files_have_changed_and_missing_ones_have_not() {
    let mut run = run_of(json!({"changed": ["a.md", "./b.md"]})).with_file("b.md", "1");
    run.decide(&session_start());
    is_incomplete(&mut run, &["`a.md` must change, but it does not exist."]);
    let mut run = run.with_file("a.md", "1");
    is_incomplete(&mut run, &["`./b.md` has not changed"]);
    is_complete(&mut run.with_file("b.md", "2"));
}

#[test]
fn unseen_beginning_is_never_a_change() {
    let mut run = run_of(json!({"changed": "a.md"})).with_file("a.md", "1");
    is_incomplete(&mut run, &["Whether `a.md` changed is unknown", "changes count from this stop on"]);
    is_incomplete(&mut run, &["`a.md` has not changed"]);
    is_complete(&mut run.with_file("a.md", "2"));
    // Without a file system, neither the beginning nor the end is known.
    let mut run = run_of(json!({"changed": "a.md"})).without_files();
    run.decide(&session_start());
    is_incomplete(&mut run, &["Whether `a.md` changed is unknown", "there is no file system"]);
    // A beginning that could not be read counts from the next stop on.
    let unknown = json!({"a.md": {"unknown": "no permission"}});
    let mut run =
        run_of(json!({"changed": "a.md"})).with_file("a.md", "1").with_slice("under-test/start", unknown);
    is_incomplete(&mut run, &["at the beginning of the session is not known (no permission)"]);
    is_complete(&mut run.with_file("a.md", "2"));
}

#[test]
fn new_run_begins_anew_and_resumed_run_does_not() {
    let mut run = run_of(json!({"changed": "a.md"})).with_file("a.md", "1");
    run.decide(&session_start());
    let mut run = run.with_file("a.md", "2");
    run.decide(&Event { source: Some("resume".into()), ..session_start() });
    is_complete(&mut run);
    run.decide(&session_start());
    is_incomplete(&mut run, &["has not changed"]);
}

#[test]
fn one_file_of_a_pattern_must_have_changed() {
    for pattern in ["docs/**", "docs/", "./docs/*.md"] {
        let mut run = run_of(json!({"changed": pattern})).with_file("src/a.rs", "1");
        run.decide(&session_start());
        is_incomplete(&mut run, &["must change, but no file matches"]);
        is_complete(&mut run.with_file("docs/a.md", "1"));
        let mut run =
            run_of(json!({"changed": pattern})).with_file("docs/a.md", "1").with_file("docs/b.md", "1");
        run.decide(&session_start());
        is_incomplete(&mut run, &[&format!("`{pattern}` has not changed")]);
        let mut run = run.with_file("src/a.rs", "2");
        is_incomplete(&mut run, &["has not changed"]);
        is_complete(&mut run.with_file("docs/b.md", "2"));
    }
}

#[test]
fn files_must_have_texts() {
    let settings = json!({"contains": {"a.md": ["## 1.2", "b"]}, "matches": {"a.md": "- *"}});
    let mut run = run_of(settings);
    is_incomplete(&mut run, &["`a.md` does not exist, and it must be a file that contains `## 1.2`."]);
    let mut run = run.with_file("a.md", "b -");
    is_incomplete(&mut run, &["`a.md` does not contain `## 1.2`. `a.md` has no line that matches `- *`."]);
    let mut run = run.with_file("a.md", "## 1.2\n- b\n");
    is_complete(&mut run);
    assert_eq!(run.decide(&end()).effect, Effect::Allow);
    is_incomplete(
        &mut run.without_files(),
        &["Whether `a.md` contains `## 1.2` is unknown", "no file system"],
    );
    let mut many = run_of(json!({"contains": {"a": ["1", "2", "3", "4", "5"]}})).with_file("a", "");
    is_incomplete(&mut many, &["`a` does not contain `3`. 2 more texts are missing."]);
}

#[test]
fn content_is_reported_after_calls() {
    let settings = json!({"changed": ["a.md"], "contains": {"b.md": "x"}, "also_after_tool": true});
    let mut run = run_of(settings).with_file("a.md", "1").with_file("b.md", "x");
    run.before("Write", json!({}));
    assert!(run.succeed("Read", json!({})).feedback[0].contains("`a.md` has not changed"));
    let mut run = run.with_file("a.md", "2").with_file("b.md", "y");
    assert!(run.succeed("Write", json!({})).feedback[0].contains("`b.md` does not contain `x`"));
    // The files of a pattern are not read after each call, and an unseen beginning is not reported.
    for settings in [json!({"changed": "*.md"}), json!({"changed": "a.md"})] {
        let mut settings = settings;
        settings["also_after_tool"] = json!(true);
        let mut run = run_of(settings).with_file("a.md", "1");
        assert_eq!(run.succeed("Read", json!({})).feedback, [""; 0]);
    }
}

#[test]
fn content_works_with_the_other_checks() {
    let settings = json!({"files": ["b.md"], "any": [{"changed": "a.md"}, {"todos": "none_open", "matches": {"c": "ok*"}}]});
    let mut run = run_of(settings).with_file("a.md", "1").with_file("b.md", "");
    run.before("Read", json!({}));
    is_incomplete(&mut run, &["`a.md` has not changed", "Or: `c` does not exist"]);
    is_complete(&mut run.with_file("c", "ok then"));
}

#[test]
fn meaningless_content_is_rejected() {
    for (settings, at) in [
        (json!({"changed": ""}), "/changed/0"),
        (json!({"changed": ["a", "../b"]}), "/changed/1"),
        (json!({"changed": "~/a"}), "/changed/0"),
        (json!({"contains": {"docs/*.md": "x"}}), "/contains/docs~1*.md"),
        (json!({"contains": {"a": ""}}), "/contains/a"),
        (json!({"matches": {"a": "b\nc"}}), "/matches/a"),
        (json!({"matches": {"a": []}}), "/matches/a"),
        (json!({"all": [{"contains": {"": "x"}}]}), "/all/0/contains/"),
    ] {
        let problem = BUILTIN.settings.build(&settings).err().unwrap();
        assert_eq!(problem.at, at, "{settings}");
    }
    assert!(serde_json::from_value::<Completion>(json!({"changed": "[a"})).is_err());
    let all = json!({"changed": ["a"], "contains": {"b": ["x"]}, "matches": {"c": ["* y"]}});
    let completion: Completion = serde_json::from_value(all.clone()).unwrap();
    assert_eq!(serde_json::to_value(&completion).unwrap(), all);
    let summary = completion.compiled(&mut |_, _| None).unwrap().summary().unwrap();
    let needs = "a change of `a`; `b` that contains `x`, `c` that has a line `* y`.";
    assert_eq!(summary, format!("Before you stop, this is required: {needs}"));
}

#[test]
fn unchanged_files_are_as_at_the_beginning() {
    let mut run = run_of(json!({"any": [{"changed": "log.md"}, {"unchanged": ["src/**", "x.md"]}]}));
    is_incomplete(&mut run, &["Whether `src/**` changed is unknown"]);
    is_complete(&mut run);
    let mut run = run.with_file("src/a.rs", "1");
    is_incomplete(&mut run, &["`log.md` must change, but it does not exist. Or: `src/**` must be as it was"]);
    let mut run = run.with_file("log.md", "1");
    is_complete(&mut run);
    let mut run = run_of(json!({"unchanged": "x.md"})).with_file("x.md", "1");
    run.before("Edit", json!({}));
    is_complete(&mut run);
    is_incomplete(&mut run.with_file("x.md", "2"), &["`x.md` must be as it was when the session began."]);
}
