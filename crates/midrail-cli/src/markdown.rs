//! Markdown on a terminal: headings stand out, code is set apart. Pages are our own, so their text is safe.

use crate::output::{Paint, Style};

/// A page as lines for a terminal.
pub(crate) fn lines(page: &str, paint: Paint) -> Vec<String> {
    let mut out = Vec::new();
    let mut in_code = false;
    let mut table = Vec::new();
    for line in page.lines() {
        if line.starts_with('|') && !in_code {
            table.push(line);
            continue;
        }
        flush(&mut table, paint, &mut out);
        if line.starts_with("```") {
            in_code = !in_code;
        } else if in_code {
            out.push(paint.style(Style::Note, format!("    {line}")));
        } else if let Some(title) = line.strip_prefix("# ") {
            out.push(paint.style(Style::Strong, title));
        } else if line.starts_with("## ") || line.starts_with("### ") {
            out.push(paint.style(Style::Strong, line.trim_start_matches('#').trim_start()));
        } else if let Some(item) = line.strip_prefix("- ") {
            out.push(format!("  • {}", spans(item, paint)));
        } else {
            out.push(spans(line, paint));
        }
    }
    flush(&mut table, paint, &mut out);
    out
}

/// Text with `code` in it.
fn spans(text: &str, paint: Paint) -> String {
    let parts = text.split('`').enumerate();
    parts
        .map(|(at, part)| if at % 2 == 1 { paint.style(Style::Note, part) } else { part.to_owned() })
        .collect()
}

/// A table with its columns lined up.
fn flush(table: &mut Vec<&str>, paint: Paint, out: &mut Vec<String>) {
    let rows: Vec<Vec<&str>> = table
        .drain(..)
        .filter(|row| !row.starts_with("|--") && !row.starts_with("| --"))
        .map(|row| row.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |cell: &str| cell.chars().filter(|c| *c != '`').count();
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| width(cell)).max().unwrap_or(0)
        })
        .collect();
    for (at, row) in rows.iter().enumerate() {
        let mut line = String::from("  ");
        for (cell, column) in row.iter().zip(&widths) {
            let pad = " ".repeat(column.saturating_sub(width(cell)) + 2);
            let cell =
                if at == 0 { paint.style(Style::Dim, cell.replace('`', "")) } else { spans(cell, paint) };
            line.push_str(&cell);
            line.push_str(&pad);
        }
        out.push(line.trim_end().to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_set_for_a_terminal() {
        let page = "# name\n\nSome `code` here.\n\n```yaml\na: 1\n```\n\n## Settings\n\n| a | `long` |\n|---|---|\n| `xyz` | 1 |\n\n- one\n";
        let expected = [
            "name",
            "",
            "Some code here.",
            "",
            "    a: 1",
            "",
            "Settings",
            "",
            "  a    long",
            "  xyz  1",
            "",
            "  • one",
        ];
        assert_eq!(lines(page, Paint::PLAIN), expected);
    }
}
