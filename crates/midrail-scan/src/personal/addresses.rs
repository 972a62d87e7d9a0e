//! Postal addresses: a house number next to a street, in the orders that countries use, and what follows.

use midrail_core::{Confidence, Hit, Severity};

use super::context::{BEFORE, Context};
use super::data::{
    COMPANY_WORDS, HOME_WORDS, POST_BOXES, POSTAL_CODE_WORDS, SENTENCE_WORDS, STREET_AFTER_NUMBER,
    STREET_BEFORE_NUMBER, STREET_ENDING_ENDS, STREET_ENDINGS, STREET_ENDS, STREET_FIRST, STREET_LAST,
    STREET_LAST_WEAK, STREET_PARTICLES, STREET_STARTS, UNITS,
};
use crate::bytes::{PLACE_NAME, byte, byte_before, follows_word, is_in, is_word, run_end, run_start, window};
use crate::words::{LetterPairs, Words};

const KIND: &str = "postal-address";

/// The longest word of a street's name, in bytes.
const LONGEST_WORD: usize = 32;

/// How many words a street's name may have.
const MOST_WORDS: usize = 5;

/// Whether a house number may follow a byte. After a dash, a slash or an equals sign a number is a part
/// of a name, or the value of a setting.
fn may_start(before: u8) -> bool {
    before.is_ascii_whitespace() || matches!(before, b'"' | b'\'' | b':' | b',' | b'(' | b'>' | b'|' | b'n')
}

/// The address that contains a number. That of a company, as in licences, leads to no person.
pub(super) fn around(text: &str, start: usize, end: usize) -> Option<Hit> {
    let hit = person_or_company(text, start, end)?;
    if hit.kind == KIND && Context::within(text.as_bytes(), hit.start, hit.end, 0).has(&COMPANY_WORDS) {
        return Some(Hit { severity: Severity::Low, confidence: Confidence::Low, ..hit });
    }
    Some(hit)
}

fn person_or_company(text: &str, start: usize, end: usize) -> Option<Hit> {
    let bytes = text.as_bytes();
    let before = byte_before(bytes, start);
    if !may_start(before) {
        return None;
    }
    let next = byte(bytes, end + 1);
    if byte(bytes, end) == b' '
        && (next.is_ascii_alphanumeric() || next >= 0x80)
        && let Some(street_end) = street_after(text, end)
    {
        return Some(hit(start, extend(text, trailing_number(bytes, street_end))));
    }
    if let Some(street_end) = home_after(text, start, end) {
        return Some(hit(start, extend(text, trailing_number(bytes, street_end))));
    }
    if before == b' '
        && let Some(street) = street_before(text, start - 1)
    {
        return Some(hit(leading_number(bytes, street), extend(text, end)));
    }
    post_code(bytes, start, end)
}

fn hit(start: usize, end: usize) -> Hit {
    Hit { confidence: Confidence::Medium, ..Hit::new(KIND, start, end, "a postal address") }
}

/// `ZIP: 90210`.
#[inline]
pub(super) fn post_code(bytes: &[u8], start: usize, end: usize) -> Option<Hit> {
    // Two bytes exclude most numbers.
    let (before, last) = (byte_before(bytes, start), byte_before(bytes, start.saturating_sub(1)));
    let may_follow_key = is_filler(before) && (is_filler(last) || ends_code_word(last));
    if !may_follow_key || !(3..=10).contains(&(end - start)) {
        return None;
    }
    keyed_code(bytes, start, end)
}

/// The last three letters of the words before a postal code, which exclude most other words.
const CODE_ENDINGS: &[&[u8]] = &[b"cap", b"cep", b"ode", b"plz", b"tal", b"ahl", b"zip"];

/// What may be between a postal code and its key.
fn is_filler(byte: u8) -> bool {
    matches!(byte, b' ' | b'"' | b'\'' | b':' | b'=')
}

/// Whether a word before a postal code may end with a byte.
fn ends_code_word(byte: u8) -> bool {
    matches!(byte | 0x20, b'e' | b'l' | b'p' | b'z')
}

fn keyed_code(bytes: &[u8], start: usize, end: usize) -> Option<Hit> {
    // Check the last letters of the key first: most numbers are no postal codes.
    let key = run_start(bytes, start, 6, is_filler);
    let ending = bytes.get(key.saturating_sub(3)..key).unwrap_or_default();
    let may_end = ending.last().is_some_and(|last| ends_code_word(*last));
    if !may_end || !CODE_ENDINGS.iter().any(|other| other.eq_ignore_ascii_case(ending)) {
        return None;
    }
    let context = Context::within(bytes, start, end, 1);
    if !context.has_key || !context.has_within(&POSTAL_CODE_WORDS, 1) {
        return None;
    }
    let rest = bytes.get(end..).unwrap_or_default();
    let more = match rest {
        [b'-', b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', ..] => 5,
        [b'-', b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', ..] => 4,
        [b' ', b'A'..=b'Z', b'A'..=b'Z', ..] => 3,
        [b' ', b'0'..=b'9', b'0'..=b'9', ..] if end - start == 3 => 3,
        _ if end - start == 3 => return None,
        _ => 0,
    };
    let hit = Hit::new("postal-code", start, end + more, "a postal code");
    Some(Hit { severity: Severity::Low, confidence: Confidence::Medium, ..hit })
}

/// The end of a name after a number that has a word such as `lives at` or `address:` before it.
fn home_after(text: &str, start: usize, end: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let next = byte(bytes, end + 1);
    if next.is_ascii() && !next.is_ascii_uppercase() {
        return None;
    }
    let (first, word_end) = word_at(bytes, end)?;
    if !text.get(first..word_end).is_some_and(is_capital) || end - start < 2 {
        return None;
    }
    if !follows_home_word(bytes, start) {
        return None;
    }
    // Another number is nearer to the word.
    let before = bytes.get(start.saturating_sub(LONGEST_WORD)..start).unwrap_or_default();
    if before.iter().any(u8::is_ascii_digit) {
        return None;
    }
    let context = Context::within(bytes, start, end, 1);
    let rank = if context.has_key { 0 } else { 1 };
    if context.has_within(&HOME_WORDS, rank) { name_after(text, end) } else { None }
}

/// False if none of the two words before a place is one before an address. This is cheaper than reading the whole context.
fn follows_home_word(bytes: &[u8], place: usize) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte >= 0x80;
    let mut end = place;
    for _ in 0..2 {
        end = run_start(bytes, end, BEFORE, |byte| !is_letter(byte));
        let start = run_start(bytes, end, LONGEST_WORD, is_letter);
        let word = bytes.get(start..end).unwrap_or_default();
        // Words are joined by capitals, and an escape may be before one.
        let is_plain =
            word.iter().skip(1).all(|byte| !byte.is_ascii_uppercase()) && byte_before(bytes, start) != b'\\';
        if !is_plain || word.len() == LONGEST_WORD || HOME_WORDS.contains(&word.to_ascii_lowercase()) {
            return true;
        }
        end = start;
    }
    false
}

/// The end of the street whose name follows a house number.
fn street_after(text: &str, end: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let first = byte(bytes, end + 1);
    if first.is_ascii_lowercase() && !STREET_STARTS.may_have(first, byte(bytes, end + 2)) {
        return None;
    }
    let mut at = end;
    for index in 0..MOST_WORDS {
        let (start, mut word_end) = word_at(bytes, at)?;
        let mut word = text.get(start..word_end)?;
        // A whole word needs no full stop: it ends a sentence.
        if word_end - start > 5 && byte_before(bytes, word_end) == b'.' {
            (word, word_end) = (without_stop(word), word_end - 1);
        }
        // `200 12ms`: of the names of streets, only `42nd` begins with a number.
        if index == 0 && first.is_ascii_digit() && !is_ordinal(word) {
            return None;
        }
        let may_follow_number = index == 0 && STREET_STARTS.may_have(first, byte(bytes, end + 2));
        if may_follow_number && is_one_of(word, &STREET_AFTER_NUMBER) {
            return name_after(text, word_end);
        }
        // Any other name starts with a capital or a number.
        if index == 0 && byte(bytes, start).is_ascii_lowercase() {
            return None;
        }
        if index == 0 && ends_like_a_street(word) {
            return Some(word_end);
        }
        let is_capital = is_capital(word);
        if index > 0 && is_capital && is_one_of(word, &STREET_LAST) {
            return Some(word_end);
        }
        if index > 0 && is_capital && is_one_of(word, &STREET_LAST_WEAK) && ends_address(text, word_end) {
            return Some(word_end);
        }
        let has_digits = word.bytes().any(|byte| byte.is_ascii_digit());
        let starts_name = is_capital && !has_digits || is_ordinal(word);
        if !starts_name && (index == 0 || !STREET_PARTICLES.contains(word.as_bytes()))
            || is_one_of(word, &SENTENCE_WORDS)
        {
            return None;
        }
        at = word_end;
    }
    None
}

/// The end of a name of up to four capitalised words, particles between them.
fn name_after(text: &str, end: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut at, mut last) = (end, None);
    for _ in 0..MOST_WORDS {
        let Some((start, word_end)) = word_at(bytes, at) else { break };
        let Some(word) = text.get(start..word_end) else { break };
        if is_capital(word) {
            last = Some(word_end);
        } else if !STREET_PARTICLES.contains(word.as_bytes()) && !is_one_of(word, &STREET_AFTER_NUMBER) {
            break;
        }
        at = word_end;
    }
    last
}

/// The start of the street whose name ends before a house number.
fn street_before(text: &str, end: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut start, word_end) = word_before(bytes, end)?;
    let first = byte(bytes, start);
    if first.is_ascii() && !first.is_ascii_alphabetic() {
        return None;
    }
    let word = text.get(start..word_end)?;
    if !last_two(without_stop(word), &STREET_ENDS) && !is_capital(word) {
        return None;
    }
    if is_one_of(word, &POST_BOXES) {
        // `P.O. Box 12`.
        let from = run_start(bytes, start, 5, |byte| matches!(byte, b'P' | b'O' | b'.' | b' '));
        let is_post = !follows_word(bytes, from)
            && bytes.get(from..start).is_some_and(|before| before.contains(&b'P') && before.contains(&b'O'));
        // `PSC 1234, Box 5678`.
        let unit = start.saturating_sub(12);
        let before = bytes.get(unit..start).unwrap_or_default();
        if let Some(place) = before.windows(4).position(|part| matches!(part, b"PSC " | b"CMR ")) {
            return Some(unit + place);
        }
        return (is_post || word.len() > 3).then_some(from + usize::from(byte(bytes, from) == b' '));
    }
    if ends_like_a_street(word) {
        return Some(start);
    }
    let is_between = is_one_of(word, &STREET_BEFORE_NUMBER);
    if !is_between && !is_capital(word) {
        return None;
    }
    let mut first_name = None;
    for _ in 0..MOST_WORDS - 1 {
        let gap = run_start(bytes, start, 1, |byte| byte == b' ');
        let Some((before, before_end)) = word_before(bytes, gap).filter(|_| gap < start) else { break };
        let word = text.get(before..before_end)?;
        // `OS X 10` is a system, `os. Słoneczne 10` a street.
        if !is_between && is_one_of(word, &STREET_FIRST) && word != "OS" {
            return Some(before);
        }
        if is_capital(word) {
            first_name = Some(before);
        } else if !STREET_PARTICLES.contains(word.as_bytes()) {
            break;
        }
        start = before;
    }
    if is_between { first_name } else { None }
}

/// The word after a space.
fn word_at(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    if byte(bytes, at) != b' ' {
        return None;
    }
    let window = window(bytes, at + 1, LONGEST_WORD);
    let length = run_end(window, 0, is_name_byte);
    let length = length + usize::from(window.get(length) == Some(&b'.'));
    (length > 0 && length < LONGEST_WORD).then_some((at + 1, at + 1 + length))
}

/// The word that ends at a place.
fn word_before(bytes: &[u8], end: usize) -> Option<(usize, usize)> {
    let stop = end - usize::from(byte_before(bytes, end) == b'.').min(end);
    let start = run_start(bytes, stop, LONGEST_WORD, |byte| is_name_byte(byte) || byte == b'/');
    (start < stop && stop - start < LONGEST_WORD).then_some((start, end))
}

fn is_name_byte(byte: u8) -> bool {
    is_in(byte, PLACE_NAME)
}

/// Whether a word is in a list, in any case, with or without a full stop.
fn is_one_of(word: &str, words: &Words) -> bool {
    let word = without_stop(word);
    if word.is_ascii() {
        words.contains_any_case(word.as_bytes())
    } else {
        words.contains(word.to_lowercase().as_bytes())
    }
}

/// A word without the full stop behind it.
fn without_stop(word: &str) -> &str {
    let length = word.len() - usize::from(word.as_bytes().last() == Some(&b'.'));
    word.get(..length).unwrap_or(word)
}

/// `5th`, `42nd`.
fn is_ordinal(word: &str) -> bool {
    matches!(
        word.as_bytes(),
        [.., number, b's', b't'] | [.., number, b'n' | b'r', b'd'] | [.., number, b't', b'h']
            if !number.is_ascii_alphabetic()
    )
}

fn is_capital(word: &str) -> bool {
    word.starts_with(char::is_uppercase)
}

/// Whether the last letters of a word are in a set.
fn last_two(word: &str, pairs: &LetterPairs) -> bool {
    match word.as_bytes() {
        [.., one, other] => pairs.may_have(*one, *other),
        // A pair with any letter.
        [one] => pairs.may_have(b'a', *one),
        [] => false,
    }
}

fn ends_like_a_street(word: &str) -> bool {
    let word = without_stop(word);
    let is_long = |ending: &str| word.len() >= ending.len() + 3;
    last_two(word, &STREET_ENDING_ENDS)
        && is_capital(word)
        && STREET_ENDINGS.iter().any(|ending| is_long(ending) && word.ends_with(ending))
}

/// Whether an address may end here: at the end of a line or sentence, or before a town.
fn ends_address(text: &str, end: usize) -> bool {
    let bytes = text.as_bytes();
    let next = byte(bytes, end);
    if matches!(next, b',' | b'\n' | b'\r' | b'"' | b'.' | b';' | b'<' | b')' | b'\\') {
        return true;
    }
    word_at(bytes, end)
        .and_then(|(start, end)| text.get(start..end))
        .is_some_and(|word| is_one_of(word, &UNITS) || word == "street")
}

/// In some countries a number is on both sides: `6750 Koskikatu 25`.
fn leading_number(bytes: &[u8], street: usize) -> usize {
    let gap = run_start(bytes, street, 1, |byte| byte == b' ');
    let number = run_start(bytes, gap, 6, |byte| byte.is_ascii_digit());
    if gap < street && number < gap && !is_word(byte_before(bytes, number)) { number } else { street }
}

fn trailing_number(bytes: &[u8], end: usize) -> usize {
    let number = end + usize::from(byte(bytes, end) == b' ');
    let number_end = number + digits_at(bytes, number, 5);
    if number_end > number && !is_word(byte(bytes, number_end)) { number_end } else { end }
}

fn digits_at(bytes: &[u8], at: usize, most: usize) -> usize {
    run_end(window(bytes, at, most + 1), 0, |byte| byte.is_ascii_digit())
}

/// The end of the parts after street and number: a flat, a postal code, a town, a state.
fn extend(text: &str, end: usize) -> usize {
    let bytes = text.as_bytes();
    let end = unit(text, end).unwrap_or(end);
    town(text, end).unwrap_or(end).max(state_and_code(bytes, end).unwrap_or(end))
}

/// The place after a comma, spaces and at most one line break.
fn past_gap(bytes: &[u8], end: usize) -> usize {
    end + run_end(window(bytes, end, 4), 0, |byte| matches!(byte, b',' | b' ' | b'\n' | b'.'))
}

fn unit(text: &str, end: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let at = past_gap(bytes, end);
    let (start, word_end) = word_at(bytes, at.checked_sub(1)?).or_else(|| {
        let length = run_end(window(bytes, at, LONGEST_WORD), 0, is_name_byte);
        Some((at, at + length + usize::from(byte(bytes, at + length) == b'.')))
    })?;
    let word = text.get(start..word_end)?;
    if at == end || !is_one_of(word, &UNITS) {
        return None;
    }
    let number = word_end + usize::from(byte(bytes, word_end) == b' ');
    let number_end = run_end(bytes, number, |byte| byte.is_ascii_alphanumeric());
    (number_end > number && number_end - number <= 5).then_some(number_end)
}

/// `12345 Berlin`, `Springfield, IL 62704`, `London SW1A 2AA`.
fn town(text: &str, end: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let at = past_gap(bytes, end);
    if at == end {
        return None;
    }
    let digits = digits_at(bytes, at, 5);
    if (4..=5).contains(&digits) {
        let letters = at + digits;
        let is_dutch = matches!(bytes.get(letters..letters + 3), Some([b' ', b'A'..=b'Z', b'A'..=b'Z']))
            && !is_word(byte(bytes, letters + 3));
        let code = if is_dutch { letters + 3 } else { letters };
        return Some(town_name(text, code).unwrap_or(code));
    }
    let name = town_name(text, at.checked_sub(1).filter(|at| byte(bytes, *at) == b' ')?)?;
    state_and_code(bytes, name)
}

/// One to three capitalised words.
fn town_name(text: &str, at: usize) -> Option<usize> {
    let (mut at, mut last) = (at, None);
    for _ in 0..3 {
        let Some((start, end)) = word_at(text.as_bytes(), at) else { break };
        let is_name = |word: &str| is_capital(word) && !word.contains(|c: char| c.is_ascii_digit());
        if !text.get(start..end).is_some_and(is_name) {
            break;
        }
        last = Some(end);
        at = end;
    }
    last
}

/// `, IL 62704`, ` SW1A 2AA`, `, ON K1A 0B1`.
fn state_and_code(bytes: &[u8], end: usize) -> Option<usize> {
    let mut at = past_gap(bytes, end);
    if matches!(bytes.get(at..at + 3), Some([b'A'..=b'Z', b'A'..=b'Z', b' ' | b','])) {
        at = past_gap(bytes, at + 2);
    }
    let digits = digits_at(bytes, at, 6);
    if at > end && (4..=6).contains(&digits) && !is_word(byte(bytes, at + digits)) {
        let more = byte(bytes, at + digits) == b'-' && digits_at(bytes, at + digits + 1, 4) == 4;
        return Some(at + digits + if more { 5 } else { 0 });
    }
    let is_code = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ';
    let code = window(bytes, at, run_end(window(bytes, at, 9), 0, is_code)).trim_ascii_end();
    let is_code = (5..=8).contains(&code.len())
        && code.contains(&b' ')
        && code.first().is_some_and(u8::is_ascii_uppercase)
        && code.iter().filter(|byte| byte.is_ascii_digit()).count() >= 2;
    (at > end && is_code).then_some(at + code.len())
}

#[cfg(test)]
mod tests {
    use super::super::scan;

    fn addresses(text: &str) -> Vec<&str> {
        scan(text)
            .iter()
            .filter(|hit| hit.kind == "postal-address")
            .map(|hit| &text[hit.start..hit.end])
            .collect()
    }

    #[test]
    fn addresses_of_many_countries_are_found() {
        for (text, address) in [
            ("She lives at 12 Main Street.", "12 Main Street"),
            (
                "ship to 4560 North Oak Ave, Apt 3, Springfield, IL 62704",
                "4560 North Oak Ave, Apt 3, Springfield, IL 62704",
            ),
            ("10 Downing Street, London SW1A 2AA is", "10 Downing Street, London SW1A 2AA"),
            ("wohnt in der Hauptstraße 5, 10115 Berlin", "Hauptstraße 5, 10115 Berlin"),
            ("habite 12 rue de la Paix, 75002 Paris", "12 rue de la Paix, 75002 Paris"),
            ("abita in Via Roma 15", "Via Roma 15"),
            ("bor på Kungsgatan 12, 11143 Stockholm", "Kungsgatan 12, 11143 Stockholm"),
            ("woont Keizersgracht 123, 1015 CJ Amsterdam", "Keizersgracht 123, 1015 CJ Amsterdam"),
            ("Kossuth Lajos utca 12", "Kossuth Lajos utca 12"),
            ("P.O. Box 1234", "P.O. Box 1234"),
        ] {
            assert_eq!(addresses(text), [address], "{text}");
        }
    }

    #[test]
    fn filter_keeps_every_postal_code_word() {
        use super::*;
        for word in POSTAL_CODE_WORDS.exact.words.iter() {
            assert!(CODE_ENDINGS.iter().any(|ending| word.ends_with(ending)), "{word:?}");
            assert!(ends_code_word(*word.last().unwrap()), "{word:?}");
        }
    }

    #[test]
    fn numbers_next_to_words_are_no_addresses() {
        for text in [
            "see section 12 Main ideas",
            "upgrade to Python 3 today",
            "5 Google Drive files",
            "line 12 in the road map",
            "took 3 Easy steps on the way",
            "let box = 5;",
            "Figure 3 shows the street",
            "24 Hour Drive in a car",
            "On OS X 10.3 and later this works",
            "runs on OS X 10 only",
            "the 2 Way binding of data",
        ] {
            assert!(addresses(text).is_empty(), "{text}: {:?}", addresses(text));
        }
    }
}
