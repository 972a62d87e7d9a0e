//! Writes one event: checks what the decision was based on, then writes record, slices, approvals, approvers, notices and
//! checkpoint.

use midrail_core::AuditRef;
use rusqlite::{OptionalExtension, params};

use crate::approval::ApprovalChange;
use crate::approver;
use crate::chain::{CHECKPOINT_EVERY, GENESIS};
use crate::draft::{check_approval, check_slice, storage_session};
use crate::error::Result;
use crate::sql::job::Job;
use crate::sql::{Connection, approvals, approvers, int, log, notices, number};
use crate::sqlite::SqliteStore;
use crate::sqlite::dialect::DIALECT;
use crate::sqlite::queue::Turn;
use crate::sqlite::session::Session;
use crate::sqlite::transaction::Transaction;
use crate::store::{Commit, CommitCost, Store};

/// Appends a record, with the cells of [`log::cells`].
const APPEND: &str =
    "INSERT INTO audit (seq, time, session, kind, tool, effect, guardrails, prev, hash, body)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

impl Store for SqliteStore {
    fn commit(&self, commit: &Commit<'_>) -> Result<AuditRef> {
        self.check_writable()?;
        match self.queue.enter(Job::new(commit)?) {
            Turn::Lead(lead, job) => {
                self.write_with(Some(lead), |transaction| self.write_job(transaction, *job))
            }
            Turn::Done(outcome) => outcome,
        }
    }

    fn commit_all(&self, commits: &[&Commit<'_>]) -> Vec<Result<AuditRef>> {
        match commits {
            [] => Vec::new(),
            [commit] => vec![self.commit(commit)],
            _ => self.write_all(commits.iter().map(|commit| Job::new(commit)).collect()),
        }
    }

    fn commit_cost(&self) -> CommitCost {
        CommitCost::Batched
    }
}

impl SqliteStore {
    /// Writes a commit.
    pub(super) fn write_job(&self, transaction: &Transaction<'_>, job: Job) -> Result<AuditRef> {
        let session = Session { connection: transaction, path: self.path() };
        let connection: &dyn Connection = &session;
        let fail = |error| self.failure(error);
        for (key, version) in &job.read {
            let now = current_version(transaction, job.session(), key).map_err(fail)?;
            check_slice(key, *version, now)?;
        }
        for (change, _) in &job.approvals {
            check_approval(change, approvals::find(connection, &DIALECT, &change.now.id)?.as_ref())?;
        }
        let head = log::head(connection, &DIALECT)?;
        let (seq, prev) = head.map_or((0, GENESIS.to_owned()), |head| (head.seq, head.hash));
        let seq = seq + 1;
        write_slices(transaction, &job, seq).map_err(fail)?;
        for (change, body) in &job.approvals {
            write_approval(transaction, change, body).map_err(fail)?;
        }
        if !job.approvers.is_empty() {
            let mut stored = approvers::rows(connection, &DIALECT)?;
            let key = self.key_under_lock()?;
            let changed = approver::apply_changes(&mut stored, &job.approvers, job.time, key)?;
            connection.execute_all(approvers::changes(&DIALECT, changed))?;
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

fn current_version(transaction: &Transaction<'_>, session: &str, key: &str) -> rusqlite::Result<u64> {
    let version = transaction
        .prepare_cached("SELECT version FROM slices WHERE session = ?1 AND key = ?2")?
        .query_row([storage_session(session, key), key], |row| row.get(0))
        .optional()?;
    Ok(version.map_or(0, number))
}

fn write_slices(transaction: &Transaction<'_>, job: &Job, seq: u64) -> rusqlite::Result<()> {
    if job.replaces_all {
        let remove = "DELETE FROM slices WHERE session = ?1 AND substr(key, 1, 7) <> 'shared/'";
        transaction.execute(remove, [job.session()])?;
    }
    for (key, value) in &job.slices {
        let session = storage_session(job.session(), key);
        match value {
            Some(value) => {
                let set = "INSERT INTO slices (session, key, value, version) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT (session, key)
                     DO UPDATE SET value = excluded.value, version = excluded.version";
                transaction.prepare_cached(set)?.execute(params![session, key, value, int(seq)])?
            }
            None => {
                let remove = "DELETE FROM slices WHERE session = ?1 AND key = ?2";
                transaction.prepare_cached(remove)?.execute([session, key])?
            }
        };
    }
    Ok(())
}

fn write_approval(
    transaction: &Transaction<'_>,
    ApprovalChange { was, now, .. }: &ApprovalChange,
    body: &str,
) -> rusqlite::Result<usize> {
    let (id, state) = (&now.id, now.state.as_str());
    if was.is_none() {
        let insert = "INSERT INTO approvals (id, state, session, created, body) VALUES (?1, ?2, ?3, ?4, ?5)";
        let cells = params![id, state, now.session, now.created.as_microsecond(), body];
        return transaction.prepare_cached(insert)?.execute(cells);
    }
    let update = "UPDATE approvals SET state = ?2, body = ?3 WHERE id = ?1";
    transaction.prepare_cached(update)?.execute(params![id, state, body])
}
