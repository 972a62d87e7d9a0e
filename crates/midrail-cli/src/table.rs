//! Tables: each column is as wide as its widest cell, and lines are cut at the width of the terminal.

use crate::paint::{Paint, Style};

/// Rows of cells. A cell is measured by its plain text and printed in its style.
pub(crate) struct Table {
    heads: Vec<&'static str>,
    rows: Vec<Vec<(String, Option<Style>)>>,
}

impl Table {
    /// A table with these heads.
    pub(crate) fn new(heads: &[&'static str]) -> Self {
        Table { heads: heads.to_vec(), rows: Vec::new() }
    }

    /// Adds a row. The text of its cells is safe to print.
    pub(crate) fn row(&mut self, cells: Vec<(String, Option<Style>)>) {
        self.rows.push(cells);
    }

    /// Whether there are no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The lines of the table at an indent, cut at a width.
    pub(crate) fn lines(&self, paint: Paint, indent: usize, width: usize) -> Vec<String> {
        let heads = self.heads.iter().map(|head| ((*head).to_owned(), Some(Style::Dim))).collect();
        let rows: Vec<&Vec<(String, Option<Style>)>> = std::iter::once(&heads).chain(&self.rows).collect();
        let widths: Vec<usize> = (0..self.heads.len())
            .map(|column| {
                let cells = rows.iter().filter_map(|row| row.get(column));
                cells.map(|(text, _)| text.chars().count()).max().unwrap_or(0)
            })
            .collect();
        rows.into_iter().map(|row| line(row, &widths, paint, indent, width)).collect()
    }
}

fn line(
    row: &[(String, Option<Style>)],
    widths: &[usize],
    paint: Paint,
    indent: usize,
    width: usize,
) -> String {
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
pub(crate) fn cell(text: impl Into<String>) -> (String, Option<Style>) {
    (text.into(), None)
}

/// A cell in a style.
pub(crate) fn styled(text: impl Into<String>, style: Style) -> (String, Option<Style>) {
    (text.into(), Some(style))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_without_trailing_spaces() {
        let mut table = Table::new(&["a", "long head", "c"]);
        table.row(vec![cell("1234"), cell(""), cell("x")]);
        table.row(vec![cell("1"), cell("2"), cell("")]);
        let lines = table.lines(Paint::PLAIN, 2, 80);
        assert_eq!(lines, ["  a     long head  c", "  1234             x", "  1     2"]);
        assert_eq!(table.lines(Paint::PLAIN, 0, 8)[0], "a     l…");
    }
}
