//! Keys of programs: what an agent shows to a service so that it may ask for decisions. None of them can answer for a
//! person.

use std::collections::BTreeMap;

use jiff::Timestamp;
use midrail_core::{glob, hex};
use midrail_store::{Commit, NewNotice};
use ring::hmac;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::administer::{Act, NO_SESSION};
use crate::engine::{Engine, EngineError};
use crate::people::Person;
use crate::seal::unhex;

/// Where keys are kept: a slice each, which all sessions share.
const KEYS: &str = "shared/api_key/";

/// A key of its own for the seal, so that it has to do with nothing else.
const LABEL: &[u8] = b"midrail-api-key-v1";

/// The role of people who set up the service: keys, projects, policies.
pub const ADMIN: &str = "admin";

/// What a key is good for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum KeyRight {
    /// Ask for decisions, and wait for what people answer.
    Decide,
    /// Ask people: for an approval, to lift a guardrail.
    Ask,
    /// Read sessions, records, figures and policies of its projects.
    Read,
}

/// What a key may do, and for whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyScope {
    /// What it is called.
    pub name: String,
    /// The projects that it is for, as globs: `acme/*`.
    pub projects: Vec<String>,
    /// The agents that it speaks for, as globs of their ids. Absent: all, and those that have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<Vec<String>>,
    /// What it is good for.
    pub rights: Vec<KeyRight>,
    /// Requests a minute that it may make. Absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_minute: Option<u32>,
}

/// A key as it is kept: everything but the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ApiKey {
    /// Its name in the store, which is the first part of the key.
    pub id: String,
    /// What it may do.
    #[serde(flatten)]
    pub scope: KeyScope,
    /// Since when.
    #[schemars(with = "String")]
    pub created: Timestamp,
    /// Since when not any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub revoked: Option<Timestamp>,
}

impl ApiKey {
    /// Whether it is good for something.
    pub fn may(&self, right: KeyRight) -> bool {
        self.scope.rights.contains(&right)
    }

    /// Whether it is for a project.
    pub fn is_for_project(&self, project: &str) -> bool {
        matches_any(&self.scope.projects, project)
    }

    /// Whether it speaks for an agent. One that speaks for some speaks for none without a name.
    pub fn is_for_agent(&self, agent: Option<&str>) -> bool {
        match (&self.scope.agents, agent) {
            (None, _) => true,
            (Some(agents), Some(agent)) => matches_any(agents, agent),
            (Some(_), None) => false,
        }
    }

    /// The project that it means where none is named: its only one.
    pub fn only_project(&self) -> Option<&str> {
        match self.scope.projects.as_slice() {
            [project] if !glob::is_pattern(project) => Some(project),
            _ => None,
        }
    }
}

fn matches_any(globs: &[String], text: &str) -> bool {
    globs.iter().any(|pattern| glob::name_matches(pattern, text))
}

/// A row: the key's scope, a salted hash of its secret, and a seal over both, so that none can be written by hand.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Row {
    #[serde(flatten)]
    key: ApiKey,
    salt: String,
    hash: String,
    seal: String,
}

impl Row {
    fn sealed(key: ApiKey, salt: String, hash: String, store_key: &[u8]) -> Self {
        let mut row = Row { key, salt, hash, seal: String::new() };
        row.seal = hex(row.tag(store_key).as_ref());
        row
    }

    fn tag(&self, store_key: &[u8]) -> hmac::Tag {
        hmac::sign(&own_key(store_key), self.text().as_bytes())
    }

    fn text(&self) -> String {
        json!(["row", self.key, self.salt, self.hash]).to_string()
    }

    fn is_genuine(&self, store_key: &[u8]) -> bool {
        let seal = unhex(&self.seal).unwrap_or_default();
        hmac::verify(&own_key(store_key), self.text().as_bytes(), &seal).is_ok()
    }

    /// Whether this is its secret. Takes the same time wherever the difference is.
    fn has(&self, secret: &str, store_key: &[u8]) -> bool {
        let hash = unhex(&self.hash).unwrap_or_default();
        hmac::verify(&own_key(store_key), salted(&self.key.id, &self.salt, secret).as_bytes(), &hash).is_ok()
    }
}

fn own_key(store_key: &[u8]) -> hmac::Key {
    let own = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, store_key), LABEL);
    hmac::Key::new(hmac::HMAC_SHA256, own.as_ref())
}

fn salted(id: &str, salt: &str, secret: &str) -> String {
    json!(["secret", id, salt, secret]).to_string()
}

fn random<const N: usize>() -> Result<String, EngineError> {
    let mut bytes = [0_u8; N];
    getrandom::fill(&mut bytes).map_err(|error| refused(format!("no key could be made: {error}")))?;
    Ok(hex(&bytes))
}

fn refused(why: String) -> EngineError {
    EngineError::Approval(why)
}

fn senseless(why: String) -> EngineError {
    EngineError::Senseless(why)
}

/// The parts of a key: `mra_ID_SECRET`.
fn parts(text: &str) -> Option<(&str, &str)> {
    let (id, secret) = text.trim().strip_prefix("mra_")?.split_once('_')?;
    let is_hex = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    (text.len() < 200 && is_hex(id) && is_hex(secret)).then_some((id, secret))
}

impl Engine {
    /// Makes a key for programs. It comes back once and is kept nowhere; the store has a salted hash of it.
    ///
    /// As long as there are no approvers, whoever sets up the store makes keys; afterwards an administrator, a person of a
    /// human role, or whoever was the first approver.
    pub fn add_api_key(&self, scope: &KeyScope, by: Option<&Person>) -> Result<String, EngineError> {
        self.may_administer(by)?;
        check(scope)?;
        let (id, secret, salt) = (random::<8>()?, random::<32>()?, random::<16>()?);
        let key = ApiKey { id: id.clone(), scope: scope.clone(), created: self.now(), revoked: None };
        let hash = hmac::sign(&own_key(self.fingerprint_key()), salted(&id, &salt, &secret).as_bytes());
        let row = Row::sealed(key, salt, hex(hash.as_ref()), self.fingerprint_key());
        self.write_key("api_key_added", &row, by)?;
        Ok(format!("mra_{id}_{secret}"))
    }

    /// Takes a key out of use. It stays on record.
    pub fn revoke_api_key(&self, id: &str, by: Option<&Person>) -> Result<ApiKey, EngineError> {
        self.may_administer(by)?;
        let Some(row) = self.key_rows()?.remove(id) else {
            return Err(refused(format!("there is no key `{id}`")));
        };
        if row.key.revoked.is_some() {
            return Err(refused(format!("the key `{id}` is revoked already")));
        }
        let key = ApiKey { revoked: Some(self.now()), ..row.key };
        let row = Row::sealed(key, row.salt, row.hash, self.fingerprint_key());
        self.write_key("api_key_revoked", &row, by)?;
        Ok(row.key)
    }

    /// All keys that there ever were, the oldest first.
    pub fn api_keys(&self) -> Result<Vec<ApiKey>, EngineError> {
        let mut keys: Vec<ApiKey> = self.key_rows()?.into_values().map(|row| row.key).collect();
        keys.sort_by(|one, other| (one.created, &one.id).cmp(&(other.created, &other.id)));
        Ok(keys)
    }

    /// Whether a key is in use.
    pub fn has_api_keys(&self) -> Result<bool, EngineError> {
        Ok(self.key_rows()?.values().any(|row| row.key.revoked.is_none()))
    }

    /// The key of this text, if it is one that is in use. What does not fit its seal was written by nobody who may.
    pub fn api_key(&self, text: &str) -> Result<Option<ApiKey>, EngineError> {
        let Some((id, secret)) = parts(text) else { return Ok(None) };
        let place = format!("{KEYS}{id}");
        let slice = self.store().load(NO_SESSION, &[&place])?.into_iter().next().unwrap_or_default();
        let Some(Ok(row)) = slice.value.map(serde_json::from_value::<Row>) else { return Ok(None) };
        let is_good = row.key.id == id
            && row.is_genuine(self.fingerprint_key())
            && row.has(secret, self.fingerprint_key())
            && row.key.revoked.is_none();
        Ok(is_good.then_some(row.key))
    }

    /// Whether somebody may say who uses the service, and how.
    pub fn may_administer(&self, by: Option<&Person>) -> Result<(), EngineError> {
        match by {
            Some(by) if by.roles().iter().any(|role| role == ADMIN) => Ok(()),
            by => self.may_change_approvers(by).map(drop),
        }
    }

    fn key_rows(&self) -> Result<BTreeMap<String, Row>, EngineError> {
        let slices = self.store().load_prefix(NO_SESSION, KEYS)?;
        let rows = slices.into_values().filter_map(|value| serde_json::from_value::<Row>(value).ok());
        let genuine = rows.filter(|row| row.is_genuine(self.fingerprint_key()));
        Ok(genuine.map(|row| (row.key.id.clone(), row)).collect())
    }

    fn write_key(&self, what: &str, row: &Row, by: Option<&Person>) -> Result<(), EngineError> {
        let place = format!("{KEYS}{}", row.key.id);
        let version =
            self.store().load(NO_SESSION, &[&place])?.into_iter().next().unwrap_or_default().version;
        let mut act = Act::of(what).with("api_key", json!(row.key));
        if let Some(by) = by {
            act = act.with("by", by.name());
        }
        let record = self.administered(act)?;
        let mut commit = Commit {
            read: vec![(place.clone(), version)],
            notices: vec![NewNotice {
                to: "human_operator".to_owned(),
                kind: "api_key".to_owned(),
                message: format!(
                    "the API key `{}` ({}) was {}",
                    row.key.scope.name,
                    row.key.id,
                    match row.key.revoked {
                        Some(_) => "revoked",
                        None => "made",
                    }
                ),
                body: json!(row.key),
            }],
            ..Commit::new(&record)
        };
        let value: Value = serde_json::to_value(row)?;
        commit.changes.set(&*place, value);
        self.commit(&commit)
    }
}

/// A key that would be good for nothing is a mistake.
fn check(scope: &KeyScope) -> Result<(), EngineError> {
    let name = scope.name.trim();
    if name.is_empty() || name.chars().any(char::is_control) || name.chars().count() > 100 {
        return Err(senseless("a key needs a name of at most 100 characters".to_owned()));
    }
    if scope.rights.is_empty() {
        return Err(senseless(format!("the key `{name}` needs a right: decide, ask or read")));
    }
    if scope.projects.is_empty() || scope.agents.as_ref().is_some_and(Vec::is_empty) {
        return Err(senseless(format!("the key `{name}` would be for no project or no agent")));
    }
    if scope.per_minute == Some(0) {
        return Err(senseless(format!("the key `{name}` could make no request: give at least 1 a minute")));
    }
    for pattern in scope.projects.iter().chain(scope.agents.iter().flatten()) {
        if let Err(error) = glob::check(pattern) {
            return Err(senseless(format!("`{}` is no pattern: {error}", pattern.escape_debug())));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Load, SessionHandle};

    fn engine() -> Arc<Engine> {
        let loaded = Load { packs: vec!["midrail:default".into()], ..Load::default() }.load().unwrap();
        Arc::new(Engine::builder(loaded.policy, &loaded.source).build().unwrap())
    }

    fn scope() -> KeyScope {
        KeyScope {
            name: "ci".to_owned(),
            projects: vec!["acme/*".to_owned()],
            agents: Some(vec!["build-*".to_owned()]),
            rights: vec![KeyRight::Decide],
            per_minute: None,
        }
    }

    #[test]
    fn key_is_known_until_it_is_revoked() {
        let engine = engine();
        assert!(!engine.has_api_keys().unwrap());
        let text = engine.add_api_key(&scope(), None).unwrap();
        let key = engine.api_key(&text).unwrap().unwrap();
        assert!(key.may(KeyRight::Decide) && !key.may(KeyRight::Read));
        assert!(key.is_for_project("acme/web") && !key.is_for_project("other/web"));
        assert!(key.is_for_agent(Some("build-7")) && !key.is_for_agent(Some("x")) && !key.is_for_agent(None));
        assert!(
            engine
                .api_key(&format!("{}0", &text[..text.len() - 1]))
                .unwrap()
                .is_none_or(|_| text.ends_with('0'))
        );
        assert!(engine.api_key("mra_00_11").unwrap().is_none());
        engine.revoke_api_key(&key.id, None).unwrap();
        assert!(engine.api_key(&text).unwrap().is_none());
        assert!(!engine.has_api_keys().unwrap());
        assert_eq!(engine.api_keys().unwrap().len(), 1);
    }

    #[test]
    fn no_record_holds_the_secret() {
        let engine = engine();
        let text = engine.add_api_key(&scope(), None).unwrap();
        let secret = text.rsplit('_').next().unwrap();
        let entry = engine.store().entry(1).unwrap().unwrap();
        assert!(entry.body.contains("api_key_added"));
        assert!(!entry.body.contains(secret));
        let slices = engine.store().load_prefix(NO_SESSION, KEYS).unwrap();
        assert!(!serde_json::to_string(&slices).unwrap().contains(secret));
    }

    #[test]
    fn row_that_was_changed_by_hand_is_no_key() {
        let engine = engine();
        let text = engine.add_api_key(&scope(), None).unwrap();
        let (id, _) = parts(&text).unwrap();
        let place = format!("{KEYS}{id}");
        let mut row = engine.store().load(NO_SESSION, &[&place]).unwrap().remove(0).value.unwrap();
        row["projects"] = json!(["*"]);
        let record = engine.administered(Act::of("forged")).unwrap();
        let mut commit = Commit::new(&record);
        commit.changes.set(&*place, row);
        engine.store().commit(&commit).unwrap();
        assert!(engine.api_key(&text).unwrap().is_none());
        assert!(engine.api_keys().unwrap().is_empty());
    }

    #[test]
    fn once_there_are_approvers_one_of_them_makes_keys() {
        let engine = engine();
        engine.add_approver("ann", &["reviewer".to_owned()], None).unwrap();
        assert!(engine.add_api_key(&scope(), None).is_err());
        let bob = Person::vouched_for("bob", ["reviewer"]);
        assert!(engine.add_api_key(&scope(), Some(&bob)).is_err());
        let root = Person::vouched_for("eve", [ADMIN]);
        assert!(engine.add_api_key(&scope(), Some(&root)).is_ok());
        let _: SessionHandle = engine.session("s");
    }

    #[test]
    fn key_that_is_good_for_nothing_is_refused() {
        let engine = engine();
        for broken in [
            KeyScope { name: " ".to_owned(), ..scope() },
            KeyScope { rights: vec![], ..scope() },
            KeyScope { projects: vec![], ..scope() },
            KeyScope { agents: Some(vec![]), ..scope() },
            KeyScope { per_minute: Some(0), ..scope() },
            KeyScope { projects: vec!["[".to_owned()], ..scope() },
        ] {
            assert!(engine.add_api_key(&broken, None).is_err(), "{broken:?}");
        }
    }
}
