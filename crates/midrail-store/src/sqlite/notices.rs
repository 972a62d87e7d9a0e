//! Notices and how far each channel is with them, and alerts.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::error::{Result, StoreError};
use crate::filter::MAX_PAGE;
use crate::notice::{Alert, NewNotice, PendingDelivery, StoredNotice, is_apart};
use crate::sqlite::SqliteStore;
use crate::sqlite::log::time;
use crate::sqlite::read::{int, number, parse};
use crate::sqlite::transaction::Transaction;
use crate::store::{Alerts, Notices};

/// Up to where a channel is done.
const THROUGH: &str = "coalesce((SELECT through FROM channels WHERE channel = ?1), 0)";

impl Notices for SqliteStore {
    fn notices(&self, after_id: u64, limit: usize) -> Result<Vec<StoredNotice>> {
        let rows = self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT id, seq, time, recipient, kind, message, body FROM notices
                 WHERE id > ?1 ORDER BY id LIMIT ?2",
            )?;
            statement.query_map([int(after_id), page(limit)], notice)?.collect::<rusqlite::Result<Vec<_>>>()
        })?;
        rows.into_iter().map(with_body).collect()
    }

    fn pending_deliveries(&self, channel: &str, limit: usize) -> Result<Vec<PendingDelivery>> {
        let rows = self.read(|connection| {
            let mut statement = connection.prepare_cached(&format!(
                "SELECT id, seq, time, recipient, kind, message, body, coalesce(attempts, 0), tried
                 FROM notices LEFT JOIN deliveries ON deliveries.channel = ?1 AND notice = id
                 WHERE id > {THROUGH} AND delivered IS NULL ORDER BY id LIMIT ?2",
            ))?;
            let rows = statement.query_map(params![channel, page(limit)], |row| {
                Ok((notice(row)?, number(row.get(7)?), row.get::<_, Option<i64>>(8)?.map(time)))
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        })?;
        let undelivered =
            |(row, attempts, tried)| Ok(PendingDelivery { notice: with_body(row)?, attempts, tried });
        rows.into_iter().map(undelivered).collect()
    }

    fn claim_delivery(&self, id: u64, channel: &str, now: Timestamp, again_after_s: u64) -> Result<bool> {
        self.write(|transaction| {
            let work = || {
                let is_waiting =
                    format!("SELECT EXISTS (SELECT 1 FROM notices WHERE id = ?2 AND id > {THROUGH})");
                let is_waiting: bool =
                    transaction.query_row(&is_waiting, params![channel, int(id)], |row| row.get(0))?;
                let select = "SELECT tried, delivered FROM deliveries WHERE channel = ?1 AND notice = ?2";
                let cells =
                    |row: &Row<'_>| Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?));
                let last = transaction.query_row(select, params![channel, int(id)], cells).optional()?;
                let is_free = match last {
                    None => true,
                    Some((_, Some(_))) => false,
                    Some((tried, None)) => {
                        tried.is_none_or(|tried| is_apart(time(tried), now, again_after_s))
                    }
                };
                if is_waiting && is_free {
                    transaction.execute(
                        "INSERT INTO deliveries (channel, notice, attempts, tried) VALUES (?1, ?2, 1, ?3)
                         ON CONFLICT DO UPDATE SET attempts = attempts + 1, tried = excluded.tried",
                        params![channel, int(id), now.as_microsecond()],
                    )?;
                }
                Ok(is_waiting && is_free)
            };
            work().map_err(|error| self.failure(error))
        })
    }

    fn mark_delivered(&self, id: u64, channel: &str, now: Timestamp) -> Result<()> {
        self.write(|transaction| {
            let work = || {
                transaction.execute(
                    "INSERT INTO deliveries (channel, notice, attempts, delivered)
                     SELECT ?1, id, 0, ?3 FROM notices WHERE id = ?2
                     ON CONFLICT DO UPDATE SET delivered = coalesce(delivered, excluded.delivered)",
                    params![channel, int(id), now.as_microsecond()],
                )?;
                // The channel is done up to the first notice that still waits.
                let through = format!(
                    "SELECT coalesce(
                       (SELECT min(id) - 1 FROM notices WHERE id > {THROUGH} AND NOT EXISTS (
                          SELECT 1 FROM deliveries
                          WHERE deliveries.channel = ?1 AND notice = id AND delivered IS NOT NULL)),
                       (SELECT max(id) FROM notices), 0)"
                );
                let through: i64 = transaction.query_row(&through, [channel], |row| row.get(0))?;
                set_through(transaction, channel, through)
            };
            work().map_err(|error| self.failure(error))
        })
    }

    fn skip_notices(&self, channel: &str, through_id: u64) -> Result<()> {
        self.write(|transaction| {
            let work = || {
                let last = "SELECT coalesce(max(id), 0) FROM notices";
                let last: i64 = transaction.query_row(last, [], |row| row.get(0))?;
                set_through(transaction, channel, last.min(int(through_id)))
            };
            work().map_err(|error| self.failure(error))
        })
    }
}

impl SqliteStore {
    /// Adds notices to the list.
    pub(super) fn post(
        &self,
        transaction: &Transaction<'_>,
        notices: &[NewNotice],
        seq: Option<u64>,
        time: Timestamp,
    ) -> Result<()> {
        for new in notices {
            let NewNotice { to, kind, message, body } = new;
            let body = body.to_string();
            let insert = "INSERT INTO notices (seq, time, recipient, kind, message, body)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
            let cells = params![seq.map(int), time.as_microsecond(), to, kind, message, body];
            let post = || transaction.prepare_cached(insert)?.execute(cells);
            post().map_err(|error| self.failure(error))?;
        }
        Ok(())
    }
}

impl Alerts for SqliteStore {
    fn fire_alert(&self, alert: &Alert, cooldown_s: u64, notices: &[NewNotice]) -> Result<bool> {
        let alert = alert.kept();
        let is_cold = |connection: &Connection| {
            // The one that was raised last, whatever its clock said.
            let select = "SELECT fired FROM alerts WHERE name = ?1 AND key = ?2 ORDER BY id DESC LIMIT 1";
            let last =
                connection.prepare_cached(select)?.query_row([&alert.name, &alert.key], |row| row.get(0));
            Ok(last.optional()?.is_none_or(|last| is_apart(time(last), alert.fired_at, cooldown_s)))
        };
        // Most of the time nothing is to be written, and no one is made to wait.
        if !self.read(is_cold)? {
            return Ok(false);
        }
        self.write(|transaction| {
            let fail = |error| self.failure(error);
            if !is_cold(transaction).map_err(fail)? {
                return Ok(false);
            }
            let Alert { name, key, fired_at, value, message } = &alert;
            let insert = "INSERT INTO alerts (name, key, fired, value, message) VALUES (?1, ?2, ?3, ?4, ?5)";
            let cells = params![name, key, fired_at.as_microsecond(), value, message];
            transaction.execute(insert, cells).map_err(fail)?;
            self.post(transaction, notices, None, *fired_at)?;
            Ok(true)
        })
    }

    fn alerts(&self, limit: usize) -> Result<Vec<Alert>> {
        self.read(|connection| {
            let select = "SELECT name, key, fired, value, message FROM alerts ORDER BY id DESC LIMIT ?1";
            let mut statement = connection.prepare_cached(select)?;
            let alert = |row: &Row<'_>| {
                let (name, key, message) = (row.get(0)?, row.get(1)?, row.get(4)?);
                Ok(Alert { name, key, fired_at: time(row.get(2)?), value: row.get(3)?, message })
            };
            statement.query_map([page(limit)], alert)?.collect()
        })
    }
}

/// A channel is done up to a notice. It never goes back.
fn set_through(connection: &Connection, channel: &str, through: i64) -> rusqlite::Result<()> {
    connection.execute(
        "INSERT INTO channels (channel, through) VALUES (?1, ?2)
         ON CONFLICT DO UPDATE SET through = max(through, excluded.through)",
        params![channel, through],
    )?;
    Ok(())
}

fn page(limit: usize) -> i64 {
    i64::try_from(limit.min(MAX_PAGE)).unwrap_or(i64::MAX)
}

/// A row, and its body as text.
fn notice(row: &Row<'_>) -> rusqlite::Result<(StoredNotice, String)> {
    let notice = StoredNotice {
        id: number(row.get(0)?),
        seq: row.get::<_, Option<i64>>(1)?.map(number),
        time: time(row.get(2)?),
        to: row.get(3)?,
        kind: row.get(4)?,
        message: row.get(5)?,
        body: serde_json::Value::Null,
    };
    Ok((notice, row.get(6)?))
}

fn with_body((notice, body): (StoredNotice, String)) -> Result<StoredNotice, StoreError> {
    let body = parse(&body, || format!("notice {}", notice.id))?;
    Ok(StoredNotice { body, ..notice })
}
