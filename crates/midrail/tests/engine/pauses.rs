//! A person pauses the guardrails of a project for a while: in every process, on record, and not what is always on.

use std::path::Path;
use std::time::Duration;

use midrail::admin::Person;
use midrail::{Effect, Engine, Event, Files, Mode};
use serde_json::json;

use crate::sessions::policy;
use crate::shared_store::{SharedStore, notices};

const PACK: &str =
    "pack: t\nguardrails:\n  - {id: no-deploys, tools: deploy, effect: block, reason: Not now}\n";

fn olga() -> Person {
    Person::authenticated("olga", ["human_operator"])
}

fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(minutes * 60)
}

fn deploy(cwd: &Path) -> Event {
    Event {
        cwd: Some(cwd.display().to_string()),
        ..Event::before_tool("deploy", json!({})).in_session(cwd.display().to_string())
    }
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, midrail::EngineError>, why: &str) {
    let error = result.unwrap_err().to_string();
    assert!(error.contains(why), "{error}");
}

fn acts(engine: &Engine) -> Vec<String> {
    let entries = engine.store().entries(&Default::default()).unwrap();
    let acts = entries.iter().filter(|entry| entry.labels.kind == "administered");
    acts.map(|entry| entry.record().unwrap().event.extra["what"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_project_is_paused_in_every_process_until_the_time_is_over() {
    let shared = SharedStore::new();
    let (here, there) = (shared.path("here"), shared.path("there"));
    [&here, &there].iter().for_each(|folder| std::fs::create_dir_all(folder.join("below")).unwrap());
    let (one, two) = (shared.engine(PACK), shared.engine(PACK));
    assert_eq!(two.decide(deploy(&here)).effect, Effect::Block);

    let pause = one.admin().pause(Some(&here), minutes(10), &olga(), "the release is stuck").unwrap();
    let decision = two.decide(deploy(&here));
    assert_eq!(
        (decision.effect, decision.would, decision.mode),
        (Effect::Allow, Some(Effect::Block), Mode::Shadow)
    );
    assert_eq!(decision.paused, Some(pause.clone()));
    assert_eq!(two.decide(deploy(&here.join("below"))).effect, Effect::Allow);
    assert_eq!(two.decide(deploy(&there)).effect, Effect::Block, "another project");
    assert_eq!(two.admin().list::<midrail::core::Pause>().unwrap(), [pause]);

    shared.clock.advance(599.0);
    assert_eq!(two.decide(deploy(&here)).effect, Effect::Allow);
    shared.clock.advance(1.0);
    let decision = two.decide(deploy(&here));
    assert_eq!((decision.effect, decision.mode, decision.paused), (Effect::Block, Mode::Enforce, None));
    assert!(two.admin().list::<midrail::core::Pause>().unwrap().is_empty());
}

#[test]
fn a_pause_is_ended_by_anyone_and_both_are_on_record() {
    let shared = SharedStore::new();
    let (here, engine) = (shared.path("."), shared.engine(PACK));
    engine
        .admin()
        .pause(None, minutes(60), &olga(), "token ghp_012345678901234567890123456789abcdef12")
        .unwrap();
    engine.admin().pause(Some(&here), minutes(5), &olga(), "here as well").unwrap();
    refused(
        engine.admin().end_pause(Some(Path::new("/elsewhere")), "ann"),
        "every project is paused, which `--everywhere` ends",
    );
    engine.admin().end_pause(None, "ann").unwrap();
    assert_eq!(engine.decide(deploy(&here)).effect, Effect::Allow, "the other one holds");
    engine.admin().end_pause(Some(&here), "ann").unwrap();
    assert_eq!(engine.decide(deploy(&here)).effect, Effect::Block);
    assert_eq!(acts(&engine), ["paused", "paused", "pause_ended", "pause_ended"]);
    let report = notices(&**engine.store(), "pause");
    assert_eq!(report.len(), 4);
    let whole = format!("{report:?}{:?}", engine.store().entries(&Default::default()).unwrap());
    assert!(!whole.contains("ghp_0123"), "a secret in a reason is kept nowhere");
}

#[test]
fn only_people_pause_and_only_for_an_hour() {
    let shared = SharedStore::new();
    let engine = shared.engine(PACK);
    let reviewer = Person::authenticated("rob", ["reviewer"]);
    refused(engine.admin().pause(None, minutes(5), &reviewer, "x"), "only a human_operator");
    refused(engine.admin().pause(None, minutes(61), &olga(), "x"), "60 minutes at most");
    refused(engine.admin().pause(None, minutes(5), &olga(), "  "), "needs a reason");
    engine.admin().add_approver("rob", &["reviewer".to_owned()], None).unwrap();
    engine.admin().pause(None, minutes(60), &reviewer, "the first approver may").unwrap();
}

#[test]
fn always_on_guardrails_stay_enforced_and_records_replay() {
    let shared = SharedStore::new();
    let engine = shared.engine(PACK);
    engine.admin().pause(None, minutes(5), &olga(), "tidying").unwrap();
    let edit =
        Event::before_tool("Write", json!({"file_path": ".midrail/pack.yaml", "content": "pack: none"}));
    let decision = engine.decide(edit);
    assert_eq!((decision.effect, decision.by.as_deref()), (Effect::Block, Some("self-protection")));
    let secret = "AKIAIOSFODNN7EXAMPLQ";
    engine.decide(Event::before_tool("deploy", json!({"key": format!("aws_access_key_id={secret}")})));
    for entry in engine.store().entries(&Default::default()).unwrap() {
        let record = entry.record().unwrap();
        assert!(!entry.body.contains(secret));
        if record.slices.contains_key("halted") {
            assert_eq!(record.replay(&engine.policy()), record.decision, "record {}", entry.seq);
        }
    }
}

/// Agents of a service work on other machines, so no file is read; or their events name no folder at all.
#[test]
fn pause_of_a_folder_reaches_sessions_of_a_service() {
    let shared = SharedStore::new();
    let (here, place) = (shared.engine(PACK), shared.path("project"));
    std::fs::create_dir_all(&place).unwrap();
    let service = |files: Files| {
        let (policy, source) = policy(PACK);
        let engine = Engine::builder(policy, &source).store(here.store().clone());
        let engine = engine.clock(shared.clock.clone()).folder(Some(place.clone()));
        engine.files(std::sync::Arc::new(files)).build().unwrap()
    };
    let (remote, local) = (service(Files::Unavailable), service(Files::Disk));
    let deploy_in = |session: &str, cwd: Option<&str>| Event {
        cwd: cwd.map(str::to_owned),
        ..Event::before_tool("deploy", json!({})).in_session(session)
    };
    let effect =
        |engine: &Engine, session: &str, cwd: Option<&str>| engine.decide(deploy_in(session, cwd)).effect;
    here.admin().pause(Some(Path::new("/agents/shop")), minutes(10), &olga(), "a remote folder").unwrap();
    assert_eq!(effect(&remote, "a", Some("/agents/shop/./api")), Effect::Allow);
    assert_eq!(effect(&remote, "b", Some("/agents/shop/../other")), Effect::Block);
    assert_eq!(effect(&remote, "c", None), Effect::Block);
    // A session keeps its folder, wherever its agent moves.
    assert_eq!(effect(&remote, "b", Some("/agents/shop")), Effect::Block);
    assert_eq!(effect(&remote, "a", Some("/elsewhere")), Effect::Allow);
    // Events without a folder belong to that of the service's packs.
    for engine in [&remote, &local] {
        assert_eq!(effect(engine, "d", None), Effect::Block);
    }
    here.admin().pause(Some(&place), minutes(10), &olga(), "the folder of the service").unwrap();
    for engine in [&remote, &local] {
        let decision = engine.decide(deploy_in("d", None));
        assert_eq!((decision.effect, decision.would), (Effect::Allow, Some(Effect::Block)));
    }
    for entry in here.store().entries(&Default::default()).unwrap() {
        let record = entry.record().unwrap();
        if record.slices.contains_key("halted") {
            assert_eq!(record.replay(&here.policy()), record.decision, "record {}", entry.seq);
        }
    }
}
