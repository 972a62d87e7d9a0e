//! Writes commits: locks the log, checks what each decision was based on, and writes all of them in one transaction.
//!
//! A transaction takes two round trips: one locks the row of the project and reads what is checked, one writes and commits.
//! Every writer of a project holds that lock, so the checks hold until the end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::Object;
use midrail_core::AuditRef;
use tokio_postgres::Error;
use tokio_postgres::types::ToSql;

use crate::approval::Approval;
use crate::approver::{self, StoredApprover};
use crate::audit_stats::ActionCounts;
use crate::chain::CHECKPOINT_EVERY;
use crate::draft::{check_approval, check_slice};
use crate::error::{Result, StoreDamage, StoreError};
use crate::key::StoreKey;
use crate::postgres::PostgresStore;
use crate::postgres::cells::{Id, escape, slice_id, unescape};
use crate::postgres::dialect::DIALECT;
use crate::postgres::failure::Failure;
use crate::postgres::months;
use crate::postgres::session::Session;
use crate::postgres::writes::{Writes, send};
use crate::slice_keys::storage_session;
use crate::sql::job::Job;
use crate::sql::queue::Waiting;
use crate::sql::{SqlStore, approvals, decode, log, number};
use crate::state_digests::text_digest;
use crate::store::{Commit, Store};

/// How often a batch is tried on a new connection.
const TRIES: usize = 3;

impl Store for PostgresStore {
    fn commit(&self, commit: &Commit<'_>) -> Result<AuditRef> {
        self.check_anchor()?;
        self.submit(commit)
    }

    fn damage(&self) -> Result<Option<StoreDamage>> {
        self.compare_with_anchor()
    }

    fn acknowledge_damage(&self, commit: &Commit<'_>) -> Result<AuditRef> {
        let head = self.submit(commit)?;
        self.reset_anchor(&head)?;
        Ok(head)
    }
}

/// The result of a batch: one outcome per job, or why nothing was written.
type Outcomes = Result<Vec<Result<AuditRef>>, Failure>;

impl PostgresStore {
    /// Writes a commit, together with those of other threads.
    fn submit(&self, commit: &Commit<'_>) -> Result<AuditRef> {
        let job = Job::new(commit)?;
        self.key()?;
        // Rare jobs have a transaction of their own, so that the others need not know their effects.
        let is_rare = |job: &Job| job.replaces_all || !job.approvers.is_empty();
        let (queue, most) = (&self.project.queue, self.server.batch);
        queue.commit(job, most, || self.write_batch(&queue.take(most, is_rare).jobs))
    }

    /// Writes a batch, and answers each job.
    fn write_batch(&self, batch: &[Arc<Waiting>]) {
        // A job that has waited longer fails: the database does not return any sooner.
        let limit = self.server.timeout.saturating_mul(2);
        let (batch, late): (Vec<_>, Vec<_>) = batch.iter().partition(|one| one.since.elapsed() <= limit);
        for one in late {
            let what = "the commit waited too long for others".to_owned();
            one.answer(Err(StoreError::Unreachable { server: self.server.name.clone(), what }));
        }
        if batch.is_empty() {
            return;
        }
        let jobs: Vec<&Job> = batch.iter().map(|one| &one.job).collect();
        match self.write_all(&jobs) {
            Ok(outcomes) => {
                if let Some(head) = outcomes.iter().rev().find_map(|outcome| outcome.as_ref().ok()) {
                    self.server.listener.announce(&self.project.signal, head);
                    // Before the commits are acknowledged, so that no acknowledged record can be lost unnoticed.
                    if let Err(error) = self.advance_anchor(head) {
                        batch.iter().for_each(|one| one.answer(Err(error.clone())));
                        return;
                    }
                }
                batch.iter().zip(outcomes).for_each(|(one, outcome)| one.answer(outcome));
            }
            // A job that the database rejects must not fail the others.
            Err(Failure::Other(_)) if batch.len() > 1 => {
                batch.into_iter().for_each(|one| self.write_batch(std::slice::from_ref(one)));
            }
            Err(failure) => {
                let error = failure.into_store_error(&self.server.name);
                batch.iter().for_each(|one| one.answer(Err(error.clone())));
            }
        }
    }

    /// Writes jobs in one transaction. If the connection is lost, the outcome is determined afterwards.
    fn write_all(&self, jobs: &[&Job]) -> Outcomes {
        let id = self.server.run(self.id_or_create())?;
        for month in self.server.months.missing(jobs.iter().map(|job| job.draft.labels.time)) {
            let mut client = self.server.run(self.server.client())?;
            self.server.run(self.server.in_time(months::create(&mut client, month)))??;
            self.server.months.add(month);
        }
        let mut tries = 0;
        loop {
            tries += 1;
            match self.write_once(id, jobs) {
                Err(failure) if failure.is_lost() && tries < TRIES => {}
                outcome => return outcome,
            }
        }
    }

    fn write_once(&self, id: i32, jobs: &[&Job]) -> Outcomes {
        let session = Session::new(&self.server, self.server.run(self.server.client())?, id);
        let jobs: Vec<IdentifiedJob<'_>> = jobs.iter().map(|job| IdentifiedJob::new(job)).collect();
        let planned = session
            .run(async |client| ProjectState::load(client, id, &jobs).await)
            .and_then(|state| self.plan(&session, &jobs, state));
        let (outcomes, writes) = match planned {
            Ok((outcomes, writes)) if !writes.is_empty() => (outcomes, writes),
            // There is nothing to write, or something could not be read.
            other => {
                session.roll_back();
                return other.map(|(outcomes, _)| outcomes);
            }
        };
        let (batch, first) = (writes.batch, writes.first);
        let statements = writes.statements();
        let sent = session.run(async |client| {
            let outcome = send(client, id, &statements, &self.project.signal).await;
            Ok(outcome.map_err(|error| (error.as_db_error().is_some(), Failure::from(error))))
        });
        match sent {
            Ok(Ok(())) => Ok(outcomes),
            // The server rejected a statement: nothing is written.
            Ok(Err((true, failure))) if !failure.is_lost() => {
                session.roll_back();
                Err(failure)
            }
            Ok(Err(_)) | Err(_) => {
                session.discard();
                drop(session);
                if self.server.run(self.is_written(id, batch, first))? {
                    Ok(outcomes)
                } else {
                    Err(Failure::Lost("the connection was lost".to_owned()))
                }
            }
        }
    }

    /// Whether a batch was written. Its transaction held the row of the project, so once that can be locked it is over.
    async fn is_written(&self, id: i32, batch: i64, first: u64) -> Result<bool, Failure> {
        let first = i64::try_from(first).unwrap_or(i64::MAX);
        let search = async {
            loop {
                let found = self.server.once(async |client| {
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
        self.server.in_time(search).await.map_err(|_| Failure::Uncertain)
    }

    /// Checks each job on top of those before it, and collects the writes.
    fn plan(
        &self,
        session: &Session<'_>,
        jobs: &[IdentifiedJob<'_>],
        mut state: ProjectState,
    ) -> Result<(Vec<Result<AuditRef>>, Writes), Failure> {
        // A lost connection is tried again.
        let other = |error: StoreError| {
            let what = error.to_string();
            if session.is_lost() { Failure::Lost(what) } else { Failure::Other(what) }
        };
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).map_err(|error| Failure::Other(error.to_string()))?;
        let mut writes = Writes::new(i64::from_le_bytes(bytes), state.seq);
        let last = state.seq.saturating_add(u64::try_from(jobs.len()).unwrap_or(u64::MAX));
        let signs = last / CHECKPOINT_EVERY > state.seq / CHECKPOINT_EVERY;
        let signing_key = signs.then(|| self.signing_key(session)).transpose().map_err(other)?;
        let key = match &signing_key {
            Some(key) => key,
            None => self.key().map_err(other)?,
        };
        if jobs.iter().any(|IdentifiedJob { job, .. }| !job.approvers.is_empty()) {
            state.approvers = approvals::approver_rows(session, &DIALECT).map_err(other)?;
        }
        let outcomes = jobs.iter().map(|identified @ IdentifiedJob { job, .. }| {
            state.check(identified)?;
            let changed = approver::apply_changes(&mut state.approvers, &job.approvers, job.time, key)?;
            let place = state.append(identified, &changed, key, &mut writes);
            writes.extend(approvals::write_approvers(&DIALECT, changed));
            Ok(place)
        });
        Ok((outcomes.collect(), writes))
    }
}

/// The project under the lock, with the effects of the jobs so far.
#[derive(Default)]
struct ProjectState {
    seq: u64,
    hash: String,
    counts: ActionCounts,
    versions: BTreeMap<Id, u64>,
    /// The digests of the slices that are changed, as far as they exist.
    digests: BTreeMap<Id, String>,
    /// The bodies of approvals that are changed.
    approvals: BTreeMap<String, String>,
    approvers: Vec<StoredApprover>,
}

impl ProjectState {
    /// Begins a transaction, locks the project and reads what the jobs are checked against.
    async fn load(client: &Object, id: i32, jobs: &[IdentifiedJob<'_>]) -> Result<Self, Error> {
        const HEAD: &str = "SELECT seq, hash, actions, stopped FROM projects WHERE id = $1 FOR NO KEY UPDATE";
        const VERSIONS: &str = "SELECT id, version FROM slices WHERE project = $1 AND id = ANY($2)";
        const VALUES: &str = "SELECT id, version, value FROM slices WHERE project = $1 AND id = ANY($2)";
        const APPROVALS: &str = "SELECT id, body FROM approvals WHERE project = $1 AND id = ANY($2)";
        let changed: BTreeSet<&[u8]> = jobs.iter().flat_map(|job| &job.changed).map(Id::as_slice).collect();
        let read: BTreeSet<&[u8]> = jobs.iter().flat_map(|job| &job.read).map(Id::as_slice).collect();
        let read: Vec<&[u8]> = read.difference(&changed).copied().collect();
        let changed: Vec<&[u8]> = changed.into_iter().collect();
        let approvals: Vec<_> = jobs
            .iter()
            .flat_map(|job| &job.job.approvals)
            .map(|(change, _)| escape(&change.now.id))
            .collect();
        let head = client.prepare_cached(HEAD).await?;
        let versions = client.prepare_cached(VERSIONS).await?;
        let values = client.prepare_cached(VALUES).await?;
        let requests = client.prepare_cached(APPROVALS).await?;
        let by_project: [&(dyn ToSql + Sync); 1] = [&id];
        let by_read: [&(dyn ToSql + Sync); 2] = [&id, &read];
        let by_changed: [&(dyn ToSql + Sync); 2] = [&id, &changed];
        let by_approvals: [&(dyn ToSql + Sync); 2] = [&id, &approvals];
        // Sent in this order and without waiting. Each statement sees what is committed when it begins, so those after
        // the lock see what its last holder has written.
        let (begun, head, versions, values, requests) = tokio::join!(
            biased;
            client.batch_execute("BEGIN ISOLATION LEVEL READ COMMITTED"),
            client.query_one(&head, &by_project),
            async { if read.is_empty() { Ok(Vec::new()) } else { client.query(&versions, &by_read).await } },
            async { if changed.is_empty() { Ok(Vec::new()) } else { client.query(&values, &by_changed).await } },
            async { if approvals.is_empty() { Ok(Vec::new()) } else { client.query(&requests, &by_approvals).await } },
        );
        begun?;
        let head = head?;
        let (seq, hash) = (number(head.try_get(0)?), head.try_get(1)?);
        let counts = ActionCounts { decisions: number(head.try_get(2)?), blocked: number(head.try_get(3)?) };
        let mut state = ProjectState { seq, hash, counts, ..ProjectState::default() };
        for row in versions? {
            if let Ok(id) = Id::try_from(row.try_get::<_, &[u8]>(0)?) {
                state.versions.insert(id, number(row.try_get(1)?));
            }
        }
        for row in values? {
            if let Ok(id) = Id::try_from(row.try_get::<_, &[u8]>(0)?) {
                state.versions.insert(id, number(row.try_get(1)?));
                state.digests.insert(id, text_digest(&unescape(row.try_get(2)?)));
            }
        }
        for row in requests? {
            state.approvals.insert(unescape(row.try_get(0)?), unescape(row.try_get(1)?));
        }
        Ok(state)
    }

    /// Checks that what a job was based on has not changed.
    fn check(&self, IdentifiedJob { job, read, .. }: &IdentifiedJob<'_>) -> Result<()> {
        for ((key, version), id) in job.read.iter().zip(read) {
            check_slice(key, *version, self.versions.get(id).copied().unwrap_or(0))?;
        }
        for (change, _) in &job.approvals {
            let id = &change.now.id;
            let body = self.approvals.get(id);
            let now = body.map(|body| decode::<Approval>(body, || format!("approval `{id}`"))).transpose()?;
            check_approval(change, now.as_ref())?;
        }
        Ok(())
    }

    /// Appends the record of a job to the log.
    fn append(
        &mut self,
        IdentifiedJob { job, changed, .. }: &IdentifiedJob<'_>,
        approvers: &[StoredApprover],
        key: &StoreKey,
        writes: &mut Writes,
    ) -> AuditRef {
        self.seq += 1;
        let slices = || job.slices.iter().zip(changed);
        let before = slices().filter_map(|((key, _), id)| Some((key.clone(), self.digests.get(id)?.clone())));
        let before = before.collect();
        let entry = job.draft.entry(self.seq, std::mem::take(&mut self.hash), approvers, before);
        self.hash.clone_from(&entry.hash);
        let seq = self.seq;
        self.counts = self.counts.with(&entry.labels.kind, &entry.labels.effect);
        writes.add(job, changed, entry, self.counts);
        for ((_, value), id) in slices() {
            self.versions.insert(*id, if value.is_some() { seq } else { 0 });
            match value {
                Some(value) => drop(self.digests.insert(*id, text_digest(value))),
                None => drop(self.digests.remove(id)),
            }
        }
        for (change, body) in &job.approvals {
            self.approvals.insert(change.now.id.clone(), body.clone());
        }
        if seq.is_multiple_of(CHECKPOINT_EVERY) {
            let checkpoint = key.sign(seq, &self.hash, job.time);
            writes.extend(log::insert_checkpoint(&DIALECT, &checkpoint, key.public()));
        }
        AuditRef { seq, hash: self.hash.clone() }
    }
}

/// A job with the ids of its slices, which are digests and computed once.
struct IdentifiedJob<'j> {
    job: &'j Job,
    /// The ids of `job.read`.
    read: Vec<Id>,
    /// The ids of `job.slices`.
    changed: Vec<Id>,
}

impl<'j> IdentifiedJob<'j> {
    fn new(job: &'j Job) -> Self {
        let id = |key: &str| slice_id(storage_session(job.session(), key), key);
        let read: Vec<Id> = job.read.iter().map(|(key, _)| id(key)).collect();
        // Most changed slices were read.
        let known: BTreeMap<&str, Id> =
            job.read.iter().map(|(key, _)| key.as_str()).zip(read.iter().copied()).collect();
        let changed = job.slices.iter();
        let changed =
            changed.map(|(key, _)| known.get(key.as_str()).copied().unwrap_or_else(|| id(key))).collect();
        IdentifiedJob { job, read, changed }
    }
}
