//! Locks: files that an agent reserves while it works on them.

use std::path::Path;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use midrail_core::lock_key;
use midrail_guardrails::LockList;
use midrail_store::Commit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::admin::event::AdminEvent;
use crate::admin::handle::{Admin, Cell, Column, Resource, resolved};
use crate::error::{EngineError, EngineResult};

/// A file that an agent has locked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lock {
    /// The absolute path of the file.
    #[serde(default)]
    pub path: String,
    /// The agent that holds the lock.
    pub actor: String,
    /// The session in which it holds the lock.
    #[serde(default)]
    pub session: String,
    /// The task for which it holds the lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// When the lock was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// When the lock ends. Absent: when it is released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

impl Lock {
    fn is_held_at(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

impl Resource for Lock {
    const TITLE: &'static str = "Locks";
    const EMPTY: &'static str = "No files are locked.";
    const COLUMNS: &'static [Column<Self>] = &[
        Column::new("file", 100, |lock| Cell::Text(lock.path.clone())),
        Column::new("agent", 40, |lock| Cell::Text(lock.actor.clone())),
        Column::new("session", 20, |lock| Cell::Text(lock.session.clone())),
        Column::new("task", 20, |lock| Cell::text(lock.task.as_deref())),
        Column::new("until", 20, |lock| lock.until.map_or_else(|| Cell::text(Some("released")), Cell::Time)),
    ];

    fn list(admin: Admin<'_>) -> EngineResult<Vec<Self>> {
        let now = admin.engine.now();
        let mut locks = Vec::new();
        for (path, held) in admin.slices(&lock_key(""))? {
            locks.push(Lock { path, ..serde_json::from_value(held)? });
        }
        locks.retain(|lock| lock.is_held_at(now));
        Ok(locks)
    }

    fn agent(&self) -> Option<&str> {
        Some(&self.actor)
    }
}

impl Admin<'_> {
    /// Locks a file for an agent, or renews its lock.
    pub fn take_lock(
        &self,
        path: &Path,
        actor: &str,
        session: &str,
        duration: Duration,
    ) -> EngineResult<Lock> {
        let (key, path) = self.lock_place(path);
        let (held, version) = self.slice(&key)?;
        let now = self.engine.now();
        let held: Option<Lock> = held.map(serde_json::from_value).transpose()?;
        let held = held.filter(|lock| lock.is_held_at(now));
        if let Some(lock) = held.as_ref().filter(|lock| lock.actor != actor || lock.session != session) {
            let until = lock.until.map(|until| format!(" until {until:.0}")).unwrap_or_default();
            return Err(EngineError::conflict(format!("`{path}` is locked by `{}`{until}", lock.actor)));
        }
        let duration = SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX);
        let lock = Lock {
            path: path.clone(),
            actor: actor.to_owned(),
            session: session.to_owned(),
            task: None,
            since: Some(held.and_then(|lock| lock.since).unwrap_or(now)),
            until: now.checked_add(duration).ok(),
        };
        let event = AdminEvent::new("lock_taken").with("lock", serde_json::to_value(&lock)?);
        let (list, list_version) = self.slice(LockList::KEY)?;
        let mut list: LockList = list.map(serde_json::from_value).transpose()?.unwrap_or_default();
        list.add(&path, actor, lock.until, now);
        let read = vec![(key.clone(), version), (LockList::KEY.to_owned(), list_version)];
        let mut commit = Commit { read, ..self.engine.admin_commit(event) };
        commit.changes.set(key, serde_json::to_value(&lock)?);
        commit.changes.set(LockList::KEY, serde_json::to_value(&list)?);
        self.engine.commit(&commit)?;
        Ok(lock)
    }

    /// The key of a file's lock, and the path to show, both without secrets.
    fn lock_place(&self, path: &Path) -> (String, String) {
        let path = resolved(path);
        (self.engine.stored_key(&lock_key(&path)), self.engine.masked_text(&path))
    }

    /// Releases a file, whichever agent has locked it.
    pub fn release_lock(&self, path: &Path, by: &str) -> EngineResult {
        let (key, path) = self.lock_place(path);
        if self.slice(&key)?.0.is_none() {
            return Err(EngineError::conflict(format!("`{path}` is not locked")));
        }
        let event = AdminEvent::new("lock_released").with("path", path).with("by", by);
        self.change(event, &key, None, Vec::new())
    }
}
