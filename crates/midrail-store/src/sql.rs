//! The part that the SQLite store and the PostgreSQL store share: statements, columns and conversions are written once,
//! in the dialect of a [`SqlStore`]. Opening a database, transactions and commits are not here.
//!
//! Statements use `?1`, `?2`, … for their parameters. Where one database holds several projects, every row belongs to a
//! project, which [`Dialect::own`], [`Dialect::column`] and [`Dialect::value`] add to a statement.

pub(crate) mod approvals;
mod cell;
mod instances;
pub(crate) mod job;
pub(crate) mod log;
pub(crate) mod notices;
pub(crate) mod queue;
mod retention;
mod rotation;
mod sessions;
mod state;
mod stats;

use std::time::Duration;

use midrail_core::AuditRef;

pub(crate) use cell::{Cell, Connection, Row, Statement, decode, first_micro_from, number};

use crate::checkpoint::PublicKey;
use crate::error::{Result, StoreDamage};
use crate::key::StoreKey;
use crate::store::Slice;
use crate::verification::Verification;

/// A store in a SQL database.
pub(crate) trait SqlStore: Send + Sync {
    const DIALECT: Dialect;

    /// Reads. A lost connection is replaced once, so `work` may run twice.
    fn select<T>(&self, work: impl Fn(&dyn Connection) -> Result<T>) -> Result<T>;

    /// Runs statements that do not depend on each other.
    fn update<T>(&self, work: impl Fn(&dyn Connection) -> Result<T>) -> Result<T>;

    /// Runs statements in one transaction, which holds the lock of all writers.
    fn transact<T>(&self, work: impl Fn(&dyn Connection) -> Result<T>) -> Result<T>;

    /// The key of the store, created if it does not exist. Must not be called in a transaction.
    fn store_key(&self) -> Result<&StoreKey>;

    /// Reads the key again, because another process may have replaced what signs. May be called in a transaction.
    fn stored_key(&self, connection: &dyn Connection) -> Result<StoreKey>;

    /// Writes the key again, with other seeds for signatures.
    fn write_key(&self, connection: &dyn Connection, key: &StoreKey) -> Result<()>;

    /// The key that signs now. May be called in a transaction.
    fn signing_key(&self, connection: &dyn Connection) -> Result<StoreKey> {
        let stored = self.stored_key(connection)?;
        // A successor signs once its public key is in the log.
        let Some(next) = stored.next() else { return Ok(stored) };
        let select = format!("SELECT id FROM keys WHERE {}id = ?1", Self::DIALECT.own);
        let found = connection.row(&select, &[(&next.public().id).into()], |row| row.string(0))?;
        Ok(if found.is_some() { next } else { stored })
    }

    /// The key, if the store has one.
    fn known_key(&self) -> Result<Option<PublicKey>>;

    /// Compares the database with its anchor.
    fn find_damage(&self) -> Result<Option<StoreDamage>>;

    fn load_slices(&self, session: &str, keys: &[&str]) -> Result<Vec<Slice>>;

    /// Checks the database itself, before the log is verified.
    fn check_database(&self) -> Result<()> {
        Ok(())
    }

    /// Compares a log that is intact in itself with the head that was stored before the verification.
    fn check_head(&self, _head: Option<&AuditRef>, _found: &mut Verification) -> Result<()> {
        Ok(())
    }

    /// Waits for a notification of the database. `None`: it has none, and the log must be polled.
    fn wait_for_notification(&self, _seq: u64, _at_most: Duration) -> Option<Result<Option<AuditRef>>> {
        None
    }
}

/// The differences between the SQL of the databases.
pub(crate) struct Dialect {
    /// The project as a column of an `INSERT`, followed by a comma.
    pub(crate) column: &'static str,
    /// The project as a value of an `INSERT`, followed by a comma.
    pub(crate) value: &'static str,
    /// The condition that rows belong to the project, followed by `AND`.
    pub(crate) own: &'static str,
    /// Key column and value of a table with one row per project.
    pub(crate) single: (&'static str, &'static str),
    /// The functions that return the smaller and the larger of two numbers, and the position of a text in another.
    pub(crate) least: &'static str,
    pub(crate) greatest: &'static str,
    pub(crate) position: &'static str,
    /// The clock of the database, in microseconds since 1970.
    pub(crate) now: &'static str,
    /// The column that orders public keys.
    pub(crate) key_order: &'static str,
    /// Whether a statement names the index that it uses.
    pub(crate) has_index_hints: bool,
    /// Whether texts are indexed by their first 64 characters.
    pub(crate) indexes_prefixes: bool,
    /// Number and hash of the last record, and possibly other columns after them.
    pub(crate) head: &'static str,
    /// Key and value of the slices of the session `?1` whose keys start with `?2`, and possibly others after them.
    pub(crate) slices_with_prefix: &'static str,
    /// At most `?4` keys of the session `?1` from `?2` on and before `?3`.
    pub(crate) keys_between: &'static str,
    /// Name, last record, its time, number of records and of slices of at most `?4` sessions: the session `?1`, whose
    /// names contain `?2`, whose last record is before `?3`. The argument is whether `?1` is set.
    pub(crate) sessions: fn(bool) -> String,
    /// The value of `?1` for a session.
    pub(crate) session_id: fn(&str) -> Cell,
    /// The condition that a record is in the period between two parameters.
    pub(crate) period: fn(&str, &str) -> String,
}

impl Dialect {
    /// The condition that a text column equals a parameter.
    pub(crate) fn equals(&self, column: &str, cell: &str) -> String {
        if self.indexes_prefixes {
            format!("left({column}, 64) = left({cell}, 64) AND {column} = {cell}")
        } else {
            format!("{column} = {cell}")
        }
    }

    /// A hint after a table to use an index.
    pub(crate) fn indexed_by(&self, index: &str) -> String {
        if self.has_index_hints { format!(" INDEXED BY {index}") } else { String::new() }
    }
}
