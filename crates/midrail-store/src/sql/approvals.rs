//! Approval requests, the people who may answer them, and the sources of policies.

use crate::approval::{self, Approval, ApprovalChange, ApprovalCount, ApprovalFilter};
use crate::approver::{self, Approver, StoredApprover};
use crate::error::Result;
use crate::sql::{Cell, Connection, Dialect, Row, SqlStore, Statement, decode};
use crate::store::{Approvals, Approvers, Policies};

impl<S: SqlStore> Approvals for S {
    fn approval(&self, id: &str) -> Result<Option<Approval>> {
        self.select(|connection| find(connection, &S::DIALECT, id))
    }

    fn approvals(&self, filter: &ApprovalFilter) -> Result<Vec<Approval>> {
        let (select, cells) = query(&S::DIALECT, filter);
        self.select(|connection| {
            let mut found = Vec::new();
            connection.each(&select, &cells, &mut |row| {
                let approval = approval(row)?;
                if found.len() < filter.page() && filter.matches(&approval) {
                    found.push(approval);
                }
                Ok(found.len() < filter.page())
            })?;
            Ok(found)
        })
    }

    fn approval_counts(&self) -> Result<Vec<ApprovalCount>> {
        let select = format!("SELECT id, body FROM approvals WHERE {}true", S::DIALECT.own);
        let all: Vec<Approval> = self.select(|connection| connection.rows(&select, &[], approval))?;
        Ok(approval::counts(all.into_iter()))
    }
}

/// The query for approvals that can match a filter.
fn query(Dialect { own, .. }: &Dialect, filter: &ApprovalFilter) -> (String, Vec<Cell>) {
    let mut select = format!("SELECT id, body FROM approvals WHERE {own}true");
    let mut cells = Vec::new();
    if let Some(state) = filter.state {
        // A literal, so that the index of pending approvals is used.
        select.push_str(&format!(" AND state = '{}'", state.as_str()));
    }
    let mut add = |term: &str, cell: Option<Cell>| {
        if let Some(cell) = cell {
            cells.push(cell);
            select.push_str(&format!(" AND {term} ?{}", cells.len()));
        }
    };
    add("session =", filter.session.as_ref().map(Cell::from));
    // The column has whole microseconds; the filter compares the exact time.
    add("created >=", filter.created_after.map(Cell::from));
    add("created <=", filter.after.as_ref().map(|(created, _)| Cell::from(*created)));
    select.push_str(" ORDER BY created DESC, id DESC");
    (select, cells)
}

/// Returns an approval by id.
pub(crate) fn find(connection: &dyn Connection, dialect: &Dialect, id: &str) -> Result<Option<Approval>> {
    let select = format!("SELECT id, body FROM approvals WHERE {}id = ?1", dialect.own);
    connection.row(&select, &[id.into()], approval)
}

/// The statement that stores a changed approval.
pub(crate) fn write(
    Dialect { column, value, own, .. }: &Dialect,
    ApprovalChange { was, now, .. }: &ApprovalChange,
    body: &str,
) -> Statement {
    let (id, state) = ((&now.id).into(), now.state.as_str().into());
    if was.is_some() {
        let update = format!("UPDATE approvals SET state = ?2, body = ?3 WHERE {own}id = ?1");
        return (update, vec![id, state, body.into()]);
    }
    let insert = format!(
        "INSERT INTO approvals ({column}id, state, session, created, body) VALUES ({value}?1, ?2, ?3, ?4, ?5)"
    );
    (insert, vec![id, state, (&now.session).into(), now.created.into(), body.into()])
}

fn approval(row: &dyn Row) -> Result<Approval> {
    let id = row.string(0)?;
    decode(&row.string(1)?, || format!("approval `{id}`"))
}

impl<S: SqlStore> Policies for S {
    fn save_policy(&self, revision: &str, body: &str) -> Result<()> {
        let Dialect { column, value, own, .. } = S::DIALECT;
        let find = format!("SELECT 1 FROM policies WHERE {own}revision = ?1");
        if self.select(|connection| connection.row(&find, &[revision.into()], |_| Ok(())))?.is_some() {
            return Ok(());
        }
        let insert = format!(
            "INSERT INTO policies ({column}revision, body) SELECT {value}?1, ?2
             WHERE NOT EXISTS (SELECT 1 FROM policies WHERE {own}revision = ?1) ON CONFLICT DO NOTHING"
        );
        self.update(|connection| connection.execute(&insert, &[revision.into(), body.into()]).map(drop))
    }

    fn policy(&self, revision: &str) -> Result<Option<String>> {
        let select = format!("SELECT body FROM policies WHERE {}revision = ?1", S::DIALECT.own);
        self.select(|connection| connection.row(&select, &[revision.into()], |row| row.string(0)))
    }
}

impl<S: SqlStore> Approvers for S {
    fn approvers(&self) -> Result<Vec<Approver>> {
        let stored = self.select(|connection| approver_rows(connection, &S::DIALECT))?;
        Ok(stored.into_iter().map(|row| row.approver).collect())
    }

    fn check_key(&self, name: &str, key: &str) -> Result<Option<Approver>> {
        let store_key = self.store_key()?;
        let stored = self.select(|connection| approver_rows(connection, &S::DIALECT))?;
        Ok(approver::check_key(&stored, name, key, store_key))
    }
}

/// Returns all approvers with the hashes of their keys.
pub(crate) fn approver_rows(connection: &dyn Connection, dialect: &Dialect) -> Result<Vec<StoredApprover>> {
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
pub(crate) fn write_approvers(
    dialect: &Dialect,
    changed: Vec<StoredApprover>,
) -> impl Iterator<Item = Statement> {
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
