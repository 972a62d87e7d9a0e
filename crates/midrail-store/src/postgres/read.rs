//! Reads sessions, approvals and policies, and keeps policies.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use serde_json::Value;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row, RowStream};

use crate::approval::{self, Approval, ApprovalCount, ApprovalFilter};
use crate::draft::{COMMON, home, is_shared};
use crate::error::Result;
use crate::postgres::PostgresStore;
use crate::postgres::cells::{Id, int, limit, number, parse, session_id, slice_id, text, time, untext};
use crate::store::{Approvals, Policies, SessionFilter, SessionInfo, Slice, Slices};

impl Slices for PostgresStore {
    fn load(&self, session: &str, keys: &[&str]) -> Result<Vec<Slice>> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<Id> = keys.iter().map(|key| slice_id(home(session, key), key)).collect();
        let rows = self.read(async |client, project| {
            let select = "SELECT id, value, version FROM slices WHERE project = $1 AND id = ANY($2)";
            let statement = client.prepare_cached(select).await?;
            let wanted: Vec<&[u8]> = ids.iter().map(Id::as_slice).collect();
            let mut found: BTreeMap<Id, (String, i64)> = BTreeMap::new();
            for row in client.query(&statement, &[&project, &wanted]).await? {
                if let Ok(id) = Id::try_from(row.try_get::<_, &[u8]>(0)?) {
                    found.insert(id, (row.try_get(1)?, row.try_get(2)?));
                }
            }
            Ok(found)
        })?;
        let slice = |(id, key): (&Id, &&str)| match rows.get(id) {
            None => Ok(Slice::default()),
            Some((value, version)) => {
                let value = parse(value, || format!("slice `{key}` of session `{session}`"))?;
                Ok(Slice { value: Some(value), version: number(*version) })
            }
        };
        ids.iter().zip(keys).map(slice).collect()
    }

    fn load_prefix(&self, session: &str, prefix: &str) -> Result<BTreeMap<String, Value>> {
        let wants_shared = is_shared(prefix);
        let home = text(if wants_shared { COMMON } else { session });
        let start = text(prefix);
        let rows = self.read(async |client, project| {
            // No text of at most 64 characters that begins so comes after the last of these.
            let select = "SELECT key, value FROM slices
                 WHERE project = $1 AND left(session, 64) = left($2, 64) AND session = $2
                   AND left(key, 64) >= left($3, 64)
                   AND left(key, 64) <= left($3, 64) || repeat(U&'\\+10FFFF', 64)
                   AND starts_with(key, $3)";
            let statement = client.prepare_cached(select).await?;
            let rows = client.query(&statement, &[&project, &home, &start]).await?;
            rows.iter()
                .map(|row| Ok((untext(row.try_get(0)?), row.try_get(1)?)))
                .collect::<Result<Vec<_>, _>>()
        })?;
        let slice = |(key, value): (String, String)| {
            let value = parse(&value, || format!("slice `{key}` of session `{session}`"))?;
            Ok((key, value))
        };
        rows.into_iter().filter(|(key, _)| is_shared(key) == wants_shared).map(slice).collect()
    }

    fn shared_keys(&self, from: &str, before: &str, most: usize) -> Result<Vec<String>> {
        let keys: Vec<String> = self.read(async |client, project| {
            let select = "SELECT key FROM slices
                 WHERE project = $1 AND left(session, 64) = $2 AND session = $2
                   AND left(key, 64) >= left($3, 64) AND left(key, 64) <= left($4, 64)
                   AND key >= $3 AND key < $4
                 ORDER BY left(key, 64), key LIMIT $5";
            let statement = client.prepare_cached(select).await?;
            let cells: [&(dyn ToSql + Sync); 5] =
                [&project, &text(COMMON), &text(from), &text(before), &limit(most)];
            client.query(&statement, &cells).await?.iter().map(|row| row.try_get(0).map(untext)).collect()
        })?;
        Ok(keys.into_iter().filter(|key| is_shared(key)).collect())
    }

    fn find_sessions(&self, wanted: &SessionFilter) -> Result<Vec<SessionInfo>> {
        let id = wanted.named.as_deref().map(session_id);
        let part = wanted.containing.as_deref().map(text);
        let before = wanted.before_seq.map_or(i64::MAX, int);
        let most = wanted.limit.map(limit);
        // Written only where it is meant, so that one session is found by its key.
        let by_name = if id.is_some() { "id = $5" } else { "$5::bytea IS NULL" };
        let select = format!(
            "SELECT shown.session, records, last_seq, last_active,
               (SELECT count(*) FROM slices WHERE slices.project = $1
                AND left(slices.session, 64) = left(shown.session, 64) AND slices.session = shown.session
                AND NOT starts_with(slices.key, 'shared/'))
             FROM (
               SELECT session, records, last_seq, last_active FROM sessions
               WHERE project = $1 AND {by_name} AND last_seq < $2
                 AND ($3::text IS NULL OR strpos(session, $3) > 0)
               ORDER BY last_seq DESC LIMIT $4
             ) AS shown ORDER BY last_seq DESC"
        );
        self.read(async |client, project| {
            let info = |row: &Row| {
                Ok(SessionInfo {
                    session: untext(row.try_get(0)?),
                    records: number(row.try_get(1)?),
                    last_seq: number(row.try_get(2)?),
                    last_active: time(row.try_get(3)?),
                    slices: number(row.try_get(4)?),
                })
            };
            let statement = client.prepare_cached(&select).await?;
            let id = id.as_ref().map(Id::as_slice);
            client
                .query(&statement, &[&project, &before, &part, &most, &id])
                .await?
                .iter()
                .map(info)
                .collect()
        })
    }
}

impl Approvals for PostgresStore {
    fn approval(&self, id: &str) -> Result<Option<Approval>> {
        let body: Option<String> = self.read(async |client, project| {
            let select = "SELECT body FROM approvals WHERE project = $1 AND id = $2";
            let statement = client.prepare_cached(select).await?;
            client.query_opt(&statement, &[&project, &text(id)]).await?.map(|row| row.try_get(0)).transpose()
        })?;
        body.map(|body| parse_approval(id, &body)).transpose()
    }

    fn approvals(&self, filter: &ApprovalFilter) -> Result<Vec<Approval>> {
        let session = filter.session.as_deref().map(text);
        // The column is in whole microseconds. The body has it exactly.
        let after = filter.created_after.map(|after| after.as_microsecond());
        let mut select = "SELECT id, body FROM approvals WHERE project = $1".to_owned();
        if let Some(state) = filter.state {
            // Written out, so that the index of pending ones is used.
            select.push_str(&format!(" AND state = '{}'", state.word()));
        }
        select.push_str(" AND ($2::text IS NULL OR session = $2) AND ($3::bigint IS NULL OR created >= $3)");
        select.push_str(" ORDER BY created DESC, id DESC");
        self.some_approvals(&select, &[&session, &after], filter.page(), |row| filter.matches(row))
    }

    fn approval_counts(&self) -> Result<Vec<ApprovalCount>> {
        let select = "SELECT id, body FROM approvals WHERE project = $1";
        let rows = self.some_approvals(select, &[], usize::MAX, |_| true)?;
        Ok(approval::counts(rows.into_iter()))
    }
}

impl PostgresStore {
    /// The first approvals that fit. Rows are read until there are enough.
    fn some_approvals(
        &self,
        select: &str,
        cells: &[&(dyn ToSql + Sync)],
        most: usize,
        fits: impl Fn(&Approval) -> bool,
    ) -> Result<Vec<Approval>> {
        self.read(async |client, project| {
            let statement = client.prepare_cached(select).await?;
            let own: &(dyn ToSql + Sync) = &project;
            let cells: Vec<_> = std::iter::once(own).chain(cells.iter().copied()).collect();
            let mut rows = pin!(client.query_raw(&statement, cells).await?);
            let mut found = Vec::new();
            while found.len() < most {
                let Some(row) = next(&mut rows).await? else { break };
                match parse_approval(&untext(row.try_get(0)?), row.try_get(1)?) {
                    Ok(approval) if !fits(&approval) => {}
                    Ok(approval) => found.push(approval),
                    Err(error) => return Ok(Err(error)),
                }
            }
            Ok(Ok(found))
        })?
    }
}

/// The next row of a query.
pub(super) async fn next(rows: &mut Pin<&mut RowStream>) -> Result<Option<Row>, Error> {
    poll_fn(|context: &mut Context<'_>| poll(rows, context)).await.transpose()
}

fn poll(rows: &mut Pin<&mut RowStream>, context: &mut Context<'_>) -> Poll<Option<Result<Row, Error>>> {
    futures_core::Stream::poll_next(rows.as_mut(), context)
}

fn parse_approval(id: &str, body: &str) -> Result<Approval> {
    parse(body, || format!("approval `{id}`"))
}

impl Policies for PostgresStore {
    fn save_policy(&self, revision: &str, body: &str) -> Result<()> {
        if self.has_policy(revision) {
            return Ok(());
        }
        self.write(async |client, project| {
            let insert =
                "INSERT INTO policies (project, revision, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
            client.execute(insert, &[&project, &text(revision), &text(body)]).await
        })?;
        self.knows_policy(revision);
        Ok(())
    }

    fn policy(&self, revision: &str) -> Result<Option<String>> {
        self.read(async |client, project| {
            let select = "SELECT body FROM policies WHERE project = $1 AND revision = $2";
            let row = client.query_opt(select, &[&project, &text(revision)]).await?;
            row.map(|row| row.try_get(0).map(untext)).transpose()
        })
    }
}

/// A page of at most so many.
pub(super) fn page(wanted: usize) -> i64 {
    limit(wanted.min(crate::filter::MAX_PAGE))
}
