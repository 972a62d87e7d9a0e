//! The handle through which administrative resources are read and changed, and the store access its operations share.

use std::path::Path;

use midrail_core::{Record, SHARED_PREFIX};
use midrail_store::{Commit, NewNotice};
use serde_json::Value;

use crate::admin::event::{AdminEvent, NO_SESSION};
use crate::admin::person::Person;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::files::real_path;
use crate::session_slices::load_slice;

/// Administrative access to an engine: approvers, keys, locks, pauses, quarantine, tasks.
#[derive(Clone, Copy)]
pub struct Admin<'e> {
    pub(crate) engine: &'e Engine,
}

impl Engine {
    /// Administrative access: who may answer, keys, locks, pauses, quarantined agents, tasks.
    pub fn admin(&self) -> Admin<'_> {
        Admin { engine: self }
    }

    /// The audit record of an administrative change.
    pub(crate) fn admin_record(&self, event: AdminEvent) -> Record {
        event.into_record(self.now(), self.fingerprint_key(), self.policy().revision())
    }

    /// Commits a change and delivers its notices.
    pub(crate) fn commit(&self, commit: &Commit<'_>) -> Result<(), EngineError> {
        self.store().commit(commit)?;
        self.send_notices(&commit.notices);
        Ok(())
    }
}

impl Admin<'_> {
    /// Whether a person is a human operator or the first approver.
    pub(crate) fn is_operator(&self, person: &Person) -> Result<bool, EngineError> {
        let approvers = self.engine.store().approvers()?;
        let first = approvers.iter().find(|approver| approver.revoked.is_none());
        let is_first = first.is_some_and(|first| first.name == person.name());
        Ok(is_first || person.has_role(&self.engine.policy().authorities().humans))
    }

    /// Records a change of one shared slice, with its notices. `None` removes the slice.
    pub(crate) fn change(
        &self,
        event: AdminEvent,
        key: &str,
        value: Option<Value>,
        notices: Vec<NewNotice>,
    ) -> Result<(), EngineError> {
        let (_, version) = self.slice(key)?;
        self.change_at(event, (key, version), value, notices)
    }

    /// The same, if the slice still has a version.
    pub(crate) fn change_at(
        &self,
        event: AdminEvent,
        (key, version): (&str, u64),
        value: Option<Value>,
        notices: Vec<NewNotice>,
    ) -> Result<(), EngineError> {
        let record = self.engine.admin_record(event);
        let mut commit = Commit { read: vec![(key.to_owned(), version)], notices, ..Commit::new(&record) };
        match value {
            Some(value) => commit.changes.set(key, value),
            None => commit.changes.remove(key),
        }
        self.engine.commit(&commit)
    }

    /// The shared slices whose keys start with a prefix, by the rest of their keys.
    pub(crate) fn slices(&self, prefix: &str) -> Result<Vec<(String, Value)>, EngineError> {
        debug_assert!(prefix.starts_with(SHARED_PREFIX));
        let rows = self.engine.store().load_prefix(NO_SESSION, prefix)?;
        let rest = |key: String| key.get(prefix.len()..).unwrap_or_default().to_owned();
        Ok(rows.into_iter().map(|(key, value)| (rest(key), value)).collect())
    }

    /// A shared slice and its version.
    pub(crate) fn slice(&self, key: &str) -> Result<(Option<Value>, u64), EngineError> {
        let slice = load_slice(&**self.engine.store(), NO_SESSION, key)?;
        Ok((slice.value, slice.version))
    }
}

/// The absolute path of a file with links resolved, as guardrails know it, whether or not the file exists.
pub(crate) fn resolved(path: &Path) -> String {
    real_path(path).to_string_lossy().into_owned()
}
