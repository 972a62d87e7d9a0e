//! Secrets in the rows of an SQL statement: `INSERT INTO users (name, password) VALUES ('bob', '…')`.

use super::names::{self, Class};
use super::values;
use crate::secrets::candidate::Candidate;
use crate::secrets::view::View;

/// The longest list of columns, with the name of the table.
const MAX_COLUMNS: usize = 600;
/// How many bytes of the rows are read.
const MAX_ROWS: usize = 4_096;

/// The secrets in the rows of a statement. `place` is behind `insert into `.
pub(crate) fn secrets(view: &View<'_>, place: usize) -> Vec<Candidate> {
    columns(view, place).map(|(columns, rows)| in_rows(view, &columns, rows)).unwrap_or_default()
}

/// The classes of the columns' names, and where the rows begin.
fn columns(view: &View<'_>, place: usize) -> Option<(Vec<Option<Class>>, usize)> {
    let open = view.run(place, 100, |byte| !matches!(byte, b'(' | b';' | b'\n'));
    if view.at(open) != Some(b'(') {
        return None;
    }
    let close = view.run(open + 1, MAX_COLUMNS, |byte| !matches!(byte, b'(' | b')' | b';'));
    if view.at(close) != Some(b')') {
        return None;
    }
    let is_quote =
        |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'`' | b'"' | b'[' | b']' | b'\\');
    let columns: Vec<Option<Class>> = view
        .slice(open + 1, close)
        .split(|byte| *byte == b',')
        .map(|name| name.iter().copied().filter(|byte| !is_quote(byte)).collect::<Vec<u8>>())
        .map(|name| names::class(&name).filter(|class| *class != Class::Weak))
        .collect();
    if columns.iter().all(Option::is_none) {
        return None;
    }
    let word = view.run(close + 1, 40, |byte| byte.is_ascii_whitespace());
    let end = view.run(word, 7, |byte| byte.is_ascii_alphabetic());
    view.slice(word, end).eq_ignore_ascii_case(b"values").then_some((columns, end))
}

fn in_rows(view: &View<'_>, columns: &[Option<Class>], from: usize) -> Vec<Candidate> {
    let mut found = Vec::new();
    let (mut place, mut column, mut depth) = (from, 0_usize, 0_usize);
    while place < from + MAX_ROWS {
        let Some(byte) = view.at(place) else { break };
        match byte {
            b';' => break,
            b'(' => {
                depth += 1;
                column = if depth == 1 { 0 } else { column };
            }
            b')' => depth = depth.saturating_sub(1),
            b',' if depth == 1 => column += 1,
            b'\'' | b'"' => {
                let start = place + 1;
                let left = (from + MAX_ROWS).saturating_sub(start);
                let end = view.run(start, left, |other| other != byte && other != b'\n');
                if view.at(end) != Some(byte) {
                    break;
                }
                let class = columns.get(column).copied().flatten();
                let text = view.slice(start, end);
                if depth == 1 && class.is_some_and(|class| values::is_secret(text, class, true)) {
                    let (kind, description) = ("sql-password", "a secret in a row of a table");
                    found.push(Candidate { rank: 1, ..Candidate::new(kind, description, start..end) });
                }
                place = end;
            }
            byte if depth == 0 && byte.is_ascii_alphanumeric() => break,
            _ => {}
        }
        place += 1;
    }
    found
}
