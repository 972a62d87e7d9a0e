//! Phone numbers: international ones by their country code, national ones by their form or a word nearby.

use midrail_core::{Confidence, Hit, Severity};

use super::births::is_date;
use super::checks::{is_one_digit, number};
use super::context::Context;
use super::data::{
    CALL_WORDS, CALLING_CODES, FICTIONAL_NUMBERS, NATIONAL_GROUPS, NOT_PHONE_WORDS, PHONE_WORDS, SAMPLE_WORDS,
};
use super::token::Token;
use crate::bytes::{byte, byte_before, is_word};

/// How many words away a word may be.
const NEAR: usize = 4;
const NEAR_WEAK: usize = 2;

/// The phone number that a candidate is, and how many words away its word is.
pub(super) fn find(token: &Token<'_>, context: &Context) -> Option<(Hit, usize)> {
    let (hit, rank) = likely(token, context)?;
    let key = Context::within(token.bytes, hit.start, token.end, 0);
    let is_sample = key.has_key && key.has(&SAMPLE_WORDS);
    let sample = |hit| Hit { severity: Severity::Low, confidence: Confidence::Low, ..hit };
    Some((if is_sample { sample(hit) } else { hit }, rank))
}

fn likely(token: &Token<'_>, context: &Context) -> Option<(Hit, usize)> {
    let bare = token.bare();
    if !(7..=15).contains(&bare.len()) || is_one_digit(bare) {
        return None;
    }
    if let Some(hit) = international(token) {
        return Some((hit, 1));
    }
    if in_other_number(token) {
        return None;
    }
    let is_bare = token.separators().next().is_none();
    let strong = context.rank_within(&PHONE_WORDS, NEAR);
    let weak = context.rank_within(&CALL_WORDS, NEAR_WEAK);
    if is_tied_to_letters(token) && strong.is_none() {
        return None;
    }
    let other = context.rank_within(&NOT_PHONE_WORDS, usize::MAX).unwrap_or(usize::MAX);
    if is_bare {
        let rank = strong.filter(|rank| *rank <= if context.has_key { 1 } else { 2 } && *rank < other)?;
        return (bare.len() >= 7 && !is_fictional(bare)).then(|| (hit(token, Confidence::Medium), rank));
    }
    let (groups, count) = token.groups();
    if count == 3 && is_date(token, groups) || is_decimal(token) {
        return None;
    }
    if is_fictional(bare) {
        return None;
    }
    if is_north_american(token) {
        // `318-334 1973` is probably pages and a year.
        let is_loose = token.separators().next() == Some(b'-') && token.separators().last() == Some(b' ');
        // `252.227-7013` is a clause.
        let is_clause = token.separators().next() == Some(b'.') && token.separators().last() == Some(b'-');
        let is_spaced = token.separator() == Some(b' ') || is_loose || is_clause;
        let rank = strong.or(weak);
        if !is_spaced && other > 0 || rank.is_some() {
            return Some((hit(token, Confidence::High), rank.unwrap_or(NEAR)));
        }
    }
    // `030/123 45 67`: a slash is allowed only behind the area.
    let has_area = bare.first() == Some(&b'0') && token.separators().skip(1).all(|byte| byte != b'/');
    let is_plausible = token.separators().all(|byte| byte != b'/') || count == 2 || has_area;
    if let Some(rank) = strong.or(weak)
        && is_plausible
        && rank < other
        && has_phone_groups(token)
    {
        return Some((hit(token, Confidence::Medium), rank));
    }
    (is_national(token) && other > 2).then(|| (hit(token, Confidence::Medium), NEAR))
}

/// The international number that starts a row of groups, followed by more numbers.
pub(super) fn in_row(bytes: &[u8], start: usize, ends: impl Iterator<Item = usize>) -> Option<Hit> {
    if byte_before(bytes, start) != b'+' {
        return None;
    }
    let tokens = ends.take(8).filter_map(|end| Token::new(bytes, start, end));
    tokens.filter_map(|token| international(&token)).last()
}

/// `+49 30 1234567`, `+46 (0)8 928 571 38`.
fn international(token: &Token<'_>) -> Option<Hit> {
    let bytes = token.bytes;
    let has_plus = byte_before(bytes, token.start) == b'+';
    let plus = token.start.checked_sub(1)?;
    if !has_plus
        || is_word(byte_before(bytes, plus))
        || matches!(byte_before(bytes, plus), b')' | b'+' | b'.')
    {
        return None;
    }
    if token.separators().any(|byte| byte == b'/') {
        return None;
    }
    let bare = token.bare();
    let trunk = usize::from(token.shape().windows(3).any(|part| part == b"(9)"));
    let (code, shortest, longest) = national_lengths(bare)?;
    let national = bare.len().checked_sub(code + trunk)?;
    if !(shortest..=longest).contains(&national) || is_decimal(token) {
        return None;
    }
    let is_american = bare.first() == Some(&b'1');
    let body = bare.get(code..).unwrap_or_default();
    let has_form = !is_american || starts_areas(body);
    let is_bare = token.separators().next().is_none();
    // A line that a patch adds starts with a plus sign too.
    let is_patch = is_bare && matches!(byte_before(bytes, plus), b'\n') && plus > 0;
    if !has_form || is_one_digit(body) || is_fictional(body) || is_patch && bare.len() < 10 {
        return None;
    }
    let confidence = if is_patch { Confidence::Medium } else { Confidence::High };
    let start =
        if byte_before(bytes, plus) == b'(' && token.text().contains(&b')') { plus - 1 } else { plus };
    Some(Hit { confidence, ..Hit::new("phone", start, token.end, "a phone number with a country code") })
}

/// The length of the calling code that a number starts with, and the lengths of what may follow. No code starts another.
fn national_lengths(digits: &[u8]) -> Option<(usize, usize, usize)> {
    let code = (1..=3).find_map(|length| Some((length, CALLING_CODES.get(&number(digits, 0, length))?)));
    let (length, (shortest, longest)) = code.filter(|_| digits.first() != Some(&b'0'))?;
    Some((length, *shortest, *longest))
}

/// `(212) 736-5000`, `212-736-5000`, `1-212-736-5000`.
fn is_north_american(token: &Token<'_>) -> bool {
    let (groups, count) = token.groups();
    let bare = token.bare();
    let has_groups = match groups.get(..count) {
        Some([3, 3, 4]) => true,
        Some([1, 3, 3, 4]) => bare.first() == Some(&b'1'),
        _ => false,
    };
    let body = bare.get(bare.len().saturating_sub(10)..).unwrap_or_default();
    has_groups && token.separators().all(|byte| byte != b'/') && starts_areas(body)
}

/// Whether area and exchange are valid: neither starts with 0 or 1.
fn starts_areas(body: &[u8]) -> bool {
    matches!(body, [b'2'..=b'9', _, _, b'2'..=b'9', ..]) && body.get(1..3) != Some(b"11")
}

/// Numbers reserved for films and examples: 555-0100 to 555-0199, and those that count up.
fn is_fictional(bare: &[u8]) -> bool {
    let body = bare.get(bare.len().saturating_sub(10)..).unwrap_or_default();
    let is_film = body.len() == 10 && (number(body, 3, 5) == 55501 || is_one_digit(body));
    let is_local_film = bare.len() == 7 && number(bare, 0, 5) == 55501;
    is_film || is_local_film || FICTIONAL_NUMBERS.contains(bare)
}

/// A national number with its leading zero: `020 7946 0958`, `01 23 45 67 89`, `0171-1234567`.
fn is_national(token: &Token<'_>) -> bool {
    let bare = token.bare();
    if !matches!(bare, [b'0', b'1'..=b'9', ..]) || !(9..=12).contains(&bare.len()) {
        return false;
    }
    let (groups, count) = token.groups();
    let groups = groups.get(..count).unwrap_or_default();
    let lengths: String = groups.iter().map(usize::to_string).collect();
    // Tables of numbers with leading zeros have them in every group.
    let parts = token.text().split(|byte| !byte.is_ascii_digit()).filter(|part| !part.is_empty());
    let zeros = parts.filter(|part| part.first() == Some(&b'0')).count();
    let is_slashed = matches!(groups, [3..=5, 6..=8]) && token.separator() == Some(b'/');
    let has_separator =
        is_slashed || token.separators().all(|byte| matches!(byte, b' ' | b'-' | b'(' | b')'));
    NATIONAL_GROUPS.contains(lengths.as_bytes()) && has_separator && zeros * 2 <= count + 1
}

fn has_phone_groups(token: &Token<'_>) -> bool {
    let (groups, count) = token.groups();
    let groups = groups.get(..count.min(8)).unwrap_or_default();
    (2..=7).contains(&count)
        && groups.iter().all(|length| *length <= 8)
        && groups.iter().any(|length| *length >= 2)
}

fn is_decimal(token: &Token<'_>) -> bool {
    let (_, count) = token.groups();
    count == 2 && token.separator() == Some(b'.')
}

/// Whether the candidate is a piece of a time, a version, a path or a formula.
fn in_other_number(token: &Token<'_>) -> bool {
    let (before, after) = (byte_before(token.bytes, token.start), byte(token.bytes, token.end));
    let next = byte(token.bytes, token.end + 1);
    matches!(before, b'.' | b'-' | b'$' | b'#' | b'@' | b'%' | b'*' | b'/')
        || matches!(after, b'%' | b'$' | b'@' | b'_')
        // Brackets are around an area, never around the end: `318-334 (1973)`.
        || token.separators().last() == Some(b'(')
        || matches!(after, b':' | b'-' | b'.' | b'/' | b',') && next.is_ascii_digit()
}

/// `415-867-2309-b` is the number of a build or a component.
fn is_tied_to_letters(token: &Token<'_>) -> bool {
    byte(token.bytes, token.end) == b'-' && byte(token.bytes, token.end + 1).is_ascii_alphabetic()
}

fn hit(token: &Token<'_>, confidence: Confidence) -> Hit {
    let opens = byte_before(token.bytes, token.start) == b'(' && token.text().contains(&b')');
    let mut start = token.start - usize::from(opens);
    start -= usize::from(byte_before(token.bytes, start) == b'+');
    Hit { confidence, ..Hit::new("phone", start, token.end, "a phone number") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calling_code_gives_national_lengths() {
        assert_eq!(national_lengths(b"4930123456"), Some((2, 6, 12)));
        assert_eq!(national_lengths(b"12127365000"), Some((1, 10, 10)));
        assert_eq!(national_lengths(b"0301234567"), None);
    }
}
