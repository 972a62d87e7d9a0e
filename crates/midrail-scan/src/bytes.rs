//! Bytes, runs and boundaries in texts, for all detectors.

use crate::word_sign::{THREES, three_number};

/// The byte at a place; a line break outside the text, which is a boundary to every rule.
#[inline]
pub(crate) fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(b'\n')
}

/// The byte before a place.
#[inline]
pub(crate) fn byte_before(bytes: &[u8], at: usize) -> u8 {
    at.checked_sub(1).map_or(b'\n', |at| byte(bytes, at))
}

/// Letters, digits and the underscore, which continue a name in code.
#[inline(always)]
pub(crate) fn is_word(byte: u8) -> bool {
    is_in(byte, WORD)
}

/// The class of [`is_word`].
pub(crate) const WORD: u8 = 1;
/// What the names of values in code and configuration consist of: also dashes, full stops and dollar signs.
pub(crate) const NAME: u8 = 2;
/// What the words of people and streets consist of: letters of all scripts, digits, apostrophes and hyphens.
pub(crate) const PLACE_NAME: u8 = 4;
/// What a key of a provider may contain.
pub(crate) const KEY: u8 = 8;
/// What base 64 and paths consist of.
pub(crate) const ENCODED: u8 = 16;
/// Hexadecimal digits.
pub(crate) const HEX: u8 = 32;

/// Whether a byte is in a class. A table is faster than comparisons where a text is read byte by byte.
#[inline(always)]
pub(crate) fn is_in(byte: u8, class: u8) -> bool {
    CLASSES.get(usize::from(byte)).is_some_and(|classes| classes & class != 0)
}

#[expect(clippy::as_conversions, clippy::indexing_slicing, reason = "constants know no other way")]
static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut number = 0;
    while number < classes.len() {
        let byte = number as u8;
        if byte.is_ascii_alphanumeric() {
            classes[number] |= WORD | NAME | PLACE_NAME | ENCODED;
        }
        if byte.is_ascii_hexdigit() {
            classes[number] |= HEX;
        }
        if matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_') {
            classes[number] |= ENCODED;
        }
        if byte == b'_' {
            classes[number] |= WORD | NAME;
        }
        if matches!(byte, b'-' | b'.' | b'$') {
            classes[number] |= NAME;
        }
        if !byte.is_ascii() || matches!(byte, b'\'' | b'-') {
            classes[number] |= PLACE_NAME;
        }
        if byte > b' '
            && byte < 0x7f
            && !matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b',' | b';' | b'\\')
        {
            classes[number] |= KEY;
        }
        number += 1;
    }
    classes
};

/// Whether the letter at a place belongs to an escape such as `\n`, and not to the word after it.
pub(crate) fn is_escape(bytes: &[u8], at: usize) -> bool {
    matches!(byte(bytes, at), b'n' | b't' | b'r') && byte_before(bytes, at) == b'\\'
}

/// Whether a word ends right before a place.
#[inline]
pub(crate) fn follows_word(bytes: &[u8], at: usize) -> bool {
    is_word(byte_before(bytes, at)) && !at.checked_sub(1).is_some_and(|at| is_escape(bytes, at))
}

/// The end of the run of bytes of a class that starts at a place.
#[inline]
pub(crate) fn run_end(bytes: &[u8], start: usize, is_member: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    start + rest.iter().position(|byte| !is_member(*byte)).unwrap_or(rest.len())
}

/// The start of the run of bytes of a class that ends at a place, at most `limit` back.
#[inline]
pub(crate) fn run_start(bytes: &[u8], end: usize, limit: usize, is_member: impl Fn(u8) -> bool) -> usize {
    let from = end.saturating_sub(limit);
    let before = bytes.get(from..end).unwrap_or_default();
    from + before.iter().rposition(|byte| !is_member(*byte)).map_or(0, |at| at + 1)
}

/// At most `limit` bytes from a place on.
#[inline]
pub(crate) fn window(bytes: &[u8], from: usize, limit: usize) -> &[u8] {
    let rest = bytes.get(from..).unwrap_or_default();
    rest.get(..limit).unwrap_or(rest)
}

/// Whether a text ends with another one, in any case.
pub(crate) fn ends_with_any_case(text: &[u8], end: &[u8]) -> bool {
    let from = text.len().checked_sub(end.len());
    from.and_then(|from| text.get(from..)).is_some_and(|last| last.eq_ignore_ascii_case(end))
}

/// Whether a text starts with another one, in any case.
pub(crate) fn starts_with_any_case(text: &[u8], start: &[u8]) -> bool {
    text.get(..start.len()).is_some_and(|first| first.eq_ignore_ascii_case(start))
}

/// A set of three bytes. It may have others than were added to it, but excludes most.
pub(crate) struct Threes([u64; THREES / 64]);

#[expect(clippy::indexing_slicing, reason = "constants know no other way, and ten bits are a place")]
impl Threes {
    /// No bytes.
    pub(crate) const EMPTY: Self = Threes([0; THREES / 64]);

    /// The set with three more bytes.
    pub(crate) const fn with(mut self, bytes: [u8; 3]) -> Self {
        let place = three_number(bytes);
        self.0[place / 64] |= 1 << (place % 64);
        self
    }

    /// False if three bytes were not added.
    #[inline]
    pub(crate) const fn may_have(&self, bytes: [u8; 3]) -> bool {
        let place = three_number(bytes);
        self.0[place / 64] >> (place % 64) & 1 == 1
    }
}

/// The last character boundary up to a place.
pub(crate) fn floor(text: &str, place: usize) -> usize {
    let mut place = place.min(text.len());
    while !text.is_char_boundary(place) {
        place -= 1;
    }
    place
}
