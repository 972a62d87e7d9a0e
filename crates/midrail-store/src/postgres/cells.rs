//! Values to columns and back.

use std::borrow::Cow;

use jiff::Timestamp;
use midrail_core::hex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::error::{Result, StoreError};

/// What stands for a NUL, which no text of PostgreSQL may have, is led in by this: a code point that is no character.
const ESCAPE: char = '\u{fdd0}';

/// A text for a column. The beginning of a text stays the beginning of it.
pub(super) fn text(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
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

/// The text of a column.
pub(super) fn untext(cell: String) -> String {
    if !cell.contains(ESCAPE) {
        return cell;
    }
    let mut out = String::with_capacity(cell.len());
    let mut characters = cell.chars();
    while let Some(character) = characters.next() {
        match character {
            ESCAPE => match characters.next() {
                Some('0') => out.push('\0'),
                Some('1') => out.push(ESCAPE),
                // Not written by us.
                other => out.extend([ESCAPE].into_iter().chain(other)),
            },
            other => out.push(other),
        }
    }
    out
}

/// A digest by which a row is found.
pub(super) type Id = [u8; 16];

/// The id of a slice. `session` is the one that it is kept under.
pub(super) fn slice_id(session: &str, key: &str) -> Id {
    digest(&[&session.len().to_string(), "\n", session, key])
}

/// The id of a session.
pub(super) fn session_id(session: &str) -> Id {
    digest(&[session])
}

/// What a project is called in notifications: short, and the same length for all.
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

/// A number for a column.
pub(super) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number from a column. None of ours is negative.
pub(super) fn number(cell: i64) -> u64 {
    u64::try_from(cell).unwrap_or(0)
}

/// A limit for a query.
pub(super) fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// A time column. A number that is no time was tampered with.
pub(super) fn time(micros: i64) -> Timestamp {
    Timestamp::from_microsecond(micros).unwrap_or(Timestamp::MIN)
}

/// The first whole microsecond that is not before a time.
pub(super) fn first_micro_from(time: Timestamp) -> i64 {
    let micros = time.as_microsecond();
    match Timestamp::from_microsecond(micros) {
        Ok(whole) if whole < time => micros.saturating_add(1),
        _ => micros,
    }
}

/// The list as it stands in its column.
pub(super) fn guardrails(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { serde_json::Value::from(names).to_string() }
}

pub(super) fn json(value: &impl Serialize, what: impl FnOnce() -> String) -> Result<String> {
    serde_json::to_string(value).map_err(|source| StoreError::Encode { what: what(), source })
}

pub(super) fn parse<T: DeserializeOwned>(text: &str, what: impl FnOnce() -> String) -> Result<T> {
    serde_json::from_str(text).map_err(|source| StoreError::Decode { what: what(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back_and_prefixes_stay_prefixes() {
        let texts = ["", "a", "a\0b", "\0", "\u{fdd0}", "a\u{fdd0}0", "\0\u{fdd0}\0", "\u{10ffff}"];
        for one in texts {
            let cell = text(one);
            assert!(!cell.contains('\0'));
            assert_eq!(untext(cell.into_owned()), one);
            for other in texts {
                assert_eq!(text(one).starts_with(&*text(other)), one.starts_with(other), "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn ids_tell_sessions_and_keys_apart() {
        assert_ne!(slice_id("a", "bc"), slice_id("ab", "c"));
        assert_ne!(slice_id("", "1\na"), slice_id("1\n", "a"));
        assert_eq!(slice_id("a", "b"), slice_id("a", "b"));
    }
}
