//! The words around a candidate, which distinguish a phone number from an order number.

use std::ops::Range;

use super::word_set::WordSet;
use crate::bytes::{byte, byte_before, is_escape, run_end, window};

/// How many bytes before a candidate are read for words.
pub(super) const BEFORE: usize = 56;

/// How many bytes after it.
pub(super) const AFTER: usize = 24;

/// The most words, on both sides together, and before.
const MOST_WORDS: usize = 18;
const MOST_BEFORE: usize = 12;

/// The distance of the first word after a candidate.
const FIRST_AFTER: usize = 2;

/// A word in lower case: its place in the buffer, and how many words away it is.
#[derive(Clone, Copy, Default)]
struct Word {
    start: u8,
    end: u8,
    rank: u8,
}

/// The words near a candidate.
pub(super) struct Context {
    text: [u8; BEFORE + AFTER],
    words: [Word; MOST_WORDS],
    count: usize,
    /// The candidate is the value of a key: `phone: …`, `"ssn": "…"`.
    pub(super) has_key: bool,
}

impl Context {
    /// Reads the words around `start..end`.
    pub(super) fn new(bytes: &[u8], start: usize, end: usize) -> Self {
        Self::within(bytes, start, end, usize::MAX)
    }

    /// Reads the words around `start..end` that are at most `farthest` words away.
    pub(super) fn within(bytes: &[u8], start: usize, end: usize, farthest: usize) -> Self {
        let before = bytes.get(start.saturating_sub(BEFORE)..start).unwrap_or_default();
        let (before, has_key) = key_before(before);
        let mut context =
            Context { text: [0; BEFORE + AFTER], words: [Word::default(); MOST_WORDS], count: 0, has_key };
        context.add_before(before, farthest);
        if !has_key && farthest >= FIRST_AFTER {
            let after = window(bytes, end, AFTER);
            let line_end = run_end(after, 0, |byte| !matches!(byte, b'\n' | b'\r'));
            context.add_after(window(after, 0, line_end), farthest);
        }
        context
    }

    /// Whether a word of a set is near.
    pub(super) fn has(&self, wanted: &WordSet) -> bool {
        self.has_within(wanted, usize::MAX)
    }

    /// Whether a word of a set is at most `rank` words away.
    pub(super) fn has_within(&self, wanted: &WordSet, rank: usize) -> bool {
        self.rank_within(wanted, rank).is_some()
    }

    /// How many words away the nearest word of a set is, if it is at most `farthest`.
    pub(super) fn rank_within(&self, wanted: &WordSet, farthest: usize) -> Option<usize> {
        let is_wanted = |word: &&Word| {
            let found = self.text.get(usize::from(word.start)..usize::from(word.end));
            usize::from(word.rank) <= farthest && found.is_some_and(|found| wanted.contains(found))
        };
        let words = self.words.iter().take(self.count);
        words.filter(is_wanted).map(|word| usize::from(word.rank)).min()
    }

    /// Adds the words before the candidate, nearest first. `camelCase` is added in parts and as a whole.
    fn add_before(&mut self, text: &[u8], farthest: usize) {
        let (mut end, mut rank, mut run_end) = (text.len(), 0, None);
        while end > 0 && rank < MOST_BEFORE && rank <= farthest {
            if !is_letter(byte(text, end - 1)) {
                end -= 1;
                run_end = None;
                continue;
            }
            let whole_end = *run_end.get_or_insert(end);
            let mut start = end - 1;
            while start > 0 && is_letter(byte(text, start - 1)) && !is_hump(text, start) {
                start -= 1;
            }
            // The letter of an escape such as `\n` is no part of the word after it.
            let is_escaped = is_escape(text, start) && end - start > 1;
            self.add(text, 0, start + usize::from(is_escaped)..end, rank);
            let is_first = start == 0 || !is_letter(byte(text, start - 1));
            if is_first && whole_end > end {
                self.add(text, 0, start..whole_end, rank);
            }
            rank += 1;
            end = start;
        }
    }

    /// Adds the words after the candidate. They count as farther away than those before.
    fn add_after(&mut self, text: &[u8], farthest: usize) {
        let (mut start, mut rank) = (0, FIRST_AFTER);
        while start < text.len() && self.count < MOST_WORDS && rank <= farthest {
            let end = run_end(text, start, is_letter);
            if end > start {
                self.add(text, BEFORE, start..end, rank);
                rank += 1;
            }
            start = end + 1;
        }
    }

    /// Adds a word of a text that begins at `offset` of the buffer.
    fn add(&mut self, text: &[u8], offset: usize, word: Range<usize>, rank: usize) {
        // INVARIANT: places in the buffer and ranks are far below 256.
        let small = |number: usize| u8::try_from(number).unwrap_or(u8::MAX);
        let (start, end) = (offset + word.start, offset + word.end);
        if let (Some(slot), Some(buffer), Some(word)) =
            (self.words.get_mut(self.count), self.text.get_mut(start..end), text.get(word))
        {
            buffer.copy_from_slice(word);
            buffer.make_ascii_lowercase();
            *slot = Word { start: small(start), end: small(end), rank: small(rank) };
            self.count += 1;
        }
    }
}

/// The text before a candidate that counts, and whether it is a key. Of `"a": 1, "key": 2` only the key counts.
fn key_before(before: &[u8]) -> (&[u8], bool) {
    let is_filler =
        |byte: &u8| matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'\n' | b'\r' | b'(' | b'`' | b'*');
    let Some(last) = before.iter().rposition(|byte| !is_filler(byte)) else { return (before, false) };
    if !matches!(before.get(last), Some(b':' | b'=')) {
        return (before, false);
    }
    let key = before.get(..last).unwrap_or_default();
    let ends =
        |byte: &u8| matches!(byte, b',' | b';' | b'{' | b'}' | b'\n' | b'\r' | b'&' | b'?' | b'|' | b'\\');
    let start = key.iter().rposition(ends).map_or(0, |at| at + 1);
    (key.get(start..).unwrap_or_default(), true)
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte >= 0x80
}

fn is_hump(text: &[u8], at: usize) -> bool {
    byte(text, at).is_ascii_uppercase() && byte_before(text, at).is_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::super::data::{BIRTH_WORDS, PHONE_WORDS};
    use super::*;

    fn near(text: &str, words: &WordSet) -> Option<usize> {
        let start = text.find('#').unwrap();
        Context::new(text.as_bytes(), start, start + 1).rank_within(words, usize::MAX)
    }

    #[test]
    fn words_are_found_before_and_after() {
        assert_eq!(near("my phone is #", &PHONE_WORDS), Some(1));
        assert_eq!(near("# fax", &PHONE_WORDS), Some(2));
        assert_eq!(near("customerPhone=#", &PHONE_WORDS), Some(0));
        assert_eq!(near("phone_number: #", &PHONE_WORDS), Some(1));
        assert_eq!(near("PhoneNumber. #", &PHONE_WORDS), Some(1));
        assert_eq!(near("line\\nphone #", &PHONE_WORDS), Some(0));
        assert_eq!(near("Geburtsdatum #", &BIRTH_WORDS), Some(0));
        assert_eq!(near("電話番号 #", &PHONE_WORDS), Some(0));
        assert_eq!(near("microphones #", &PHONE_WORDS), None);
    }

    #[test]
    fn key_hides_the_field_before_it() {
        assert_eq!(near(r##"{"phone": "none", "order": "#"}"##, &PHONE_WORDS), None);
        assert_eq!(near(r##"{"order": "none", "phone": "#"}"##, &PHONE_WORDS), Some(0));
    }

    #[test]
    fn words_far_away_do_not_count() {
        assert_eq!(near(&format!("phone {} #", "x ".repeat(BEFORE)), &PHONE_WORDS), None);
    }
}
