//! Writes one event: checks what the decision was based on, then writes record, slices, approvals, approvers, notices and
//! checkpoint.

use std::collections::BTreeMap;

use midrail_core::AuditRef;

use crate::approver;
use crate::audit_stats::ActionCounts;
use crate::chain::{CHECKPOINT_EVERY, GENESIS};
use crate::draft::{check_approval, check_slice};
use crate::error::{Result, StoreDamage, StoreError};
use crate::slice_keys::storage_session;
use crate::sql::job::Job;
use crate::sql::{Connection, SqlStore, approvals, log, notices};
use crate::sqlite::dialect::DIALECT;
use crate::sqlite::queries::SLICE;
use crate::sqlite::session::Session;
use crate::sqlite::transaction::Transaction;
use crate::sqlite::{SqliteStore, open};
use crate::state_digests::text_digest;
use crate::store::{Commit, CommitCost, Store};

/// Appends a record, with the cells of [`log::cells`].
pub(super) const APPEND: &str = "INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

const REMOVE_ALL: &str = "DELETE FROM slices WHERE session = ?1 AND substr(key, 1, 7) <> 'shared/'";
const REMOVE: &str = "DELETE FROM slices WHERE session = ?1 AND key = ?2";
pub(super) const SET: &str = "REPLACE INTO slices VALUES (?, ?, ?, ?)";

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

    fn damage(&self) -> Result<Option<StoreDamage>> {
        self.find_damage()
    }

    fn acknowledge_damage(&self, commit: &Commit<'_>) -> Result<AuditRef> {
        self.check_not_read_only()?;
        let job = Job::new(commit)?;
        let connection = self.connection();
        let transaction = open::begin(&connection).map_err(|error| self.failure(error))?;
        let head = self.write_job(&transaction, &job)?;
        let key = self.key_under_lock(&transaction)?;
        let session = Session::writing(&transaction, self.path());
        let connection: &dyn Connection = &session;
        connection.execute_all(log::accept_keys(connection, &DIALECT, key, head.seq.saturating_sub(1))?)?;
        transaction.commit().map_err(|error| self.failure(error))?;
        // Other processes stay blocked until this is written.
        self.anchor.reset(key, Some(&head))?;
        *self.damage.lock() = None;
        Ok(head)
    }
}

impl SqliteStore {
    /// Writes a commit.
    pub(super) fn write_job(&self, transaction: &Transaction<'_>, job: &Job) -> Result<AuditRef> {
        let session = Session::writing(transaction, self.path());
        let connection: &dyn Connection = &session;
        for (key, version) in &job.read {
            let cells = [storage_session(job.session(), key).into(), key.into()];
            let now = connection.row(SLICE, &cells, |row| row.number(1))?;
            check_slice(key, *version, now.unwrap_or(0))?;
        }
        for (change, _) in &job.approvals {
            check_approval(change, approvals::find(connection, &DIALECT, &change.now.id)?.as_ref())?;
        }
        let head = connection.row(DIALECT.head, &[], |row| {
            let counts = ActionCounts { decisions: row.number(2)?, blocked: row.number(3)? };
            Ok((row.number(0)?, row.string(1)?, counts))
        })?;
        let (seq, prev, counts) = head.unwrap_or((0, GENESIS.to_owned(), ActionCounts::default()));
        let seq = seq + 1;
        let counts = counts.with(&job.draft.labels.kind, &job.draft.labels.effect);
        let before = digests_before(connection, job)?;
        self.write_slices(connection, job, seq)?;
        let approvals = job.approvals.iter();
        connection.execute_all(approvals.map(|(change, body)| approvals::write(&DIALECT, change, body)))?;
        // The first record creates the key and the anchor.
        let key = self.key_under_lock(transaction)?;
        let mut changed = Vec::new();
        if !job.approvers.is_empty() {
            let mut stored = approvals::approver_rows(connection, &DIALECT)?;
            changed = approver::apply_changes(&mut stored, &job.approvers, job.time, key)?;
        }
        connection.execute_all(notices::insertions(&DIALECT, &job.notices, Some(seq), job.time))?;
        let entry = job.draft.entry(seq, prev, &changed, before);
        connection.execute_all(approvals::write_approvers(&DIALECT, changed))?;
        let hash = entry.hash.clone();
        self.check_written(connection.execute(APPEND, &log::cells(entry, counts))?, "the audit record")?;
        if seq.is_multiple_of(CHECKPOINT_EVERY) {
            let key = self.signing_key(connection)?;
            let checkpoint = key.sign(seq, &hash, job.time);
            connection.execute_all(log::insert_checkpoint(&DIALECT, &checkpoint, key.public()))?;
        }
        let head = AuditRef { seq, hash };
        transaction.wrote(&head);
        Ok(head)
    }

    fn write_slices(&self, connection: &dyn Connection, job: &Job, seq: u64) -> Result<()> {
        if job.replaces_all {
            connection.execute(REMOVE_ALL, &[job.session().into()])?;
        }
        for (key, value) in &job.slices {
            let session = storage_session(job.session(), key);
            match value {
                Some(value) => {
                    let rows =
                        connection.execute(SET, &[session.into(), key.into(), value.into(), seq.into()])?;
                    self.check_written(rows, "a slice")?;
                }
                None => drop(connection.execute(REMOVE, &[session.into(), key.into()])?),
            }
        }
        Ok(())
    }

    /// Checks that a row was written. A trigger that someone added to the file can skip it.
    fn check_written(&self, rows: u64, what: &str) -> Result<()> {
        if rows == 1 {
            return Ok(());
        }
        let what = format!("{what} was not written; a trigger may have been added to the file");
        Err(StoreError::Corrupt { path: self.path().to_owned(), what })
    }
}

/// The digests of the slices that a job changes, as far as they exist.
fn digests_before(connection: &dyn Connection, job: &Job) -> Result<BTreeMap<String, String>> {
    let mut before = BTreeMap::new();
    for (key, _) in &job.slices {
        let cells = [storage_session(job.session(), key).into(), key.into()];
        let digest = connection.row(SLICE, &cells, |row| Ok(text_digest(&row.string(0)?)))?;
        before.extend(digest.map(|digest| (key.clone(), digest)));
    }
    Ok(before)
}
