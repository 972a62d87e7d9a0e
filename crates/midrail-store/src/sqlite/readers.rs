//! Connections that read, for a process with many threads: a reader does not wait for the writer.

use std::path::Path;

use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;

use crate::sqlite::open;

/// Connections that read, opened on demand.
pub(super) struct Readers {
    max: usize,
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Default)]
struct State {
    free: Vec<Connection>,
    opened: usize,
}

impl Readers {
    pub(super) fn new(max: usize) -> Self {
        Readers { max: max.max(1), state: Mutex::default(), returned: Condvar::new() }
    }

    /// Returns a free connection, a new one, or waits for one that is returned.
    pub(super) fn take(&self, path: &Path) -> Loan<'_> {
        let mut state = self.state.lock();
        loop {
            if let Some(connection) = state.free.pop() {
                return Loan { readers: self, connection: Some(connection) };
            }
            if state.opened < self.max {
                state.opened += 1;
                break;
            }
            self.returned.wait(&mut state);
        }
        drop(state);
        let mut loan = Loan { readers: self, connection: None };
        loan.connection = open::additional_reader(path).ok();
        loan
    }
}

/// A borrowed connection. It is returned when this is dropped; so is the place of one that could not be opened.
pub(super) struct Loan<'r> {
    readers: &'r Readers,
    connection: Option<Connection>,
}

impl Loan<'_> {
    /// The connection. `None`: it could not be opened, and the connection of the store is used.
    pub(super) fn connection(&self) -> Option<&Connection> {
        self.connection.as_ref()
    }
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        let mut state = self.readers.state.lock();
        match self.connection.take() {
            Some(connection) => state.free.push(connection),
            None => state.opened = state.opened.saturating_sub(1),
        }
        drop(state);
        self.readers.returned.notify_one();
    }
}
