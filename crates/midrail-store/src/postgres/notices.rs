//! Notices and how far each channel is with them, and alerts.

use deadpool_postgres::Object;
use jiff::Timestamp;
use tokio_postgres::{Error, Row};

use crate::error::Result;
use crate::notice::{Alert, NewNotice, PendingDelivery, StoredNotice, is_apart};
use crate::postgres::PostgresStore;
use crate::postgres::cells::{int, number, parse, text, time, untext};
use crate::postgres::jobs::Posted;
use crate::postgres::read::page;
use crate::store::{Alerts, Notices};

/// Up to where a channel is done.
const THROUGH: &str = "coalesce((SELECT through FROM channels WHERE project = $1 AND channel = $2), 0)";

/// A channel is done up to a notice. It never goes back.
const DONE: &str =
    "ON CONFLICT (project, channel) DO UPDATE SET through = greatest(channels.through, excluded.through)";

impl Notices for PostgresStore {
    fn notices(&self, after_id: u64, limit: usize) -> Result<Vec<StoredNotice>> {
        let rows = self.read(async |client, project| {
            let select = "SELECT id, seq, time, recipient, kind, message, body FROM notices
                 WHERE project = $1 AND id > $2 ORDER BY id LIMIT $3";
            let statement = client.prepare_cached(select).await?;
            let rows = client.query(&statement, &[&project, &int(after_id), &page(limit)]).await?;
            rows.iter().map(notice).collect::<Result<Vec<_>, _>>()
        })?;
        rows.into_iter().map(with_body).collect()
    }

    fn pending_deliveries(&self, channel: &str, limit: usize) -> Result<Vec<PendingDelivery>> {
        let rows = self.read(async |client, project| {
            let select = format!(
                "SELECT id, seq, time, recipient, kind, message, body, coalesce(attempts, 0), tried
                 FROM notices LEFT JOIN deliveries
                   ON deliveries.project = $1 AND deliveries.channel = $2 AND notice = id
                 WHERE notices.project = $1 AND id > {THROUGH} AND delivered IS NULL ORDER BY id LIMIT $3"
            );
            let statement = client.prepare_cached(&select).await?;
            let rows = client.query(&statement, &[&project, &text(channel), &page(limit)]).await?;
            let one = |row: &Row| {
                let tried = row.try_get::<_, Option<i64>>(8)?.map(time);
                Ok((notice(row)?, number(row.try_get(7)?), tried))
            };
            rows.iter().map(one).collect::<Result<Vec<_>, Error>>()
        })?;
        let undelivered =
            |(row, attempts, tried)| Ok(PendingDelivery { notice: with_body(row)?, attempts, tried });
        rows.into_iter().map(undelivered).collect()
    }

    fn claim_delivery(&self, id: u64, channel: &str, now: Timestamp, again_after_s: u64) -> Result<bool> {
        let apart = int(again_after_s.saturating_mul(1_000_000));
        self.write(async |client, project| {
            // One statement, so that of all who try one is first.
            let claim = format!(
                "INSERT INTO deliveries (project, channel, notice, attempts, tried)
                 SELECT $1, $2, id, 1, $4 FROM notices WHERE project = $1 AND id = $3 AND id > {THROUGH}
                 ON CONFLICT (project, channel, notice) DO UPDATE
                 SET attempts = deliveries.attempts + 1, tried = excluded.tried
                 WHERE deliveries.delivered IS NULL
                   AND (deliveries.tried IS NULL OR abs(excluded.tried - deliveries.tried) >= $5)"
            );
            let cells = (text(channel), int(id), now.as_microsecond());
            client
                .execute(&claim, &[&project, &cells.0, &cells.1, &cells.2, &apart])
                .await
                .map(|claimed| claimed > 0)
        })
    }

    fn mark_delivered(&self, id: u64, channel: &str, now: Timestamp) -> Result<()> {
        let cells = (text(channel), int(id), now.as_microsecond());
        self.write(async |client, project| {
            let mark = "INSERT INTO deliveries (project, channel, notice, attempts, delivered)
                 SELECT $1, $2, id, 0, $4 FROM notices WHERE project = $1 AND id = $3
                 ON CONFLICT (project, channel, notice) DO UPDATE
                 SET delivered = coalesce(deliveries.delivered, excluded.delivered)";
            client.execute(mark, &[&project, &cells.0, &cells.1, &cells.2]).await?;
            // The channel is done up to the first notice that still waits.
            let done = format!(
                "INSERT INTO channels (project, channel, through)
                 SELECT $1, $2, coalesce(
                   (SELECT min(id) - 1 FROM notices WHERE project = $1 AND id > {THROUGH} AND NOT EXISTS (
                      SELECT 1 FROM deliveries WHERE deliveries.project = $1 AND deliveries.channel = $2
                        AND notice = id AND delivered IS NOT NULL)),
                   (SELECT max(id) FROM notices WHERE project = $1), 0)
                 {DONE}"
            );
            client.execute(&done, &[&project, &cells.0]).await.map(|_| ())
        })
    }

    fn skip_notices(&self, channel: &str, through_id: u64) -> Result<()> {
        self.write(async |client, project| {
            let pass = format!(
                "INSERT INTO channels (project, channel, through)
                 SELECT $1, $2, least($3, coalesce((SELECT max(id) FROM notices WHERE project = $1), 0)) {DONE}"
            );
            client.execute(&pass, &[&project, &text(channel), &int(through_id)]).await.map(|_| ())
        })
    }
}

impl Alerts for PostgresStore {
    fn fire_alert(&self, alert: &Alert, cooldown_s: u64, notices: &[NewNotice]) -> Result<bool> {
        let alert = alert.kept();
        let (name, key) = (text(&alert.name), text(&alert.key));
        let is_cold = async |client: &Object, project: i32| {
            // The one that was raised last, whatever its clock said.
            let select =
                "SELECT fired FROM alerts WHERE project = $1 AND left(name, 64) = left($2, 64) AND name = $2
                 AND left(key, 64) = left($3, 64) AND key = $3 ORDER BY id DESC LIMIT 1";
            let statement = client.prepare_cached(select).await?;
            let last = client.query_opt(&statement, &[&project, &name, &key]).await?;
            let last: Option<i64> = last.map(|row| row.try_get(0)).transpose()?;
            Ok::<_, Error>(last.is_none_or(|last| is_apart(time(last), alert.fired_at, cooldown_s)))
        };
        // Most of the time nothing is to be written, and no one is made to wait.
        if !self.read(is_cold)? {
            return Ok(false);
        }
        let notices: Vec<Posted> = notices.iter().map(Posted::from).collect();
        self.write(async |client, project| {
            client.batch_execute("BEGIN ISOLATION LEVEL READ COMMITTED").await?;
            let work = async {
                let lock = "SELECT notices FROM projects WHERE id = $1 FOR NO KEY UPDATE";
                let mut last: i64 = client.query_one(lock, &[&project]).await?.try_get(0)?;
                if !is_cold(client, project).await? {
                    return Ok(false);
                }
                let fired = alert.fired_at.as_microsecond();
                let insert = "INSERT INTO alerts (project, name, key, fired, value, message)
                     VALUES ($1, $2, $3, $4, $5, $6)";
                let message = text(&alert.message);
                client.execute(insert, &[&project, &name, &key, &fired, &alert.value, &message]).await?;
                for Posted { to, kind, message, body } in &notices {
                    last += 1;
                    let insert = "INSERT INTO notices (project, id, time, recipient, kind, message, body)
                         VALUES ($1, $2, $3, $4, $5, $6, $7)";
                    client.execute(insert, &[&project, &last, &fired, to, kind, message, body]).await?;
                }
                client.execute("UPDATE projects SET notices = $2 WHERE id = $1", &[&project, &last]).await?;
                Ok(true)
            };
            let outcome = work.await;
            client.batch_execute(if outcome.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
            outcome
        })
    }

    fn alerts(&self, limit: usize) -> Result<Vec<Alert>> {
        self.read(async |client, project| {
            let select = "SELECT name, key, fired, value, message FROM alerts WHERE project = $1
                 ORDER BY id DESC LIMIT $2";
            let alert = |row: &Row| {
                let (name, key, message) =
                    (untext(row.try_get(0)?), untext(row.try_get(1)?), untext(row.try_get(4)?));
                Ok(Alert { name, key, fired_at: time(row.try_get(2)?), value: row.try_get(3)?, message })
            };
            client.query(select, &[&project, &page(limit)]).await?.iter().map(alert).collect()
        })
    }
}

/// A row, and its body as text.
fn notice(row: &Row) -> Result<(StoredNotice, String), Error> {
    let notice = StoredNotice {
        id: number(row.try_get(0)?),
        seq: row.try_get::<_, Option<i64>>(1)?.map(number),
        time: time(row.try_get(2)?),
        to: untext(row.try_get(3)?),
        kind: untext(row.try_get(4)?),
        message: untext(row.try_get(5)?),
        body: serde_json::Value::Null,
    };
    Ok((notice, row.try_get(6)?))
}

fn with_body((notice, body): (StoredNotice, String)) -> Result<StoredNotice> {
    let body = parse(&body, || format!("notice {}", notice.id))?;
    Ok(StoredNotice { body, ..notice })
}
