//! Writes one event: checks what it was decided from, then record, slices, approvals, approvers, notices and checkpoint
//! in one go.

use jiff::Timestamp;
use midrail_core::AuditRef;
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde::Serialize;

use crate::approval::{Approval, ApprovalChange};
use crate::chain::{CHECKPOINT_EVERY, GENESIS};
use crate::checkpoint::Checkpoint;
use crate::draft::{Draft, conflict_in_approval, conflict_in_slice, home, is_shared};
use crate::entry::Entry;
use crate::error::{Result, StoreError};
use crate::sqlite::{SqliteStore, log, read};
use crate::store::{Commit, Store};

impl Store for SqliteStore {
    fn commit(&self, commit: &Commit<'_>) -> Result<AuditRef> {
        let draft = Draft::new(commit.record)?;
        self.write(|transaction| {
            self.check(transaction, commit)?;
            let fail = |error| self.failure(error);
            let head = log::head(transaction).map_err(fail)?;
            let (seq, prev) = head.map_or((0, GENESIS.to_owned()), |head| (head.seq, head.hash));
            let entry = draft.entry(seq + 1, prev);
            append(transaction, &entry).map_err(fail)?;
            self.write_slices(transaction, commit, entry.seq)?;
            for change in &commit.approvals {
                let body = json(&change.now, || format!("the approval `{}`", change.now.id))?;
                write_approval(transaction, change, &body).map_err(fail)?;
            }
            self.write_approvers(transaction, commit)?;
            self.post(transaction, &commit.notices, Some(entry.seq), commit.record.time)?;
            if entry.seq.is_multiple_of(CHECKPOINT_EVERY) {
                self.sign(transaction, entry.seq, &entry.hash, commit.record.time)?;
            }
            Ok(AuditRef { seq: entry.seq, hash: entry.hash })
        })
    }
}

impl SqliteStore {
    /// Whether what the event was decided from is still so.
    fn check(&self, transaction: &Transaction<'_>, commit: &Commit<'_>) -> Result<()> {
        let fail = |error| self.failure(error);
        let session = &commit.record.session;
        for (key, version) in &commit.read {
            let now = version_of(transaction, home(session, key), key).map_err(fail)?;
            conflict_in_slice(key, *version, now)?;
        }
        for change in &commit.approvals {
            let id = &change.now.id;
            let row = read::approval_body(transaction, id).map_err(fail)?;
            let row = row.map(|body| read::parse_approval(id, &body)).transpose()?;
            conflict_in_approval(change, row.as_ref())?;
        }
        Ok(())
    }

    fn write_slices(&self, transaction: &Transaction<'_>, commit: &Commit<'_>, seq: u64) -> Result<()> {
        let fail = |error| self.failure(error);
        let session = &commit.record.session;
        if commit.replace_all.is_some() {
            let remove = "DELETE FROM slices WHERE session = ?1 AND substr(key, 1, 7) <> 'shared/'";
            transaction.execute(remove, [session]).map_err(fail)?;
        }
        let restored = commit.replace_all.iter().flatten().filter(|(key, _)| !is_shared(key));
        let restored = restored.map(|(key, value)| (key, Some(value)));
        let changed = commit.changes.0.iter().map(|(key, value)| (key, value.as_ref()));
        for (key, value) in restored.chain(changed) {
            let session = home(session, key);
            match value {
                Some(value) => {
                    let value = json(value, || format!("the session's `{key}`"))?;
                    set_slice(transaction, session, key, &value, seq).map_err(fail)?;
                }
                None => remove_slice(transaction, session, key).map_err(fail)?,
            }
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

fn append(connection: &Connection, entry: &Entry) -> rusqlite::Result<usize> {
    let Entry { seq, labels, prev, hash, body } = entry;
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
        None => connection.execute(
            "INSERT INTO approvals (id, state, session, created, body) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![id, state.word(), session, created.as_microsecond(), body],
        ),
        Some(_) => connection.execute(
            "UPDATE approvals SET state = ?2, body = ?3 WHERE id = ?1",
            params![id, state.word(), body],
        ),
    }
}

pub(super) fn json(value: &impl Serialize, what: impl FnOnce() -> String) -> Result<String> {
    serde_json::to_string(value).map_err(|source| StoreError::Encode { what: what(), source })
}
