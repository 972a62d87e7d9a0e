//! Markdown on a terminal: headings stand out, code is set apart. Pages are our own, so their text is safe.

use crate::output::wrap;
use crate::paint::{Paint, Style};

/// A page as lines for a terminal of a width.
pub(crate) fn lines(page: &str, width: usize, paint: Paint) -> Vec<String> {
    let mut setter = Setter { width, paint, paragraph: String::new(), table: Vec::new(), out: Vec::new() };
    let mut in_code = false;
    for line in page.lines() {
        if line.starts_with("```") {
            setter.end_of_block();
            in_code = !in_code;
        } else if in_code {
            setter.out.push(paint.style(Style::Note, format!("    {line}").trim_end()));
        } else if line.starts_with('|') {
            setter.end_of_paragraph();
            setter.table.push(line.to_owned());
        } else if line.starts_with('#') {
            setter.end_of_block();
            setter.out.push(paint.style(Style::Strong, line.trim_start_matches('#').trim_start()));
        } else if line.is_empty() {
            setter.end_of_block();
            setter.out.push(String::new());
        } else {
            if line.starts_with("- ") {
                setter.end_of_paragraph();
            }
            setter.add(line.trim_start());
        }
    }
    setter.end_of_block();
    setter.out
}

struct Setter {
    width: usize,
    paint: Paint,
    paragraph: String,
    table: Vec<String>,
    out: Vec<String>,
}

impl Setter {
    fn add(&mut self, text: &str) {
        if !self.paragraph.is_empty() {
            self.paragraph.push(' ');
        }
        self.paragraph.push_str(text);
    }

    fn end_of_block(&mut self) {
        self.end_of_paragraph();
        self.out.extend(table(&std::mem::take(&mut self.table), self.paint));
    }

    /// Sets a paragraph anew for the width. Code in it may go over the end of a line.
    fn end_of_paragraph(&mut self) {
        let paragraph = std::mem::take(&mut self.paragraph);
        if paragraph.is_empty() {
            return;
        }
        let (text, first, next) = match paragraph.strip_prefix("- ") {
            Some(item) => (item, "  • ", "    "),
            None => (paragraph.as_str(), "", ""),
        };
        let mut in_code = false;
        for (at, line) in wrap(text, self.width.saturating_sub(next.len())).iter().enumerate() {
            let head = if at == 0 { first } else { next };
            self.out.push(format!("{head}{}", spans(line, &mut in_code, self.paint)));
        }
    }
}

/// A line with `code` in it, which may have begun on the line before.
fn spans(text: &str, in_code: &mut bool, paint: Paint) -> String {
    let mut out = String::new();
    for (at, part) in text.split('`').enumerate() {
        *in_code ^= at > 0;
        match part {
            "" => {}
            part if *in_code => out.push_str(&paint.style(Style::Note, part)),
            part => out.push_str(part),
        }
    }
    out
}

/// A table with its columns lined up.
fn table(rows: &[String], paint: Paint) -> Vec<String> {
    let rows: Vec<Vec<&str>> = rows
        .iter()
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
    let mut out = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let mut line = String::from("  ");
        for (cell, column) in row.iter().zip(&widths) {
            let pad = " ".repeat(column.saturating_sub(width(cell)) + 2);
            let cell = if at == 0 {
                paint.style(Style::Dim, cell.replace('`', ""))
            } else {
                spans(cell, &mut false, paint)
            };
            line.push_str(&cell);
            line.push_str(&pad);
        }
        out.push(line.trim_end().to_owned());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_set_for_a_terminal() {
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
