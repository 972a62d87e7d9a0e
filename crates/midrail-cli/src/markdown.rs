//! Guardrail pages on a terminal: headings stand out, code is indented.

use midrail_service::markdown::{Block, blocks, unlinked};

use crate::output::wrap;
use crate::paint::{Paint, Style};

/// A page as lines for a terminal of a width.
pub(crate) fn lines(page: &str, width: usize, paint: Paint) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for block in blocks(page) {
        if !out.is_empty() {
            out.push(String::new());
        }
        match block {
            Block::Heading(_, text) => out.push(paint.style(Style::Strong, text)),
            Block::Paragraph(text) => out.extend(wrapped(&text, width, ("", ""), paint)),
            Block::List(items) => {
                out.extend(items.iter().flat_map(|item| wrapped(item, width, ("  • ", "    "), paint)));
            }
            Block::Code(lines) => {
                let indented = lines.iter().map(|line| format!("    {line}").trim_end().to_owned());
                out.extend(indented.map(|line| paint.style(Style::Note, line)));
            }
            Block::Table(rows) => out.extend(table(&rows, paint)),
        }
    }
    out
}

/// A text wrapped for the width, with heads for its first and further lines. Code may continue on the next line.
fn wrapped(text: &str, width: usize, (first, next): (&str, &str), paint: Paint) -> Vec<String> {
    let mut in_code = false;
    let lines = wrap(&unlinked(text).replace("**", ""), width.saturating_sub(next.len()));
    let heads = std::iter::once(first).chain(std::iter::repeat(next));
    lines
        .iter()
        .zip(heads)
        .map(|(line, head)| format!("{head}{}", styled(line, &mut in_code, paint)))
        .collect()
}

/// A line with code in backticks, which may have started on the line before.
fn styled(text: &str, in_code: &mut bool, paint: Paint) -> String {
    let mut out = String::new();
    for (at, part) in text.split('`').enumerate() {
        *in_code ^= at > 0;
        out.push_str(&if *in_code && !part.is_empty() {
            paint.style(Style::Note, part)
        } else {
            part.to_owned()
        });
    }
    out
}

/// A table with aligned columns.
fn table(rows: &[Vec<String>], paint: Paint) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |cell: &str| cell.chars().filter(|c| *c != '`').count();
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| width(cell)).max().unwrap_or(0)
        })
        .collect();
    let line = |(at, row): (usize, &Vec<String>)| {
        let mut line = String::from("  ");
        for (cell, column) in row.iter().zip(&widths) {
            let head = || paint.style(Style::Dim, cell.replace('`', ""));
            line.push_str(&if at == 0 { head() } else { styled(cell, &mut false, paint) });
            line.push_str(&" ".repeat(column.saturating_sub(width(cell)) + 2));
        }
        line.trim_end().to_owned()
    };
    rows.iter().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_is_rendered_for_a_terminal() {
        let page = "# name\n\nSome `code` here, and\nmore of it.\n\n```yaml\na: 1\n```\n\n## Settings\n\n\
                    | a | `long` |\n|---|---|\n| `xyz` | 1 |\n\n- one\n  and more\n- two\n";
        let expected = [
            "name",
            "",
            "Some code here, and",
            "more of it.",
            "",
            "    a: 1",
            "",
            "Settings",
            "",
            "  a    long",
            "  xyz  1",
            "",
            "  • one and more",
            "  • two",
        ];
        assert_eq!(lines(page, 24, Paint::PLAIN), expected);
    }
}
