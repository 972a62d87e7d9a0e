//! The SQL of SQLite where it differs, and the shared statements on a SQLite store.

use rusqlite::OptionalExtension;

use crate::checkpoint::PublicKey;
use crate::draft::storage_session;
use crate::error::{Result, StoreDamage, StoreError};
use crate::key::StoreKey;
use crate::sql::{Cell, Connection, Dialect, SqlStore, decode, number};
use crate::sqlite::SqliteStore;
use crate::sqlite::session::Session;
use crate::sqlite::transaction::Transaction;
use crate::store::Slice;

/// The SQL of SQLite. A store has one project.
pub(super) const DIALECT: Dialect = Dialect {
    column: "",
    value: "",
    own: "",
    single: ("id", "1"),
    least: "min",
    greatest: "max",
    position: "instr",
    key_order: "rowid",
    has_index_hints: true,
    indexes_prefixes: false,
    head: "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1",
    slices_with_prefix: "SELECT key, value FROM slices WHERE session = ?1 AND key >= ?2 ORDER BY key",
    keys_between: "SELECT key FROM slices WHERE session = ?1 AND key >= ?2 AND key < ?3 ORDER BY key LIMIT ?4",
    sessions: sessions_query,
    session_id: |name| Cell::from(name),
    // Clocks differ, so some records between the first and the last of a period can be outside of it. A unary plus keeps
    // a term away from the indexes.
    period: |since, until| {
        let ends = format!("FROM audit INDEXED BY audit_time WHERE time >= {since} AND time < {until}");
        format!(
            "seq >= (SELECT min(seq) {ends}) AND seq <= (SELECT max(seq) {ends})
             AND +time >= {since} AND +time < {until}"
        )
    },
};

/// The query for sessions. It walks from name to name along the index, so that its cost depends on the number of
/// sessions; records and slices are counted for the returned sessions only.
pub(super) fn sessions_query(is_named: bool) -> String {
    let names = if is_named {
        "SELECT ?1"
    } else {
        "SELECT min(session) FROM audit
         UNION ALL
         SELECT (SELECT min(session) FROM audit WHERE session > names.session)
         FROM names WHERE names.session IS NOT NULL"
    };
    format!(
        "WITH RECURSIVE names (session) AS ({names}),
         latest (session, seq) AS (
           SELECT session, (SELECT max(seq) FROM audit WHERE audit.session = names.session)
           FROM names WHERE (?1 IS NULL OR session = ?1) AND (?2 IS NULL OR instr(session, ?2) > 0)
         ),
         shown (session, seq) AS (SELECT session, seq FROM latest WHERE seq < ?3 ORDER BY seq DESC LIMIT ?4)
         SELECT shown.session, shown.seq, audit.time,
           (SELECT count(*) FROM audit WHERE audit.session = shown.session),
           (SELECT count(*) FROM slices WHERE slices.session = shown.session
            AND substr(slices.key, 1, 7) <> 'shared/')
         FROM shown CROSS JOIN audit ON audit.seq = shown.seq
         ORDER BY shown.seq DESC"
    )
}

impl SqlStore for SqliteStore {
    const DIALECT: Dialect = DIALECT;

    fn select<T>(&self, work: impl Fn(&dyn Connection) -> Result<T>) -> Result<T> {
        self.with_reader(|connection| work(&Session { connection, path: self.path() }))
    }

    fn update<T>(&self, work: impl Fn(&dyn Connection) -> Result<T>) -> Result<T> {
        self.write(|connection| work(&Session { connection, path: self.path() }))
    }

    fn transact<T>(&self, work: impl Fn(&dyn Connection) -> Result<T>) -> Result<T> {
        self.update(work)
    }

    fn store_key(&self) -> Result<&StoreKey> {
        self.key()
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
            let mut statement = connection
                .prepare_cached("SELECT value, version FROM slices WHERE session = ?1 AND key = ?2")?;
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
