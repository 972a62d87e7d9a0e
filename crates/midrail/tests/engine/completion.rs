//! Completion by the real engine: on a real disk, with a real store that outlives its processes.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use midrail::admin::Person;
use midrail::reproduce::{Reproduction, ReproductionResult};
use midrail::store::AuditFilter;
use midrail::{Decision, Effect, Engine, Event, EventKind, SqliteStore};
use serde_json::json;

use crate::sessions::policy;

/// An engine as a new process would make it.
fn engine(folder: &Path, guardrail: &str) -> Arc<Engine> {
    let (policy, source) = policy(&format!("pack: t\nguardrails:\n  - {guardrail}\n"));
    let store = Arc::new(SqliteStore::open(folder.join("midrail.db")).unwrap());
    let root = folder.join("root");
    fs::create_dir_all(&root).unwrap();
    Arc::new(Engine::builder(policy, &source).store(store).root(root).build().unwrap())
}

fn stop(folder: &Path, guardrail: &str) -> Decision {
    engine(folder, guardrail).session("s").decide(Event::new(EventKind::BeforeStop))
}

/// Replays every record of a stop, and returns how many there are.
fn replayed_stops(engine: &Engine) -> usize {
    let entries = engine.store().entries(&AuditFilter::default()).unwrap();
    let mut reproduction = Reproduction::new(engine.store().as_ref());
    let mut count = 0;
    for entry in entries.iter().filter(|entry| entry.body.contains("\"kind\":\"before_stop\"")) {
        let again = reproduction.reproduce(&entry.record().unwrap()).unwrap();
        assert!(matches!(again, Some(ReproductionResult::Same)), "{again:?}");
        count += 1;
    }
    count
}

#[test]
fn continuations_are_counted_across_processes() {
    let folder = tempfile::tempdir().unwrap();
    let guardrail = "completion: {files: [out/a.txt]}";
    for attempt in 1..=10 {
        let decision = stop(folder.path(), guardrail);
        assert_eq!(decision.effect, Effect::Retry, "{}", decision.reason);
        let retry = decision.retry.unwrap();
        assert_eq!((retry.attempt, retry.max_attempts), (attempt, 10));
    }
    let decision = stop(folder.path(), guardrail);
    assert_eq!((decision.effect, decision.notices.len()), (Effect::Warn, 1), "{}", decision.reason);
    // What is complete gives the count back.
    fs::create_dir_all(folder.path().join("root/out")).unwrap();
    fs::write(folder.path().join("root/out/a.txt"), "").unwrap();
    assert_eq!(stop(folder.path(), guardrail).effect, Effect::Allow);
    fs::remove_file(folder.path().join("root/out/a.txt")).unwrap();
    assert_eq!(stop(folder.path(), guardrail).retry.unwrap().attempt, 1);
}

#[test]
fn files_folders_and_patterns_are_looked_up_on_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let guardrail = "completion: {files: [out/], glob: \"out/**/*.md\", at_least: 2}";
    assert!(stop(folder.path(), guardrail).reason.contains("missing: out/"));
    let out = folder.path().join("root/out/deep");
    fs::create_dir_all(&out).unwrap();
    fs::write(out.join("a.md"), "").unwrap();
    assert!(stop(folder.path(), guardrail).reason.contains("but 1 does"));
    fs::write(out.join("b.md"), "").unwrap();
    assert_eq!(stop(folder.path(), guardrail).effect, Effect::Allow);
}

#[test]
fn commands_run_one_after_the_other_until_one_fails() {
    let folder = tempfile::tempdir().unwrap();
    let guardrail = "completion: {all: [{command: \"echo 1 >> ../ran\"}, {command: \"test -e good\"}], command: \"echo 3 >> \
                     ../ran\"}";
    let ran = || fs::read_to_string(folder.path().join("ran")).unwrap_or_default().replace('\n', " ");
    assert!(stop(folder.path(), guardrail).reason.contains("`test -e good` exited with code 1"));
    assert_eq!(ran(), "1 ");
    // Nothing changed: what passed is not run again, and what failed is.
    assert!(stop(folder.path(), guardrail).reason.ends_with("`test -e good` exited with code 1."));
    assert_eq!(ran(), "1 ");
    fs::write(folder.path().join("root/good"), "").unwrap();
    assert_eq!(stop(folder.path(), guardrail).effect, Effect::Allow);
    assert_eq!(ran(), "1 1 3 ");
    let end = engine(folder.path(), guardrail).session("s").decide(Event::new(EventKind::SessionEnd));
    assert_eq!((end.effect, ran().as_str()), (Effect::Allow, "1 1 3 "));
}

#[test]
fn to_do_list_and_feedback_outlive_a_process() {
    let folder = tempfile::tempdir().unwrap();
    let guardrail = "completion: {todos: none_open, also_after_tool: true}";
    let report = |status: &str| {
        let args = json!({"todos": [{"content": "write tests", "status": status}]});
        let result = midrail::ToolResult::ok("ok");
        engine(folder.path(), guardrail).session("s").decide(Event::after_tool("TodoWrite", args, result))
    };
    assert_eq!(report("pending").feedback.len(), 1);
    assert!(stop(folder.path(), guardrail).reason.contains("write tests"));
    assert_eq!(report("in_progress").feedback.len(), 0);
    report("completed");
    assert_eq!(stop(folder.path(), guardrail).effect, Effect::Allow);
}

/// The tests of the probe check that the children of a command end with it.
#[test]
fn commands_of_both_kinds_are_bounded_and_show_no_secret() {
    let secret = concat!("ghp_", "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("print.sh"), format!("echo {secret}; exit 1")).unwrap();
    let report = |run: &str| {
        let guardrail =
            format!("feedback: {{command: {{run: \"{run}\", timeout: 200ms}}, every_n_calls: 1}}");
        let event = Event::after_tool("t", json!({}), midrail::ToolResult::ok("ok"));
        engine(folder.path(), &guardrail).session("s").decide(event).feedback.concat()
    };
    let ask = |run: &str, timeout: &str| {
        let guardrail = format!("completion: {{command: \"{run}\", timeout: {timeout}, when_changed: []}}");
        stop(folder.path(), &guardrail).reason
    };
    for text in [report("sh ../print.sh"), ask("sh ../print.sh", "1m")] {
        assert!(text.contains("exited with code 1") && !text.contains(secret), "{text}");
    }
    assert!(report("sleep 600").contains("could not be run"));
    assert!(ask("sleep 600", "200ms").contains("The result of `sleep 600` is unknown"));
}

#[test]
fn a_stop_is_approved_for_what_was_missing_and_every_record_of_it_replays() {
    let folder = tempfile::tempdir().unwrap();
    let guardrail = "{use: completion, with: {command: ./check}, max_attempts: 0, on_exhausted: escalate}";
    let check = |says: &str| {
        let path = folder.path().join("root/check");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\necho '{says}'; echo \"took $$.$$s\"; exit 1\n")).unwrap();
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&path, executable).unwrap();
    };
    let ends = |output: &str| {
        let event = Event { output: Some(json!(output)), ..Event::new(EventKind::BeforeStop) };
        engine(folder.path(), guardrail).session("s").decide(event)
    };
    let approve = |decision: &Decision| {
        let id = &decision.approval.as_ref().unwrap().id;
        let ann = Person::authenticated("ann", ["reviewer"]);
        engine(folder.path(), guardrail).approvals().answer(id, true, &ann, None).unwrap();
    };
    check("a fails");
    let asked = ends("done");
    assert_eq!(asked.effect, Effect::Escalate, "{}", asked.reason);
    approve(&asked);
    check("b fails");
    assert_eq!(ends("done").effect, Effect::Escalate);
    check("a fails");
    assert_eq!(ends("done, but for a").effect, Effect::Allow);
    assert_eq!(ends("done, but for a").effect, Effect::Escalate);
    // Where the output holds a secret, its record shows it without.
    let secret = ends("done with AKIAABCDEFGHIJKLMNOP");
    approve(&secret);
    assert_eq!(ends("done with AKIAABCDEFGHIJKLMNOP").effect, Effect::Allow);

    let engine = engine(folder.path(), guardrail);
    let entries = engine.store().entries(&AuditFilter::default()).unwrap();
    assert!(entries.iter().all(|entry| !entry.body.contains("AKIAABCDEFGHIJKLMNOP")));
    assert_eq!(replayed_stops(&engine), 6);
}

#[test]
fn changes_are_compared_by_content_across_processes_and_every_record_replays() {
    let folder = tempfile::tempdir().unwrap();
    let guardrail = "completion: {changed: [CHANGELOG.md, docs/], contains: {CHANGELOG.md: \"## 1.2\"}, matches: \
                     {CHANGELOG.md: \"- *\"}}";
    let root = folder.path().join("root");
    let log = root.join("CHANGELOG.md");
    fs::create_dir_all(root.join("docs")).unwrap();
    fs::write(&log, "# Log\n").unwrap();
    fs::write(root.join("docs/a.md"), "a").unwrap();
    let stop = || stop(folder.path(), guardrail);
    engine(folder.path(), guardrail).session("s").decide(Event::new(EventKind::SessionStart));
    assert!(stop().reason.contains("2 files have not changed since the session began: CHANGELOG.md, docs/"));
    // Touching a file is no change, and neither is a change that is undone.
    fs::File::options().write(true).open(&log).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    fs::write(root.join("docs/a.md"), "b").unwrap();
    assert!(stop().reason.contains("`CHANGELOG.md` has not changed since the session began."));
    // A shell changes it, unseen.
    let append = |line: &str| {
        let line = format!("echo '{line}' >> CHANGELOG.md");
        let status = std::process::Command::new("sh").args(["-c", &line]).current_dir(&root).status();
        assert!(status.unwrap().success());
    };
    append("## 1.2");
    assert!(stop().reason.contains("`CHANGELOG.md` has no line that matches `- *`."));
    append("- new");
    assert_eq!(stop().effect, Effect::Allow);
    fs::write(&log, "# Log\n").unwrap();
    assert!(stop().reason.contains("`CHANGELOG.md` has not changed since the session began."));
    fs::remove_file(&log).unwrap();
    assert!(stop().reason.contains("`CHANGELOG.md` must change, but it does not exist."));
    fs::create_dir(&log).unwrap();
    assert!(stop().reason.contains("`CHANGELOG.md` must change, but it is not a file."));
    let engine = engine(folder.path(), guardrail);
    assert_eq!(replayed_stops(&engine), 7);
}

#[test]
fn file_that_cannot_be_read_never_passes() {
    let folder = tempfile::tempdir().unwrap();
    let guardrail = "completion: {contains: {big.txt: x}}";
    fs::create_dir_all(folder.path().join("root")).unwrap();
    let file = fs::File::create(folder.path().join("root/big.txt")).unwrap();
    file.set_len((16 << 20) + 1).unwrap();
    let reason = stop(folder.path(), guardrail).reason;
    assert!(reason.contains("Whether `big.txt` contains `x` is unknown"), "{reason}");
    assert!(reason.contains("it is larger than 16 MiB"), "{reason}");
    let many = "completion: {changed: \"*.txt\"}";
    file.set_len(33 << 20).unwrap();
    let reason = stop(folder.path(), many).reason;
    assert!(reason.contains("the files have more than 32 MiB"), "{reason}");
}
