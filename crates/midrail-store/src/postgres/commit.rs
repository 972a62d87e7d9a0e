//! Writes commits: locks the log, checks what each was decided from, and writes all of them in one transaction.
//!
//! A transaction takes two trips to the database: one that locks the project's row and reads what is to be checked, one
//! that writes and commits. All that writes to a project holds that lock, so what was checked holds until the end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::Object;
use midrail_core::AuditRef;
use tokio_postgres::Error;
use tokio_postgres::types::ToSql;

use crate::approval::Approval;
use crate::approver::Enrolled;
use crate::chain::{CHECKPOINT_EVERY, link_hash};
use crate::draft::{conflict_in_approval, conflict_in_slice};
use crate::error::{Result, StoreError};
use crate::key::StoreKey;
use crate::postgres::PostgresStore;
use crate::postgres::approvers;
use crate::postgres::cells::{Id, number, parse, text, untext};
use crate::postgres::failure::Trouble;
use crate::postgres::jobs::Job;
use crate::postgres::queue::Waiting;
use crate::postgres::writes::Writes;
use crate::store::{Commit, Store};

/// How often a batch is begun anew on another connection.
const TRIES: usize = 3;

impl Store for PostgresStore {
    fn commit(&self, commit: &Commit<'_>) -> Result<AuditRef> {
        let job = Job::new(commit)?;
        self.key()?;
        self.project.queue.commit(job, self.family.batch, |batch| self.lead(batch))
    }
}

/// How a batch failed.
enum Failure {
    /// Nothing was written.
    Clean(Trouble),
    /// It may have been written, with these outcomes. The batch has this number, and its first record this `seq`.
    Unknown { outcomes: Vec<Result<AuditRef>>, batch: i64, first: u64 },
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        Failure::Clean(trouble)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Clean(Trouble::of(&error))
    }
}

impl PostgresStore {
    /// Writes a batch, and answers each.
    fn lead(&self, batch: &[Arc<Waiting>]) {
        // Whoever has waited for so long has waited long enough: the database does not come back any sooner.
        let patience = self.family.limit.saturating_mul(2);
        let (batch, late): (Vec<_>, Vec<_>) = batch.iter().partition(|one| one.since.elapsed() <= patience);
        for one in late {
            let what = "others were waited for too long".to_owned();
            one.answer(Err(StoreError::Unreachable { server: self.family.server.clone(), what }));
        }
        if batch.is_empty() {
            return;
        }
        let jobs: Vec<&Job> = batch.iter().map(|one| &one.job).collect();
        match self.family.run(self.write_all(&jobs)) {
            Ok(outcomes) => {
                if let Some(head) = outcomes.iter().rev().find_map(|outcome| outcome.as_ref().ok()) {
                    self.family.ears.heard(&self.project.signal, head);
                }
                batch.iter().zip(outcomes).for_each(|(one, outcome)| one.answer(outcome));
            }
            // One that the database does not take must not be the failure of all others.
            Err(Trouble::Failed(_)) if batch.len() > 1 => batch.into_iter().for_each(|one| {
                self.lead(std::slice::from_ref(one));
            }),
            Err(trouble) => batch.iter().for_each(|one| one.answer(Err(trouble.told(&self.family.server)))),
        }
    }

    /// Writes jobs in one transaction. Where a connection is lost in the middle, it is found out what became of them.
    async fn write_all(&self, jobs: &[&Job]) -> Result<Vec<Result<AuditRef>>, Trouble> {
        let id = self.made().await?;
        self.family.months_for(jobs.iter().map(|job| job.draft.labels.time)).await?;
        let mut tries = 0;
        loop {
            tries += 1;
            let trouble = match self.write_once(id, jobs).await {
                Ok(outcomes) => return Ok(outcomes),
                Err(Failure::Clean(trouble)) => trouble,
                Err(Failure::Unknown { outcomes, batch, first }) => {
                    if self.is_written(id, batch, first).await? {
                        return Ok(outcomes);
                    }
                    Trouble::Gone("the connection was lost".to_owned())
                }
            };
            if !trouble.is_gone() || tries >= TRIES {
                return Err(trouble);
            }
        }
    }

    async fn write_once(&self, id: i32, jobs: &[&Job]) -> Result<Vec<Result<AuditRef>>, Failure> {
        let client = self.family.client().await?;
        let seen = match self.family.in_time(Seen::load(&client, id, jobs)).await {
            Ok(seen) => seen,
            Err(late) => {
                drop(Object::take(client));
                return Err(Failure::Clean(late));
            }
        };
        let planned = seen.and_then(|seen| Ok(self.plan(id, jobs, seen)?));
        let (outcomes, writes) = match planned {
            Ok((outcomes, Some(writes))) => (outcomes, writes),
            // Nothing is to be written, or something could not be read.
            other => {
                self.roll_back(client).await;
                return other.map(|(outcomes, _)| outcomes);
            }
        };
        let (batch, first) = (writes.batch, writes.first);
        let sent = self.family.in_time(writes.send(&client, &self.project.signal)).await;
        match sent {
            Ok(Ok(())) => Ok(outcomes),
            // The server has said no: nothing is written.
            Ok(Err(error)) if error.as_db_error().is_some() && !Trouble::of(&error).is_gone() => {
                self.roll_back(client).await;
                Err(Failure::Clean(Trouble::of(&error)))
            }
            Ok(Err(_)) | Err(_) => {
                drop(Object::take(client));
                Err(Failure::Unknown { outcomes, batch, first })
            }
        }
    }

    /// Ends a transaction that is not to be. A connection on which that fails is not used again.
    async fn roll_back(&self, client: Object) {
        let is_done = !client.is_closed()
            && self
                .family
                .in_time(client.batch_execute("ROLLBACK"))
                .await
                .is_ok_and(|outcome| outcome.is_ok());
        if !is_done {
            drop(Object::take(client));
        }
    }

    /// Whether a batch was written. Its transaction held the project's row, so once that can be locked it is over.
    async fn is_written(&self, id: i32, batch: i64, first: u64) -> Result<bool, Trouble> {
        let first = super::cells::int(first);
        let look = async {
            loop {
                let found = self.family.once(async |client| {
                    client.batch_execute("BEGIN").await?;
                    let found = async {
                        client.execute("SELECT 1 FROM projects WHERE id = $1 FOR NO KEY UPDATE", &[&id]).await?;
                        let select = "SELECT EXISTS (SELECT 1 FROM audit WHERE project = $1 AND seq = $2 AND batch = $3)";
                        client.query_one(select, &[&id, &first, &batch]).await?.try_get(0)
                    };
                    let found = found.await;
                    client.batch_execute("ROLLBACK").await?;
                    found
                });
                match found.await {
                    Ok(found) => return found,
                    Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                }
            }
        };
        self.family.in_time(look).await.map_err(|_| Trouble::Uncertain)
    }

    /// What becomes of each job, one after the other, each on top of those before it; and what is written in the end.
    fn plan(
        &self,
        id: i32,
        jobs: &[&Job],
        mut seen: Seen,
    ) -> Result<(Vec<Result<AuditRef>>, Option<Writes>), Trouble> {
        let random = || {
            let mut bytes = [0; 8];
            getrandom::fill(&mut bytes)
                .map(|()| i64::from_le_bytes(bytes))
                .map_err(|error| Trouble::Failed(error.to_string()))
        };
        let mut writes = Writes::new(id, random()?, seen.seq, seen.notices);
        let key = self.key().map_err(|error| Trouble::Failed(error.to_string()))?;
        let outcomes = jobs
            .iter()
            .map(|job| {
                seen.check(job)?;
                let enrolled = approvers::changed(&mut seen.approvers, job, key)?;
                let place = seen.append(job, key, &mut writes);
                writes.enroll(enrolled);
                Ok(place)
            })
            .collect();
        Ok((outcomes, (!writes.is_empty()).then_some(writes)))
    }
}

/// The project as it is under the lock, with what the jobs so far have made of it.
struct Seen {
    seq: u64,
    hash: String,
    notices: u64,
    versions: BTreeMap<Id, u64>,
    /// The bodies of approvals that are to change.
    approvals: BTreeMap<String, Result<Approval, String>>,
    approvers: Vec<Enrolled>,
}

impl Seen {
    /// Begins a transaction, locks the project and reads what the jobs are to be checked against.
    async fn load(client: &Object, id: i32, jobs: &[&Job]) -> Result<Self, Failure> {
        const HEAD: &str = "SELECT seq, hash, notices FROM projects WHERE id = $1 FOR NO KEY UPDATE";
        const VERSIONS: &str = "SELECT id, version FROM slices WHERE project = $1 AND id = ANY($2)";
        const APPROVALS: &str = "SELECT id, body FROM approvals WHERE project = $1 AND id = ANY($2)";
        let slices: Vec<&[u8]> =
            jobs.iter().flat_map(|job| &job.read).map(|(id, ..)| id.as_slice()).collect();
        let approvals: Vec<_> =
            jobs.iter().flat_map(|job| &job.approvals).map(|(change, _)| text(&change.now.id)).collect();
        let head = client.prepare_cached(HEAD).await?;
        let versions = client.prepare_cached(VERSIONS).await?;
        let asked = client.prepare_cached(APPROVALS).await?;
        let wants_approvers = jobs.iter().any(|job| !job.approvers.is_empty());
        let locked: [&(dyn ToSql + Sync); 1] = [&id];
        let by_slices: [&(dyn ToSql + Sync); 2] = [&id, &slices];
        let by_approvals: [&(dyn ToSql + Sync); 2] = [&id, &approvals];
        // Sent in this order and without waiting. Each statement sees what is committed when it begins, so those after
        // the lock see what the last one who had it has written.
        let (begun, head, versions, asked, people) = tokio::join!(
            biased;
            client.batch_execute("BEGIN ISOLATION LEVEL READ COMMITTED"),
            client.query_one(&head, &locked),
            async { if slices.is_empty() { Ok(Vec::new()) } else { client.query(&versions, &by_slices).await } },
            async { if approvals.is_empty() { Ok(Vec::new()) } else { client.query(&asked, &by_approvals).await } },
            async { if wants_approvers { approvers::rows(client, id).await } else { Ok(Vec::new()) } },
        );
        begun?;
        let head = head?;
        let mut seen = Seen {
            seq: number(head.try_get(0)?),
            hash: head.try_get(1)?,
            notices: number(head.try_get(2)?),
            versions: BTreeMap::new(),
            approvals: BTreeMap::new(),
            approvers: Vec::new(),
        };
        for row in versions? {
            let bytes: &[u8] = row.try_get(0)?;
            if let Ok(id) = Id::try_from(bytes) {
                seen.versions.insert(id, number(row.try_get(1)?));
            }
        }
        for row in asked? {
            let (id, body): (String, String) = (untext(row.try_get(0)?), row.try_get(1)?);
            let approval = parse(&body, || format!("approval `{id}`")).map_err(|_| body);
            seen.approvals.insert(id, approval);
        }
        seen.approvers = approvers::enrolled(people?).map_err(|error| Trouble::Failed(error.to_string()))?;
        Ok(seen)
    }

    /// Whether what a job was decided from is still so.
    fn check(&self, job: &Job) -> Result<()> {
        for (id, key, version) in &job.read {
            conflict_in_slice(key, *version, self.versions.get(id).copied().unwrap_or(0))?;
        }
        for (change, _) in &job.approvals {
            let id = &change.now.id;
            let now = match self.approvals.get(id) {
                None => None,
                Some(Ok(now)) => Some(now),
                Some(Err(body)) => {
                    parse::<Approval>(body, || format!("approval `{id}`"))?;
                    None
                }
            };
            conflict_in_approval(change, now)?;
        }
        Ok(())
    }

    /// Puts a job's record at the end of the log, and all that comes with it.
    fn append(&mut self, job: &Job, key: &StoreKey, writes: &mut Writes) -> AuditRef {
        let prev = std::mem::take(&mut self.hash);
        self.seq += 1;
        self.hash = link_hash(self.seq, &prev, &job.draft.body_hash);
        writes.record(job, self.seq, prev, &self.hash);
        for slice in &job.slices {
            let version = if slice.value.is_some() { self.seq } else { 0 };
            self.versions.insert(slice.id, version);
            writes.slice(slice, self.seq);
        }
        for (change, body) in &job.approvals {
            self.approvals.insert(change.now.id.clone(), Ok(change.now.clone()));
            writes.approval(&change.now, body);
        }
        writes.post(&job.notices, Some(self.seq), job.time);
        if self.seq.is_multiple_of(CHECKPOINT_EVERY) {
            writes.checkpoint(key.sign(self.seq, &self.hash, job.time), key.public());
        }
        AuditRef { seq: self.seq, hash: self.hash.clone() }
    }
}
