//! A transaction whose own statements are kept ready: a process that decides for many begins and ends thousands a second.

use std::ops::Deref;

use rusqlite::Connection;

/// A transaction. What is not committed is rolled back when it is dropped, also by a panic.
pub(super) struct Transaction<'c>(&'c Connection);

impl<'c> Transaction<'c> {
    /// One that reads: all that it sees is of one moment.
    pub(super) fn reading(connection: &'c Connection) -> rusqlite::Result<Self> {
        say(connection, "BEGIN").map(|()| Transaction(connection))
    }

    /// One that takes the write lock at once.
    pub(super) fn writing(connection: &'c Connection) -> rusqlite::Result<Self> {
        say(connection, "BEGIN IMMEDIATE").map(|()| Transaction(connection))
    }

    /// Makes it durable.
    pub(super) fn commit(self) -> rusqlite::Result<()> {
        say(self.0, "COMMIT")
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
        // SQLite may have ended it by itself after an error.
        if !self.0.is_autocommit() {
            let _ = say(self.0, "ROLLBACK");
        }
    }
}

/// Runs a statement that answers nothing.
pub(super) fn say(connection: &Connection, statement: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(statement)?.execute([]).map(|_| ())
}
