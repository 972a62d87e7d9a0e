//! The handle through which administrative resources are read and changed, and the description of a resource, over
//! which the lists of CLI, API and console are generic.

use std::path::Path;

use jiff::Timestamp;
use midrail_core::SHARED_PREFIX;
use midrail_store::{Commit, NewNotice, StoredNotice};
use serde::Serialize;
use serde_json::Value;

use crate::admin::event::{AdminEvent, NO_SESSION, Person};
use crate::engine::Engine;
use crate::error::EngineResult;
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

    /// A commit with the audit record of an administrative change.
    pub(crate) fn admin_commit(&self, event: AdminEvent) -> Commit<'static> {
        Commit::owned(event.into_record(self.now(), &self.fingerprint_key, self.policy().revision()))
    }

    /// Commits a change and delivers its notices.
    pub(crate) fn commit(&self, commit: &Commit<'_>) -> EngineResult {
        self.store().commit(commit)?;
        self.send_notices(&commit.notices);
        Ok(())
    }
}

impl Admin<'_> {
    /// The current records of a resource.
    pub fn list<R: Resource>(&self) -> EngineResult<Vec<R>> {
        R::list(*self)
    }

    /// Whether a person is a human operator or the first approver.
    pub(crate) fn is_operator(&self, person: &Person) -> EngineResult<bool> {
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
    ) -> EngineResult {
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
    ) -> EngineResult {
        let read = vec![(key.to_owned(), version)];
        let mut commit = Commit { read, notices, ..self.engine.admin_commit(event) };
        match value {
            Some(value) => commit.changes.set(key, value),
            None => commit.changes.remove(key),
        }
        self.engine.commit(&commit)
    }

    /// The shared slices whose keys start with a prefix, by the rest of their keys.
    pub(crate) fn slices(&self, prefix: &str) -> EngineResult<Vec<(String, Value)>> {
        debug_assert!(prefix.starts_with(SHARED_PREFIX));
        let rows = self.engine.store().load_prefix(NO_SESSION, prefix)?;
        let rest = |key: String| key.get(prefix.len()..).unwrap_or_default().to_owned();
        Ok(rows.into_iter().map(|(key, value)| (rest(key), value)).collect())
    }

    /// A shared slice and its version.
    pub(crate) fn slice(&self, key: &str) -> EngineResult<(Option<Value>, u64)> {
        let slice = load_slice(&**self.engine.store(), NO_SESSION, key)?;
        Ok((slice.value, slice.version))
    }
}

/// The absolute path of a file with links resolved, as guardrails know it, whether or not the file exists.
pub(crate) fn resolved(path: &Path) -> String {
    real_path(path).to_string_lossy().into_owned()
}

/// A record of an administrative resource, described once for every view.
pub trait Resource: Serialize + Sized + Send + 'static {
    /// The heading of its table.
    const TITLE: &'static str;
    /// What a view shows in place of an empty table.
    const EMPTY: &'static str;
    /// The columns of its table.
    const COLUMNS: &'static [Column<Self>];

    /// The current records.
    fn list(admin: Admin<'_>) -> EngineResult<Vec<Self>>;

    /// The agent that the record belongs to. A key that is limited to agents sees the records of these agents.
    fn agent(&self) -> Option<&str> {
        None
    }

    /// Whether the record is only kept for history.
    fn is_revoked(&self) -> bool {
        false
    }
}

/// A column of a table.
pub struct Column<T> {
    /// Its heading.
    pub head: &'static str,
    /// The most characters that a cell shows.
    pub width: usize,
    /// The content of a cell.
    pub cell: fn(&T) -> Cell,
}

impl<T> Column<T> {
    pub(crate) const fn new(head: &'static str, width: usize, cell: fn(&T) -> Cell) -> Self {
        Column { head, width, cell }
    }
}

/// The content of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// Text. It may come from an agent, so a view escapes it.
    Text(String),
    /// Text of less importance.
    Dim(String),
    /// A time.
    Time(Timestamp),
    /// The status of a record, which a view may mark with a colour.
    Status(String),
    /// The id of a guardrail, which a view shows with its name.
    Guardrail(String),
}

impl Cell {
    /// Text, or an empty cell.
    pub(crate) fn text(text: Option<&str>) -> Self {
        Cell::Text(text.unwrap_or_default().to_owned())
    }

    /// A time that is stored as text.
    pub(crate) fn stored_time(text: Option<&str>) -> Self {
        let text = text.unwrap_or_default();
        text.parse().map_or_else(|_| Cell::Text(text.to_owned()), Cell::Time)
    }

    /// When a record was revoked, or something else to say about it.
    pub(crate) fn revoked(time: Option<Timestamp>, otherwise: String) -> Self {
        Cell::Dim(time.map_or(otherwise, |time| format!("revoked {time:.0}")))
    }
}

impl Resource for StoredNotice {
    const TITLE: &'static str = "Notices";
    const EMPTY: &'static str = "No notices match.";
    const COLUMNS: &'static [Column<Self>] = &[
        Column::new("id", 12, |notice| Cell::Text(notice.id.to_string())),
        Column::new("time", 20, |notice| Cell::Time(notice.time)),
        Column::new("to", 20, |notice| Cell::Text(notice.to.clone())),
        Column::new("kind", 20, |notice| Cell::Text(notice.kind.clone())),
        Column::new("message", 300, |notice| Cell::Text(notice.message.clone())),
    ];

    fn list(admin: Admin<'_>) -> EngineResult<Vec<Self>> {
        Ok(admin.engine.store().notices(0, midrail_store::MAX_PAGE)?)
    }
}
