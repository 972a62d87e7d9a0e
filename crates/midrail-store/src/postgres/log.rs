//! Reads the audit log, page by page, waits for it, and signs its head on demand.

use std::pin::pin;
use std::time::Duration;

use jiff::Timestamp;
use midrail_core::{AuditRef, Effect};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

use crate::checkpoint::{Checkpoint, PublicKey};
use crate::entry::{AuditEntry, Labels};
use crate::error::Result;
use crate::filter::AuditFilter;
use crate::postgres::PostgresStore;
use crate::postgres::cells::{first_micro_from, int, limit, number, text, time, untext};
use crate::postgres::read::next;
use crate::store::AuditLog;
use crate::verify::{self, Misfit, MisfitKind, TrustAnchor, Verification};

const COLUMNS: &str = "seq, time, session, kind, tool, effect, guardrails, prev, hash, body";
const CHECKPOINT: &str = "SELECT seq, hash, time, key, signature FROM checkpoints WHERE project = $1";

/// A page ends early with the record that makes it larger than this.
const PAGE_BYTES: usize = 16 << 20;

impl AuditLog for PostgresStore {
    fn verify(&self, expect: &TrustAnchor, progress: &mut dyn FnMut(u64, u64)) -> Result<Verification> {
        // Read before the log is, so that no decision that is made meanwhile looks cut off.
        let head = self.head()?;
        let written: i64 = self.read(async |client, project| {
            let select = "SELECT coalesce(max(version), 0) FROM slices WHERE project = $1";
            client.query_one(select, &[&project]).await?.try_get(0)
        })?;
        let mut found = verify::log(self, expect, progress)?;
        let end = found.head.as_ref().map_or(0, |head| head.seq);
        let noted = head.as_ref().map_or(0, |head| head.seq);
        let beyond = self.after_head()?;
        if found.is_intact() {
            let written = number(written);
            found.misfit = if noted > end {
                let detail = format!("the log ends at record {end}, and its project notes {noted}");
                Some(Misfit { seq: end + 1, kind: MisfitKind::Truncated, detail })
            } else if written > end {
                let detail =
                    format!("the log ends at record {end}, and sessions were written with record {written}");
                Some(Misfit { seq: end + 1, kind: MisfitKind::Truncated, detail })
            } else if let Some(beyond) = beyond {
                let detail =
                    format!("record {beyond} stands after the one that its project notes as the last");
                Some(Misfit { seq: beyond, kind: MisfitKind::Reordered, detail })
            } else {
                None
            };
        }
        if let Some(head) = head.filter(|_| found.is_intact())
            && self.entry(head.seq)?.is_some_and(|entry| entry.hash != head.hash)
        {
            let detail = format!("record {} has another hash than its project notes", head.seq);
            found.misfit = Some(Misfit { seq: head.seq, kind: MisfitKind::Head, detail });
        }
        Ok(found)
    }

    fn entry(&self, seq: u64) -> Result<Option<AuditEntry>> {
        self.read(async |client, project| {
            let select =
                format!("SELECT {COLUMNS} FROM audit WHERE project = $1 AND seq = $2 ORDER BY time LIMIT 1");
            let statement = client.prepare_cached(&select).await?;
            client.query_opt(&statement, &[&project, &int(seq)]).await?.as_ref().map(entry).transpose()
        })
    }

    fn entries(&self, filter: &AuditFilter) -> Result<Vec<AuditEntry>> {
        let (select, cells) = query(filter);
        self.read(async |client, project| {
            let statement = client.prepare_cached(&select).await?;
            let own: &(dyn ToSql + Sync) = &project;
            let cells = cells.iter().map(|cell| -> &(dyn ToSql + Sync) { &**cell });
            let cells: Vec<_> = std::iter::once(own).chain(cells).collect();
            let mut rows = pin!(client.query_raw(&statement, cells).await?);
            let mut bytes = 0;
            let mut page = Vec::new();
            while let Some(row) = next(&mut rows).await? {
                let entry = entry(&row)?;
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
        self.read(async |client, project| {
            let statement =
                client.prepare_cached("SELECT seq, hash FROM projects WHERE id = $1 AND seq > 0").await?;
            let row = client.query_opt(&statement, &[&project]).await?;
            row.map(|row| Ok(AuditRef { seq: number(row.try_get(0)?), hash: row.try_get(1)? })).transpose()
        })
    }

    fn wait_for_record(&self, seq: u64, at_most: Duration) -> Result<Option<AuditRef>> {
        if at_most.is_zero() {
            return self.head();
        }
        self.family.listen();
        self.family.ears.wait(&self.project.signal, seq, at_most, || self.head())
    }

    fn checkpoints(&self, after_seq: u64, most: usize) -> Result<Vec<Checkpoint>> {
        self.read(async |client, project| {
            let select = format!("{CHECKPOINT} AND seq > $2 ORDER BY seq LIMIT $3");
            let statement = client.prepare_cached(&select).await?;
            let rows = client.query(&statement, &[&project, &int(after_seq), &limit(most)]).await?;
            rows.iter().map(checkpoint).collect()
        })
    }

    fn last_checkpoint(&self) -> Result<Option<Checkpoint>> {
        self.read(async |client, project| {
            let select = format!("{CHECKPOINT} ORDER BY seq DESC LIMIT 1");
            client.query_opt(&select, &[&project]).await?.as_ref().map(checkpoint).transpose()
        })
    }

    fn public_keys(&self) -> Result<Vec<PublicKey>> {
        self.read(async |client, project| {
            let select = "SELECT id, public FROM keys WHERE project = $1 ORDER BY place";
            let key = |row: &Row| Ok(PublicKey { id: row.try_get(0)?, public: row.try_get(1)? });
            client.query(select, &[&project]).await?.iter().map(key).collect()
        })
    }

    fn checkpoint_now(&self, time: Timestamp) -> Result<Option<Checkpoint>> {
        let key = self.key()?;
        self.write(async |client, project| {
            client.batch_execute("BEGIN ISOLATION LEVEL READ COMMITTED").await?;
            let work = async {
                let lock = "SELECT seq, hash FROM projects WHERE id = $1 AND seq > 0 FOR NO KEY UPDATE";
                let Some(head) = client.query_opt(lock, &[&project]).await? else { return Ok(None) };
                let seq: i64 = head.try_get(0)?;
                let signed =
                    client.query_opt(&format!("{CHECKPOINT} AND seq = $2"), &[&project, &seq]).await?;
                if let Some(signed) = signed {
                    return checkpoint(&signed).map(Some);
                }
                let signed = key.sign(number(seq), head.try_get(1)?, time);
                let PublicKey { id, public } = key.public();
                let insert =
                    "INSERT INTO keys (project, id, public) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
                client.execute(insert, &[&project, id, public]).await?;
                let insert = "INSERT INTO checkpoints (project, seq, hash, time, key, signature)
                     VALUES ($1, $2, $3, $4, $5, $6)";
                let Checkpoint { hash, time, key, signature, .. } = &signed;
                client.execute(insert, &[&project, &seq, hash, time, key, signature]).await?;
                Ok(Some(signed))
            };
            let outcome = work.await;
            client.batch_execute(if outcome.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
            outcome
        })
    }
}

impl PostgresStore {
    /// A record that stands after the head, if there is one.
    fn after_head(&self) -> Result<Option<u64>> {
        self.read(async |client, project| {
            // One statement, so that both are of one moment.
            let select = "SELECT min(seq) FROM audit WHERE project = $1
                 AND seq > (SELECT seq FROM projects WHERE id = $1)";
            client
                .query_one(select, &[&project])
                .await?
                .try_get::<_, Option<i64>>(0)
                .map(|seq| seq.map(number))
        })
    }
}

/// The query for a page, and its parameters after the project.
fn query(filter: &AuditFilter) -> (String, Vec<Box<dyn ToSql + Sync + Send>>) {
    let mut terms = "project = $1".to_owned();
    let mut cells: Vec<Box<dyn ToSql + Sync + Send>> = Vec::new();
    let mut term = |text: &str, cell: Box<dyn ToSql + Sync + Send>| {
        cells.push(cell);
        let place = format!("${}", cells.len() + 1);
        terms.push_str(" AND ");
        terms.push_str(&text.replace('?', &place));
    };
    if let Some(session) = &filter.session {
        term("left(session, 64) = left(?, 64) AND session = ?", Box::new(text(session).into_owned()));
    }
    if let Some(effect) = filter.effect {
        let indexed = if effect == Effect::Allow { "effect = ?" } else { "effect = ? AND effect <> 'allow'" };
        term(indexed, Box::new(effect.as_str()));
    }
    if let Some(guardrail) = &filter.guardrail {
        let quoted = serde_json::Value::from(guardrail.as_str()).to_string();
        term("guardrails <> '' AND strpos(guardrails, ?) > 0", Box::new(quoted));
    }
    if let Some(kind) = filter.kind {
        term("kind = ?", Box::new(kind.as_str()));
    }
    if let Some(tool) = &filter.tool {
        term("tool = ?", Box::new(text(tool).into_owned()));
    }
    if let Some(since) = filter.since {
        term("time >= ?", Box::new(first_micro_from(since)));
    }
    if let Some(until) = filter.until {
        term("time < ?", Box::new(first_micro_from(until)));
    }
    if let Some(after) = filter.after_seq {
        term(if filter.newest_first { "seq < ?" } else { "seq > ?" }, Box::new(int(after)));
    }
    let order = if filter.newest_first { "DESC" } else { "ASC" };
    cells.push(Box::new(limit(filter.page())));
    let last = cells.len() + 1;
    (format!("SELECT {COLUMNS} FROM audit WHERE {terms} ORDER BY seq {order} LIMIT ${last}"), cells)
}

fn entry(row: &Row) -> Result<AuditEntry, Error> {
    let guardrails: String = row.try_get(6)?;
    let labels = Labels {
        time: time(row.try_get(1)?),
        session: untext(row.try_get(2)?),
        kind: row.try_get(3)?,
        tool: row.try_get::<_, Option<String>>(4)?.map(untext),
        effect: row.try_get(5)?,
        // A column that is no list was tampered with. It is shown as it stands, and `verify` finds it.
        guardrails: match guardrails.as_str() {
            "" => Vec::new(),
            list => serde_json::from_str(list).unwrap_or_else(|_| vec![guardrails.clone()]),
        },
    };
    let (prev, hash, body) = (row.try_get(7)?, row.try_get(8)?, row.try_get(9)?);
    Ok(AuditEntry { seq: number(row.try_get(0)?), labels, prev, hash, body })
}

fn checkpoint(row: &Row) -> Result<Checkpoint, Error> {
    let (hash, time, key, signature) = (row.try_get(1)?, row.try_get(2)?, row.try_get(3)?, row.try_get(4)?);
    Ok(Checkpoint { seq: number(row.try_get(0)?), hash, time, key, signature })
}
