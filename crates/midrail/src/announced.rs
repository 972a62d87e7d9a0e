//! Which policy is in force for all instances that share a store: the last one that any of them announced.

use jiff::Timestamp;
use midrail_core::Policy;
use midrail_pack::PolicySource;
use midrail_store::{Commit, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::administer::{Act, NO_SESSION};
use crate::engine::{Engine, EngineError};
use crate::redecide::recorded_policy;

/// Where it stands: a slice that all sessions share.
const POLICY: &str = "shared/policy";

/// A policy that an instance has put in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announced {
    /// Its revision.
    pub revision: String,
    /// The instance.
    pub by: String,
    /// Since when.
    pub since: Timestamp,
    /// The record of it. A later announcement has a higher one.
    #[serde(skip)]
    pub seq: u64,
}

impl Engine {
    /// Tells all who share the store that the policy in force here is to be in force with them. The packs of it are kept
    /// first, so that whoever hears of it finds them. Where it is what was announced last, nothing is written.
    pub fn announce_policy(&self, by: &str) -> Result<Announced, EngineError> {
        // Another may announce at the same time: whoever comes later is last.
        for _ in 0..crate::engine::MAX_TRIES {
            let revision = self.keep_policy()?;
            let (announced, version) = self.announced()?;
            if let Some(announced) = announced.filter(|announced| *announced.revision == *revision) {
                return Ok(announced);
            }
            let announced =
                Announced { revision: revision.to_string(), by: by.to_owned(), since: self.now(), seq: 0 };
            let record = self.administered(Act::of("policy_announced").with("policy", json!(announced)))?;
            let mut commit = Commit { read: vec![(POLICY.to_owned(), version)], ..Commit::new(&record) };
            commit.changes.set(POLICY, json!(announced));
            match self.commit(&commit) {
                Ok(()) => {
                    let (last, version) = self.announced()?;
                    return Ok(last.unwrap_or(Announced { seq: version, ..announced }));
                }
                Err(EngineError::Store(StoreError::Conflict { .. })) => continue,
                Err(error) => return Err(error),
            }
        }
        Err(EngineError::Contended)
    }

    /// The policy that was announced last. `None`: none ever was.
    pub fn announced_policy(&self) -> Result<Option<Announced>, EngineError> {
        Ok(self.announced()?.0)
    }

    /// A policy of the store, made again from the packs that are kept of it, or why that cannot be done.
    pub fn kept_policy(&self, revision: &str) -> Result<Result<(Policy, PolicySource), String>, EngineError> {
        Ok(recorded_policy(&**self.store(), revision)?)
    }

    fn announced(&self) -> Result<(Option<Announced>, u64), EngineError> {
        let slice = self.store().load(NO_SESSION, &[POLICY])?.into_iter().next().unwrap_or_default();
        let announced = slice.value.and_then(|value| serde_json::from_value::<Announced>(value).ok());
        Ok((announced.map(|announced| Announced { seq: slice.version, ..announced }), slice.version))
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
    fn last_announcement_is_the_one_that_counts() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new().unwrap());
        let (one, other) = (engine("midrail:default", &store), engine("midrail:strict", &store));
        assert_eq!(one.announced_policy().unwrap(), None);
        let first = one.announce_policy("one").unwrap();
        assert_eq!(*first.revision, **one.policy().revision());
        let second = other.announce_policy("other").unwrap();
        assert!(second.seq > first.seq);
        assert_eq!(one.announced_policy().unwrap(), Some(second.clone()));
        let (policy, _) = one.kept_policy(&second.revision).unwrap().unwrap();
        assert_eq!(policy.revision(), other.policy().revision());
    }

    #[test]
    fn what_is_announced_already_is_not_written_again() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new().unwrap());
        let (one, other) = (engine("midrail:default", &store), engine("midrail:default", &store));
        let first = one.announce_policy("one").unwrap();
        let head = store.head().unwrap();
        assert_eq!(other.announce_policy("other").unwrap(), first);
        assert_eq!(store.head().unwrap(), head);
    }
}
