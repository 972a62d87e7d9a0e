//! The store in one SQLite file, shared by many processes, with its key in a file next to it.
//!
//! `FILE` is the database, `FILE.key` the secret that signs checkpoints and that fingerprints are derived from, `FILE.head`
//! the anchor with the last head of the log, which is compared with the database when it is opened; `FILE-wal` and `FILE-shm` belong to the database and must move with it. Only their owner can read them (0600).
//!
//! One connection writes. Commits of several threads share a transaction (`sql::queue`, `write`); a busy process reads with
//! further connections (`readers`).

mod commit;
mod dialect;
mod failure;
mod files;
mod open;
mod queries;
mod readers;
mod schema;
mod session;
#[cfg(test)]
mod tests;
mod transaction;
mod write;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use parking_lot::{Mutex, MutexGuard};
use rusqlite::Connection;

use crate::anchor::{self, Anchor, AnchorFile};
use crate::error::{Result, StoreDamage, StoreError};
use crate::key::StoreKey;
use crate::sql::log;
use crate::sql::queue::Queue;
use crate::sqlite::dialect::DIALECT;
use crate::sqlite::readers::Readers;
use crate::sqlite::session::Session;

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
    /// The key of a damaged store, which another process may replace when the damage is acknowledged.
    provisional_key: OnceLock<StoreKey>,
    anchor: AnchorFile,
    /// The damage that was found when the store was opened. Nothing is written until it is acknowledged.
    damage: Mutex<Option<StoreDamage>>,
}

impl SqliteStore {
    /// Opens a store, and creates it if it does not exist. A store of an older version is upgraded.
    ///
    /// The database is compared with its anchor. If it has lost acknowledged records, or is another one, it can be read,
    /// and every commit fails with [`StoreError::Damaged`] until a person has called
    /// [`acknowledge_damage`](crate::Store::acknowledge_damage).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = absolute(path.as_ref())?;
        let anchor = AnchorFile::new(files::anchor_path(&path));
        let connection = open::for_writing(&path, &anchor)?;
        let mut store = SqliteStore::new(path, connection, anchor, false);
        let damage = store.confirmed_damage()?;
        if damage.is_none() {
            open::write_back(store.connection.get_mut(), &store.path)?;
        }
        *store.damage.get_mut() = damage;
        Ok(store)
    }

    /// Opens a store for a process with many threads: up to `readers` threads read at the same time, and none of them
    /// waits for the writer. The connections are opened on demand.
    pub fn open_with_readers(path: impl AsRef<Path>, readers: usize) -> Result<Self> {
        let mut store = SqliteStore::open(path)?;
        // Every decision reads approvals. A statement that finds no table is not cached, so it would be compiled each time.
        if store.damage.get_mut().is_none() {
            store.write(|transaction| {
                schema::create(transaction, "approvals").map_err(|error| store.failure(error))
            })?;
        }
        Ok(SqliteStore { readers: Some(Readers::new(readers)), ..store })
    }

    /// Opens an existing store read-only.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self> {
        let path = absolute(path.as_ref())?;
        let connection = open::for_reading(&path)?;
        let anchor = AnchorFile::new(files::anchor_path(&path));
        Ok(SqliteStore::new(path, connection, anchor, true))
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn new(path: PathBuf, connection: Connection, anchor: AnchorFile, is_read_only: bool) -> Self {
        SqliteStore {
            path,
            is_read_only,
            connection: Mutex::new(connection),
            queue: Queue::new(StoreError::Abandoned),
            readers: None,
            key: OnceLock::new(),
            provisional_key: OnceLock::new(),
            anchor,
            damage: Mutex::default(),
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

    fn check_not_read_only(&self) -> Result<()> {
        if self.is_read_only { Err(StoreError::ReadOnly { path: self.path.clone() }) } else { Ok(()) }
    }

    /// Checks that the store may be written: it is not open for reading only, and not damaged.
    fn check_writable(&self) -> Result<()> {
        self.check_not_read_only()?;
        if self.damage.lock().is_none() {
            return Ok(());
        }
        // Another process may have acknowledged it meanwhile.
        let damage = self.confirmed_damage()?;
        let what = damage.as_ref().map(|damage| damage.what.clone());
        *self.damage.lock() = damage;
        what.map_or(Ok(()), |what| Err(StoreError::Damaged { path: self.path.clone(), what }))
    }

    /// The damage of the database. Another process may create or write it at the same time, so damage is confirmed under
    /// the write lock.
    fn confirmed_damage(&self) -> Result<Option<StoreDamage>> {
        let connection = self.connection();
        if self.compare_with_anchor(&connection)?.is_none() {
            return Ok(None);
        }
        let transaction = open::begin(&connection).map_err(|error| self.failure(error))?;
        self.compare_with_anchor(&transaction)
    }

    fn compare_with_anchor(&self, connection: &Connection) -> Result<Option<StoreDamage>> {
        // Before the database: every head in it was committed.
        let anchor = self.anchor.read()?;
        let key = self.existing_key()?;
        let session = Session::reading(connection, &self.path);
        let found = log::head(&session, &DIALECT)?;
        let is_intact = match key.as_ref().map(|key| anchor.last(key)) {
            Some(Ok(last)) => last.is_some() && last == found.as_ref(),
            _ => false,
        };
        if !is_intact {
            let hash_of = |seq| log::hash_of(&session, &DIALECT, seq);
            let damage = anchor::find_damage(&anchor, self.anchor.path(), key.as_ref(), found, hash_of)?;
            if damage.is_some() {
                return Ok(damage);
            }
        }
        if let Some(key) = key {
            self.key.get_or_init(|| key);
        }
        Ok(None)
    }

    /// The key, if it exists.
    fn existing_key(&self) -> Result<Option<StoreKey>> {
        match self.key.get() {
            Some(key) => Ok(Some(key.clone())),
            None => files::read_key(&self.path),
        }
    }

    /// The key, created if it does not exist.
    fn key(&self) -> Result<&StoreKey> {
        if let Some(key) = self.key.get() {
            return Ok(key);
        }
        let existing = files::read_key(&self.path)?;
        if self.damage.lock().is_some() {
            let key = existing.map_or_else(StoreKey::random, Ok)?;
            return Ok(self.provisional_key.get_or_init(|| key));
        }
        if let Some(key) = existing {
            return Ok(self.key.get_or_init(|| key));
        }
        if self.is_read_only {
            return Err(StoreError::NotFound { path: files::key_path(&self.path) });
        }
        let connection = self.connection();
        self.transact(&connection, |transaction| self.key_under_lock(transaction))
    }

    /// The same for a caller that holds the write lock, which keeps other processes from creating another key.
    fn key_under_lock(&self, connection: &Connection) -> Result<&StoreKey> {
        if let Some(key) = self.key.get() {
            return Ok(key);
        }
        let key = match files::read_key(&self.path)? {
            Some(key) => key,
            None => {
                let key = StoreKey::random()?;
                // Before the key, so that a store with a key has an anchor. If the store has records, or the anchor has
                // heads, a key was lost.
                let session = Session::reading(connection, &self.path);
                let anchor = self.anchor.read()?;
                let is_new = matches!(anchor, Anchor::Missing) || anchor.is_new();
                if is_new && log::head(&session, &DIALECT)?.is_none() {
                    self.anchor.reset(&key, None)?;
                }
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
