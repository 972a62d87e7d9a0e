//! Writes one event: checks what it was decided from, then record, slices, approvals, approvers, notices and checkpoint
//! in one go.

use std::borrow::Cow;

use jiff::Timestamp;
use midrail_core::AuditRef;
use rusqlite::{Connection, OptionalExtension, params};
use serde::Serialize;
use serde_json::Value;

use crate::approval::{Approval, ApprovalChange};
use crate::approver::ApproverChange;
use crate::chain::{CHECKPOINT_EVERY, GENESIS};
use crate::checkpoint::Checkpoint;
use crate::draft::{Draft, conflict_in_approval, conflict_in_slice, home, is_shared};
use crate::entry::AuditEntry;
use crate::error::{Result, StoreError};
use crate::notice::NewNotice;
use crate::sqlite::group::Turn;
use crate::sqlite::transaction::Transaction;
use crate::sqlite::{SqliteStore, log, read};
use crate::store::{Commit, CommitCost, Store};

impl Store for SqliteStore {
    fn commit(&self, commit: &Commit<'_>) -> Result<AuditRef> {
        self.check_writable()?;
        match self.queue.enter(Job::of(commit)?) {
            Turn::Lead(lead, job) => self.write_with(Some(lead), |transaction| self.do_job(transaction, job)),
            Turn::Done(outcome) => outcome,
        }
    }

    fn commit_all(&self, commits: &[&Commit<'_>]) -> Vec<Result<AuditRef>> {
        match commits {
            [] => Vec::new(),
            [commit] => vec![self.commit(commit)],
            _ => self.write_all(commits.iter().map(|commit| Job::of(commit)).collect()),
        }
    }

    fn commit_cost(&self) -> CommitCost {
        CommitCost::Batched
    }
}

/// A commit as it is written. All that can be made before the connection is free is made, and all JSON is text.
pub(super) struct Job<'c> {
    draft: Draft,
    pub(super) time: Timestamp,
    read: Cow<'c, [(String, u64)]>,
    /// The session's slices are removed before any are set.
    replaces: bool,
    slices: Vec<(Cow<'c, str>, Option<String>)>,
    approvals: Cow<'c, [ApprovalChange]>,
    pub(super) approvers: Cow<'c, [ApproverChange]>,
    notices: Cow<'c, [NewNotice]>,
}

impl<'c> Job<'c> {
    pub(super) fn of(commit: &'c Commit<'_>) -> Result<Self> {
        let restored = commit.replace_all.iter().flatten().filter(|(key, _)| !is_shared(key));
        let restored = restored.map(|(key, value)| (key, Some(value)));
        let changed = commit.changes.0.iter().map(|(key, value)| (key, value.as_ref()));
        let text = |(key, value): (&'c String, Option<&Value>)| {
            let value = value.map(|value| json(value, || format!("the session's `{key}`")));
            Ok((Cow::Borrowed(key.as_str()), value.transpose()?))
        };
        Ok(Job {
            draft: Draft::new(&commit.record)?,
            time: commit.record.time,
            read: Cow::Borrowed(&commit.read),
            replaces: commit.replace_all.is_some(),
            slices: restored.chain(changed).map(text).collect::<Result<_>>()?,
            approvals: Cow::Borrowed(&commit.approvals),
            approvers: Cow::Borrowed(&commit.approvers),
            notices: Cow::Borrowed(&commit.notices),
        })
    }

    /// The same, for another thread to do.
    pub(super) fn into_owned(self) -> Job<'static> {
        let owned = |(key, value): (Cow<'_, str>, _)| (Cow::Owned(key.into_owned()), value);
        Job {
            draft: self.draft,
            time: self.time,
            read: Cow::Owned(self.read.into_owned()),
            replaces: self.replaces,
            slices: self.slices.into_iter().map(owned).collect(),
            approvals: Cow::Owned(self.approvals.into_owned()),
            approvers: Cow::Owned(self.approvers.into_owned()),
            notices: Cow::Owned(self.notices.into_owned()),
        }
    }

    /// How much there is to write, but for what is small.
    pub(super) fn bytes(&self) -> usize {
        let slices = self.slices.iter().map(|(_, value)| value.as_ref().map_or(0, String::len));
        self.draft.bytes() + slices.sum::<usize>()
    }
}

impl SqliteStore {
    /// Writes a commit.
    pub(super) fn do_job(&self, transaction: &Transaction<'_>, job: Job<'_>) -> Result<AuditRef> {
        let fail = |error| self.failure(error);
        self.check(transaction, &job)?;
        let head = log::head(transaction).map_err(fail)?;
        let (seq, prev) = head.map_or((0, GENESIS.to_owned()), |head| (head.seq, head.hash));
        let seq = seq + 1;
        write_slices(transaction, &job, seq).map_err(fail)?;
        for change in job.approvals.iter() {
            let body = json(&change.now, || format!("the approval `{}`", change.now.id))?;
            write_approval(transaction, change, &body).map_err(fail)?;
        }
        self.write_approvers(transaction, &job)?;
        self.post(transaction, &job.notices, Some(seq), job.time)?;
        let entry = job.draft.entry(seq, prev);
        append(transaction, &entry).map_err(fail)?;
        if seq.is_multiple_of(CHECKPOINT_EVERY) {
            self.sign(transaction, seq, &entry.hash, job.time)?;
        }
        Ok(AuditRef { seq, hash: entry.hash })
    }

    /// Whether what the event was decided from is still so.
    fn check(&self, transaction: &Transaction<'_>, job: &Job<'_>) -> Result<()> {
        let fail = |error| self.failure(error);
        let session = job.draft.session();
        for (key, version) in job.read.iter() {
            let now = version_of(transaction, home(session, key), key).map_err(fail)?;
            conflict_in_slice(key, *version, now)?;
        }
        for change in job.approvals.iter() {
            let id = &change.now.id;
            let row = read::approval_body(transaction, id).map_err(fail)?;
            let row = row.map(|body| read::parse_approval(id, &body)).transpose()?;
            conflict_in_approval(change, row.as_ref())?;
        }
        Ok(())
    }

    /// Signs a record as the log's head.
    pub(super) fn sign(
        &self,
        transaction: &Transaction<'_>,
        seq: u64,
        hash: &str,
        time: Timestamp,
    ) -> Result<Checkpoint> {
        let key = self.key_under_lock()?;
        let checkpoint = key.sign(seq, hash, time);
        let write = || {
            transaction.execute(
                "INSERT INTO keys (id, public) SELECT ?1, ?2 WHERE NOT EXISTS (SELECT 1 FROM keys WHERE id = ?1)",
                params![key.public().id, key.public().public],
            )?;
            let Checkpoint { hash, time, key, signature, .. } = &checkpoint;
            transaction.execute(
                "INSERT INTO checkpoints (seq, hash, time, key, signature) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![read::int(seq), hash, time, key, signature],
            )
        };
        write().map_err(|error| self.failure(error))?;
        Ok(checkpoint)
    }
}

fn write_slices(connection: &Connection, job: &Job<'_>, seq: u64) -> rusqlite::Result<()> {
    let session = job.draft.session();
    if job.replaces {
        let remove = "DELETE FROM slices WHERE session = ?1 AND substr(key, 1, 7) <> 'shared/'";
        connection.execute(remove, [session])?;
    }
    for (key, value) in &job.slices {
        let session = home(session, key);
        match value {
            Some(value) => set_slice(connection, session, key, value, seq)?,
            None => remove_slice(connection, session, key)?,
        }
    }
    Ok(())
}

fn append(connection: &Connection, entry: &AuditEntry) -> rusqlite::Result<usize> {
    let AuditEntry { seq, labels, prev, hash, body } = entry;
    let guardrails = log::guardrails_column(&labels.guardrails);
    connection
        .prepare_cached(
            "INSERT INTO audit (seq, time, session, kind, tool, effect, guardrails, prev, hash, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![
            read::int(*seq),
            labels.time.as_microsecond(),
            labels.session,
            labels.kind,
            labels.tool,
            labels.effect,
            guardrails,
            prev,
            hash,
            body
        ])
}

fn version_of(connection: &Connection, session: &str, key: &str) -> rusqlite::Result<u64> {
    let version = connection
        .prepare_cached("SELECT version FROM slices WHERE session = ?1 AND key = ?2")?
        .query_row([session, key], |row| row.get(0))
        .optional()?;
    Ok(version.map_or(0, read::number))
}

fn set_slice(
    connection: &Connection,
    session: &str,
    key: &str,
    value: &str,
    seq: u64,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO slices (session, key, value, version) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (session, key) DO UPDATE SET value = excluded.value, version = excluded.version",
        )?
        .execute(params![session, key, value, read::int(seq)])?;
    Ok(())
}

fn remove_slice(connection: &Connection, session: &str, key: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM slices WHERE session = ?1 AND key = ?2")?
        .execute([session, key])?;
    Ok(())
}

fn write_approval(connection: &Connection, change: &ApprovalChange, body: &str) -> rusqlite::Result<usize> {
    let Approval { id, state, session, created, .. } = &change.now;
    match change.was {
        None => connection
            .prepare_cached(
                "INSERT INTO approvals (id, state, session, created, body) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![id, state.word(), session, created.as_microsecond(), body]),
        Some(_) => connection
            .prepare_cached("UPDATE approvals SET state = ?2, body = ?3 WHERE id = ?1")?
            .execute(params![id, state.word(), body]),
    }
}

pub(super) fn json(value: &impl Serialize, what: impl FnOnce() -> String) -> Result<String> {
    serde_json::to_string(value).map_err(|source| StoreError::Encode { what: what(), source })
}
