//! People and their keys: who may answer, and that a key is kept nowhere.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use midrail::store::Filter;
use midrail::{Effect, Engine, SqliteStore};
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
fn a_key_opens_one_name_in_every_process_and_is_kept_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (engine(folder.path()), engine(folder.path()));
    let key = one.add_approver("ann", &roles(&["architect"])).unwrap();
    one.add_approver("bob", &roles(&["reviewer"])).unwrap();
    let person = other.person("ann", &format!("{key}\n")).unwrap();
    assert_eq!((person.name(), person.roles()), ("ann", &roles(&["architect"])[..]));

    let asked = one.session("s").check("deploy", json!({})).approval.unwrap();
    // Someone pastes the key where it does not belong.
    other.answer(&asked.id, true, &person, Some(&format!("go, my key is {key}"))).unwrap();
    one.session("s").check("deploy", json!({"note": format!("the key is {key}")}));
    let bytes = on_disk(folder.path());
    assert!(has(&bytes, "approver_added"), "the log is in what was looked at");
    assert!(!has(&bytes, &key), "the key is on disk");
    assert!(!has(&bytes, key.trim_start_matches("mrk_")), "the key is on disk");
}

#[test]
fn a_wrong_key_tells_nothing_and_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path());
    let key = engine.add_approver("ann", &roles(&["architect"])).unwrap();
    let other = engine.add_approver("bob", &roles(&["reviewer"])).unwrap();
    let told = |name: &str, key: &str| engine.person(name, key).unwrap_err().to_string();
    let wrong = told("ann", &other);
    assert_eq!(wrong.replace("ann", "eve"), told("eve", &other), "it does not tell which names there are");
    assert!(!wrong.contains(&other));
    for key in ["", "mrk_", &key[..key.len() - 1], &key.to_uppercase()] {
        assert!(engine.person("ann", key).is_err(), "{key:?}");
    }
    assert_eq!(engine.store().counters().unwrap()["wrong_approver_keys"], 6);
}

#[test]
fn who_is_revoked_answers_nothing_and_the_name_gets_a_new_key() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path());
    let old = engine.add_approver("ann", &roles(&["architect"])).unwrap();
    assert!(engine.add_approver("ann", &roles(&["reviewer"])).is_err(), "a name is given once");
    assert!(engine.add_approver("eve", &[]).is_err());
    assert!(engine.add_approver("eve", &roles(&[" "])).is_err());
    engine.revoke_approver("ann").unwrap();
    assert!(engine.revoke_approver("ann").is_err());
    assert!(engine.person("ann", &old).is_err());
    let new = engine.add_approver("ann", &roles(&["reviewer"])).unwrap();
    assert!(engine.person("ann", &old).is_err());
    let ann = engine.person("ann", &new).unwrap();
    let asked = engine.session("s").check("deploy", json!({})).approval.unwrap();
    let refused = engine.answer(&asked.id, true, &ann, None).unwrap_err().to_string();
    assert!(refused.contains("is for a `architect`"), "{refused}");
    assert_eq!(engine.session("s").check("deploy", json!({})).effect, Effect::Escalate);

    let entries = engine.store().entries(&Filter::default()).unwrap();
    let acts = |what: &str| entries.iter().filter(|entry| entry.body.contains(what)).count();
    assert_eq!((acts("approver_added"), acts("approver_revoked")), (2, 1));
    let revoked: Vec<bool> =
        engine.store().approvers().unwrap().iter().map(|approver| approver.revoked.is_some()).collect();
    assert_eq!(revoked.iter().filter(|is| **is).count(), 1);
}
