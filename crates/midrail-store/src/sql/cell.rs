//! Values to columns and back, and the connection that carries them.

use std::sync::Arc;

use jiff::Timestamp;
use serde::de::DeserializeOwned;

use crate::error::{Result, StoreError};

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell {
    Null,
    Int(i64),
    Float(f64),
    Text(String),
    /// PostgreSQL only.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "SQLite has no digests as keys"))]
    Bytes(Vec<u8>),
    /// PostgreSQL only.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "SQLite has no arrays"))]
    List(Vec<Cell>),
}

impl From<i64> for Cell {
    fn from(value: i64) -> Self {
        Cell::Int(value)
    }
}

impl From<u64> for Cell {
    fn from(value: u64) -> Self {
        Cell::Int(int(value))
    }
}

impl From<usize> for Cell {
    fn from(value: usize) -> Self {
        Cell::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Cell::Float(value)
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Self {
        Cell::Text(value.to_owned())
    }
}

impl From<&String> for Cell {
    fn from(value: &String) -> Self {
        Cell::Text(value.clone())
    }
}

impl From<String> for Cell {
    fn from(value: String) -> Self {
        Cell::Text(value)
    }
}

impl From<Timestamp> for Cell {
    fn from(value: Timestamp) -> Self {
        Cell::Int(value.as_microsecond())
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Null, Into::into)
    }
}

/// A statement with its parameters.
pub(crate) type Statement = (String, Vec<Cell>);

/// A row of a result.
pub(crate) trait Row {
    fn int(&self, column: usize) -> Result<Option<i64>>;
    fn float(&self, column: usize) -> Result<f64>;
    fn text(&self, column: usize) -> Result<Option<String>>;
}

impl dyn Row + '_ {
    pub(crate) fn number(&self, column: usize) -> Result<u64> {
        Ok(self.int(column)?.map_or(0, number))
    }

    pub(crate) fn string(&self, column: usize) -> Result<String> {
        Ok(self.text(column)?.unwrap_or_default())
    }

    pub(crate) fn time(&self, column: usize) -> Result<Timestamp> {
        Ok(self.optional_time(column)?.unwrap_or(Timestamp::MIN))
    }

    /// A number that is not a time was tampered with.
    pub(crate) fn optional_time(&self, column: usize) -> Result<Option<Timestamp>> {
        // The last microseconds of the calendar cannot be read back as such.
        let end = |micros: i64| if micros > 0 { Timestamp::MAX } else { Timestamp::MIN };
        let time = |micros| Timestamp::from_microsecond(micros).unwrap_or_else(|_| end(micros));
        Ok(self.int(column)?.map(time))
    }
}

/// Receives a row, and returns whether it wants more.
pub(crate) type Visitor<'a> = &'a mut dyn FnMut(&dyn Row) -> Result<bool>;

/// A connection to a database.
pub(crate) trait Connection {
    /// Runs a statement, and returns the number of changed rows.
    fn execute(&self, sql: &str, cells: &[Cell]) -> Result<u64>;

    /// Passes the rows of a query to `visit` until it returns `false`.
    fn each(&self, sql: &str, cells: &[Cell], visit: Visitor<'_>) -> Result<()>;
}

impl dyn Connection + '_ {
    /// Returns all rows of a query.
    pub(crate) fn rows<T, C>(
        &self,
        sql: &str,
        cells: &[Cell],
        read: impl Fn(&dyn Row) -> Result<T>,
    ) -> Result<C>
    where
        C: FromIterator<T>,
    {
        let mut rows = Vec::new();
        self.each(sql, cells, &mut |row| {
            rows.push(read(row)?);
            Ok(true)
        })?;
        Ok(rows.into_iter().collect())
    }

    /// Returns the first row of a query.
    pub(crate) fn row<T>(
        &self,
        sql: &str,
        cells: &[Cell],
        read: impl Fn(&dyn Row) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut found = None;
        self.each(sql, cells, &mut |row| {
            found = Some(read(row)?);
            Ok(false)
        })?;
        Ok(found)
    }

    pub(crate) fn execute_all(&self, statements: impl IntoIterator<Item = Statement>) -> Result<()> {
        statements.into_iter().try_for_each(|(sql, cells)| self.execute(&sql, &cells).map(drop))
    }
}

/// A number for a column.
fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number from a column. None of ours is negative.
pub(crate) fn number(cell: i64) -> u64 {
    u64::try_from(cell).unwrap_or(0)
}

/// The first whole microsecond that is not before a time.
pub(crate) fn first_micro_from(time: Timestamp) -> i64 {
    let micros = time.as_microsecond();
    match Timestamp::from_microsecond(micros) {
        Ok(whole) if whole < time => micros.saturating_add(1),
        _ => micros,
    }
}

/// Decodes JSON. `what` names it in an error.
pub(crate) fn decode<T: DeserializeOwned>(text: &str, what: impl FnOnce() -> String) -> Result<T> {
    serde_json::from_str(text).map_err(|source| StoreError::Decode { what: what(), source: Arc::new(source) })
}
