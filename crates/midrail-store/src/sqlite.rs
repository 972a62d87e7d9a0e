//! The store in one SQLite file, shared by many processes, with its key in a file beside it.
//!
//! `FILE` is the database, `FILE.key` the secret that checkpoints are signed with and that fingerprints come from;
//! `FILE-wal` and `FILE-shm` belong to the database and must move with it. All are their owner's alone (0600).
//!
//! One connection writes. Threads that commit at the same time are written together (`group`); a process that decides for
//! many reads with connections of their own (`readers`).

mod approvers;
mod commit;
mod failure;
mod files;
mod group;
mod log;
mod notices;
mod open;
mod read;
mod readers;
mod stats;
#[cfg(test)]
mod tests;
mod transaction;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rusqlite::Connection;

use crate::checkpoint::PublicKey;
use crate::error::{Result, StoreError};
use crate::key::StoreKey;
use crate::sqlite::group::Queue;
use crate::sqlite::readers::Readers;
use crate::sqlite::transaction::Transaction;
use crate::store::Keys;

/// A store in a SQLite file.
pub struct SqliteStore {
    path: PathBuf,
    is_read_only: bool,
    connection: Mutex<Connection>,
    /// Commits that wait for the connection.
    queue: Queue,
    /// Where there are none, the one connection reads as well.
    readers: Option<Readers>,
    key: OnceLock<StoreKey>,
}

impl SqliteStore {
    /// Opens a store, and makes it if there is none. A store of an older version is brought up to date.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = absolute(path.as_ref())?;
        let connection = open::for_writing(&path)?;
        Ok(SqliteStore::new(path, connection, false))
    }

    /// The same for a process that decides for many at once: up to so many threads read at the same time, and none of
    /// them waits for the one that writes. The connections for it are made when they are needed.
    pub fn open_with_readers(path: impl AsRef<Path>, readers: usize) -> Result<Self> {
        let store = SqliteStore::open(path)?;
        Ok(SqliteStore { readers: Some(Readers::new(readers)), ..store })
    }

    /// Opens a store of which nothing is to be changed. It must be there.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self> {
        let path = absolute(path.as_ref())?;
        let connection = open::for_reading(&path)?;
        Ok(SqliteStore::new(path, connection, true))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn new(path: PathBuf, connection: Connection, is_read_only: bool) -> Self {
        SqliteStore {
            path,
            is_read_only,
            connection: Mutex::new(connection),
            queue: Queue::default(),
            readers: None,
            key: OnceLock::new(),
        }
    }

    // A transaction that a panic leaves behind is rolled back when it is dropped, so the connection can be used on.
    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failure(&self, source: rusqlite::Error) -> StoreError {
        failure::failure(&self.path, source)
    }

    /// Whether the file is whole, as SQLite sees it.
    fn check_file(&self) -> Result<()> {
        let found: String =
            self.read(|connection| connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)))?;
        match found.as_str() {
            "ok" => Ok(()),
            what => Err(StoreError::Corrupt {
                path: self.path.clone(),
                what: format!("the database is damaged: {what}"),
            }),
        }
    }

    /// Reads. What was acknowledged before is there.
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

    /// Writes in one transaction, which is durable on return.
    fn write<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.check_writable()?;
        self.write_with(None, work)
    }

    fn check_writable(&self) -> Result<()> {
        if self.is_read_only { Err(StoreError::ReadOnly { path: self.path.clone() }) } else { Ok(()) }
    }

    /// The key, made if there is none.
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

    /// The same for a caller that holds the write lock, which keeps other processes from making another key.
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

impl Keys for SqliteStore {
    fn fingerprint_key(&self) -> Result<[u8; 32]> {
        self.key().map(StoreKey::fingerprint_key)
    }

    fn public_key(&self) -> Result<PublicKey> {
        self.key().map(|key| key.public().clone())
    }
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|source| StoreError::Io { path: path.to_owned(), source })
}
