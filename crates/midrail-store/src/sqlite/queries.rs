//! The shared statements on a SQLite store.

use rusqlite::OptionalExtension;

use crate::checkpoint::PublicKey;
use crate::error::{Result, StoreDamage, StoreError};
use crate::key::StoreKey;
use crate::slice_keys::storage_session;
use crate::sql::{Connection, Dialect, SqlStore, decode, number};
use crate::sqlite::SqliteStore;
use crate::sqlite::dialect::DIALECT;
use crate::sqlite::files;
use crate::sqlite::session::Session;
use crate::sqlite::transaction::Transaction;
use crate::store::Slice;

/// One slice. Loading and committing share the statement, so that a short process prepares it once.
pub(super) const SLICE: &str = "SELECT value, version FROM slices WHERE session = ? AND key = ?";

impl SqlStore for SqliteStore {
    const DIALECT: Dialect = DIALECT;

    fn select<T>(&self, work: impl Fn(&dyn Connection) -> Result<T>) -> Result<T> {
        self.with_reader(|connection| work(&Session::reading(connection, self.path())))
    }

    fn update<T>(&self, work: impl Fn(&dyn Connection) -> Result<T>) -> Result<T> {
        self.write(|transaction| work(&Session::writing(transaction, self.path())))
    }

    fn transact<T>(&self, work: impl Fn(&dyn Connection) -> Result<T>) -> Result<T> {
        self.update(work)
    }

    fn store_key(&self) -> Result<&StoreKey> {
        self.key()
    }

    fn stored_key(&self, _: &dyn Connection) -> Result<StoreKey> {
        let missing = || StoreError::NotFound { path: files::key_path(self.path()) };
        files::read_key(self.path())?.ok_or_else(missing)
    }

    fn write_key(&self, _: &dyn Connection, key: &StoreKey) -> Result<()> {
        files::write_key(self.path(), key)
    }

    fn known_key(&self) -> Result<Option<PublicKey>> {
        match self.existing_key() {
            // An auditor may read the store and not its key, and name the key instead.
            Err(StoreError::Io { .. }) if self.is_read_only => Ok(None),
            key => Ok(key?.map(|key| key.public().clone())),
        }
    }

    fn find_damage(&self) -> Result<Option<StoreDamage>> {
        self.with_reader(|connection| self.compare_with_anchor(connection))
    }

    fn load_slices(&self, session: &str, keys: &[&str]) -> Result<Vec<Slice>> {
        let rows = self.read(|connection| {
            // One transaction, so that all slices belong to one state and the file is locked once.
            let _transaction = (keys.len() > 1).then(|| Transaction::reading(connection)).transpose()?;
            let mut statement = connection.prepare_cached(SLICE)?;
            let find = |key: &&str| {
                let cells = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?));
                statement.query_row([storage_session(session, key), key], cells).optional()
            };
            keys.iter().map(find).collect::<rusqlite::Result<Vec<_>>>()
        })?;
        let slice = |(key, row): (&&str, Option<(String, i64)>)| {
            let Some((value, version)) = row else { return Ok(Slice::default()) };
            let value = decode(&value, || format!("slice `{key}` of session `{session}`"))?;
            Ok(Slice { value: Some(value), version: number(version) })
        };
        keys.iter().zip(rows).map(slice).collect()
    }

    fn check_database(&self) -> Result<()> {
        let found: String =
            self.read(|connection| connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)))?;
        if found == "ok" {
            return Ok(());
        }
        let what = format!("the database is damaged: {found}");
        Err(StoreError::Corrupt { path: self.path().to_owned(), what })
    }
}
