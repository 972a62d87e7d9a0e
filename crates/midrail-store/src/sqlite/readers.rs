//! Connections to read with, for a process that decides for many at once: a reader does not wait for the one who writes.

use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use crate::sqlite::open;

/// Connections to read with, made when they are needed.
pub(super) struct Readers {
    most: usize,
    state: Mutex<State>,
    came_back: Condvar,
}

#[derive(Default)]
struct State {
    free: Vec<Connection>,
    made: usize,
}

impl Readers {
    pub(super) fn new(most: usize) -> Self {
        Readers { most: most.max(1), state: Mutex::default(), came_back: Condvar::new() }
    }

    /// One that is free, or a new one, or after a while one that comes back.
    pub(super) fn take(&self, path: &Path) -> Loan<'_> {
        let mut state = self.state();
        loop {
            if let Some(connection) = state.free.pop() {
                return Loan { readers: self, connection: Some(connection) };
            }
            if state.made < self.most {
                state.made += 1;
                break;
            }
            state = self.came_back.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        let mut loan = Loan { readers: self, connection: None };
        loan.connection = open::to_read_beside(path).ok();
        loan
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection on loan. It goes back when this is dropped; so does the place of one that could not be made.
pub(super) struct Loan<'r> {
    readers: &'r Readers,
    connection: Option<Connection>,
}

impl Loan<'_> {
    /// The connection. `None`: none could be made, and the store's own has to do.
    pub(super) fn connection(&self) -> Option<&Connection> {
        self.connection.as_ref()
    }
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        let mut state = self.readers.state();
        match self.connection.take() {
            Some(connection) => state.free.push(connection),
            None => state.made = state.made.saturating_sub(1),
        }
        drop(state);
        self.readers.came_back.notify_one();
    }
}
