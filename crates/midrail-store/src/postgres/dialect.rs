//! The SQL of PostgreSQL where it differs, and the shared statements on a PostgreSQL store.

use std::time::Duration;

use midrail_core::AuditRef;

use crate::audit_log::AuditLog;
use crate::checkpoint::PublicKey;
use crate::error::{Result, StoreDamage, StoreError};
use crate::key::StoreKey;
use crate::postgres::PostgresStore;
use crate::postgres::cells::{session_id, slice_id};
use crate::postgres::session::Session;
use crate::slice_keys::storage_session;
use crate::sql::{Cell, Connection, Dialect, SqlStore, decode};
use crate::store::Slice;
use crate::verification::{MisfitKind, Verification};

/// The SQL of PostgreSQL. Every row belongs to a project, which is the parameter `$1`.
pub(super) const DIALECT: Dialect = Dialect {
    column: "project, ",
    value: "$1, ",
    own: "project = $1 AND ",
    single: ("project", "$1"),
    least: "least",
    greatest: "greatest",
    position: "strpos",
    now: "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)",
    key_order: "place",
    has_index_hints: false,
    indexes_prefixes: true,
    head: "SELECT seq, hash FROM projects WHERE id = $1 AND seq > 0",
    // No text of at most 64 characters with this prefix is after the last of these.
    slices_with_prefix: "SELECT key, value FROM slices
         WHERE project = $1 AND left(session, 64) = left(?1, 64) AND session = ?1
           AND left(key, 64) >= left(?2, 64)
           AND left(key, 64) <= left(?2, 64) || repeat(U&'\\+10FFFF', 64)
           AND starts_with(key, ?2)",
    keys_between: "SELECT key FROM slices
         WHERE project = $1 AND left(session, 64) = ?1 AND session = ?1
           AND left(key, 64) >= left(?2, 64) AND left(key, 64) <= left(?3, 64)
           AND key >= ?2 AND key < ?3
         ORDER BY left(key, 64), key LIMIT ?4",
    sessions: |is_named| {
        // Only with a name, so that one session is found by its key.
        let by_name = if is_named { "id = ?1" } else { "?1::bytea IS NULL" };
        format!(
            "SELECT shown.session, last_seq, last_active, records,
               (SELECT count(*) FROM slices WHERE slices.project = $1
                AND left(slices.session, 64) = left(shown.session, 64) AND slices.session = shown.session
                AND NOT starts_with(slices.key, 'shared/'))
             FROM (
               SELECT session, records, last_seq, last_active FROM sessions
               WHERE project = $1 AND {by_name} AND last_seq < ?3
                 AND (?2::text IS NULL OR strpos(session, ?2) > 0)
               ORDER BY last_seq DESC LIMIT ?4
             ) AS shown ORDER BY last_seq DESC"
        )
    },
    session_id: |name| Cell::Bytes(session_id(name).to_vec()),
    period: |since, until| format!("time >= {since} AND time < {until}"),
};

impl SqlStore for PostgresStore {
    const DIALECT: Dialect = DIALECT;

    fn select<T>(&self, work: impl Fn(&dyn Connection) -> Result<T>) -> Result<T> {
        let server = &self.server;
        let id = server.run(self.id()).map_err(|failure| failure.into_store_error(&server.name))?;
        let attempt = || {
            let client = server.run(server.client());
            let client =
                client.map_err(|failure| (failure.is_lost(), failure.into_store_error(&server.name)))?;
            let session = Session::new(server, client, id);
            work(&session).map_err(|error| (session.is_lost(), error))
        };
        let outcome = match attempt() {
            Err((true, _)) => attempt(),
            outcome => outcome,
        };
        outcome.map_err(|(_, error)| error)
    }

    fn update<T>(&self, work: impl Fn(&dyn Connection) -> Result<T>) -> Result<T> {
        work(&self.session()?)
    }

    fn transact<T>(&self, work: impl Fn(&dyn Connection) -> Result<T>) -> Result<T> {
        self.session()?.transact(|session| work(session))
    }

    fn store_key(&self) -> Result<&StoreKey> {
        self.key()
    }

    fn stored_key(&self, connection: &dyn Connection) -> Result<StoreKey> {
        if self.server.key.is_some() { self.key().cloned() } else { self.database_key(connection) }
    }

    fn write_key(&self, connection: &dyn Connection, key: &StoreKey) -> Result<()> {
        if self.server.key.is_some() {
            let what =
                "the key is in a file that several instances and projects share, so it cannot be replaced";
            return Err(StoreError::Refused { what: what.to_owned() });
        }
        // The database rejects an update, which no other caller needs.
        connection.execute("DELETE FROM secrets WHERE project = $1", &[])?;
        let insert = "INSERT INTO secrets (project, seed) VALUES ($1, ?1)";
        connection.execute(insert, &[key.to_text().into()]).map(drop)
    }

    fn known_key(&self) -> Result<Option<PublicKey>> {
        Ok(Some(self.key()?.public().clone()))
    }

    fn find_damage(&self) -> Result<Option<StoreDamage>> {
        self.compare_with_anchor()
    }

    fn load_slices(&self, session: &str, keys: &[&str]) -> Result<Vec<Slice>> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let place = |key: &&str| (storage_session(session, key).to_owned(), (*key).to_owned());
        let found = self.project.loads.read(keys.iter().map(place).collect(), |places| {
            let ids = places.iter().map(|(session, key)| Cell::Bytes(slice_id(session, key).to_vec()));
            let ids = [Cell::List(ids.collect())];
            let select =
                "SELECT session, key, value, version FROM slices WHERE project = $1 AND id = ANY(?1)";
            self.select(|connection| {
                connection.rows(select, &ids, |row| {
                    Ok(((row.string(0)?, row.string(1)?), (row.string(2)?, row.number(3)?)))
                })
            })
        })?;
        let slice = |key: &&str| {
            let Some((value, version)) = found.get(&place(key)) else { return Ok(Slice::default()) };
            let value = decode(value, || format!("slice `{key}` of session `{session}`"))?;
            Ok(Slice { value: Some(value), version: *version })
        };
        keys.iter().map(slice).collect()
    }

    fn check_head(&self, head: Option<&AuditRef>, found: &mut Verification) -> Result<()> {
        // One statement, so that both belong to one state.
        let select = "SELECT min(seq) FROM audit WHERE project = $1
             AND seq > (SELECT seq FROM projects WHERE id = $1)";
        let beyond = self.select(|connection| connection.row(select, &[], |row| row.int(0)))?.flatten();
        if let Some(seq) = beyond {
            let detail = format!("record {seq} comes after the head that its project has stored");
            found.add_misfit(crate::sql::number(seq), MisfitKind::Reordered, detail);
        }
        if let Some(head) = head
            && self.entry(head.seq)?.is_some_and(|entry| entry.hash != head.hash)
        {
            let detail = format!("record {} has another hash than the head of its project", head.seq);
            found.add_misfit(head.seq, MisfitKind::Head, detail);
        }
        Ok(())
    }

    fn wait_for_notification(&self, seq: u64, at_most: Duration) -> Option<Result<Option<AuditRef>>> {
        if at_most.is_zero() {
            return Some(self.head());
        }
        let listener = &self.server.listener;
        if let Some(task) = listener.start() {
            self.server.spawn(task);
        }
        Some(listener.wait(&self.project.signal, seq, at_most, || self.head()))
    }
}
