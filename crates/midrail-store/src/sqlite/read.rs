//! Reads sessions, approvals and policies, and keeps policies.

use std::collections::BTreeMap;

use rusqlite::types::Value as Cell;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::approval::{Approval, ApprovalFilter, ApprovalState};
use crate::error::{Result, StoreError};
use crate::sqlite::SqliteStore;
use crate::sqlite::log::time;
use crate::store::{Approvals, Policies, SessionInfo, Slice, Slices};

impl Slices for SqliteStore {
    fn load(&self, session: &str, keys: &[&str]) -> Result<Vec<Slice>> {
        let rows = self.read(|connection| {
            // One transaction, so that all are of one moment and the file is locked once.
            let moment = connection.unchecked_transaction()?;
            let mut statement =
                moment.prepare_cached("SELECT value, version FROM slices WHERE session = ?1 AND key = ?2")?;
            let mut find = |key: &&str| {
                let cells = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?));
                statement.query_row([session, key], cells).optional()
            };
            keys.iter().map(&mut find).collect::<rusqlite::Result<Vec<_>>>()
        })?;
        let slice = |(key, row): (&&str, Option<(String, i64)>)| match row {
            None => Ok(Slice::default()),
            Some((value, version)) => {
                let value = parse(&value, || format!("slice `{key}` of session `{session}`"))?;
                Ok(Slice { value: Some(value), version: number(version) })
            }
        };
        keys.iter().zip(rows).map(slice).collect()
    }

    fn load_prefix(&self, session: &str, prefix: &str) -> Result<BTreeMap<String, Value>> {
        let rows = self.read(|connection| {
            let select = "SELECT key, value FROM slices WHERE session = ?1 AND key >= ?2 ORDER BY key";
            let mut statement = connection.prepare_cached(select)?;
            let rows = statement.query_map([session, prefix], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
            })?;
            let ours = rows.take_while(|row| row.as_ref().map_or(true, |(key, _)| key.starts_with(prefix)));
            ours.collect::<rusqlite::Result<Vec<_>>>()
        })?;
        let slice = |(key, value): (String, String)| {
            let value = parse(&value, || format!("slice `{key}` of session `{session}`"))?;
            Ok((key, value))
        };
        rows.into_iter().map(slice).collect()
    }

    fn sessions(&self) -> Result<Vec<SessionInfo>> {
        self.read(|connection| {
            // Walks from name to name along the index, so that the cost goes by the sessions.
            let mut statement = connection.prepare_cached(
                "WITH RECURSIVE names (session) AS (
                   SELECT min(session) FROM audit
                   UNION ALL
                   SELECT (SELECT min(session) FROM audit WHERE session > names.session)
                   FROM names WHERE names.session IS NOT NULL
                 )
                 SELECT names.session, audit.seq, audit.time,
                   (SELECT count(*) FROM audit WHERE audit.session = names.session),
                   (SELECT count(*) FROM slices WHERE slices.session = names.session)
                 FROM names
                 JOIN audit ON audit.seq = (SELECT max(seq) FROM audit WHERE audit.session = names.session)
                 ORDER BY audit.seq DESC",
            )?;
            let rows = statement.query_map([], |row| {
                Ok(SessionInfo {
                    session: row.get(0)?,
                    last_seq: number(row.get(1)?),
                    last_active: time(row.get(2)?),
                    records: number(row.get(3)?),
                    slices: number(row.get(4)?),
                })
            })?;
            rows.collect()
        })
    }
}

impl Approvals for SqliteStore {
    fn approval(&self, id: &str) -> Result<Option<Approval>> {
        let body = self.read(|connection| {
            let select = "SELECT body FROM approvals WHERE id = ?1";
            connection.query_row(select, [id], |row| row.get::<_, String>(0)).optional()
        })?;
        body.map(|body| parse(&body, || format!("approval `{id}`"))).transpose()
    }

    fn approvals(&self, filter: &ApprovalFilter) -> Result<Vec<Approval>> {
        let mut select = "SELECT body FROM approvals WHERE true".to_owned();
        let mut cells = Vec::new();
        if let Some(state) = filter.state {
            // Written out, so that the index of pending ones is used.
            select.push_str(&format!(" AND state = '{}'", state.word()));
        }
        if let Some(session) = &filter.session {
            select.push_str(" AND session = ?");
            cells.push(Cell::from(session.clone()));
        }
        select.push_str(" ORDER BY created DESC, id DESC LIMIT ?");
        cells.push(Cell::from(i64::try_from(filter.page()).unwrap_or(i64::MAX)));
        let bodies = self.read(|connection| {
            let mut statement = connection.prepare(&select)?;
            let rows = statement.query_map(params_from_iter(cells), |row| row.get::<_, String>(0))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        })?;
        bodies.iter().map(|body| parse(body, || "an approval".to_owned())).collect()
    }
}

/// The state of an approval, if there is one.
pub(super) fn approval_state(connection: &Connection, id: &str) -> rusqlite::Result<Option<ApprovalState>> {
    let select = "SELECT state FROM approvals WHERE id = ?1";
    let word = connection.query_row(select, [id], |row| row.get::<_, String>(0)).optional()?;
    let all = [
        ApprovalState::Pending,
        ApprovalState::Approved,
        ApprovalState::Denied,
        ApprovalState::Expired,
        ApprovalState::Used,
    ];
    Ok(word.and_then(|word| all.into_iter().find(|state| state.word() == word)))
}

impl Policies for SqliteStore {
    fn save_policy(&self, revision: &str, body: &str) -> Result<()> {
        let is_kept = "SELECT EXISTS (SELECT 1 FROM policies WHERE revision = ?1)";
        let kept = |connection: &Connection| {
            connection.prepare_cached(is_kept)?.query_row([revision], |row| row.get::<_, bool>(0))
        };
        if self.read(kept)? {
            return Ok(());
        }
        self.write(|transaction| {
            let save = || {
                if !kept(transaction)? {
                    let insert = "INSERT INTO policies (revision, body) VALUES (?1, ?2)";
                    transaction.execute(insert, params![revision, body])?;
                }
                Ok(())
            };
            save().map_err(|error| self.failure(error))
        })
    }

    fn policy(&self, revision: &str) -> Result<Option<String>> {
        self.read(|connection| {
            let select = "SELECT body FROM policies WHERE revision = ?1";
            connection.query_row(select, [revision], |row| row.get(0)).optional()
        })
    }
}

/// A number for a column.
pub(super) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number from a column. None of ours is negative.
pub(super) fn number(cell: i64) -> u64 {
    u64::try_from(cell).unwrap_or(0)
}

fn parse<T: DeserializeOwned>(text: &str, what: impl FnOnce() -> String) -> Result<T> {
    serde_json::from_str(text).map_err(|source| StoreError::Decode { what: what(), source })
}
