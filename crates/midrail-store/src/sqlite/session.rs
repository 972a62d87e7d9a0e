//! A connection to SQLite for the shared statements.

use std::path::Path;

use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection as Sqlite, ToSql, params_from_iter};

use crate::error::Result;
use crate::sql::{Cell, Connection, Row};
use crate::sqlite::failure::failure;
use crate::sqlite::schema;
use crate::sqlite::transaction::Transaction;

/// A connection with the path of its store, for errors.
pub(super) struct Session<'c> {
    connection: &'c Sqlite,
    path: &'c Path,
    is_writing: bool,
}

impl<'c> Session<'c> {
    /// A session that reads. A table that does not exist yet has no rows.
    pub(super) fn reading(connection: &'c Sqlite, path: &'c Path) -> Self {
        Session { connection, path, is_writing: false }
    }

    /// A session that writes. A table that does not exist yet is created.
    pub(super) fn writing(transaction: &'c Transaction<'_>, path: &'c Path) -> Self {
        Session { connection: transaction, path, is_writing: true }
    }

    /// Runs a statement. `None`: a table does not exist yet.
    fn run<T>(&self, mut statement: impl FnMut() -> rusqlite::Result<T>) -> Result<Option<T>> {
        let fail = |error| failure(self.path, error);
        loop {
            let error = match statement() {
                Err(error) => error,
                outcome => return outcome.map(Some).map_err(fail),
            };
            match schema::missing_tables(&error) {
                Some(sql) if self.is_writing => self.connection.execute_batch(sql).map_err(fail)?,
                Some(_) => return Ok(None),
                None => return Err(fail(error)),
            }
        }
    }
}

impl Connection for Session<'_> {
    fn execute(&self, sql: &str, cells: &[Cell]) -> Result<u64> {
        let changed = self.run(|| self.connection.prepare_cached(sql)?.execute(params_from_iter(cells)))?;
        Ok(changed.map_or(0, |changed| u64::try_from(changed).unwrap_or(u64::MAX)))
    }

    fn each(&self, sql: &str, cells: &[Cell], visit: &mut dyn FnMut(&dyn Row) -> Result<bool>) -> Result<()> {
        let visited = self.run(|| {
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query(params_from_iter(cells))?;
            while let Some(row) = rows.next()? {
                match visit(&SqliteRow { row, path: self.path }) {
                    Ok(true) => {}
                    outcome => return Ok(outcome.map(drop)),
                }
            }
            Ok(Ok(()))
        })?;
        visited.unwrap_or(Ok(()))
    }
}

struct SqliteRow<'r> {
    row: &'r rusqlite::Row<'r>,
    path: &'r Path,
}

impl Row for SqliteRow<'_> {
    fn int(&self, column: usize) -> Result<Option<i64>> {
        self.row.get(column).map_err(|error| failure(self.path, error))
    }

    fn float(&self, column: usize) -> Result<f64> {
        self.row.get(column).map_err(|error| failure(self.path, error))
    }

    /// A text that is not UTF-8 was tampered with. It is read all the same, so that `verify` can report it.
    fn text(&self, column: usize) -> Result<Option<String>> {
        let bytes = self.row.get_ref(column).and_then(|cell| Ok(cell.as_bytes_or_null()?));
        let bytes = bytes.map_err(|error| failure(self.path, error))?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
    }
}

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Cell::Null | Cell::List(_) => ToSqlOutput::Owned(Value::Null),
            Cell::Int(value) => ToSqlOutput::Owned(Value::Integer(*value)),
            Cell::Float(value) => ToSqlOutput::Owned(Value::Real(*value)),
            Cell::Text(value) => ToSqlOutput::Borrowed(ValueRef::Text(value.as_bytes())),
            Cell::Bytes(value) => ToSqlOutput::Borrowed(ValueRef::Blob(value)),
        })
    }
}
