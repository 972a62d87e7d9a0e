//! Payment cards and bank accounts.

use std::ops::RangeInclusive;

use midrail_core::{Confidence, Hit, Severity};

use super::checks::{is_one_digit, luhn, mod_97, number};
use super::context::Context;
use super::data::{CARD_ISSUERS, CARD_WORDS, IBAN_LENGTHS, NOT_CARD_WORDS, SALE_WORDS, TEST_CARDS};
use super::token::Token;
use crate::bytes::{byte, byte_before, follows_word, is_word, run_end, run_start, window};

/// An issuer of payment cards.
#[derive(Debug)]
pub(super) struct Issuer {
    /// The range of the first digits.
    pub(super) first_digits: RangeInclusive<u32>,
    /// How many first digits count.
    pub(super) digits: usize,
    /// How many digits a number has.
    pub(super) lengths: &'static [usize],
    /// Whether the form alone is enough to recognise a number.
    pub(super) is_common: bool,
}

/// The payment card that a whole candidate is.
pub(super) fn card(token: &Token<'_>) -> Option<Hit> {
    let bare = token.bare();
    if !(12..=19).contains(&bare.len()) {
        return None;
    }
    let issuer = find_issuer(bare);
    if !luhn(bare) || is_one_digit(bare) || !is_grouped_like_a_card(token) || in_number(token) {
        return None;
    }
    let context = Context::new(token.bytes, token.start, token.end);
    let has_word = context.has(&CARD_WORDS);
    let is_bare = token.separators().next().is_none();
    let is_other = context.has_within(&NOT_CARD_WORDS, if context.has_key { 0 } else { 1 });
    let is_other =
        is_other && !(has_blanks_around(token) && !context.has_key && context.has_within(&SALE_WORDS, 0));
    let is_plain = issuer.is_some_and(|issuer| issuer.is_common);
    if !has_word && (is_argument(token) || is_among_hex(token) || is_in_list(token)) {
        return None;
    }
    if !has_word && (!is_plain || is_bare && is_other) {
        return None;
    }
    // A word close by is enough for issuers that are not in the data.
    if issuer.is_none() && !(context.has_within(&CARD_WORDS, 2) && matches!(bare.len(), 14..=16)) {
        return None;
    }
    let is_test = TEST_CARDS.contains(bare);
    let (severity, confidence, explanation) = match (is_test, has_word || !is_bare) {
        (true, _) => (Severity::Low, Confidence::Medium, "a card number that is published for tests"),
        (false, true) => (Severity::High, Confidence::High, "a payment card number"),
        (false, false) => {
            (Severity::High, Confidence::Medium, "a number that resembles a payment card number")
        }
    };
    Some(Hit { severity, confidence, ..Hit::new("credit-card", token.start, token.end, explanation) })
}

/// The shortest card number with separators in a row: `3782 822463 10005`.
pub(super) const SHORTEST_IN_ROW: usize = 17;

/// The payment card that starts a row of groups, followed by more numbers: `4111 1111 1111 1111 12/27`.
pub(super) fn card_in_row(bytes: &[u8], start: usize, ends: impl Iterator<Item = usize>) -> Option<Hit> {
    let end = ends.take(5).filter(|end| end - start == 19 || end - start == SHORTEST_IN_ROW).last()?;
    let token = Token::new(bytes, start, end)?;
    // A row of more groups of four is a table.
    let goes_on = (1..=4).all(|ahead| byte(bytes, end + ahead).is_ascii_digit());
    if goes_on || token.separator().is_none() {
        return None;
    }
    card(&token)
}

fn find_issuer(bare: &[u8]) -> Option<&'static Issuer> {
    CARD_ISSUERS.iter().find(|issuer| {
        issuer.lengths.contains(&bare.len()) && issuer.first_digits.contains(&number(bare, 0, issuer.digits))
    })
}

fn is_grouped_like_a_card(token: &Token<'_>) -> bool {
    if token.separators().next().is_none() {
        return true;
    }
    let (groups, count) = token.groups();
    let groups = groups.get(..count).unwrap_or_default();
    let is_grouped = matches!(groups, [4, 4, 4, 1..=4] | [4, 4, 4, 4, 1..=3] | [4, 6, 4..=5]);
    is_grouped && matches!(token.separator(), Some(b' ' | b'-'))
}

/// Whether a candidate is part of a longer number such as `0.4111…` or `v4111…`.
fn in_number(token: &Token<'_>) -> bool {
    let before = token.start.checked_sub(1).map_or(b' ', |at| byte(token.bytes, at));
    matches!(before, b'.' | b'+' | b'#')
        || byte(token.bytes, token.end) == b'.' && byte(token.bytes, token.end + 1).is_ascii_digit()
}

/// Whether only blanks are next to a candidate.
fn has_blanks_around(token: &Token<'_>) -> bool {
    byte_before(token.bytes, token.start).is_ascii_whitespace()
        && byte(token.bytes, token.end).is_ascii_whitespace()
}

/// Whether a candidate is an argument of a function: `check(6290184345309700, 778`.
fn is_argument(token: &Token<'_>) -> bool {
    let opens = token.start.checked_sub(1).filter(|at| byte(token.bytes, *at) == b'(');
    !token.has_separators() && opens.is_some_and(|at| follows_word(token.bytes, at))
}

/// The fewest digits of a number next to a candidate in a list of code.
const LIST_NUMBER: usize = 12;
const LONGEST_CARD: usize = 19;
/// The most bytes between two numbers of a list.
const LIST_GAP: usize = 3;

/// Whether a candidate is in a list of long numbers that are no cards: `[2251799813685228, 2251799813685247]`.
fn is_in_list(token: &Token<'_>) -> bool {
    let bytes = token.bytes;
    let is_gap = |byte: u8| matches!(byte, b',' | b' ');
    let is_digit = |byte: u8| byte.is_ascii_digit();
    let is_other = |gap: Option<&[u8]>, digits: Option<&[u8]>| {
        gap.is_some_and(|gap| gap.contains(&b','))
            && digits.is_some_and(|digits| digits.len() >= LIST_NUMBER && !luhn(digits))
    };
    let last = run_start(bytes, token.start, LIST_GAP, is_gap);
    let first = run_start(bytes, last, LONGEST_CARD, is_digit);
    let rest = window(bytes, token.end, LIST_GAP + LONGEST_CARD);
    let next = run_end(rest, 0, is_gap);
    let end = run_end(rest, next, is_digit);
    !token.has_separators()
        && (is_other(rest.get(..next), rest.get(next..end))
            || is_other(bytes.get(last..token.start), bytes.get(first..last)))
}

/// How many groups on each side are examined for a table.
const TABLE_GROUPS: usize = 8;

/// Whether a candidate is in a row of groups of four, some with hexadecimal letters: `52DD 5320 5347 5348 5341`.
fn is_among_hex(token: &Token<'_>) -> bool {
    let bytes = token.bytes;
    let before = std::iter::successors(token.start.checked_sub(5), |at| at.checked_sub(5));
    let before = before.map(|at| (at, at + 4));
    let after = (0..TABLE_GROUPS).map(|index| (token.end + 1 + 5 * index, token.end + 5 * index));
    has_hex_letters(bytes, before.take(TABLE_GROUPS)) || has_hex_letters(bytes, after)
}

/// Whether one of some groups of four, given with the blanks next to them, has a letter and a digit.
fn has_hex_letters(bytes: &[u8], groups: impl Iterator<Item = (usize, usize)>) -> bool {
    let is_blank = |at: usize| matches!(byte(bytes, at), b' ' | b'\n');
    groups
        .map_while(|(at, blank)| {
            let group = bytes.get(at..at + 4).filter(|group| group.iter().all(u8::is_ascii_hexdigit))?;
            let is_whole = is_blank(blank) && !follows_word(bytes, at) && !is_word(byte(bytes, at + 4));
            is_whole.then_some(group)
        })
        .any(|group| group.iter().any(u8::is_ascii_digit) && group.iter().any(u8::is_ascii_alphabetic))
}

/// The bank account that starts at a place, and where it ends. Spaces and dashes may separate its groups.
pub(super) fn iban(bytes: &[u8], start: usize) -> Option<(Option<Hit>, usize)> {
    let first = byte(bytes, start).to_ascii_uppercase();
    let second = byte(bytes, start + 1).to_ascii_uppercase();
    let has_check = byte(bytes, start + 2).is_ascii_digit() && byte(bytes, start + 3).is_ascii_digit();
    if !has_check || follows_word(bytes, start) {
        return None;
    }
    let length = IBAN_LENGTHS.get([first, second].as_slice())?;
    let (mut bare, mut count, mut at) = ([0_u8; 34], 0, start);
    while count < *length {
        let next = byte(bytes, at);
        if next.is_ascii_alphanumeric() {
            *bare.get_mut(count)? = next.to_ascii_uppercase();
            count += 1;
        } else if !(matches!(next, b' ' | b'-') && count.is_multiple_of(4) && is_word(byte(bytes, at + 1))) {
            return None;
        }
        at += 1;
    }
    let bare = bare.get(..count)?;
    if is_word(byte(bytes, at)) || mod_97(bare.iter().cycle().skip(4).take(count)) != 1 {
        return None;
    }
    let hit = Hit {
        severity: Severity::High,
        ..Hit::new("iban", start, at, "an international bank account number")
    };
    Some((Some(hit), at))
}
