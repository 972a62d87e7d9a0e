//! The encoding of values for PostgreSQL: texts, digests and parameters.

use std::borrow::Cow;
use std::error::Error;

use midrail_core::hex;
use sha2::{Digest, Sha256};
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type};

use crate::sql::Cell;

/// Introduces the escape of a NUL, which PostgreSQL does not allow in texts: a code point that is not a character.
const ESCAPE: char = '\u{fdd0}';

/// Encodes a text for a column. A prefix of a text stays a prefix.
pub(super) fn escape(text: &str) -> Cow<'_, str> {
    // One search for each, because that for a single character skips ahead.
    if !text.contains('\0') && !text.contains(ESCAPE) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '\0' => out.extend([ESCAPE, '0']),
            ESCAPE => out.extend([ESCAPE, '1']),
            other => out.push(other),
        }
    }
    Cow::Owned(out)
}

/// Decodes the text of a column.
pub(super) fn unescape(cell: String) -> String {
    if !cell.contains(ESCAPE) {
        return cell;
    }
    let mut out = String::with_capacity(cell.len());
    let mut characters = cell.chars();
    while let Some(character) = characters.next() {
        if character != ESCAPE {
            out.push(character);
            continue;
        }
        match characters.next() {
            Some('0') => out.push('\0'),
            Some('1') => out.push(ESCAPE),
            // Another program has written it.
            other => out.extend([ESCAPE].into_iter().chain(other)),
        }
    }
    out
}

impl ToSql for Cell {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Cell::Null => Ok(IsNull::Yes),
            Cell::Int(value) => value.to_sql(kind, out),
            Cell::Float(value) => value.to_sql(kind, out),
            Cell::Text(value) => escape(value).to_sql(kind, out),
            Cell::Bytes(value) => value.to_sql(kind, out),
            Cell::List(values) => values.to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    tokio_postgres::types::to_sql_checked!();
}

/// A digest that identifies a row.
pub(super) type Id = [u8; 16];

/// The id of a slice. `session` is the one that it is stored under.
pub(super) fn slice_id(session: &str, key: &str) -> Id {
    digest(&[&session.len().to_string(), "\n", session, key])
}

/// The id of a session.
pub(super) fn session_id(session: &str) -> Id {
    digest(&[session])
}

/// The name of a project in notifications: short, and of the same length for all.
pub(super) fn signal(project: &str) -> String {
    hex::encode(&digest(&[project]))
}

fn digest(parts: &[&str]) -> Id {
    let mut hasher = Sha256::new();
    parts.iter().for_each(|part| hasher.update(part.as_bytes()));
    let mut id = [0; 16];
    id.iter_mut().zip(hasher.finalize()).for_each(|(to, from)| *to = from);
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaping_is_reversible_and_keeps_prefixes() {
        let texts = ["", "a", "a\0b", "\0", "\u{fdd0}", "a\u{fdd0}0", "\0\u{fdd0}\0", "\u{10ffff}"];
        for one in texts {
            let cell = escape(one);
            assert!(!cell.contains('\0'));
            assert_eq!(unescape(cell.into_owned()), one);
            for other in texts {
                let (cell, prefix) = (escape(one), escape(other));
                assert_eq!(cell.starts_with(&*prefix), one.starts_with(other), "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn slice_ids_separate_session_and_key() {
        assert_ne!(slice_id("a", "bc"), slice_id("ab", "c"));
        assert_ne!(slice_id("", "1\na"), slice_id("1\n", "a"));
        assert_eq!(slice_id("a", "b"), slice_id("a", "b"));
    }
}
