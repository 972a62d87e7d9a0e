//! Changes of the policy of the service, on record: which instance enforces which policy, and the change that an
//! administrator has confirmed. An instance never takes its policy from here.

use jiff::{SignedDuration, Timestamp};
use midrail_core::Policy;
use midrail_pack::PolicySource;
use midrail_store::Commit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::admin::event::{AdminEvent, NO_SESSION, Person, notice};
use crate::admin::handle::Admin;
use crate::engine::Engine;
use crate::error::{EngineError, EngineResult, retry_on_conflict};
use crate::seal::Signer;
use crate::session_slices::load_slice;
use crate::stored_policy::{StoredPolicyError, stored_policy};

/// The shared slice of the last change.
const LAST_CHANGE: &str = "shared/policy";

/// The shared slice of the confirmation.
const CONFIRMED: &str = "shared/policy/confirmed";

/// The purpose of the key that seals confirmations.
const LABEL: &[u8] = b"midrail-policy-v1";

/// How long a confirmation holds: long enough to update all instances.
const CONFIRMATION: SignedDuration = SignedDuration::from_hours(24);

/// A policy that came into force in an instance of the service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyChange {
    /// The revision of the policy.
    pub revision: String,
    /// The revision that was recorded before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
    /// The instance.
    pub by: String,
    /// When it came into force.
    pub since: Timestamp,
}

/// The permission of an administrator to start instances with a policy while others enforce another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyConfirmation {
    /// The revision of the policy.
    pub revision: String,
    /// Who confirmed it. Absent: there was no approver yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When.
    #[schemars(with = "String")]
    pub since: Timestamp,
    /// When the permission ends.
    #[schemars(with = "String")]
    pub until: Timestamp,
}

/// A confirmation as it is stored.
#[derive(Serialize, Deserialize)]
struct Sealed {
    #[serde(flatten)]
    confirmation: PolicyConfirmation,
    /// A keyed digest of the rest, which only a process with the key of the store can make.
    seal: String,
}

fn seal(confirmation: &PolicyConfirmation, key: &[u8]) -> String {
    Signer::new(key, LABEL).sign(&json!(confirmation).to_string())
}

impl Engine {
    /// Records that an instance enforces the policy in force, unless it was recorded last. Its packs are stored first, so
    /// that revisions can be compared later.
    pub fn record_policy(&self, by: &str) -> EngineResult<PolicyChange> {
        retry_on_conflict(|| {
            let active = self.active_policy();
            self.save_policy(&active)?;
            let revision = active.policy.revision().to_string();
            let slice = load_slice(&**self.store(), NO_SESSION, LAST_CHANGE)?;
            let last = slice.value.and_then(|value| serde_json::from_value::<PolicyChange>(value).ok());
            if let Some(last) = last.clone().filter(|last| last.revision == revision) {
                return Ok(last);
            }
            let previous = last.map(|last| last.revision);
            let change = PolicyChange { revision, previous, by: by.to_owned(), since: self.now() };
            let event = AdminEvent::new("policy_changed").with("policy", json!(change));
            let read = vec![(LAST_CHANGE.to_owned(), slice.version)];
            let notices = change.previous.as_ref().map(|previous| {
                let message = format!("the policy changed from {previous} to {} ({by})", change.revision);
                notice("human_operator", "policy", message, json!(change))
            });
            let notices = notices.into_iter().collect();
            let mut commit = Commit { read, notices, ..self.admin_commit(event) };
            commit.changes.set(LAST_CHANGE, json!(change));
            self.commit(&commit)?;
            Ok(change)
        })
    }

    /// A policy, compiled from the packs that the store holds for its revision.
    pub fn stored_policy(&self, revision: &str) -> Result<(Policy, PolicySource), StoredPolicyError> {
        stored_policy(&**self.store(), revision)
    }
}

impl Admin<'_> {
    /// Confirms a policy, so that for a day instances may start with it while others still enforce another one.
    ///
    /// Without approvers, no permission is needed; then it takes an administrator, a human operator or the first approver.
    pub fn confirm_policy(&self, revision: &str, by: Option<&Person>) -> EngineResult<PolicyConfirmation> {
        self.check_may_administer(by)?;
        let digest = revision.strip_prefix("sha256:").unwrap_or_default();
        if digest.len() != 64 || !digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(EngineError::invalid(format!(
                "`{}` is not the revision of a policy: it has the form `sha256:…`, as `midrail policy` shows it",
                revision.chars().take(100).collect::<String>().escape_debug()
            )));
        }
        let since = self.engine.now();
        let until = since.checked_add(CONFIRMATION).unwrap_or(Timestamp::MAX);
        let (revision, by_name) = (revision.to_owned(), by.map(|by| by.name().to_owned()));
        let confirmation = PolicyConfirmation { revision, by: by_name, since, until };
        let sealed = Sealed {
            seal: seal(&confirmation, &self.engine.fingerprint_key),
            confirmation: confirmation.clone(),
        };
        let event = AdminEvent::new("policy_confirmed").with("policy", json!(confirmation)).by(by);
        let who = confirmation.by.as_deref().unwrap_or("a user");
        let message =
            format!("{who} confirmed the policy {}: instances may start with it", confirmation.revision);
        let notice = notice("human_operator", "policy", message, json!(confirmation));
        self.change(event, CONFIRMED, Some(serde_json::to_value(sealed)?), vec![notice])?;
        Ok(confirmation)
    }

    /// The confirmation that holds now. One with a wrong seal is ignored.
    pub fn confirmed_policy(&self) -> EngineResult<Option<PolicyConfirmation>> {
        let sealed = self.slice(CONFIRMED)?.0.map(serde_json::from_value::<Sealed>).transpose()?;
        let is_valid = |sealed: &Sealed| {
            let Sealed { confirmation, seal: own } = sealed;
            let signer = Signer::new(&self.engine.fingerprint_key, LABEL);
            signer.verify(&json!(confirmation).to_string(), own) && self.engine.now() < confirmation.until
        };
        Ok(sealed.filter(is_valid).map(|sealed| sealed.confirmation))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use midrail_store::{MemoryStore, Store};

    use super::*;
    use crate::clock::ManualClock;
    use crate::load::Load;

    fn engine(pack: &str, store: &Arc<dyn Store>, clock: &Arc<ManualClock>) -> Engine {
        let loaded = Load { packs: vec![pack.into()], ..Load::default() }.load().unwrap();
        let engine = Engine::builder(loaded.policy, &loaded.source).store(store.clone());
        engine.clock(clock.clone()).build().unwrap()
    }

    fn fixture() -> (Arc<dyn Store>, Arc<ManualClock>) {
        let clock = ManualClock::at("2026-11-15T10:00:00Z".parse().unwrap());
        (Arc::new(MemoryStore::new().unwrap()), Arc::new(clock))
    }

    #[test]
    fn each_change_is_recorded_once_with_a_notice() {
        let (store, clock) = fixture();
        let one = engine("midrail:default", &store, &clock);
        let first = one.record_policy("one").unwrap();
        assert_eq!((&*first.revision, first.previous.clone()), (&**one.policy().revision(), None));
        let head = store.head().unwrap();
        assert_eq!(one.record_policy("again").unwrap(), first);
        assert_eq!(store.head().unwrap(), head);
        let other = engine("midrail:strict", &store, &clock);
        let second = other.record_policy("other").unwrap();
        assert_eq!(second.previous, Some(first.revision.clone()));
        let notices = store.notices(0, 10).unwrap();
        assert_eq!((notices.len(), &*notices[0].kind), (1, "policy"));
        let (policy, _) = one.stored_policy(&second.revision).unwrap();
        assert_eq!(policy.revision(), other.policy().revision());
    }

    #[test]
    fn confirmation_takes_an_administrator_and_ends() {
        let (store, clock) = fixture();
        let one = engine("midrail:default", &store, &clock);
        let revision = one.policy().revision().to_string();
        assert!(one.admin().confirm_policy("sha256:12", None).is_err());
        assert_eq!(one.admin().confirmed_policy().unwrap(), None);
        one.admin().add_approver("ann", &["reviewer".to_owned()], None).unwrap();
        assert!(one.admin().confirm_policy(&revision, None).is_err(), "an approver exists");
        let rob = Person::authenticated("rob", ["reviewer"]);
        assert!(one.admin().confirm_policy(&revision, Some(&rob)).is_err());
        let ada = Person::authenticated("ada", ["admin"]);
        let confirmed = one.admin().confirm_policy(&revision, Some(&ada)).unwrap();
        assert_eq!(one.admin().confirmed_policy().unwrap(), Some(confirmed));
        clock.advance(24.0 * 3600.0);
        assert_eq!(one.admin().confirmed_policy().unwrap(), None);
    }

    #[test]
    fn forged_confirmation_is_ignored() {
        let (store, clock) = fixture();
        let one = engine("midrail:default", &store, &clock);
        let revision = one.policy().revision().to_string();
        one.admin().confirm_policy(&revision, None).unwrap();
        let (mut forged, _) = one.admin().slice(CONFIRMED).unwrap();
        forged.as_mut().unwrap()["revision"] = json!(format!("sha256:{}", "0".repeat(64)));
        one.admin().change(AdminEvent::new("forged"), CONFIRMED, forged, Vec::new()).unwrap();
        assert_eq!(one.admin().confirmed_policy().unwrap(), None);
    }
}
