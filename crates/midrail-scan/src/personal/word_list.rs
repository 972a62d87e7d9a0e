//! Lists of words and endings with filters: most words of a text are in no list, and the filters exclude them quickly.

use super::word_filter::Pairs;

/// Words in lower case.
#[derive(Debug)]
pub(super) struct WordList {
    pub(super) words: phf::Set<&'static [u8]>,
    /// The first two bytes of each word, if they are ASCII.
    pub(super) beginnings: Pairs,
    /// The last two bytes of each word.
    pub(super) endings: Pairs,
}

/// Endings of words, as they are written.
#[derive(Debug)]
pub(super) struct EndingList {
    pub(super) list: &'static [&'static str],
    /// The last two bytes of each ending.
    pub(super) endings: Pairs,
}

impl WordList {
    /// False if no word in the list begins with two ASCII bytes, in any case.
    pub(super) fn may_begin(&self, [first, second]: [u8; 2]) -> bool {
        self.beginnings.has(first, second)
    }

    /// Whether a word is in the list, in the case of the list.
    pub(super) fn contains(&self, word: &str) -> bool {
        self.endings.may_end(word) && self.words.contains(word.as_bytes())
    }

    /// Whether a word is in the list, in any case.
    #[inline(always)]
    pub(super) fn contains_any_case(&self, word: &str) -> bool {
        let may_begin = match word.as_bytes() {
            [first, second, ..] if first.is_ascii() && second.is_ascii() => {
                first.is_ascii_alphabetic() && self.may_begin([*first, *second])
            }
            [first] => first.is_ascii_alphabetic(),
            [] => false,
            _ => true,
        };
        may_begin && self.contains_lower(word)
    }

    fn contains_lower(&self, word: &str) -> bool {
        let may_end = !word.is_ascii() || self.endings.may_end(word);
        may_end && self.words.contains(word.to_lowercase().as_bytes())
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
            assert!(STREET_ENDINGS.endings.may_end(word), "{word}");
        }
        assert!(!STREET_ENDINGS.endings.may_end("x") && !STREET_ENDINGS.endings.may_end(""));
    }
}
