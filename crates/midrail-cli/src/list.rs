//! Lists of administrative resources: a table for people, one JSON object per line for programs.

use midrail::admin::{Cell, Column, Resource};

use crate::error::CliResult;
use crate::exit::Exit;
use crate::output::{Output, short};
use crate::paint::{Style, status_style};
use crate::table::{Table, cell, guardrail, styled};
use crate::time;

/// Prints the records of a resource, with the columns that its description names.
pub(crate) fn list<R: Resource>(records: &[R], output: &mut Output) -> CliResult {
    list_or(records, R::EMPTY, output)
}

/// Prints the records of a resource, or a text if there are none.
pub(crate) fn list_or<R: Resource>(records: &[R], empty: &str, output: &mut Output) -> CliResult {
    if output.is_json {
        records.iter().try_for_each(|record| output.json(record))?;
        return Ok(Exit::Good);
    }
    if records.is_empty() {
        output.line(empty)?;
        return Ok(Exit::Good);
    }
    let text = |record: &R, column: &Column<R>| match (column.cell)(record) {
        Cell::Text(text) if !record.is_revoked() => cell(short(&text, column.width)),
        Cell::Text(text) | Cell::Dim(text) => styled(short(&text, column.width), Style::Dim),
        Cell::Time(time) => styled(time::date_time(time), Style::Dim),
        Cell::Status(status) => {
            let (mark, style) = status_style(&status);
            styled(format!("{mark} {status}").trim_start(), style)
        }
        Cell::Guardrail(id) => guardrail(&id),
    };
    let heads = R::COLUMNS.iter().map(|column| column.head).collect();
    let row = |record| R::COLUMNS.iter().map(|column| text(record, column)).collect();
    Table { heads, rows: records.iter().map(row).collect() }.print(0, output)?;
    Ok(Exit::Good)
}
