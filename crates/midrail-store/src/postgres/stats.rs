//! Statistics of the log as they were saved, windows of it, and named counters.

use std::collections::BTreeMap;

use jiff::Timestamp;
use midrail_core::Effect;

use crate::audit_stats::{ActionCounts, AuditStats, OWN, part_us};
use crate::error::Result;
use crate::postgres::PostgresStore;
use crate::postgres::cells::{first_micro_from, int, json, number, text, untext};
use crate::store::Stats;

impl Stats for PostgresStore {
    fn saved_stats(&self) -> Result<Option<AuditStats>> {
        let body: Option<String> = self.read(async |client, project| {
            let row = client.query_opt("SELECT body FROM figures WHERE project = $1", &[&project]).await?;
            row.map(|row| row.try_get(0)).transpose()
        })?;
        // What cannot be read is counted anew.
        Ok(body.and_then(|body| serde_json::from_str(&body).ok()))
    }

    fn save_stats(&self, figures: &AuditStats) -> Result<()> {
        let body = json(figures, || "the figures".to_owned())?;
        self.write(async |client, project| {
            let save = "INSERT INTO figures (project, seq, hash, body) VALUES ($1, $2, $3, $4)
                 ON CONFLICT (project) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, body = excluded.body
                 WHERE excluded.seq >= figures.seq OR NOT EXISTS (
                   SELECT 1 FROM audit WHERE audit.project = $1 AND audit.seq = figures.seq AND audit.hash = figures.hash)";
            client.execute(save, &[&project, &int(figures.seq), &figures.hash, &body]).await.map(|_| ())
        })
    }

    fn action_counts(&self, since: Timestamp) -> Result<ActionCounts> {
        let kinds = ActionCounts::KINDS.map(|kind| format!("'{}'", kind.as_str())).join(", ");
        let select = format!(
            "SELECT count(*), count(*) FILTER (WHERE effect IN ('block', 'halt'))
             FROM audit WHERE project = $1 AND time >= $2 AND kind IN ({kinds})"
        );
        self.read(async |client, project| {
            let statement = client.prepare_cached(&select).await?;
            let row = client.query_one(&statement, &[&project, &first_micro_from(since)]).await?;
            Ok(ActionCounts { decisions: number(row.try_get(0)?), blocked: number(row.try_get(1)?) })
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
            "SELECT (time - $2) / $4, effect, count(*) FROM audit
             WHERE project = $1 AND time >= $2 AND time < $3 AND kind NOT IN ({own}) GROUP BY 1, 2"
        );
        let (first, end) = (first_micro_from(since), first_micro_from(until));
        let part = part_us(since, until, parts);
        self.read(async |client, project| {
            let statement = client.prepare_cached(&select).await?;
            let rows = client.query(&statement, &[&project, &first, &end, &part]).await?;
            let mut timeline = vec![BTreeMap::new(); parts];
            for row in rows {
                let place = usize::try_from(row.try_get::<_, i64>(0)?).ok();
                let effect = row.try_get::<_, String>(1)?.parse::<Effect>();
                if let (Some(effects), Ok(effect)) = (place.and_then(|place| timeline.get_mut(place)), effect)
                {
                    *effects.entry(effect).or_default() += number(row.try_get(2)?);
                }
            }
            Ok(timeline)
        })
    }

    fn increment_counter(&self, name: &str, by: u64) -> Result<()> {
        self.write(async |client, project| {
            let add = "INSERT INTO counters (project, name, value) VALUES ($1, $2, $3)
                 ON CONFLICT (project, name) DO UPDATE
                 SET value = counters.value + least(excluded.value, $4 - counters.value)";
            client.execute(add, &[&project, &text(name), &int(by), &i64::MAX]).await.map(|_| ())
        })
    }

    fn counters(&self) -> Result<BTreeMap<String, u64>> {
        self.read(async |client, project| {
            let rows =
                client.query("SELECT name, value FROM counters WHERE project = $1", &[&project]).await?;
            rows.iter().map(|row| Ok((untext(row.try_get(0)?), number(row.try_get(1)?)))).collect()
        })
    }
}
