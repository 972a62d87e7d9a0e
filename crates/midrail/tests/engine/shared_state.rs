//! What holds across sessions: quarantined agents, locks and tasks.

use std::fs;
use std::time::Duration;

use midrail::admin::{Person, TaskStatus};
use midrail::store::AuditFilter;
use midrail::{Effect, Engine, Event, EventKind};

use crate::shared_store::{SharedStore, call, notices};

fn operator() -> Person {
    Person::authenticated("olga", ["human_operator"])
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, midrail::EngineError>, why: &str) {
    let error = result.unwrap_err().to_string();
    assert!(error.contains(why), "{error}");
}

#[test]
fn a_quarantined_agent_is_stopped_in_every_process_until_a_supervisor_lifts_it() {
    let shared = SharedStore::new();
    let (one, two) = (shared.engine("pack: t\n"), shared.engine("pack: t\n"));
    one.admin().quarantine("eve", "ada", "it deletes what it should not").unwrap();
    assert_eq!(two.decide(call("eve", "ls")).effect, Effect::Block);
    assert_eq!(two.decide(call("ann", "ls")).effect, Effect::Allow);
    let held = two.admin().list::<midrail::admin::QuarantinedAgent>().unwrap();
    assert_eq!((held.len(), held[0].actor.as_str()), (1, "eve"));
    assert_eq!(held[0].reason, "it deletes what it should not");

    refused(one.admin().quarantine("eve", "ada", "again"), "already in quarantine");
    refused(one.admin().quarantine("", "ada", "x"), "cannot be empty");
    refused(one.admin().lift_quarantine("ann", &operator(), "x"), "is not in quarantine");
    let reviewer = Person::authenticated("rob", ["reviewer"]);
    refused(one.admin().lift_quarantine("eve", &reviewer, "x"), "cannot lift a quarantine");
    let itself = Person::authenticated("eve", ["human_operator"]);
    refused(one.admin().lift_quarantine("eve", &itself, "x"), "its own quarantine");
    assert_eq!(two.decide(call("eve", "ls")).effect, Effect::Block);

    two.admin().lift_quarantine("eve", &operator(), "its task was mended").unwrap();
    assert_eq!(one.decide(call("eve", "ls")).effect, Effect::Allow);
    assert!(one.admin().list::<midrail::admin::QuarantinedAgent>().unwrap().is_empty());
    let report: Vec<_> = notices(&**one.store(), "quarantine").into_iter().map(|notice| notice.to).collect();
    assert_eq!(report, ["human_operator", "orchestrator"]);
    assert_eq!(acts(&one), ["quarantined", "quarantine_lifted"]);
}

#[test]
fn halted_run_continues_once_a_supervisor_lifts_the_halt() {
    let shared = SharedStore::new();
    let pack = "pack: t\nguardrails:\n  - {id: ends, tools: wipe, effect: halt}\n";
    let (one, two) = (shared.engine(pack), shared.engine(pack));
    refused(one.admin().lift_halt("of-eve", &operator(), "x"), "is not halted");
    assert_eq!(one.decide(call("eve", "wipe")).effect, Effect::Halt);
    assert_eq!(two.decide(call("eve", "ls")).effect, Effect::Halt);
    let resumed = Event { source: Some("resume".to_owned()), ..Event::new(EventKind::SessionStart) };
    assert_eq!(two.decide(resumed.in_session("of-eve")).effect, Effect::Halt);
    let reviewer = Person::authenticated("rob", ["reviewer"]);
    refused(one.admin().lift_halt("of-eve", &reviewer, "x"), "cannot lift a halt");
    one.admin().lift_halt("of-eve", &operator(), "the pack was too strict").unwrap();
    assert_eq!(two.decide(call("eve", "ls")).effect, Effect::Allow);
    assert_eq!(acts(&one), ["halt_lifted"]);
    assert_eq!(notices(&**one.store(), "halt").len(), 1);
}

#[test]
fn resumed_run_has_no_strikes() {
    let shared = SharedStore::new();
    let engine = shared.engine(
        "pack: t\nguardrails:\n  - {id: odd, tools: send, effect: block, effects: [increment_strike]}\nstrikes:\n  \
         - {count: 2, effect: halt}\n",
    );
    assert!(engine.admin().list::<midrail::admin::HaltedRun>().unwrap().is_empty());
    assert_eq!(engine.decide(call("eve", "send")).effect, Effect::Block);
    assert_eq!(engine.decide(call("eve", "send")).effect, Effect::Halt);
    let runs = engine.admin().list::<midrail::admin::HaltedRun>().unwrap();
    assert_eq!((runs.len(), runs[0].session.as_str(), runs[0].by.as_str()), (1, "of-eve", "strikes"));
    assert!(runs[0].reason.contains("this is strike 2"), "{runs:?}");
    engine.admin().lift_halt("of-eve", &operator(), "it was a test").unwrap();
    assert!(engine.admin().list::<midrail::admin::HaltedRun>().unwrap().is_empty());
    assert_eq!(engine.decide(call("eve", "send")).effect, Effect::Block, "the first strike again");
    assert_eq!(engine.decide(call("eve", "send")).effect, Effect::Halt);
}

/// What people did, as it is on record.
fn acts(engine: &Engine) -> Vec<String> {
    let entries = engine.store().entries(&Default::default()).unwrap();
    let acts = entries.iter().filter(|entry| entry.labels.kind == "administered");
    acts.map(|entry| entry.record().unwrap().event.extra["what"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn lock_is_held_until_it_expires_or_is_released() {
    let shared = SharedStore::new();
    let (one, two) = (shared.engine("pack: t\n"), shared.engine("pack: t\n"));
    let (file, half_an_hour) = (shared.path("a.rs"), Duration::from_secs(1_800));
    let taken = one.admin().take_lock(&file, "ann", "s-1", half_an_hour).unwrap();
    refused(
        two.admin().take_lock(&file, "bob", "s-2", half_an_hour),
        "is locked by `ann` until 2026-11-15T10:30:00Z",
    );
    refused(two.admin().take_lock(&file, "ann", "s-2", half_an_hour), "is locked by `ann`");
    shared.clock.advance(600.0);
    let renewed = two.admin().take_lock(&file, "ann", "s-1", half_an_hour).unwrap();
    assert!(renewed.since == taken.since && renewed.until > taken.until, "{renewed:?}");
    assert_eq!(one.admin().list::<midrail::admin::Lock>().unwrap(), [renewed]);
    shared.clock.advance(1_800.0);
    assert!(one.admin().list::<midrail::admin::Lock>().unwrap().is_empty());
    let next = one.admin().take_lock(&file, "bob", "s-2", half_an_hour).unwrap();
    assert!(next.since > taken.since);
    two.admin().release_lock(&file, "ada").unwrap();
    refused(two.admin().release_lock(&file, "ada"), "is not locked");
    assert_eq!(acts(&one), ["lock_taken", "lock_taken", "lock_taken", "lock_released"]);
}

#[test]
fn a_file_is_locked_under_all_its_names() {
    let shared = SharedStore::new();
    let engine = shared.engine("pack: t\n");
    fs::create_dir(shared.path("real")).unwrap();
    std::os::unix::fs::symlink(shared.path("real"), shared.path("link")).unwrap();
    let lasts = Duration::from_secs(60);
    // It need not be there yet.
    let lock = engine.admin().take_lock(&shared.path("link/new/../b.rs"), "ann", "s", lasts).unwrap();
    assert_eq!(lock.path, shared.path("real").canonicalize().unwrap().join("b.rs").display().to_string());
    refused(engine.admin().take_lock(&shared.path("real/b.rs"), "bob", "s", lasts), "is locked by `ann`");
    engine.admin().release_lock(&shared.path("link/b.rs"), "ada").unwrap();
}

#[test]
fn tasks_change_status_only_as_allowed() {
    let shared = SharedStore::new();
    let (one, two) = (shared.engine("pack: t\n"), shared.engine("pack: t\n"));
    one.admin().set_task("t-1", TaskStatus::Draft, "ada").unwrap();
    refused(
        two.admin().set_task("t-1", TaskStatus::Completed, "ada"),
        "is draft, and cannot become completed",
    );
    two.admin().set_task("t-1", TaskStatus::Active, "ada").unwrap();
    one.admin().set_task("t-1", TaskStatus::Completed, "bob").unwrap();
    refused(two.admin().set_task("t-1", TaskStatus::Active, "ada"), "is completed");
    two.admin().set_task("t-2", TaskStatus::Suspended, "ada").unwrap();
    for entry in one.store().entries(&AuditFilter::default()).unwrap() {
        let record = entry.record().unwrap();
        assert_eq!(record.event.task.is_some(), record.event.extra["what"] == "task_set");
    }
    let all = one.admin().list::<midrail::admin::TaskState>().unwrap();
    let states: Vec<_> = all.iter().map(|it| (it.task.as_str(), it.status, it.by.as_deref())).collect();
    assert_eq!(
        states,
        [("t-1", TaskStatus::Completed, Some("bob")), ("t-2", TaskStatus::Suspended, Some("ada"))]
    );
    assert_eq!(notices(&**one.store(), "task").len(), 4);
}

#[test]
fn secrets_in_reasons_are_not_kept() {
    let shared = SharedStore::new();
    let engine = shared.engine("pack: t\n");
    let secret = "AKIAABCDEFGHIJKLMNOP";
    engine.admin().quarantine("eve", "ada", &format!("it printed {secret}")).unwrap();
    let log = engine.store().entries(&Default::default()).unwrap();
    assert!(log.iter().all(|entry| !entry.body.contains(secret)));
    let report = engine.store().notices(0, 9).unwrap();
    assert!(report.iter().all(|notice| !notice.message.contains(secret)), "{report:?}");
    let decision = engine.decide(call("eve", "ls"));
    assert!(!decision.reason.contains(secret), "{}", decision.reason);
}
