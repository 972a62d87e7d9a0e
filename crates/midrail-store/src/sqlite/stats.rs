//! Statistics of the log as they were saved, windows of it, and named counters.

use std::collections::BTreeMap;

use jiff::Timestamp;
use midrail_core::Effect;
use rusqlite::{OptionalExtension, params};

use crate::audit_stats::{ActionCounts, AuditStats, OWN, part_us};
use crate::error::Result;
use crate::sqlite::SqliteStore;
use crate::sqlite::commit::json;
use crate::sqlite::log::first_micro_from;
use crate::sqlite::read::{int, number};
use crate::store::Stats;

impl Stats for SqliteStore {
    fn saved_stats(&self) -> Result<Option<AuditStats>> {
        let body = self.read(|connection| {
            connection.query_row("SELECT body FROM figures", [], |row| row.get::<_, String>(0)).optional()
        })?;
        // What cannot be read is counted anew.
        Ok(body.and_then(|body| serde_json::from_str(&body).ok()))
    }

    fn save_stats(&self, figures: &AuditStats) -> Result<()> {
        let body = json(figures, || "the figures".to_owned())?;
        self.write(|transaction| {
            let save = "INSERT INTO figures (id, seq, hash, body) VALUES (1, ?1, ?2, ?3)
                 ON CONFLICT DO UPDATE SET seq = excluded.seq, hash = excluded.hash, body = excluded.body
                 WHERE excluded.seq >= figures.seq OR NOT EXISTS (
                   SELECT 1 FROM audit WHERE audit.seq = figures.seq AND audit.hash = figures.hash)";
            let saved = transaction.execute(save, params![int(figures.seq), figures.hash, body]);
            saved.map(|_| ()).map_err(|error| self.failure(error))
        })
    }

    fn action_counts(&self, since: Timestamp) -> Result<ActionCounts> {
        let kinds = ActionCounts::KINDS.map(|kind| format!("'{}'", kind.as_str())).join(", ");
        let select = format!(
            "SELECT count(*), coalesce(sum(effect IN ('block', 'halt')), 0)
             FROM audit INDEXED BY audit_time WHERE time >= ?1 AND kind IN ({kinds})"
        );
        self.read(|connection| {
            connection.prepare_cached(&select)?.query_row([first_micro_from(since)], |row| {
                Ok(ActionCounts { decisions: number(row.get(0)?), blocked: number(row.get(1)?) })
            })
        })
    }

    fn timeline(
        &self,
        since: Timestamp,
        until: Timestamp,
        parts: usize,
    ) -> Result<Vec<BTreeMap<Effect, u64>>> {
        let own = OWN.map(|kind| format!("'{kind}'")).join(", ");
        let select = format!(
            "SELECT (time - ?1) / ?3, effect, count(*) FROM audit INDEXED BY audit_time
             WHERE time >= ?1 AND time < ?2 AND kind NOT IN ({own}) GROUP BY 1, 2"
        );
        let (first, end) = (first_micro_from(since), first_micro_from(until));
        let part = part_us(since, until, parts);
        let rows: Vec<(i64, String, i64)> = self.read(|connection| {
            let mut statement = connection.prepare_cached(&select)?;
            let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            statement.query_map([first, end, part], row)?.collect()
        })?;
        let mut timeline = vec![BTreeMap::new(); parts];
        for (place, effect, count) in rows {
            let effects = usize::try_from(place).ok().and_then(|place| timeline.get_mut(place));
            if let (Some(effects), Ok(effect)) = (effects, effect.parse::<Effect>()) {
                *effects.entry(effect).or_default() += number(count);
            }
        }
        Ok(timeline)
    }

    fn increment_counter(&self, name: &str, by: u64) -> Result<()> {
        self.write(|transaction| {
            let add = "INSERT INTO counters (name, value) VALUES (?1, ?2)
                 ON CONFLICT DO UPDATE SET value = value + min(excluded.value, ?3 - value)";
            let added = transaction.execute(add, params![name, int(by), i64::MAX]);
            added.map(|_| ()).map_err(|error| self.failure(error))
        })
    }

    fn counters(&self) -> Result<BTreeMap<String, u64>> {
        self.read(|connection| {
            let mut statement = connection.prepare("SELECT name, value FROM counters")?;
            statement.query_map([], |row| Ok((row.get(0)?, number(row.get(1)?))))?.collect()
        })
    }
}
