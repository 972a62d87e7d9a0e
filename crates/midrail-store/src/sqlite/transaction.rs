//! A transaction whose own statements are prepared once: a busy process begins and ends thousands per second.

use std::cell::RefCell;
use std::ops::Deref;

use midrail_core::AuditRef;
use rusqlite::Connection;

/// A transaction. It is rolled back when it is dropped without a commit, also by a panic.
pub(super) struct Transaction<'c> {
    connection: &'c Connection,
    /// The last record that was written in it.
    head: RefCell<Option<AuditRef>>,
}

impl<'c> Transaction<'c> {
    /// Begins a transaction that reads one consistent state.
    pub(super) fn reading(connection: &'c Connection) -> rusqlite::Result<Self> {
        run(connection, "BEGIN").map(|()| Transaction::new(connection))
    }

    /// Begins a transaction that takes the write lock.
    pub(super) fn writing(connection: &'c Connection) -> rusqlite::Result<Self> {
        run(connection, "BEGIN IMMEDIATE").map(|()| Transaction::new(connection))
    }

    fn new(connection: &'c Connection) -> Self {
        Transaction { connection, head: RefCell::default() }
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
