//! The handle through which administrative resources are read and changed, and the store access its operations share.

use std::path::{Component, Path};

use midrail_core::{Record, SHARED_PREFIX};
use midrail_store::{Commit, NewNotice};
use serde_json::Value;

use crate::admin::event::{AdminEvent, NO_SESSION};
use crate::admin::person::Person;
use crate::engine::Engine;
use crate::error::EngineError;

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
}

impl Engine {
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
        let slice = self.engine.store().load(NO_SESSION, &[key])?.into_iter().next().unwrap_or_default();
        Ok((slice.value, slice.version))
    }
}

/// A notice about an administrative change.
pub(crate) fn notice(to: &str, kind: &str, message: String, body: Value) -> NewNotice {
    NewNotice { to: to.to_owned(), kind: kind.to_owned(), message, body }
}

/// The absolute path of a file with links resolved, as guardrails know it, whether or not the file exists.
pub(crate) fn resolved(path: &Path) -> String {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut known = whole.as_path();
    let mut rest = Vec::new();
    let mut resolved = loop {
        match (known.canonicalize(), known.parent(), known.components().next_back()) {
            (Ok(found), ..) => break found,
            (Err(_), Some(parent), Some(last)) => {
                rest.push(last);
                known = parent;
            }
            (Err(_), ..) => break known.to_owned(),
        }
    };
    for part in rest.into_iter().rev() {
        match part {
            Component::ParentDir => drop(resolved.pop()),
            part => resolved.push(part),
        }
    }
    resolved.to_string_lossy().into_owned()
}

/// A change that the current state does not permit.
pub(crate) fn conflict(message: String) -> EngineError {
    EngineError::Approval(message)
}

/// A change that this person may not make.
pub(crate) fn not_allowed(message: String) -> EngineError {
    EngineError::NotAllowed(message)
}

/// A request that cannot be carried out as given.
pub(crate) fn invalid(message: impl Into<String>) -> EngineError {
    EngineError::InvalidRequest(message.into())
}
