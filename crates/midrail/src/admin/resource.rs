//! What a view needs to list an administrative resource. The lists of CLI, API and console are generic over it.

use jiff::Timestamp;
use midrail_store::StoredNotice;
use serde::Serialize;

use crate::admin::handle::Admin;
use crate::error::EngineError;

/// A record of an administrative resource, described once for every view.
pub trait Resource: Serialize + Sized + Send + 'static {
    /// The heading of its table.
    const TITLE: &'static str;
    /// What a view shows in place of an empty table.
    const EMPTY: &'static str;
    /// The columns of its table.
    const COLUMNS: &'static [Column<Self>];

    /// The current records.
    fn list(admin: Admin<'_>) -> Result<Vec<Self>, EngineError>;

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

    fn list(admin: Admin<'_>) -> Result<Vec<Self>, EngineError> {
        Ok(admin.engine.store().notices(0, midrail_store::MAX_PAGE)?)
    }
}
