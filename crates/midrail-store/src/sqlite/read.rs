//! Reads sessions, approvals and policies, and keeps policies.

use std::collections::BTreeMap;

use rusqlite::types::Value as Cell;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::approval::{self, Approval, ApprovalCount, ApprovalFilter};
use crate::draft::{COMMON, home, is_shared};
use crate::error::{Result, StoreError};
use crate::sqlite::SqliteStore;
use crate::sqlite::log::time;
use crate::sqlite::transaction::Transaction;
use crate::store::{Approvals, Policies, SessionFilter, SessionInfo, Slice, Slices};

impl Slices for SqliteStore {
    fn load(&self, session: &str, keys: &[&str]) -> Result<Vec<Slice>> {
        let rows = self.read(|connection| {
            // One transaction, so that all are of one moment and the file is locked once.
            let _moment = (keys.len() > 1).then(|| Transaction::reading(connection)).transpose()?;
            let mut statement = connection
                .prepare_cached("SELECT value, version FROM slices WHERE session = ?1 AND key = ?2")?;
            let mut find = |key: &&str| {
                let cells = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?));
                statement.query_row([home(session, key), key], cells).optional()
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
        let wants_shared = is_shared(prefix);
        let home = if wants_shared { COMMON } else { session };
        let rows = self.read(|connection| {
            let select = "SELECT key, value FROM slices WHERE session = ?1 AND key >= ?2 ORDER BY key";
            let mut statement = connection.prepare_cached(select)?;
            let rows = statement
                .query_map([home, prefix], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
            let ours = rows.take_while(|row| row.as_ref().map_or(true, |(key, _)| key.starts_with(prefix)));
            ours.collect::<rusqlite::Result<Vec<_>>>()
        })?;
        let slice = |(key, value): (String, String)| {
            let value = parse(&value, || format!("slice `{key}` of session `{session}`"))?;
            Ok((key, value))
        };
        rows.into_iter().filter(|(key, _)| is_shared(key) == wants_shared).map(slice).collect()
    }

    fn shared_keys(&self, from: &str, before: &str, most: usize) -> Result<Vec<String>> {
        self.read(|connection| {
            let select =
                "SELECT key FROM slices WHERE session = ?1 AND key >= ?2 AND key < ?3 ORDER BY key LIMIT ?4";
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            let mut statement = connection.prepare_cached(select)?;
            let rows = statement.query_map(params![COMMON, from, before, most], |row| row.get(0))?;
            rows.collect::<rusqlite::Result<Vec<String>>>()
        })
        .map(|keys| keys.into_iter().filter(|key| is_shared(key)).collect())
    }

    fn find_sessions(&self, wanted: &SessionFilter) -> Result<Vec<SessionInfo>> {
        let before = wanted.before_seq.map_or(i64::MAX, int);
        let most = wanted.limit.map_or(-1, |most| i64::try_from(most).unwrap_or(i64::MAX));
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&sessions_query(wanted.named.is_some()))?;
            let rows =
                statement.query_map(params![wanted.named, wanted.containing, before, most], |row| {
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

/// The query for sessions. It walks from name to name along the index, so that its cost goes by the sessions; records and
/// slices are counted for those alone that are shown.
pub(super) fn sessions_query(is_named: bool) -> String {
    let names = match is_named {
        true => "SELECT ?1",
        false => {
            "SELECT min(session) FROM audit
             UNION ALL
             SELECT (SELECT min(session) FROM audit WHERE session > names.session)
             FROM names WHERE names.session IS NOT NULL"
        }
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

impl Approvals for SqliteStore {
    fn approval(&self, id: &str) -> Result<Option<Approval>> {
        let row = self.read(|connection| approval_body(connection, id))?;
        row.map(|body| parse_approval(id, &body)).transpose()
    }

    fn approvals(&self, filter: &ApprovalFilter) -> Result<Vec<Approval>> {
        let mut select = "SELECT id, body FROM approvals WHERE true".to_owned();
        let mut cells = Vec::new();
        if let Some(state) = filter.state {
            // Written out, so that the index of pending ones is used.
            select.push_str(&format!(" AND state = '{}'", state.word()));
        }
        if let Some(session) = &filter.session {
            select.push_str(" AND session = ?");
            cells.push(Cell::from(session.clone()));
        }
        if let Some(after) = filter.created_after {
            // The column is in whole microseconds. The body has it exactly.
            select.push_str(" AND created >= ?");
            cells.push(Cell::from(after.as_microsecond()));
        }
        if let Some((created, _)) = &filter.after {
            select.push_str(" AND created <= ?");
            cells.push(Cell::from(created.as_microsecond()));
        }
        select.push_str(" ORDER BY created DESC, id DESC");
        let mut found = Vec::new();
        self.each_approval(&select, cells, |row| {
            if found.len() < filter.page() && filter.matches(&row) {
                found.push(row);
            }
            found.len() < filter.page()
        })?;
        Ok(found)
    }

    fn approval_counts(&self) -> Result<Vec<ApprovalCount>> {
        let mut rows = Vec::new();
        self.each_approval("SELECT id, body FROM approvals", Vec::new(), |row| {
            rows.push(row);
            true
        })?;
        Ok(approval::counts(rows.into_iter()))
    }
}

impl SqliteStore {
    /// Goes through approvals until told that it is enough.
    fn each_approval(
        &self,
        select: &str,
        cells: Vec<Cell>,
        mut more: impl FnMut(Approval) -> bool,
    ) -> Result<()> {
        let fail = |error| self.failure(error);
        self.with_reader(|connection| {
            let mut statement = connection.prepare_cached(select).map_err(fail)?;
            let mut rows = statement.query(params_from_iter(cells)).map_err(fail)?;
            while let Some(row) = rows.next().map_err(fail)? {
                let (id, body): (String, String) = (row.get(0).map_err(fail)?, row.get(1).map_err(fail)?);
                if !more(parse_approval(&id, &body)?) {
                    break;
                }
            }
            Ok(())
        })
    }
}

/// An approval's row, if there is one.
pub(super) fn approval_body(connection: &Connection, id: &str) -> rusqlite::Result<Option<String>> {
    let select = "SELECT body FROM approvals WHERE id = ?1";
    connection.prepare_cached(select)?.query_row([id], |row| row.get(0)).optional()
}

/// The approval of a row.
pub(super) fn parse_approval(id: &str, body: &str) -> Result<Approval> {
    parse(body, || format!("approval `{id}`"))
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

pub(super) fn parse<T: DeserializeOwned>(text: &str, what: impl FnOnce() -> String) -> Result<T> {
    serde_json::from_str(text).map_err(|source| StoreError::Decode { what: what(), source })
}
