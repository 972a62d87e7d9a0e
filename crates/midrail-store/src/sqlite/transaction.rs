//! A transaction whose own statements are prepared once: a busy process begins and ends thousands per second.

use std::cell::{Cell, RefCell};
use std::ops::Deref;

use midrail_core::AuditRef;
use rusqlite::Connection;

/// A transaction. It is rolled back when it is dropped without a commit, also by a panic.
pub(super) struct Transaction<'c> {
    connection: &'c Connection,
    /// Whether each part has a savepoint.
    has_savepoints: bool,
    /// Whether a part failed that had written something, and had no savepoint.
    is_spoilt: Cell<bool>,
    /// The last record that was written in it.
    head: RefCell<Option<AuditRef>>,
}

impl<'c> Transaction<'c> {
    /// Begins a transaction that reads one consistent state.
    pub(super) fn reading(connection: &'c Connection) -> rusqlite::Result<Self> {
        run(connection, "BEGIN").map(|()| Transaction::new(connection, false))
    }

    /// Begins a transaction that takes the write lock.
    pub(super) fn writing(connection: &'c Connection, has_savepoints: bool) -> rusqlite::Result<Self> {
        run(connection, "BEGIN IMMEDIATE").map(|()| Transaction::new(connection, has_savepoints))
    }

    fn new(connection: &'c Connection, has_savepoints: bool) -> Self {
        Transaction { connection, has_savepoints, is_spoilt: Cell::new(false), head: RefCell::default() }
    }

    /// Whether each part has a savepoint.
    pub(super) fn has_savepoints(&self) -> bool {
        self.has_savepoints
    }

    /// Notes that a part failed that had written something, and had no savepoint.
    pub(super) fn spoil(&self) {
        self.is_spoilt.set(true);
    }

    /// Whether the transaction must be made again, with savepoints.
    pub(super) fn is_spoilt(&self) -> bool {
        self.is_spoilt.get()
    }

    /// Notes that a record was written.
    pub(super) fn wrote(&self, head: &AuditRef) {
        self.head.replace(Some(head.clone()));
    }

    /// Makes it durable. Returns the last record that was written in it.
    pub(super) fn commit(self) -> rusqlite::Result<Option<AuditRef>> {
        run(self.connection, "COMMIT")?;
        Ok(self.head.take())
    }
}

impl Deref for Transaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        // SQLite may have ended it after an error.
        if !self.connection.is_autocommit() {
            let _ = run(self.connection, "ROLLBACK");
        }
    }
}

/// Runs a statement without parameters and rows.
pub(super) fn run(connection: &Connection, statement: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(statement)?.execute([]).map(|_| ())
}
