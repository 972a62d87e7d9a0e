//! A connection to PostgreSQL for the shared statements. Every statement blocks the calling thread.

use std::cell::RefCell;
use std::fmt::Write;
use std::future::poll_fn;
use std::pin::pin;

use deadpool_postgres::Object;
use futures_core::Stream;
use tokio_postgres::Error;
use tokio_postgres::types::ToSql;

use crate::error::{Result, StoreError};
use crate::postgres::cells::unescape;
use crate::postgres::failure::Failure;
use crate::postgres::server::Server;
use crate::sql::{Cell, Connection, Row};

/// A connection for one project. After a failure it is not used again if it is lost.
pub(super) struct Session<'s> {
    server: &'s Server,
    project: i32,
    /// INVARIANT: there is one until this is dropped.
    client: Option<Object>,
    failure: RefCell<Option<Failure>>,
}

impl<'s> Session<'s> {
    pub(super) fn new(server: &'s Server, client: Object, project: i32) -> Self {
        Session { server, project, client: Some(client), failure: RefCell::default() }
    }

    /// Whether the connection was lost.
    pub(super) fn is_lost(&self) -> bool {
        self.failure.borrow().as_ref().is_some_and(Failure::is_lost)
    }

    /// Makes sure that the connection is not used again.
    pub(super) fn discard(&self) {
        self.failure.replace(Some(Failure::Lost(String::new())));
    }

    /// Rolls a transaction back. A connection on which that fails is not used again.
    pub(super) fn roll_back(&self) {
        if self.run(async |client| client.batch_execute("ROLLBACK").await).is_err() {
            self.discard();
        }
    }

    /// Runs `work` in a transaction that holds the row of the project, and so keeps other processes from writing to it.
    pub(super) fn transact<T>(&self, work: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        let lock = "SELECT 1 FROM projects WHERE id = $1 FOR NO KEY UPDATE";
        let begun = self.run(async |client| {
            client.batch_execute("BEGIN ISOLATION LEVEL READ COMMITTED").await?;
            client.execute(lock, &[&self.project]).await
        });
        let outcome = begun.map_err(|failure| self.error(failure)).and_then(|_| work(self));
        if outcome.is_err() {
            self.roll_back();
            return outcome;
        }
        let committed = self.run(async |client| client.batch_execute("COMMIT").await);
        committed.map_err(|failure| self.error(failure)).and(outcome)
    }

    /// Runs `work` on the connection, with a timeout.
    pub(super) fn run<T>(&self, work: impl AsyncFn(&Object) -> Result<T, Error>) -> Result<T, Failure> {
        let Some(client) = &self.client else { return Err(Failure::Uncertain) };
        let outcome = self.server.run(self.server.in_time(work(client))).and_then(|outcome| Ok(outcome?));
        if let Err(failure) = &outcome {
            self.failure.replace(Some(failure.clone()));
        }
        outcome
    }

    fn error(&self, failure: Failure) -> StoreError {
        failure.into_store_error(&self.server.name)
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        let is_unusable = matches!(self.failure.get_mut(), Some(Failure::Lost(_) | Failure::Timeout(_)));
        if let Some(client) = self.client.take_if(|client| is_unusable || client.is_closed()) {
            drop(Object::take(client));
        }
    }
}

impl Connection for Session<'_> {
    fn execute(&self, sql: &str, cells: &[Cell]) -> Result<u64> {
        let sql = numbered(sql);
        self.run(async |client| {
            let statement = client.prepare_cached(&sql).await?;
            client.execute(&statement, &parameters(&self.project, cells)).await
        })
        .map_err(|failure| self.error(failure))
    }

    fn each(&self, sql: &str, cells: &[Cell], visit: &mut dyn FnMut(&dyn Row) -> Result<bool>) -> Result<()> {
        let sql = numbered(sql);
        let visit = RefCell::new(visit);
        self.run(async |client| {
            let statement = client.prepare_cached(&sql).await?;
            let rows = client.query_raw(&statement, parameters(&self.project, cells)).await?;
            let mut rows = pin!(rows);
            while let Some(row) = poll_fn(|context| rows.as_mut().poll_next(context)).await.transpose()? {
                match (visit.borrow_mut())(&PostgresRow { row: &row, server: &self.server.name }) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => return Ok(Err(error)),
                }
            }
            Ok(Ok(()))
        })
        .map_err(|failure| self.error(failure))?
    }
}

/// A statement with PostgreSQL's parameters. The first is the project, so `?1` is `$2`.
pub(super) fn numbered(sql: &str) -> String {
    let mut parts = sql.split('?');
    let mut out = String::with_capacity(sql.len() + 16);
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let digits = part.len() - part.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
        let (number, rest) = part.split_at(digits);
        let _ = write!(out, "${}{rest}", number.parse::<usize>().unwrap_or(0) + 1);
    }
    out
}

/// The project, followed by the cells.
pub(super) fn parameters<'p>(project: &'p i32, cells: &'p [Cell]) -> Vec<&'p (dyn ToSql + Sync)> {
    let project: &(dyn ToSql + Sync) = project;
    let cells = cells.iter().map(|cell| -> &(dyn ToSql + Sync) { cell });
    std::iter::once(project).chain(cells).collect()
}

struct PostgresRow<'r> {
    row: &'r tokio_postgres::Row,
    server: &'r str,
}

impl PostgresRow<'_> {
    fn get<'a, T: tokio_postgres::types::FromSql<'a>>(&'a self, column: usize) -> Result<T> {
        self.row.try_get(column).map_err(|error| Failure::from(error).into_store_error(self.server))
    }
}

impl Row for PostgresRow<'_> {
    fn int(&self, column: usize) -> Result<Option<i64>> {
        self.get(column)
    }

    fn float(&self, column: usize) -> Result<f64> {
        self.get(column)
    }

    fn text(&self, column: usize) -> Result<Option<String>> {
        Ok(self.get::<Option<String>>(column)?.map(unescape))
    }
}

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn parameters_are_numbered_after_the_project() {
        assert_eq!(numbered("a = ?1 AND b = ?2, ?10"), "a = $2 AND b = $3, $11");
        assert_eq!(numbered("SELECT $1"), "SELECT $1");
    }
}
