//! Tables: each column is as wide as its widest cell, and lines are cut at the width of the terminal.

use midrail::Effect;

use crate::error::CliResult;
use crate::output::{Output, short};
use crate::paint::{Paint, Style, effect_style};

/// A cell: its text, which is safe to print, and its style.
pub(crate) type Cell = (String, Option<Style>);

/// A column of a table of records: its heading, and the cell of a record.
pub(crate) type Column<'a, T> = (&'static str, &'a dyn Fn(&T) -> Cell);

/// Rows of cells. A cell is measured by its plain text and printed in its style.
pub(crate) struct Table {
    pub(crate) heads: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table of records.
    pub(crate) fn of<T>(records: impl IntoIterator<Item = T>, columns: &[Column<'_, T>]) -> Self {
        let row = |record| columns.iter().map(|(_, cell)| cell(&record)).collect();
        Table {
            heads: columns.iter().map(|(head, _)| *head).collect(),
            rows: records.into_iter().map(row).collect(),
        }
    }

    /// Whether there are no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Prints the table at an indent.
    pub(crate) fn print(&self, indent: usize, output: &mut Output) -> CliResult<()> {
        output.lines(self.lines(output.paint, indent, output.width))
    }

    /// The lines of the table at an indent, cut at a width.
    pub(crate) fn lines(&self, paint: Paint, indent: usize, width: usize) -> Vec<String> {
        let heads = self.heads.iter().map(|head| ((*head).to_owned(), Some(Style::Dim))).collect();
        let rows: Vec<&Vec<Cell>> = std::iter::once(&heads).chain(&self.rows).collect();
        let widths: Vec<usize> = (0..self.heads.len())
            .map(|column| {
                let cells = rows.iter().filter_map(|row| row.get(column));
                cells.map(|(text, _)| text.chars().count()).max().unwrap_or(0)
            })
            .collect();
        rows.into_iter().map(|row| line(row, &widths, paint, indent, width)).collect()
    }
}

fn line(row: &[Cell], widths: &[usize], paint: Paint, indent: usize, width: usize) -> String {
    let mut out = " ".repeat(indent);
    let mut used = indent;
    let last = row.iter().rposition(|(text, _)| !text.is_empty()).unwrap_or(0);
    for (at, ((text, style), column)) in row.iter().zip(widths).enumerate().take(last + 1) {
        let room = width.saturating_sub(used);
        let length = text.chars().count();
        let shown = if length > room {
            text.chars().take(room.saturating_sub(1)).chain(['…']).collect()
        } else {
            text.clone()
        };
        out.push_str(&style.map_or(shown.clone(), |style| paint.style(style, &shown)));
        if at == last || length > room {
            break;
        }
        out.push_str(&" ".repeat(column.saturating_sub(length) + 2));
        used = used.saturating_add(column.saturating_add(2));
    }
    out
}

/// A cell without a style.
pub(crate) fn cell(text: impl Into<String>) -> Cell {
    (text.into(), None)
}

/// A cell in a style.
pub(crate) fn styled(text: impl Into<String>, style: Style) -> Cell {
    (text.into(), Some(style))
}

/// The name and id of a guardrail.
pub(crate) fn guardrail(id: &str) -> Cell {
    cell(short(&midrail::guardrails::label(id), 60))
}

/// An effect in its style.
pub(crate) fn effect(effect: Effect) -> Cell {
    styled(effect.as_str(), effect_style(effect))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_without_trailing_spaces() {
        let records = [("1234", "", "x"), ("1", "2", "")];
        let table = Table::of(
            records,
            &[("a", &|(a, ..)| cell(*a)), ("long head", &|(_, b, _)| cell(*b)), ("c", &|(.., c)| cell(*c))],
        );
        let lines = table.lines(Paint::PLAIN, 2, 80);
        assert_eq!(lines, ["  a     long head  c", "  1234             x", "  1     2"]);
        assert_eq!(table.lines(Paint::PLAIN, 0, 8)[0], "a     l…");
    }
}
