//! Writes one event: checks what the decision was based on, then writes record, slices, approvals, approvers, notices and
//! checkpoint.

use midrail_core::AuditRef;

use crate::approver;
use crate::chain::{CHECKPOINT_EVERY, GENESIS};
use crate::draft::{check_approval, check_slice, storage_session};
use crate::error::Result;
use crate::sql::job::Job;
use crate::sql::{Connection, approvals, log, notices};
use crate::sqlite::SqliteStore;
use crate::sqlite::dialect::DIALECT;
use crate::sqlite::session::Session;
use crate::sqlite::transaction::Transaction;
use crate::store::{Commit, CommitCost, Store};

/// Appends a record, with the cells of [`log::cells`].
const APPEND: &str =
    "INSERT INTO audit (seq, time, session, kind, tool, effect, guardrails, prev, hash, body)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

const VERSION: &str = "SELECT version FROM slices WHERE session = ?1 AND key = ?2";
const REMOVE_ALL: &str = "DELETE FROM slices WHERE session = ?1 AND substr(key, 1, 7) <> 'shared/'";
const REMOVE: &str = "DELETE FROM slices WHERE session = ?1 AND key = ?2";
const SET: &str = "INSERT INTO slices (session, key, value, version) VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT (session, key) DO UPDATE SET value = excluded.value, version = excluded.version";

impl Store for SqliteStore {
    fn commit(&self, commit: &Commit<'_>) -> Result<AuditRef> {
        self.check_writable()?;
        self.queue.commit(Job::new(commit)?, 0, || self.write_waiting())
    }

    fn commit_all(&self, commits: &[&Commit<'_>]) -> Vec<Result<AuditRef>> {
        match commits {
            [] => Vec::new(),
            [commit] => vec![self.commit(commit)],
            _ => self.write_all(&commits.iter().map(|commit| Job::new(commit)).collect::<Vec<_>>()),
        }
    }

    fn commit_cost(&self) -> CommitCost {
        CommitCost::Batched
    }
}

impl SqliteStore {
    /// Writes a commit.
    pub(super) fn write_job(&self, transaction: &Transaction<'_>, job: &Job) -> Result<AuditRef> {
        let session = Session { connection: transaction, path: self.path() };
        let connection: &dyn Connection = &session;
        for (key, version) in &job.read {
            let cells = [storage_session(job.session(), key).into(), key.into()];
            let now = connection.row(VERSION, &cells, |row| row.number(0))?;
            check_slice(key, *version, now.unwrap_or(0))?;
        }
        for (change, _) in &job.approvals {
            check_approval(change, approvals::find(connection, &DIALECT, &change.now.id)?.as_ref())?;
        }
        let head = log::head(connection, &DIALECT)?;
        let (seq, prev) = head.map_or((0, GENESIS.to_owned()), |head| (head.seq, head.hash));
        let seq = seq + 1;
        write_slices(connection, job, seq)?;
        let approvals = job.approvals.iter();
        connection.execute_all(approvals.map(|(change, body)| approvals::write(&DIALECT, change, body)))?;
        if !job.approvers.is_empty() {
            let mut stored = approvals::approver_rows(connection, &DIALECT)?;
            let key = self.key_under_lock()?;
            let changed = approver::apply_changes(&mut stored, &job.approvers, job.time, key)?;
            connection.execute_all(approvals::write_approvers(&DIALECT, changed))?;
        }
        connection.execute_all(notices::insertions(&DIALECT, &job.notices, Some(seq), job.time))?;
        let entry = job.draft.entry(seq, prev);
        let hash = entry.hash.clone();
        connection.execute(APPEND, &log::cells(entry))?;
        if seq.is_multiple_of(CHECKPOINT_EVERY) {
            let key = self.key_under_lock()?;
            let checkpoint = key.sign(seq, &hash, job.time);
            connection.execute_all(log::insert_checkpoint(&DIALECT, &checkpoint, key.public()))?;
        }
        Ok(AuditRef { seq, hash })
    }
}

fn write_slices(connection: &dyn Connection, job: &Job, seq: u64) -> Result<()> {
    if job.replaces_all {
        connection.execute(REMOVE_ALL, &[job.session().into()])?;
    }
    for (key, value) in &job.slices {
        let session = storage_session(job.session(), key);
        match value {
            Some(value) => {
                connection.execute(SET, &[session.into(), key.into(), value.into(), seq.into()])?;
            }
            None => drop(connection.execute(REMOVE, &[session.into(), key.into()])?),
        }
    }
    Ok(())
}
