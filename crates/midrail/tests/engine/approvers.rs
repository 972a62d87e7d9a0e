//! People and their keys: who may answer, and that a key is kept nowhere.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use midrail::store::AuditFilter;
use midrail::{Effect, Engine, EngineError, SqliteStore};
use serde_json::json;

use crate::sessions::policy;

const PACK: &str =
    "pack: t\nguardrails:\n  - {id: ask, tools: deploy, effect: escalate, approver: architect}\n";

fn engine(folder: &Path) -> Arc<Engine> {
    let (policy, source) = policy(PACK);
    let store = Arc::new(SqliteStore::open(folder.join("s.db")).unwrap());
    Arc::new(Engine::builder(policy, &source).store(store).build().unwrap())
}

fn roles(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Everything that the store has on disk.
fn on_disk(folder: &Path) -> Vec<u8> {
    fs::read_dir(folder).unwrap().flat_map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect()
}

fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn key_authenticates_one_approver_and_is_never_stored() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (engine(folder.path()), engine(folder.path()));
    let key = one.admin().add_approver("ann", &roles(&["architect"]), None).unwrap();
    let person = other.admin().authenticate("ann", &format!("{key}\n")).unwrap();
    one.admin().add_approver("bob", &roles(&["reviewer"]), Some(&person)).unwrap();
    assert_eq!((person.name(), person.roles()), ("ann", &roles(&["architect"])[..]));

    let asked = one.session("s").check("deploy", json!({})).approval.unwrap();
    // Someone pastes the key where it does not belong.
    other.approvals().answer(&asked.id, true, &person, Some(&format!("go, my key is {key}"))).unwrap();
    one.session("s").check("deploy", json!({"note": format!("the key is {key}")}));
    let bytes = on_disk(folder.path());
    assert!(has(&bytes, "approver_added"), "the log is in what was looked at");
    assert!(!has(&bytes, &key), "the key is on disk");
    assert!(!has(&bytes, key.trim_start_matches("mrk_")), "the key is on disk");
}

#[test]
fn wrong_key_is_rejected_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path());
    let key = engine.admin().add_approver("ann", &roles(&["architect"]), None).unwrap();
    let ann = engine.admin().authenticate("ann", &key).unwrap();
    let other = engine.admin().add_approver("bob", &roles(&["reviewer"]), Some(&ann)).unwrap();
    let report = |name: &str, key: &str| engine.admin().authenticate(name, key).unwrap_err().to_string();
    let wrong = report("ann", &other);
    assert_eq!(
        wrong.replace("ann", "eve"),
        report("eve", &other),
        "it does not reveal which names there are"
    );
    assert!(!wrong.contains(&other));
    for key in ["", "mrk_", &key[..key.len() - 1], &key.to_uppercase()] {
        assert!(engine.admin().authenticate("ann", key).is_err(), "{key:?}");
    }
    assert_eq!(engine.store().counters().unwrap()["wrong_approver_keys"], 6);
}

#[test]
fn revoked_approver_cannot_answer_and_the_name_can_be_reused() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path());
    let old = engine.admin().add_approver("ann", &roles(&["architect"]), None).unwrap();
    let by = engine.admin().authenticate("ann", &old).unwrap();
    let add = |name: &str, names: &[&str]| engine.admin().add_approver(name, &roles(names), Some(&by));
    assert!(add("ann", &["reviewer"]).is_err(), "a name is given once");
    assert!(add("eve", &[]).is_err());
    assert!(add("eve", &[" "]).is_err());
    engine.admin().revoke_approver("ann", Some(&by)).unwrap();
    assert!(engine.admin().revoke_approver("ann", Some(&by)).is_err());
    assert!(engine.admin().authenticate("ann", &old).is_err());
    let new = engine.admin().add_approver("ann", &roles(&["reviewer"]), None).unwrap();
    assert!(engine.admin().authenticate("ann", &old).is_err());
    let ann = engine.admin().authenticate("ann", &new).unwrap();
    let asked = engine.session("s").check("deploy", json!({})).approval.unwrap();
    let refused = engine.approvals().answer(&asked.id, true, &ann, None).unwrap_err().to_string();
    assert!(refused.contains("is for the role `architect`"), "{refused}");
    assert_eq!(engine.session("s").check("deploy", json!({})).effect, Effect::Escalate);

    let entries = engine.store().entries(&AuditFilter::default()).unwrap();
    let acts = |what: &str| entries.iter().filter(|entry| entry.body.contains(what)).count();
    assert_eq!((acts("approver_added"), acts("approver_revoked")), (2, 1));
    let revoked: Vec<bool> =
        engine.store().approvers().unwrap().iter().map(|approver| approver.revoked.is_some()).collect();
    assert_eq!(revoked.iter().filter(|is| **is).count(), 1);
}

#[test]
fn only_the_first_approver_is_made_without_one() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path());
    let person = |name: &str, key: &str| engine.admin().authenticate(name, key).unwrap();
    let add = |name: &str, role: &str, by| engine.admin().add_approver(name, &roles(&[role]), by);
    let refused =
        |result: Result<String, _>| result.map_err(|error: EngineError| error.to_string()).unwrap_err();
    let first = person("first", &add("first", "reviewer", None).unwrap());
    assert!(refused(add("eve", "human_operator", None)).contains("one of them has to authorise this"));
    let rob = person("rob", &add("rob", "architect", Some(&first)).unwrap());
    let why = refused(add("eve", "human_operator", Some(&rob)));
    assert!(
        why.contains("`rob` has the role architect") && why.contains("the first approver `first`"),
        "{why}"
    );
    assert!(engine.admin().revoke_approver("first", Some(&rob)).is_err());
    assert!(engine.admin().revoke_approver("first", None).is_err());
    let olga = person("olga", &add("olga", "human_operator", Some(&first)).unwrap());
    add("zoe", "human_operator", Some(&olga)).unwrap();
    engine.admin().revoke_approver("first", Some(&olga)).unwrap();
    // Now the first of those who are left.
    add("max", "reviewer", Some(&rob)).unwrap();
    engine.admin().revoke_approver("rob", Some(&rob)).unwrap();
    let entries = engine.store().entries(&AuditFilter::default()).unwrap();
    assert!(
        entries.iter().any(|entry| entry.body.contains("\"by\":\"olga\"")),
        "the record names the person"
    );
}

#[test]
fn concurrent_first_approvers_add_one() {
    for _ in 0..8 {
        let folder = tempfile::tempdir().unwrap();
        let engines = [engine(folder.path()), engine(folder.path())];
        let added: Vec<bool> = thread::scope(|scope| {
            let run = |(at, engine): (usize, &Arc<Engine>)| {
                let (name, engine) = (format!("p{at}"), engine.clone());
                scope.spawn(move || {
                    engine.admin().add_approver(&name, &roles(&["human_operator"]), None).is_ok()
                })
            };
            let running: Vec<_> = engines.iter().enumerate().map(run).collect();
            running.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(added.iter().filter(|is| **is).count(), 1, "{added:?}");
    }
}
