//! Lists of words and endings with filters: most words of a text are in no list, and the filters exclude them quickly.

use super::word_filter::{Marks, Pairs};

/// Words in lower case.
#[derive(Debug)]
pub(super) struct WordList {
    pub(super) words: phf::Set<&'static [u8]>,
    /// The first two bytes of each word, if they are ASCII.
    pub(super) beginnings: Pairs,
    /// The first byte of each word, with two bits of the length.
    pub(super) first: Marks,
    /// The last byte of each word, with the next bits of the length.
    pub(super) last: Marks,
}

/// Endings of words, as they are written.
#[derive(Debug)]
pub(super) struct EndingList {
    pub(super) endings: &'static [&'static str],
    /// The last two bytes of each ending.
    pub(super) marks: Marks,
}

impl WordList {
    /// False if no word in the list begins with two ASCII bytes, in any case.
    pub(super) fn may_begin(&self, [first, second]: [u8; 2]) -> bool {
        self.beginnings.has(first, second)
    }

    /// Whether a word is in the list, in the case of the list.
    pub(super) fn contains(&self, word: &str) -> bool {
        self.may_hold(word) && self.words.contains(word.as_bytes())
    }

    /// Whether a word is in the list, in any case.
    #[inline(always)]
    pub(super) fn contains_any_case(&self, word: &str) -> bool {
        let may_hold = match word.as_bytes() {
            [first, second, ..] if first.is_ascii() && second.is_ascii() => {
                first.is_ascii_alphabetic() && self.may_begin([*first, *second])
            }
            [first] => first.is_ascii_alphabetic(),
            [] => false,
            _ => true,
        };
        may_hold && self.contains_lower(word)
    }

    fn contains_lower(&self, word: &str) -> bool {
        (!word.is_ascii() || self.may_hold(word)) && self.words.contains(word.to_lowercase().as_bytes())
    }

    /// False if a word of this length cannot be in the list, by its first and last byte.
    fn may_hold(&self, word: &str) -> bool {
        let (Some(first), Some(last)) = (word.as_bytes().first(), word.as_bytes().last()) else {
            return false;
        };
        self.first.has(*first, word.len()) && self.last.has(*last, word.len() >> 2)
    }
}

impl EndingList {
    /// False if a word cannot have one of the endings.
    pub(super) fn may_end(&self, word: &str) -> bool {
        match word.as_bytes() {
            [.., before, last] => self.marks.has(*last, usize::from(*before)),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::{STREET_BEFORE_NUMBER, STREET_ENDINGS, STREET_LAST};

    #[test]
    fn words_are_found_in_any_case() {
        for word in ["st", "Lane", "STREET"] {
            assert!(STREET_LAST.contains_any_case(word), "{word}");
        }
        for word in ["u", "U", "ulica", "ÚT"] {
            assert!(STREET_BEFORE_NUMBER.contains_any_case(word), "{word}");
        }
        for beginning in [b"La", b"ST", b"hw"] {
            assert!(STREET_LAST.may_begin(*beginning), "{beginning:?}");
        }
        for beginning in [b"li", b"sa", b".a"] {
            assert!(!STREET_LAST.may_begin(*beginning), "{beginning:?}");
        }
        for word in ["", "b", "lan", "lanes", "stroet", "."] {
            assert!(!STREET_LAST.contains_any_case(word), "{word}");
        }
    }

    #[test]
    fn filter_keeps_every_ending() {
        for word in ["Hauptstraße", "Kongeallé", "Feldweg"] {
            assert!(STREET_ENDINGS.may_end(word), "{word}");
        }
        assert!(!STREET_ENDINGS.may_end("x") && !STREET_ENDINGS.may_end(""));
    }
}
