//! The policy that all instances on one store should use: the last one that any of them announced.

use jiff::Timestamp;
use midrail_core::Policy;
use midrail_pack::PolicySource;
use midrail_store::Commit;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::admin::event::{AdminEvent, NO_SESSION};
use crate::engine::Engine;
use crate::error::{EngineResult, retry_on_conflict};
use crate::session_slices::load_slice;
use crate::stored_policy::{StoredPolicyError, stored_policy};

/// The shared slice of the announcement.
const ANNOUNCEMENT: &str = "shared/policy";

/// An announcement of a policy by an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyAnnouncement {
    /// The revision of the policy.
    pub revision: String,
    /// The instance.
    pub by: String,
    /// When it was announced.
    pub since: Timestamp,
    /// The number of its record. A later announcement has a higher one.
    #[serde(skip)]
    pub seq: u64,
}

impl Engine {
    /// Announces the policy in force to all instances on the store. Its packs are stored first, so that every instance
    /// that reads the announcement finds them. Nothing is written if the policy is already announced.
    pub fn announce_policy(&self, by: &str) -> EngineResult<PolicyAnnouncement> {
        retry_on_conflict(|| {
            let active = self.active_policy();
            self.save_policy(&active)?;
            let revision = active.policy.revision().to_string();
            let (current, version) = self.load_announcement()?;
            if let Some(current) = current.filter(|current| current.revision == revision) {
                return Ok(current);
            }
            let (by, since) = (by.to_owned(), self.now());
            let announcement = PolicyAnnouncement { revision, by, since, seq: 0 };
            let event = AdminEvent::new("policy_announced").with("policy", json!(announcement));
            let read = vec![(ANNOUNCEMENT.to_owned(), version)];
            let mut commit = Commit { read, ..self.admin_commit(event) };
            commit.changes.set(ANNOUNCEMENT, json!(announcement));
            self.commit(&commit)?;
            let (last, version) = self.load_announcement()?;
            Ok(last.unwrap_or(PolicyAnnouncement { seq: version, ..announcement }))
        })
    }

    /// The last announcement. `None`: there is none.
    pub fn announced_policy(&self) -> EngineResult<Option<PolicyAnnouncement>> {
        Ok(self.load_announcement()?.0)
    }

    /// A policy, compiled from the packs that the store holds for its revision.
    pub fn stored_policy(&self, revision: &str) -> Result<(Policy, PolicySource), StoredPolicyError> {
        stored_policy(&**self.store(), revision)
    }

    fn load_announcement(&self) -> EngineResult<(Option<PolicyAnnouncement>, u64)> {
        let slice = load_slice(&**self.store(), NO_SESSION, ANNOUNCEMENT)?;
        let current = slice.value.and_then(|value| serde_json::from_value::<PolicyAnnouncement>(value).ok());
        let current = current.map(|current| PolicyAnnouncement { seq: slice.version, ..current });
        Ok((current, slice.version))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use midrail_store::{MemoryStore, Store};

    use super::*;
    use crate::Load;

    fn engine(pack: &str, store: &Arc<dyn Store>) -> Engine {
        let loaded = Load { packs: vec![pack.into()], ..Load::default() }.load().unwrap();
        Engine::builder(loaded.policy, &loaded.source).store(store.clone()).build().unwrap()
    }

    #[test]
    fn last_announcement_counts() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new().unwrap());
        let (one, other) = (engine("midrail:default", &store), engine("midrail:strict", &store));
        assert_eq!(one.announced_policy().unwrap(), None);
        let first = one.announce_policy("one").unwrap();
        assert_eq!(*first.revision, **one.policy().revision());
        let second = other.announce_policy("other").unwrap();
        assert!(second.seq > first.seq);
        assert_eq!(one.announced_policy().unwrap(), Some(second.clone()));
        let (policy, _) = one.stored_policy(&second.revision).unwrap();
        assert_eq!(policy.revision(), other.policy().revision());
    }

    #[test]
    fn announced_policy_is_not_written_again() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new().unwrap());
        let (one, other) = (engine("midrail:default", &store), engine("midrail:default", &store));
        let first = one.announce_policy("one").unwrap();
        let head = store.head().unwrap();
        assert_eq!(other.announce_policy("other").unwrap(), first);
        assert_eq!(store.head().unwrap(), head);
    }
}
