//! Approval requests, and the sources of policies.

use crate::approval::{self, Approval, ApprovalChange, ApprovalCount, ApprovalFilter};
use crate::error::Result;
use crate::sql::{Cell, Connection, Dialect, Row, SqlStore, Statement, decode};
use crate::store::{Approvals, Policies};

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
        if self.policy(revision)?.is_some() {
            return Ok(());
        }
        let Dialect { column, value, own, .. } = S::DIALECT;
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
