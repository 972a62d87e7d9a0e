//! The store in one SQLite file, shared by many processes, with its key in a file next to it.
//!
//! `FILE` is the database, `FILE.key` the secret that signs checkpoints and that fingerprints are derived from;
//! `FILE-wal` and `FILE-shm` belong to the database and must move with it. Only their owner can read them (0600).
//!
//! One connection writes. Commits of several threads share a transaction (`sql::queue`, `write`); a busy process reads with
//! further connections (`readers`).

mod commit;
mod dialect;
mod failure;
mod files;
mod open;
mod readers;
mod session;
#[cfg(test)]
mod tests;
mod transaction;
mod write;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use parking_lot::{Mutex, MutexGuard};
use rusqlite::Connection;

use crate::error::{Result, StoreError};
use crate::key::StoreKey;
use crate::sql::queue::Queue;
use crate::sqlite::readers::Readers;

/// A store in a SQLite file.
pub struct SqliteStore {
    path: PathBuf,
    is_read_only: bool,
    connection: Mutex<Connection>,
    /// Commits that wait for the connection.
    queue: Queue,
    /// Without readers, the one connection reads as well.
    readers: Option<Readers>,
    key: OnceLock<StoreKey>,
}

impl SqliteStore {
    /// Opens a store, and creates it if it does not exist. A store of an older version is upgraded.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = absolute(path.as_ref())?;
        let connection = open::for_writing(&path)?;
        Ok(SqliteStore::new(path, connection, false))
    }

    /// Opens a store for a process with many threads: up to `readers` threads read at the same time, and none of them
    /// waits for the writer. The connections are opened on demand.
    pub fn open_with_readers(path: impl AsRef<Path>, readers: usize) -> Result<Self> {
        let store = SqliteStore::open(path)?;
        Ok(SqliteStore { readers: Some(Readers::new(readers)), ..store })
    }

    /// Opens an existing store read-only.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self> {
        let path = absolute(path.as_ref())?;
        let connection = open::for_reading(&path)?;
        Ok(SqliteStore::new(path, connection, true))
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn new(path: PathBuf, connection: Connection, is_read_only: bool) -> Self {
        SqliteStore {
            path,
            is_read_only,
            connection: Mutex::new(connection),
            queue: Queue::new(StoreError::Abandoned),
            readers: None,
            key: OnceLock::new(),
        }
    }

    // A transaction that a panic interrupts is rolled back when it is dropped, so the connection stays usable.
    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock()
    }

    fn failure(&self, source: rusqlite::Error) -> StoreError {
        failure::failure(&self.path, source)
    }

    /// Reads. The result includes everything that was acknowledged before.
    fn read<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        self.with_reader(work).map_err(|error| self.failure(error))
    }

    fn with_reader<T>(&self, work: impl FnOnce(&Connection) -> T) -> T {
        let loan = self.readers.as_ref().map(|readers| readers.take(&self.path));
        match loan.as_ref().and_then(|loan| loan.connection()) {
            Some(connection) => work(connection),
            None => work(&self.connection()),
        }
    }

    fn check_writable(&self) -> Result<()> {
        if self.is_read_only { Err(StoreError::ReadOnly { path: self.path.clone() }) } else { Ok(()) }
    }

    /// The key, created if it does not exist.
    fn key(&self) -> Result<&StoreKey> {
        if let Some(key) = self.key.get() {
            return Ok(key);
        }
        if let Some(key) = files::read_key(&self.path)? {
            return Ok(self.key.get_or_init(|| key));
        }
        if self.is_read_only {
            return Err(StoreError::NotFound { path: files::key_path(&self.path) });
        }
        self.write(|_| self.key_under_lock())
    }

    /// The same for a caller that holds the write lock, which keeps other processes from creating another key.
    fn key_under_lock(&self) -> Result<&StoreKey> {
        if let Some(key) = self.key.get() {
            return Ok(key);
        }
        let key = match files::read_key(&self.path)? {
            Some(key) => key,
            None => {
                let key = StoreKey::random()?;
                files::write_key(&self.path, &key)?;
                key
            }
        };
        Ok(self.key.get_or_init(|| key))
    }
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|source| StoreError::io(path, source))
}
