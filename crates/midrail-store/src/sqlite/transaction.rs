//! A transaction whose own statements are prepared once: a busy process begins and ends thousands per second.

use std::ops::Deref;

use rusqlite::Connection;

/// A transaction. It is rolled back when it is dropped without a commit, also by a panic.
pub(super) struct Transaction<'c>(&'c Connection);

impl<'c> Transaction<'c> {
    /// Begins a transaction that reads one consistent state.
    pub(super) fn reading(connection: &'c Connection) -> rusqlite::Result<Self> {
        run(connection, "BEGIN").map(|()| Transaction(connection))
    }

    /// Begins a transaction that takes the write lock.
    pub(super) fn writing(connection: &'c Connection) -> rusqlite::Result<Self> {
        run(connection, "BEGIN IMMEDIATE").map(|()| Transaction(connection))
    }

    /// Makes it durable.
    pub(super) fn commit(self) -> rusqlite::Result<()> {
        run(self.0, "COMMIT")
    }
}

impl Deref for Transaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.0
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        // SQLite may have ended it after an error.
        if !self.0.is_autocommit() {
            let _ = run(self.0, "ROLLBACK");
        }
    }
}

/// Runs a statement without parameters and rows.
pub(super) fn run(connection: &Connection, statement: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(statement)?.execute([]).map(|_| ())
}
