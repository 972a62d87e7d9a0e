//! A connection to SQLite for the shared statements.

use std::path::Path;

use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection as Sqlite, ToSql, params_from_iter};

use crate::error::Result;
use crate::sql::{Cell, Connection, Row};
use crate::sqlite::failure::failure;

/// A connection with the path of its store, for errors.
pub(super) struct Session<'c> {
    pub(super) connection: &'c Sqlite,
    pub(super) path: &'c Path,
}

impl Connection for Session<'_> {
    fn execute(&self, sql: &str, cells: &[Cell]) -> Result<u64> {
        let execute = || self.connection.prepare_cached(sql)?.execute(params_from_iter(cells));
        let changed = execute().map_err(|error| failure(self.path, error))?;
        Ok(u64::try_from(changed).unwrap_or(u64::MAX))
    }

    fn each(&self, sql: &str, cells: &[Cell], visit: &mut dyn FnMut(&dyn Row) -> Result<bool>) -> Result<()> {
        let fail = |error| failure(self.path, error);
        let mut statement = self.connection.prepare_cached(sql).map_err(fail)?;
        let mut rows = statement.query(params_from_iter(cells)).map_err(fail)?;
        while let Some(row) = rows.next().map_err(fail)? {
            if !visit(&SqliteRow { row, path: self.path })? {
                break;
            }
        }
        Ok(())
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
