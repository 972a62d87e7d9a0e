//! API keys: how programs authenticate to the service. No key can answer for a person.

use std::collections::BTreeMap;

use jiff::Timestamp;
use midrail_core::glob;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::admin::event::{AdminEvent, Person, notice};
use crate::admin::handle::{Admin, Cell, Column, Resource};
use crate::error::{EngineError, EngineResult};
use crate::ids::random_hex;
use crate::seal::Signer;

/// The prefix of the shared slices that hold keys.
const KEYS: &str = "shared/api_key/";

/// Derives the key that seals rows, so that it is used for nothing else.
const LABEL: &[u8] = b"midrail-api-key-v1";

/// The role of people who administer the service: keys, projects, policies.
pub const ADMIN: &str = "admin";

/// What a key permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeyRight {
    /// Request decisions, and wait for the answers of people.
    Decide,
    /// Request approvals and bypasses from people.
    Ask,
    /// Read sessions, records, statistics and policies of its projects.
    Read,
}

impl KeyRight {
    /// The name of the right on the wire.
    pub fn word(self) -> &'static str {
        match self {
            KeyRight::Decide => "decide",
            KeyRight::Ask => "ask",
            KeyRight::Read => "read",
        }
    }
}

/// What a key permits, and for whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyScope {
    /// The name of the key.
    pub name: String,
    /// The projects the key is valid for, as globs: `acme/*`.
    pub projects: Vec<String>,
    /// The agents the key may act for, as globs of their ids. Absent: all agents, also those without an id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<Vec<String>>,
    /// What the key permits.
    pub rights: Vec<KeyRight>,
    /// Requests per minute. Absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_minute: Option<u32>,
}

/// A key as the store keeps it, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApiKey {
    /// Its id, which is the first part of the key.
    pub id: String,
    /// What it permits.
    #[serde(flatten)]
    pub scope: KeyScope,
    /// When it was created.
    #[schemars(with = "String")]
    pub created: Timestamp,
    /// When it was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub revoked: Option<Timestamp>,
}

impl ApiKey {
    /// Whether the key permits something.
    pub fn may(&self, right: KeyRight) -> bool {
        self.scope.rights.contains(&right)
    }

    /// Whether the key is valid for a project.
    pub fn is_for_project(&self, project: &str) -> bool {
        matches_any(&self.scope.projects, project)
    }

    /// Whether the key may act for an agent. A key that is limited to agents may not act for one without an id.
    pub fn is_for_agent(&self, agent: Option<&str>) -> bool {
        match (&self.scope.agents, agent) {
            (None, _) => true,
            (Some(agents), Some(agent)) => matches_any(agents, agent),
            (Some(_), None) => false,
        }
    }

    /// The only project of the key, which a request without a project means.
    pub fn only_project(&self) -> Option<&str> {
        match self.scope.projects.as_slice() {
            [project] if !glob::is_pattern(project) => Some(project),
            _ => None,
        }
    }
}

impl Resource for ApiKey {
    const TITLE: &'static str = "Keys";
    const EMPTY: &'static str = "There are no keys. Create one with `midrail key add NAME`.";
    const COLUMNS: &'static [Column<Self>] = &[
        Column::new("id", 16, |key| Cell::Text(key.id.clone())),
        Column::new("name", 30, |key| Cell::Text(key.scope.name.clone())),
        Column::new("projects", 40, |key| Cell::Text(key.scope.projects.join(", "))),
        Column::new("agents", 30, |key| {
            Cell::Text(key.scope.agents.as_ref().map_or("all".to_owned(), |it| it.join(", ")))
        }),
        Column::new("rights", 20, |key| {
            Cell::Text(key.scope.rights.iter().map(|it| it.word()).collect::<Vec<_>>().join(", "))
        }),
        Column::new("since", 20, |key| Cell::Time(key.created)),
        Column::new("", 40, |key| {
            let limit = key.scope.per_minute.map(|limit| format!("{limit} per minute"));
            Cell::revoked(key.revoked, limit.unwrap_or_default())
        }),
    ];

    fn list(admin: Admin<'_>) -> EngineResult<Vec<Self>> {
        let mut keys: Vec<ApiKey> = admin.key_rows()?.into_values().map(|row| row.key).collect();
        keys.sort_by(|one, other| (one.created, &one.id).cmp(&(other.created, &other.id)));
        Ok(keys)
    }

    fn is_revoked(&self) -> bool {
        self.revoked.is_some()
    }
}

fn matches_any(globs: &[String], text: &str) -> bool {
    globs.iter().any(|pattern| glob::name_matches(pattern, text))
}

/// A stored row: the key, a salted hash of its secret, and a seal over both, so that a row cannot be forged.
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
        row.seal = signer(store_key).sign(&row.text());
        row
    }

    fn text(&self) -> String {
        json!(["row", self.key, self.salt, self.hash]).to_string()
    }

    fn is_genuine(&self, store_key: &[u8]) -> bool {
        signer(store_key).verify(&self.text(), &self.seal)
    }

    /// Whether this is the key's secret, in constant time.
    fn has_secret(&self, secret: &str, store_key: &[u8]) -> bool {
        signer(store_key).verify(&salted(&self.key.id, &self.salt, secret), &self.hash)
    }
}

fn signer(store_key: &[u8]) -> Signer {
    Signer::new(store_key, LABEL)
}

fn salted(id: &str, salt: &str, secret: &str) -> String {
    json!(["secret", id, salt, secret]).to_string()
}

/// The id and the secret of a key: `mra_ID_SECRET`.
fn parts(text: &str) -> Option<(&str, &str)> {
    let (id, secret) = text.trim().strip_prefix("mra_")?.split_once('_')?;
    let is_hex = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    (text.len() < 200 && is_hex(id) && is_hex(secret)).then_some((id, secret))
}

impl Admin<'_> {
    /// Creates a key and returns it. The store keeps only a salted hash.
    ///
    /// Without approvers, no permission is needed; then it takes an administrator, a human operator or the first
    /// approver.
    pub fn add_api_key(&self, scope: &KeyScope, by: Option<&Person>) -> EngineResult<String> {
        self.check_may_administer(by)?;
        check(scope)?;
        let store_key = &self.engine.fingerprint_key;
        let (id, secret, salt) = (random_hex::<8>()?, random_hex::<32>()?, random_hex::<16>()?);
        let key = ApiKey { id: id.clone(), scope: scope.clone(), created: self.engine.now(), revoked: None };
        let hash = signer(store_key).sign(&salted(&id, &salt, &secret));
        self.write_key("api_key_added", &Row::sealed(key, salt, hash, store_key), by)?;
        Ok(format!("mra_{id}_{secret}"))
    }

    /// Revokes a key. It stays on record.
    pub fn revoke_api_key(&self, id: &str, by: Option<&Person>) -> EngineResult<ApiKey> {
        self.check_may_administer(by)?;
        let Some(row) = self.key_rows()?.remove(id) else {
            return Err(EngineError::conflict(format!("there is no key `{id}`")));
        };
        if row.key.revoked.is_some() {
            return Err(EngineError::conflict(format!("the key `{id}` is already revoked")));
        }
        let key = ApiKey { revoked: Some(self.engine.now()), ..row.key };
        let row = Row::sealed(key, row.salt, row.hash, &self.engine.fingerprint_key);
        self.write_key("api_key_revoked", &row, by)?;
        Ok(row.key)
    }

    /// Whether there is a key that is not revoked.
    pub fn has_api_keys(&self) -> EngineResult<bool> {
        Ok(self.key_rows()?.values().any(|row| row.key.revoked.is_none()))
    }

    /// The key with this text, if it is valid. A row with a wrong seal is ignored.
    pub fn api_key(&self, text: &str) -> EngineResult<Option<ApiKey>> {
        let Some((id, secret)) = parts(text) else { return Ok(None) };
        let (value, _) = self.slice(&format!("{KEYS}{id}"))?;
        let Some(Ok(row)) = value.map(serde_json::from_value::<Row>) else { return Ok(None) };
        let store_key = &self.engine.fingerprint_key;
        let is_valid = row.key.id == id
            && row.is_genuine(store_key)
            && row.has_secret(secret, store_key)
            && row.key.revoked.is_none();
        Ok(is_valid.then_some(row.key))
    }

    /// Checks that a person may administer the service.
    pub fn check_may_administer(&self, by: Option<&Person>) -> EngineResult {
        match by {
            Some(by) if by.roles().iter().any(|role| role == ADMIN) => Ok(()),
            by => self.check_may_change_approvers(by).map(drop),
        }
    }

    fn key_rows(&self) -> EngineResult<BTreeMap<String, Row>> {
        let rows = self.slices(KEYS)?.into_iter();
        let rows = rows.filter_map(|(_, value)| serde_json::from_value::<Row>(value).ok());
        let genuine = rows.filter(|row| row.is_genuine(&self.engine.fingerprint_key));
        Ok(genuine.map(|row| (row.key.id.clone(), row)).collect())
    }

    fn write_key(&self, name: &str, row: &Row, by: Option<&Person>) -> EngineResult {
        let key = &row.key;
        let event = AdminEvent::new(name).with("api_key", json!(key)).by(by);
        let change = if key.revoked.is_some() { "revoked" } else { "created" };
        let message = format!("the API key `{}` ({}) was {change}", key.scope.name, key.id);
        let notice = notice("human_operator", "api_key", message, json!(key));
        self.change(event, &format!("{KEYS}{}", key.id), Some(serde_json::to_value(row)?), vec![notice])
    }
}

/// Rejects a key that could not be used.
fn check(scope: &KeyScope) -> EngineResult {
    let name = scope.name.trim();
    if name.is_empty() || name.chars().any(char::is_control) || name.chars().count() > 100 {
        return Err(EngineError::invalid("a key needs a name of at most 100 characters"));
    }
    if scope.rights.is_empty() {
        return Err(EngineError::invalid(format!("the key `{name}` needs a right: decide, ask or read")));
    }
    if scope.projects.is_empty() || scope.agents.as_ref().is_some_and(Vec::is_empty) {
        return Err(EngineError::invalid(format!("the key `{name}` is for no project or no agent")));
    }
    if scope.per_minute == Some(0) {
        return Err(EngineError::invalid(format!("the key `{name}` needs at least 1 request per minute")));
    }
    for pattern in scope.projects.iter().chain(scope.agents.iter().flatten()) {
        glob::check(pattern).map_err(|error| {
            EngineError::invalid(format!("`{}` is not a valid pattern: {error}", pattern.escape_debug()))
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::admin::event::NO_SESSION;
    use crate::engine::Engine;
    use crate::load::Load;

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
    fn revoked_key_is_rejected() {
        let engine = engine();
        assert!(!engine.admin().has_api_keys().unwrap());
        let text = engine.admin().add_api_key(&scope(), None).unwrap();
        let key = engine.admin().api_key(&text).unwrap().unwrap();
        assert!(key.may(KeyRight::Decide) && !key.may(KeyRight::Read));
        assert!(key.is_for_project("acme/web") && !key.is_for_project("other/web"));
        assert!(key.is_for_agent(Some("build-7")) && !key.is_for_agent(Some("x")) && !key.is_for_agent(None));
        assert!(
            engine
                .admin()
                .api_key(&format!("{}0", &text[..text.len() - 1]))
                .unwrap()
                .is_none_or(|_| text.ends_with('0'))
        );
        assert!(engine.admin().api_key("mra_00_11").unwrap().is_none());
        engine.admin().revoke_api_key(&key.id, None).unwrap();
        assert!(engine.admin().api_key(&text).unwrap().is_none());
        assert!(!engine.admin().has_api_keys().unwrap());
        assert_eq!(engine.admin().list::<ApiKey>().unwrap().len(), 1);
    }

    #[test]
    fn no_record_holds_the_secret() {
        let engine = engine();
        let text = engine.admin().add_api_key(&scope(), None).unwrap();
        let secret = text.rsplit('_').next().unwrap();
        let entry = engine.store().entry(1).unwrap().unwrap();
        assert!(entry.body.contains("api_key_added"));
        assert!(!entry.body.contains(secret));
        let slices = engine.store().load_prefix(NO_SESSION, KEYS).unwrap();
        assert!(!serde_json::to_string(&slices).unwrap().contains(secret));
    }

    #[test]
    fn forged_row_is_ignored() {
        let engine = engine();
        let text = engine.admin().add_api_key(&scope(), None).unwrap();
        let (id, _) = parts(&text).unwrap();
        let place = format!("{KEYS}{id}");
        let mut row = engine.store().load(NO_SESSION, &[&place]).unwrap().remove(0).value.unwrap();
        row["projects"] = json!(["*"]);
        let mut commit = engine.admin_commit(AdminEvent::new("forged"));
        commit.changes.set(&*place, row);
        engine.store().commit(&commit).unwrap();
        assert!(engine.admin().api_key(&text).unwrap().is_none());
        assert!(engine.admin().list::<ApiKey>().unwrap().is_empty());
    }

    #[test]
    fn only_operators_and_admins_create_keys() {
        let engine = engine();
        engine.admin().add_approver("ann", &["reviewer".to_owned()], None).unwrap();
        assert!(engine.admin().add_api_key(&scope(), None).is_err());
        let bob = Person::authenticated("bob", ["reviewer"]);
        assert!(engine.admin().add_api_key(&scope(), Some(&bob)).is_err());
        let root = Person::authenticated("eve", [ADMIN]);
        assert!(engine.admin().add_api_key(&scope(), Some(&root)).is_ok());
    }

    #[test]
    fn unusable_key_is_rejected() {
        let engine = engine();
        for broken in [
            KeyScope { name: " ".to_owned(), ..scope() },
            KeyScope { rights: vec![], ..scope() },
            KeyScope { projects: vec![], ..scope() },
            KeyScope { agents: Some(vec![]), ..scope() },
            KeyScope { per_minute: Some(0), ..scope() },
            KeyScope { projects: vec!["[".to_owned()], ..scope() },
        ] {
            assert!(engine.admin().add_api_key(&broken, None).is_err(), "{broken:?}");
        }
    }
}
