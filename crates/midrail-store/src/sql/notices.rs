//! Notices and their delivery by each channel, and alerts.

use jiff::Timestamp;

use crate::error::Result;
use crate::filter::MAX_PAGE;
use crate::notice::{Alert, NewNotice, PendingDelivery, StoredNotice, is_apart};
use crate::sql::{Connection, Dialect, Row, SqlStore, Statement, decode};
use crate::store::{Alerts, Notices};

const COLUMNS: &str = "id, seq, time, recipient, kind, message, body";

impl<S: SqlStore> Notices for S {
    fn notices(&self, after_id: u64, limit: usize) -> Result<Vec<StoredNotice>> {
        let own = S::DIALECT.own;
        let select = format!("SELECT {COLUMNS} FROM notices WHERE {own}id > ?1 ORDER BY id LIMIT ?2");
        let cells = [after_id.into(), limit.min(MAX_PAGE).into()];
        self.select(|connection| connection.rows(&select, &cells, notice))
    }

    fn pending_deliveries(&self, channel: &str, limit: usize) -> Result<Vec<PendingDelivery>> {
        let (own, through) = (S::DIALECT.own, delivered_through(&S::DIALECT));
        let select = format!(
            "SELECT {COLUMNS}, coalesce(attempts, 0), tried FROM notices LEFT JOIN
               (SELECT notice, attempts, tried, delivered FROM deliveries WHERE {own}channel = ?1) AS delivery
             ON notice = id WHERE {own}id > {through} AND delivered IS NULL ORDER BY id LIMIT ?2"
        );
        let cells = [channel.into(), limit.min(MAX_PAGE).into()];
        self.select(|connection| {
            connection.rows(&select, &cells, |row| {
                let (attempts, tried) = (row.number(7)?, row.optional_time(8)?);
                Ok(PendingDelivery { notice: notice(row)?, attempts, tried })
            })
        })
    }

    fn claim_delivery(&self, id: u64, channel: &str, now: Timestamp, again_after_s: u64) -> Result<bool> {
        let Dialect { column, value, own, .. } = S::DIALECT;
        let through = delivered_through(&S::DIALECT);
        // One statement, so that exactly one of all processes succeeds.
        let claim = format!(
            "INSERT INTO deliveries ({column}channel, notice, attempts, tried)
             SELECT {value}?1, id, 1, ?3 FROM notices WHERE {own}id = ?2 AND id > {through}
             ON CONFLICT ({column}channel, notice) DO UPDATE
             SET attempts = deliveries.attempts + 1, tried = excluded.tried
             WHERE deliveries.delivered IS NULL
               AND (deliveries.tried IS NULL OR abs(excluded.tried - deliveries.tried) >= ?4)"
        );
        let apart = again_after_s.saturating_mul(1_000_000);
        let cells = [channel.into(), id.into(), now.into(), apart.into()];
        self.update(|connection| Ok(connection.execute(&claim, &cells)? > 0))
    }

    fn mark_delivered(&self, id: u64, channel: &str, now: Timestamp) -> Result<()> {
        let Dialect { column, value, own, greatest, .. } = S::DIALECT;
        let mark = format!(
            "INSERT INTO deliveries ({column}channel, notice, attempts, delivered)
             SELECT {value}?1, id, 0, ?3 FROM notices WHERE {own}id = ?2
             ON CONFLICT ({column}channel, notice) DO UPDATE
             SET delivered = coalesce(deliveries.delivered, excluded.delivered)"
        );
        // The channel has delivered everything before the first notice that still waits.
        let first_waiting = format!(
            "(SELECT min(id) - 1 FROM notices WHERE {own}id > {} AND NOT EXISTS (
               SELECT 1 FROM deliveries WHERE {own}channel = ?1 AND notice = id AND delivered IS NOT NULL))",
            delivered_through(&S::DIALECT)
        );
        let last = format!("coalesce((SELECT max(id) FROM notices WHERE {own}true), 0)");
        let done = format!(
            "INSERT INTO channels ({column}channel, through)
             SELECT {value}?1, coalesce({first_waiting}, {last}) WHERE true
             ON CONFLICT ({column}channel)
             DO UPDATE SET through = {greatest}(channels.through, excluded.through)"
        );
        self.update(|connection| {
            connection.execute(&mark, &[channel.into(), id.into(), now.into()])?;
            connection.execute(&done, &[channel.into()]).map(drop)
        })
    }
}

impl<S: SqlStore> Alerts for S {
    fn fire_alert(&self, alert: &Alert, cooldown_s: u64, notices: &[NewNotice]) -> Result<bool> {
        let Dialect { column, value, own, .. } = S::DIALECT;
        let alert @ Alert { name, key, fired_at, value: level, message } = &alert.storable();
        let (same_name, same_key) = (S::DIALECT.equals("name", "?1"), S::DIALECT.equals("key", "?2"));
        // The alert that was raised last, regardless of its clock.
        let select = format!(
            "SELECT fired FROM alerts WHERE {own}{same_name} AND {same_key} ORDER BY id DESC LIMIT 1"
        );
        let has_cooled_down = |connection: &dyn Connection| {
            let last = connection.row(&select, &[name.into(), key.into()], |row| row.time(0))?;
            Ok(last.is_none_or(|last| is_apart(last, alert.fired_at, cooldown_s)))
        };
        // Usually nothing is written, and no writer has to wait.
        if !self.select(has_cooled_down)? {
            return Ok(false);
        }
        let insert = format!(
            "INSERT INTO alerts ({column}name, key, fired, value, message) VALUES ({value}?1, ?2, ?3, ?4, ?5)"
        );
        let cells = [name.into(), key.into(), (*fired_at).into(), (*level).into(), message.into()];
        self.transact(|connection| {
            if !has_cooled_down(connection)? {
                return Ok(false);
            }
            connection.execute(&insert, &cells)?;
            connection.execute_all(insertions(&S::DIALECT, notices, None, *fired_at))?;
            Ok(true)
        })
    }

    fn alerts(&self, limit: usize) -> Result<Vec<Alert>> {
        let own = S::DIALECT.own;
        let select = format!(
            "SELECT name, key, fired, value, message FROM alerts WHERE {own}true ORDER BY id DESC LIMIT ?1"
        );
        self.select(|connection| {
            connection.rows(&select, &[limit.min(MAX_PAGE).into()], |row| {
                let (name, key, fired_at) = (row.string(0)?, row.string(1)?, row.time(2)?);
                Ok(Alert { name, key, fired_at, value: row.float(3)?, message: row.string(4)? })
            })
        })
    }
}

/// The statements that add notices. The caller holds the lock of all writers, so the ids have no gaps.
pub(crate) fn insertions(
    dialect: &Dialect,
    notices: &[NewNotice],
    seq: Option<u64>,
    time: Timestamp,
) -> impl Iterator<Item = Statement> {
    let Dialect { column, value, own, .. } = dialect;
    let insert = format!(
        "INSERT INTO notices ({column}{COLUMNS})
         SELECT {value}coalesce(max(id), 0) + 1, ?1, ?2, ?3, ?4, ?5, ?6 FROM notices WHERE {own}true"
    );
    notices.iter().map(move |NewNotice { to, kind, message, body }| {
        let texts = [to.into(), kind.into(), message.into(), body.to_string().into()];
        (insert.clone(), [seq.into(), time.into()].into_iter().chain(texts).collect())
    })
}

/// The notice through which the channel `?1` has delivered everything.
fn delivered_through(dialect: &Dialect) -> String {
    format!("coalesce((SELECT through FROM channels WHERE {}channel = ?1), 0)", dialect.own)
}

fn notice(row: &dyn Row) -> Result<StoredNotice> {
    let id = row.number(0)?;
    Ok(StoredNotice {
        id,
        seq: row.int(1)?.map(crate::sql::number),
        time: row.time(2)?,
        to: row.string(3)?,
        kind: row.string(4)?,
        message: row.string(5)?,
        body: decode(&row.string(6)?, || format!("notice {id}"))?,
    })
}
