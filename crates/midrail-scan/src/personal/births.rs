//! Dates of birth: dates with a word such as `born` or `DOB` before them.

use super::checks::{day_and_month, number};
use super::context::Context;
use super::data::{BIRTH_WORDS, MONTH_STARTS, OTHER_DATE_WORDS};
use super::token::Token;
use crate::bytes::{byte, byte_before, run_start};
use midrail_core::Hit;

const KIND: &str = "date-of-birth";

/// The fewest bytes of the name of a month.
const SHORTEST_MONTH: usize = 3;

/// A date in digits.
pub(super) fn numeric(token: &Token<'_>) -> Option<Hit> {
    if !token.has_separators() {
        return None;
    }
    let (groups, count) = token.groups();
    if count != 3 || !matches!(token.separator(), Some(b'-' | b'/' | b'.')) || !is_date(token, groups) {
        return None;
    }
    let time_follows = byte(token.bytes, token.end) == b'T'
        || byte(token.bytes, token.end) == b' ' && byte(token.bytes, token.end + 3) == b':'
        || byte(token.bytes, token.end) == b',' && byte(token.bytes, token.end + 4) == b':';
    if time_follows {
        return None;
    }
    let context = Context::new(token.bytes, token.start, token.end);
    is_birth(&context).then(|| hit(token.start, token.end))
}

/// Whether three groups of digits may be a day, a month and a year, in any order that is in use.
pub(super) fn is_date(token: &Token<'_>, groups: [usize; 8]) -> bool {
    let bare = token.bare();
    let [first, second, third, ..] = groups;
    let part = |at, length| number(bare, at, length);
    let (one, two, three) = (part(0, first), part(first, second), part(first + second, third));
    let is_year = |year| (1900..=2035).contains(&year);
    match (first, second, third) {
        (4, 1..=2, 1..=2) => is_year(one) && day_and_month(three, two),
        (1..=2, 1..=2, 2 | 4) => {
            (third == 2 || is_year(three)) && (day_and_month(one, two) || day_and_month(two, one))
        }
        _ => false,
    }
}

/// A date with the month in words, by its year: `5 May 1981`, `May 5, 1981`.
pub(super) fn in_words(bytes: &[u8], start: usize, end: usize) -> Option<Hit> {
    let is_year = matches!(bytes.get(start..end), Some([b'1', b'9', _, _] | [b'2', b'0', _, _]));
    if is_year { with_year(bytes, start, end) } else { None }
}

/// The date before a year.
fn with_year(bytes: &[u8], start: usize, end: usize) -> Option<Hit> {
    let is_gap = |byte: u8| matches!(byte, b' ' | b',' | b'.');
    let is_day = |byte: u8| byte.is_ascii_digit();
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte >= 0x80;
    let day_after = |end: usize| {
        let suffix = run_start(bytes, end, 2, |byte| matches!(byte, b's' | b't' | b'n' | b'd' | b'r' | b'h'));
        let day = run_start(bytes, suffix, 2, is_day);
        (day < suffix).then_some(day)
    };
    let mut at = run_start(bytes, start, 2, is_gap);
    if byte_before(bytes, at).is_ascii_digit() || byte_before(bytes, at.saturating_sub(1)).is_ascii_digit() {
        at = run_start(bytes, day_after(at)?, 2, is_gap);
    }
    let month = run_start(bytes, at, 12, is_letter);
    if at - month < SHORTEST_MONTH {
        return None;
    }
    let name = bytes.get(month..at).and_then(|name| std::str::from_utf8(name).ok())?.to_lowercase();
    if !MONTH_STARTS.iter().any(|stem| name.starts_with(stem)) {
        return None;
    }
    let gap = run_start(bytes, month, 2, is_gap);
    let first = day_after(gap).unwrap_or(month);
    let context = Context::new(bytes, first, end);
    is_birth(&context).then(|| hit(first, end))
}

fn is_birth(context: &Context) -> bool {
    let other = context.rank_within(&OTHER_DATE_WORDS, 4).unwrap_or(usize::MAX);
    context.rank_within(&BIRTH_WORDS, 4).is_some_and(|rank| rank < other)
}

fn hit(start: usize, end: usize) -> Hit {
    Hit::new(KIND, start, end, "a date of birth")
}
