//! Payment cards and bank accounts.

use midrail_core::{Confidence, Severity};

use super::candidates::{byte, byte_before, follows_word, is_word, run_end, run_start};
use super::checks::{is_one_digit, luhn, mod_97, number};
use super::context::Context;
use super::token::Token;
use crate::finding::Hit;

/// An issuer's numbers: the first digits, as a range of a given length, and the whole lengths.
struct Issuer {
    from: u32,
    to: u32,
    digits: usize,
    lengths: &'static [usize],
    /// Common enough to be told from other numbers by form alone.
    is_plain: bool,
}

const fn issuer(from: u32, to: u32, digits: usize, lengths: &'static [usize], is_plain: bool) -> Issuer {
    Issuer { from, to, digits, lengths, is_plain }
}

/// Visa, Mastercard, American Express, Discover, JCB, Diners Club, UnionPay, Maestro, Mir, RuPay, Troy.
const ISSUERS: &[Issuer] = &[
    issuer(4, 4, 1, &[16], true),
    issuer(4, 4, 1, &[13, 19], false),
    issuer(51, 55, 2, &[16], true),
    issuer(2221, 2720, 4, &[16], true),
    issuer(34, 34, 2, &[15], true),
    issuer(37, 37, 2, &[15], true),
    issuer(6011, 6011, 4, &[16], true),
    issuer(644, 659, 3, &[16], true),
    issuer(6011, 6011, 4, &[19], false),
    issuer(644, 659, 3, &[19], false),
    issuer(3528, 3589, 4, &[16], true),
    issuer(1800, 1800, 4, &[15], false),
    issuer(2131, 2131, 4, &[15], false),
    issuer(300, 305, 3, &[14, 16], false),
    issuer(3095, 3095, 4, &[14], false),
    issuer(36, 36, 2, &[14], false),
    issuer(38, 39, 2, &[14], false),
    issuer(62, 62, 2, &[16], true),
    issuer(62, 62, 2, &[17, 18, 19], false),
    issuer(81, 81, 2, &[16], false),
    issuer(50, 50, 2, &[12, 13, 14, 15, 16, 17, 18, 19], false),
    issuer(56, 58, 2, &[12, 13, 14, 15, 16, 17, 18, 19], false),
    issuer(60, 61, 2, &[16], false),
    issuer(63, 63, 2, &[12, 13, 14, 15, 16, 17, 18, 19], false),
    issuer(67, 67, 2, &[12, 13, 14, 15, 16, 17, 18, 19], false),
    issuer(2200, 2204, 4, &[16], false),
    issuer(9792, 9792, 4, &[16], false),
];

/// Numbers that payment providers publish for tests. They pay nothing, but stand where a real one would.
const TEST_CARDS: &[&str] = &[
    "30569309025904",
    "3530111333300000",
    "3566002020360505",
    "36227206271667",
    "371449635398431",
    "378282246310005",
    "378734493671000",
    "38520000023237",
    "4000000000000002",
    "4000000000000077",
    "4000000000003220",
    "4000000000009995",
    "4000002500003155",
    "4000056655665556",
    "4012888888881881",
    "4111111111111111",
    "4222222222222",
    "4242424242424242",
    "5105105105105100",
    "5200828282828210",
    "5425233430109903",
    "5454545454545454",
    "5555555555554444",
    "6011000990139424",
    "6011111111111117",
    "6200000000000005",
    "6304000000000000",
];

const CARD_WORDS: &[&str] = &[
    "amex",
    "card",
    "cards",
    "carta",
    "carte",
    "cartão",
    "cc",
    "ccn",
    "cb",
    "credit",
    "creditcard",
    "debit",
    "diners",
    "discover",
    "jcb",
    "karte",
    "kreditkarte*",
    "maestro",
    "mastercard",
    "pan",
    "payment",
    "tarjeta",
    "tarjetas",
    "unionpay",
    "visa",
    "kaart",
    "kort",
    "karta",
    "bankkort",
    "カード",
    "卡号",
    "银行卡",
    "카드",
];

/// Words that say that a long number is something else.
const OTHER_WORDS: &[&str] = &[
    "asin",
    "build",
    "bytes",
    "checksum",
    "commit",
    "count",
    "ean",
    "epoch",
    "guid",
    "hash",
    "id",
    "ids",
    "imei",
    "isbn",
    "ms",
    "nanos",
    "nonce",
    "ns",
    "offset",
    "order",
    "orderid",
    "pid",
    "ref",
    "revision",
    "seed",
    "seq",
    "sequence",
    "serial",
    "size",
    "sku",
    "snowflake",
    "time",
    "timestamp",
    "tracking",
    "ts",
    "uid",
    "upc",
    "userid",
    "uuid",
    "version",
];

/// Of these, words of sales. In prose, a card number may stand right after them.
const LOOSE_WORDS: &[&str] = &["order", "ref"];

/// The payment card that a whole candidate is.
pub(super) fn card(token: &Token<'_>) -> Option<Hit> {
    let bare = token.bare();
    if !(12..=19).contains(&bare.len()) {
        return None;
    }
    let issuer = issuer_of(bare);
    if !luhn(bare) || is_one_digit(bare) || !is_grouped_like_a_card(token) || in_number(token) {
        return None;
    }
    let context = Context::of(token.bytes, token.start, token.end);
    let has_word = context.has(CARD_WORDS);
    let is_bare = token.separators().next().is_none();
    let is_other = context.has_within(OTHER_WORDS, if context.has_key { 0 } else { 1 });
    let is_other =
        is_other && !(stands_alone(token) && !context.has_key && context.has_within(LOOSE_WORDS, 0));
    let is_plain = issuer.is_some_and(|issuer| issuer.is_plain);
    if !has_word && (is_argument(token) || is_among_hex(token) || is_in_list(token)) {
        return None;
    }
    if !has_word && (!is_plain || is_bare && is_other) {
        return None;
    }
    // The word alone does for issuers that are not in the table, where it stands close by.
    if issuer.is_none() && !(context.has_within(CARD_WORDS, 2) && matches!(bare.len(), 14..=16)) {
        return None;
    }
    let is_test = std::str::from_utf8(bare).is_ok_and(|text| TEST_CARDS.binary_search(&text).is_ok());
    let (severity, confidence, explanation) = match (is_test, has_word || !is_bare) {
        (true, _) => (Severity::Low, Confidence::Medium, "a card number that is published for tests"),
        (false, true) => (Severity::High, Confidence::High, "a payment card number"),
        (false, false) => (Severity::High, Confidence::Medium, "what looks like a payment card number"),
    };
    Some(Hit { severity, confidence, ..Hit::new("credit-card", token.start, token.end, explanation) })
}

/// The shortest card number with separators in it that is looked for in a row: `3782 822463 10005`.
pub(super) const SHORTEST_IN_ROW: usize = 17;

/// The payment card that starts a row of groups, where more numbers follow it: `4111 1111 1111 1111 12/27`.
pub(super) fn card_in_row(bytes: &[u8], start: usize, ends: impl Iterator<Item = usize>) -> Option<Hit> {
    let end = ends.take(5).filter(|end| end - start == 19 || end - start == SHORTEST_IN_ROW).last()?;
    let token = Token::of(bytes, start, end)?;
    // A row of more groups of four is a table.
    let goes_on = (1..=4).all(|ahead| byte(bytes, end + ahead).is_ascii_digit());
    if goes_on || token.separator().is_none() {
        return None;
    }
    card(&token)
}

fn issuer_of(bare: &[u8]) -> Option<&'static Issuer> {
    ISSUERS.iter().find(|issuer| {
        issuer.lengths.contains(&bare.len())
            && (issuer.from..=issuer.to).contains(&number(bare, 0, issuer.digits))
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

/// Whether only blanks are beside a candidate.
fn stands_alone(token: &Token<'_>) -> bool {
    byte_before(token.bytes, token.start).is_ascii_whitespace()
        && byte(token.bytes, token.end).is_ascii_whitespace()
}

/// Whether a candidate is a plain number that code hands to a function: `check(6290184345309700, 778`.
fn is_argument(token: &Token<'_>) -> bool {
    let opens = token.start.checked_sub(1).filter(|at| byte(token.bytes, *at) == b'(');
    !token.has_separators() && opens.is_some_and(|at| follows_word(token.bytes, at))
}

/// The fewest digits of a number beside a candidate that tells a list of code.
const LIST_NUMBER: usize = 12;
const LONGEST_CARD: usize = 19;
/// The most bytes between two numbers of a list.
const LIST_GAP: usize = 3;

/// Whether a candidate stands in a list of long numbers that are no cards: `[2251799813685228, 2251799813685247]`.
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
    let rest = bytes.get(token.end..).unwrap_or_default();
    let rest = rest.get(..LIST_GAP + LONGEST_CARD).unwrap_or(rest);
    let next = run_end(rest, 0, is_gap);
    let end = run_end(rest, next, is_digit);
    !token.has_separators()
        && (is_other(rest.get(..next), rest.get(next..end))
            || is_other(bytes.get(last..token.start), bytes.get(first..last)))
}

/// How many groups on each side tell a table.
const TABLE_GROUPS: usize = 8;

/// Whether a candidate stands in a row of groups of four, some with hexadecimal letters: `52DD 5320 5347 5348 5341`.
fn is_among_hex(token: &Token<'_>) -> bool {
    let bytes = token.bytes;
    let before = std::iter::successors(token.start.checked_sub(5), |at| at.checked_sub(5));
    let before = before.map(|at| (at, at + 4));
    let after = (0..TABLE_GROUPS).map(|index| (token.end + 1 + 5 * index, token.end + 5 * index));
    has_hex_letters(bytes, before.take(TABLE_GROUPS)) || has_hex_letters(bytes, after)
}

/// Whether one of some groups of four, given with the blanks beside them, has a letter and a digit.
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

/// Countries with IBANs, and how long theirs are.
const IBAN_LENGTHS: &[(&[u8; 2], usize)] = &[
    (b"AD", 24),
    (b"AE", 23),
    (b"AL", 28),
    (b"AT", 20),
    (b"AZ", 28),
    (b"BA", 20),
    (b"BE", 16),
    (b"BG", 22),
    (b"BH", 22),
    (b"BI", 27),
    (b"BR", 29),
    (b"BY", 28),
    (b"CH", 21),
    (b"CR", 22),
    (b"CY", 28),
    (b"CZ", 24),
    (b"DE", 22),
    (b"DJ", 27),
    (b"DK", 18),
    (b"DO", 28),
    (b"EE", 20),
    (b"EG", 29),
    (b"ES", 24),
    (b"FI", 18),
    (b"FK", 18),
    (b"FO", 18),
    (b"FR", 27),
    (b"GB", 22),
    (b"GE", 22),
    (b"GI", 23),
    (b"GL", 18),
    (b"GR", 27),
    (b"GT", 28),
    (b"HN", 28),
    (b"HR", 21),
    (b"HU", 28),
    (b"IE", 22),
    (b"IL", 23),
    (b"IQ", 23),
    (b"IS", 26),
    (b"IT", 27),
    (b"JO", 30),
    (b"KW", 30),
    (b"KZ", 20),
    (b"LB", 28),
    (b"LC", 32),
    (b"LI", 21),
    (b"LT", 20),
    (b"LU", 20),
    (b"LV", 21),
    (b"LY", 25),
    (b"MC", 27),
    (b"MD", 24),
    (b"ME", 22),
    (b"MK", 19),
    (b"MN", 20),
    (b"MR", 27),
    (b"MT", 31),
    (b"MU", 30),
    (b"NI", 28),
    (b"NL", 18),
    (b"NO", 15),
    (b"OM", 23),
    (b"PK", 24),
    (b"PL", 28),
    (b"PS", 29),
    (b"PT", 25),
    (b"QA", 29),
    (b"RO", 24),
    (b"RS", 22),
    (b"RU", 33),
    (b"SA", 24),
    (b"SC", 31),
    (b"SD", 18),
    (b"SE", 24),
    (b"SI", 19),
    (b"SK", 24),
    (b"SM", 27),
    (b"SO", 23),
    (b"ST", 25),
    (b"SV", 28),
    (b"TL", 23),
    (b"TN", 24),
    (b"TR", 26),
    (b"UA", 29),
    (b"VA", 22),
    (b"VG", 24),
    (b"XK", 20),
    (b"YE", 30),
];

/// The bank account that starts at a place, and where it ends. Spaces and dashes may part its groups.
pub(super) fn iban(bytes: &[u8], start: usize) -> Option<(Option<Hit>, usize)> {
    let first = byte(bytes, start).to_ascii_uppercase();
    let second = byte(bytes, start + 1).to_ascii_uppercase();
    let has_check = byte(bytes, start + 2).is_ascii_digit() && byte(bytes, start + 3).is_ascii_digit();
    if !has_check || follows_word(bytes, start) {
        return None;
    }
    let place = IBAN_LENGTHS.binary_search_by(|(country, _)| (*country).cmp(&[first, second])).ok()?;
    let (_, length) = IBAN_LENGTHS.get(place)?;
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
