//! Reads the audit log, page by page, and signs its head on demand.

use jiff::Timestamp;
use midrail_core::{AuditRef, Effect};
use rusqlite::types::{Value as Cell, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};

use crate::checkpoint::{Checkpoint, PublicKey};
use crate::entry::{AuditEntry, Labels};
use crate::error::Result;
use crate::filter::AuditFilter;
use crate::sqlite::SqliteStore;
use crate::sqlite::read::{int, number};
use crate::store::AuditLog;
use crate::verify::{self, Misfit, MisfitKind, TrustAnchor, Verification};

const COLUMNS: &str = "seq, time, session, kind, tool, effect, guardrails, prev, hash, body";

/// A page ends early with the record that makes it larger than this.
const PAGE_BYTES: usize = 16 << 20;

impl AuditLog for SqliteStore {
    fn verify(&self, expect: &TrustAnchor, progress: &mut dyn FnMut(u64, u64)) -> Result<Verification> {
        self.check_file()?;
        // Read before the log is, so that no decision that is made meanwhile looks cut off.
        let written = self.read(|connection| {
            connection
                .query_row("SELECT COALESCE(MAX(version), 0) FROM slices", [], |row| row.get(0).map(number))
        })?;
        let mut found = verify::log(self, expect, progress)?;
        let end = found.head.as_ref().map_or(0, |head| head.seq);
        if found.is_intact() && written > end {
            let detail =
                format!("the log ends at record {end}, and sessions were written with record {written}");
            found.misfit = Some(Misfit { seq: end + 1, kind: MisfitKind::Truncated, detail });
        }
        Ok(found)
    }

    fn entry(&self, seq: u64) -> Result<Option<AuditEntry>> {
        let select = format!("SELECT {COLUMNS} FROM audit WHERE seq = ?1");
        self.read(|connection| connection.query_row(&select, [int(seq)], entry).optional())
    }

    fn entries(&self, filter: &AuditFilter) -> Result<Vec<AuditEntry>> {
        self.read(|connection| {
            let Some((select, cells)) = query(connection, filter)? else { return Ok(Vec::new()) };
            let mut statement = connection.prepare_cached(&select)?;
            let mut bytes = 0;
            let mut page = Vec::new();
            for entry in statement.query_map(params_from_iter(cells), entry)? {
                let entry = entry?;
                bytes += entry.body.len();
                page.push(entry);
                if bytes > PAGE_BYTES {
                    break;
                }
            }
            Ok(page)
        })
    }

    fn head(&self) -> Result<Option<AuditRef>> {
        self.read(head)
    }

    fn checkpoints(&self, after_seq: u64, limit: usize) -> Result<Vec<Checkpoint>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT seq, hash, time, key, signature FROM checkpoints WHERE seq > ?1 ORDER BY seq LIMIT ?2",
            )?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            statement.query_map([int(after_seq), limit], checkpoint)?.collect()
        })
    }

    fn last_checkpoint(&self) -> Result<Option<Checkpoint>> {
        let select = "SELECT seq, hash, time, key, signature FROM checkpoints ORDER BY seq DESC LIMIT 1";
        self.read(|connection| connection.query_row(select, [], checkpoint).optional())
    }

    fn public_keys(&self) -> Result<Vec<PublicKey>> {
        self.read(|connection| {
            let mut statement = connection.prepare("SELECT id, public FROM keys ORDER BY rowid")?;
            let rows =
                statement.query_map([], |row| Ok(PublicKey { id: row.get(0)?, public: row.get(1)? }))?;
            rows.collect()
        })
    }

    fn checkpoint_now(&self, time: Timestamp) -> Result<Option<Checkpoint>> {
        self.write(|transaction| {
            let fail = |error| self.failure(error);
            let Some(head) = head(transaction).map_err(fail)? else { return Ok(None) };
            let select = "SELECT seq, hash, time, key, signature FROM checkpoints WHERE seq = ?1";
            let signed =
                transaction.query_row(select, [int(head.seq)], checkpoint).optional().map_err(fail)?;
            match signed {
                Some(checkpoint) => Ok(Some(checkpoint)),
                None => self.sign(transaction, head.seq, &head.hash, time).map(Some),
            }
        })
    }
}

/// The last record.
pub(super) fn head(connection: &Connection) -> rusqlite::Result<Option<AuditRef>> {
    connection
        .prepare_cached("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1")?
        .query_row([], |row| Ok(AuditRef { seq: number(row.get(0)?), hash: text(row, 1)? }))
        .optional()
}

/// The query for a page, or nothing where no record can fit.
fn query(connection: &Connection, filter: &AuditFilter) -> rusqlite::Result<Option<(String, Vec<Cell>)>> {
    let mut terms: Vec<&str> = Vec::new();
    let mut cells: Vec<Cell> = Vec::new();
    let mut index = "";
    // A unary plus keeps a term away from the indexes; the rarest one is named, and gives the order of `seq` as well.
    if let Some(session) = &filter.session {
        terms.push("session = ?");
        cells.push(session.clone().into());
        index = " INDEXED BY audit_session";
    }
    if let Some(effect) = filter.effect {
        terms.push("effect = ?");
        cells.push(effect.as_str().to_owned().into());
        if effect != Effect::Allow {
            terms.push("effect <> 'allow'");
            index = " INDEXED BY audit_effect";
        }
    }
    if let Some(guardrail) = &filter.guardrail {
        terms.push("guardrails <> '' AND instr(guardrails, ?) > 0");
        cells.push(serde_json::Value::from(guardrail.as_str()).to_string().into());
        index = " INDEXED BY audit_guardrails";
    }
    if let Some(kind) = filter.kind {
        terms.push("kind = ?");
        cells.push(kind.as_str().to_owned().into());
    }
    if let Some(tool) = &filter.tool {
        terms.push("tool = ?");
        cells.push(tool.clone().into());
    }
    if filter.since.is_some() || filter.until.is_some() {
        let since = filter.since.map_or(i64::MIN, first_micro_from);
        let until = filter.until.map_or(i64::MAX, first_micro_from);
        let Some((first, last)) = span(connection, since, until)? else { return Ok(None) };
        terms.push("seq BETWEEN ? AND ? AND +time >= ? AND +time < ?");
        cells.extend([first, last, since, until].map(Cell::from));
    }
    if let Some(after) = filter.after_seq {
        terms.push(if filter.newest_first { "seq < ?" } else { "seq > ?" });
        cells.push(int(after).into());
    }
    let terms = if terms.is_empty() { "true".to_owned() } else { terms.join(" AND ") };
    let order = if filter.newest_first { "DESC" } else { "ASC" };
    cells.push(i64::try_from(filter.page()).unwrap_or(i64::MAX).into());
    Ok(Some((
        format!("SELECT {COLUMNS} FROM audit{index} WHERE {terms} ORDER BY seq {order} LIMIT ?"),
        cells,
    )))
}

/// The first and the last record of a time span. Clocks differ, so records in between can lie outside of it.
fn span(connection: &Connection, since: i64, until: i64) -> rusqlite::Result<Option<(i64, i64)>> {
    let select = "SELECT min(seq), max(seq) FROM audit INDEXED BY audit_time WHERE time >= ?1 AND time < ?2";
    let (first, last): (Option<i64>, Option<i64>) =
        connection.prepare_cached(select)?.query_row([since, until], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(first.zip(last))
}

/// The first whole microsecond that is not before a time.
pub(super) fn first_micro_from(time: Timestamp) -> i64 {
    let micros = time.as_microsecond();
    match Timestamp::from_microsecond(micros) {
        Ok(whole) if whole < time => micros.saturating_add(1),
        _ => micros,
    }
}

/// The list as it stands in its column.
pub(super) fn guardrails_column(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { serde_json::Value::from(names).to_string() }
}

fn entry(row: &Row<'_>) -> rusqlite::Result<AuditEntry> {
    let guardrails = text(row, 6)?;
    let labels = Labels {
        time: time(row.get(1)?),
        session: text(row, 2)?,
        kind: text(row, 3)?,
        tool: row.get_ref(4)?.as_bytes_or_null()?.map(|bytes| String::from_utf8_lossy(bytes).into_owned()),
        effect: text(row, 5)?,
        // A column that is no list was tampered with. It is shown as it stands, and `verify` finds it.
        guardrails: match guardrails.as_str() {
            "" => Vec::new(),
            list => serde_json::from_str(list).unwrap_or_else(|_| vec![guardrails.clone()]),
        },
    };
    let (prev, hash, body) = (text(row, 7)?, text(row, 8)?, text(row, 9)?);
    Ok(AuditEntry { seq: number(row.get(0)?), labels, prev, hash, body })
}

fn checkpoint(row: &Row<'_>) -> rusqlite::Result<Checkpoint> {
    let (hash, time, key, signature) = (text(row, 1)?, text(row, 2)?, text(row, 3)?, text(row, 4)?);
    Ok(Checkpoint { seq: number(row.get(0)?), hash, time, key, signature })
}

/// A text column. One that is no UTF-8 was tampered with; it is read all the same, so that `verify` can name it.
fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    match row.get_ref(column)? {
        ValueRef::Text(bytes) => Ok(String::from_utf8_lossy(bytes).into_owned()),
        _ => row.get(column),
    }
}

/// A time column. A number that is no time was tampered with.
pub(super) fn time(micros: i64) -> Timestamp {
    Timestamp::from_microsecond(micros).unwrap_or(Timestamp::MIN)
}
