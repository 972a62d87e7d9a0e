//! People who may answer requests, in their table.

use rusqlite::{Connection, params};

use crate::approver::{self, Approver, ApproverChange, Enrolled};
use crate::error::{Result, StoreError};
use crate::sqlite::SqliteStore;
use crate::sqlite::commit::Job;
use crate::sqlite::log::time;
use crate::sqlite::transaction::Transaction;
use crate::store::Approvers;

impl Approvers for SqliteStore {
    fn approvers(&self) -> Result<Vec<Approver>> {
        let rows = self.with_reader(|connection| self.enrolled(connection))?;
        Ok(rows.into_iter().map(|row| row.approver).collect())
    }

    fn check_key(&self, name: &str, key: &str) -> Result<Option<Approver>> {
        let store_key = self.key()?;
        let rows = self.with_reader(|connection| self.enrolled(connection))?;
        Ok(approver::check_key(&rows, name, key, store_key))
    }
}

impl SqliteStore {
    /// Adds and revokes as a commit says.
    pub(super) fn write_approvers(&self, transaction: &Transaction<'_>, job: &Job<'_>) -> Result<()> {
        let fail = |error| self.failure(error);
        for change in job.approvers.iter() {
            let rows = self.enrolled(transaction)?;
            match change {
                ApproverChange::Add(new) => {
                    let key = self.key_under_lock()?;
                    let Enrolled { approver, hash } = Enrolled::new(&rows, new, job.time, key)?;
                    let roles = serde_json::Value::from(approver.roles).to_string();
                    let insert = "INSERT INTO approvers (name, roles, hash, created) VALUES (?1, ?2, ?3, ?4)";
                    let created = approver.created.as_microsecond();
                    transaction
                        .execute(insert, params![approver.name, roles, hash, created])
                        .map_err(fail)?;
                }
                ApproverChange::Revoke(name) => {
                    approver::to_revoke(&rows, name)?;
                    let update = "UPDATE approvers SET revoked = ?2 WHERE name = ?1 AND revoked IS NULL";
                    let revoked = job.time.as_microsecond();
                    transaction.execute(update, params![name, revoked]).map_err(fail)?;
                }
            }
        }
        Ok(())
    }

    fn enrolled(&self, connection: &Connection) -> Result<Vec<Enrolled>> {
        let read = || {
            let select = "SELECT name, roles, hash, created, revoked FROM approvers ORDER BY id";
            let mut statement = connection.prepare_cached(select)?;
            let rows = statement.query_map([], |row| {
                let revoked = row.get::<_, Option<i64>>(4)?.map(time);
                let approver =
                    Approver { name: row.get(0)?, roles: Vec::new(), created: time(row.get(3)?), revoked };
                Ok((Enrolled { approver, hash: row.get(2)? }, row.get::<_, String>(1)?))
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        let with_roles = |(mut row, roles): (Enrolled, String)| {
            let what = || format!("the roles of the approver `{}`", row.approver.name);
            row.approver.roles =
                serde_json::from_str(&roles).map_err(|source| StoreError::Decode { what: what(), source })?;
            Ok(row)
        };
        read().map_err(|error| self.failure(error))?.into_iter().map(with_roles).collect()
    }
}
