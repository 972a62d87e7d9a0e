//! Saved statistics, periods of the log, and named counters.

use std::collections::BTreeMap;

use jiff::Timestamp;
use midrail_core::Effect;

use crate::audit_stats::{ActionCounts, AuditStats, ENGINE_KINDS, Stats, Timeline};
use crate::draft::encode;
use crate::error::Result;
use crate::sql::{Dialect, Row, SqlStore, first_micro_from};

impl<S: SqlStore> Stats for S {
    fn saved_stats(&self) -> Result<Option<AuditStats>> {
        let select = format!("SELECT body FROM figures WHERE {}true", S::DIALECT.own);
        let body = self.select(|connection| connection.row(&select, &[], |row| row.string(0)))?;
        // Statistics that cannot be decoded are counted again.
        Ok(body.and_then(|body| serde_json::from_str(&body).ok()))
    }

    fn save_stats(&self, stats: &AuditStats) -> Result<()> {
        let body = encode(stats, || "the statistics".to_owned())?;
        let Dialect { single: (key, value), own, .. } = S::DIALECT;
        let save = format!(
            "INSERT INTO figures ({key}, seq, hash, body) VALUES ({value}, ?1, ?2, ?3)
             ON CONFLICT ({key}) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, body = excluded.body
             WHERE excluded.seq >= figures.seq OR NOT EXISTS (
               SELECT 1 FROM audit WHERE {own}audit.seq = figures.seq AND audit.hash = figures.hash)"
        );
        let cells = [stats.seq.into(), (&stats.hash).into(), body.into()];
        self.update(|connection| connection.execute(&save, &cells).map(drop))
    }

    fn action_counts(&self, since: Timestamp) -> Result<ActionCounts> {
        let (own, index) = (S::DIALECT.own, S::DIALECT.indexed_by("audit_time"));
        let first = format!(
            "SELECT actions, stopped, kind, effect FROM audit{index} WHERE {own}time >= ?1 ORDER BY time, seq LIMIT 1"
        );
        let last = format!("SELECT actions, stopped FROM audit WHERE {own}true ORDER BY seq DESC LIMIT 1");
        let totals = |row: &dyn Row| Ok(ActionCounts { decisions: row.number(0)?, blocked: row.number(1)? });
        self.select(|connection| {
            let before_first = connection.row(&first, &[first_micro_from(since).into()], |row| {
                let own = ActionCounts::default().with(&row.string(2)?, &row.string(3)?);
                Ok(totals(row)?.since(own))
            })?;
            let last = connection.row(&last, &[], totals)?;
            Ok(before_first.zip(last).map(|(before, last)| last.since(before)).unwrap_or_default())
        })
    }

    fn timeline(
        &self,
        since: Timestamp,
        until: Timestamp,
        parts: usize,
    ) -> Result<Vec<BTreeMap<Effect, u64>>> {
        let kinds = ENGINE_KINDS.map(|kind| format!("'{kind}'")).join(", ");
        let (own, index) = (S::DIALECT.own, S::DIALECT.indexed_by("audit_time"));
        let select = format!(
            "SELECT (time - ?1) / ?3, effect, count(*) FROM audit{index}
             WHERE {own}time >= ?1 AND time < ?2 AND kind NOT IN ({kinds}) GROUP BY 1, 2"
        );
        let mut timeline = Timeline::new(since, until, parts);
        let cells = [first_micro_from(since).into(), first_micro_from(until).into(), timeline.part_us.into()];
        let counts: Vec<(i64, String, u64)> = self.select(|connection| {
            connection
                .rows(&select, &cells, |row| Ok((row.int(0)?.unwrap_or(-1), row.string(1)?, row.number(2)?)))
        })?;
        counts.iter().for_each(|(part, effect, count)| timeline.add(*part, effect, *count));
        Ok(timeline.counts)
    }

    fn increment_counter(&self, name: &str, by: u64) -> Result<()> {
        let Dialect { column, value, least, .. } = S::DIALECT;
        let add = format!(
            "INSERT INTO counters ({column}name, value) VALUES ({value}?1, ?2) ON CONFLICT ({column}name)
             DO UPDATE SET value = counters.value + {least}(excluded.value, ?3 - counters.value)"
        );
        let cells = [name.into(), by.into(), i64::MAX.into()];
        self.update(|connection| connection.execute(&add, &cells).map(drop))
    }

    fn counters(&self) -> Result<BTreeMap<String, u64>> {
        let select = format!("SELECT name, value FROM counters WHERE {}true", S::DIALECT.own);
        self.select(|connection| connection.rows(&select, &[], |row| Ok((row.string(0)?, row.number(1)?))))
    }
}
