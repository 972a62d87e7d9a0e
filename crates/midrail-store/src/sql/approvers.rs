//! People who may answer approval requests.

use crate::approver::{self, Approver, StoredApprover};
use crate::error::Result;
use crate::sql::{Connection, Dialect, SqlStore, Statement, decode};
use crate::store::Approvers;

impl<S: SqlStore> Approvers for S {
    fn approvers(&self) -> Result<Vec<Approver>> {
        let stored = self.select(|connection| rows(connection, &S::DIALECT))?;
        Ok(stored.into_iter().map(|row| row.approver).collect())
    }

    fn check_key(&self, name: &str, key: &str) -> Result<Option<Approver>> {
        let store_key = self.store_key()?;
        let stored = self.select(|connection| rows(connection, &S::DIALECT))?;
        Ok(approver::check_key(&stored, name, key, store_key))
    }
}

/// Returns all approvers with the hashes of their keys.
pub(crate) fn rows(connection: &dyn Connection, dialect: &Dialect) -> Result<Vec<StoredApprover>> {
    let own = dialect.own;
    let select =
        format!("SELECT name, roles, hash, created, revoked FROM approvers WHERE {own}true ORDER BY id");
    connection.rows(&select, &[], |row| {
        let (name, created, revoked) = (row.string(0)?, row.time(3)?, row.optional_time(4)?);
        let roles = decode(&row.string(1)?, || format!("the roles of the approver `{name}`"))?;
        Ok(StoredApprover { approver: Approver { name, roles, created, revoked }, hash: row.string(2)? })
    })
}

/// The statements that store approvers that were added or revoked.
pub(crate) fn changes(dialect: &Dialect, changed: Vec<StoredApprover>) -> impl Iterator<Item = Statement> {
    let Dialect { column, value, own, .. } = dialect;
    changed.into_iter().map(move |StoredApprover { approver, hash }| match approver.revoked {
        Some(revoked) => (
            format!("UPDATE approvers SET revoked = ?2 WHERE {own}name = ?1 AND revoked IS NULL"),
            vec![approver.name.into(), revoked.into()],
        ),
        None => {
            let roles = serde_json::Value::from(approver.roles).to_string();
            let insert = format!(
                "INSERT INTO approvers ({column}name, roles, hash, created) VALUES ({value}?1, ?2, ?3, ?4)"
            );
            (insert, vec![approver.name.into(), roles.into(), hash.into(), approver.created.into()])
        }
    })
}
