//! People who may answer requests, in their table.

use deadpool_postgres::Object;
use tokio_postgres::{Error, Row};

use crate::approver::{self, Approver, ApproverChange, Enrolled};
use crate::entry::whole_micros;
use crate::error::Result;
use crate::key::StoreKey;
use crate::postgres::PostgresStore;
use crate::postgres::cells::{parse, text, time, untext};
use crate::postgres::jobs::Job;
use crate::store::Approvers;

impl Approvers for PostgresStore {
    fn approvers(&self) -> Result<Vec<Approver>> {
        let rows = enrolled(self.read(rows)?)?;
        Ok(rows.into_iter().map(|row| row.approver).collect())
    }

    fn check_key(&self, name: &str, key: &str) -> Result<Option<Approver>> {
        let rows = enrolled(self.read(rows)?)?;
        Ok(approver::check_key(&rows, name, key, self.key()?))
    }
}

/// What becomes of the table.
pub(super) enum Change {
    Add { name: String, roles: String, hash: String, created: i64 },
    Revoke { name: String, revoked: i64 },
}

/// What a job makes of the approvers. `rows` are all that there are, and are brought up to date.
pub(super) fn changed(rows: &mut Vec<Enrolled>, job: &Job, key: &StoreKey) -> Result<Vec<Change>> {
    let mut changes = Vec::new();
    for change in &job.approvers {
        match change {
            ApproverChange::Add(new) => {
                let row = Enrolled::new(rows, new, job.time, key)?;
                changes.push(Change::Add {
                    name: text(&row.approver.name).into_owned(),
                    roles: serde_json::Value::from(row.approver.roles.clone()).to_string(),
                    hash: row.hash.clone(),
                    created: row.approver.created.as_microsecond(),
                });
                rows.push(row);
            }
            ApproverChange::Revoke(name) => {
                approver::to_revoke(rows, name)?;
                let is_current =
                    |row: &&mut Enrolled| row.approver.name == *name && row.approver.revoked.is_none();
                if let Some(row) = rows.iter_mut().find(is_current) {
                    row.approver.revoked = Some(whole_micros(job.time));
                }
                let revoked = job.time.as_microsecond();
                changes.push(Change::Revoke { name: text(name).into_owned(), revoked });
            }
        }
    }
    Ok(changes)
}

/// Who is enrolled in a project, and the text of their roles.
pub(super) async fn rows(client: &Object, project: i32) -> Result<Vec<(Enrolled, String)>, Error> {
    let select = "SELECT name, roles, hash, created, revoked FROM approvers WHERE project = $1 ORDER BY id";
    let one = |row: Row| {
        let (name, hash) = (untext(row.try_get(0)?), row.try_get(2)?);
        let (created, revoked) = (time(row.try_get(3)?), row.try_get::<_, Option<i64>>(4)?.map(time));
        let approver = Approver { name, roles: Vec::new(), created, revoked };
        Ok((Enrolled { approver, hash }, row.try_get(1)?))
    };
    client.query(select, &[&project]).await?.into_iter().map(one).collect()
}

/// The approvers with their roles.
pub(super) fn enrolled(rows: Vec<(Enrolled, String)>) -> Result<Vec<Enrolled>> {
    let with_roles = |(mut row, roles): (Enrolled, String)| {
        row.approver.roles = parse(&roles, || format!("the roles of the approver `{}`", row.approver.name))?;
        Ok(row)
    };
    rows.into_iter().map(with_roles).collect()
}
