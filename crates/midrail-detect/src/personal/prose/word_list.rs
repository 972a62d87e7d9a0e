//! Lists of words that tell in a few instructions that a word is not among them. Most words of a text are in no list.

/// Words in lower case, sorted.
#[derive(Debug)]
pub(super) struct WordList {
    pub(super) words: &'static [&'static str],
    marks: Marks,
}

/// Endings of words, as they are written.
#[derive(Debug)]
pub(super) struct EndingList {
    pub(super) endings: &'static [&'static str],
    /// A bit for each pair of last bytes, as far as four of their bits tell.
    marks: u128,
}

/// A bit for each first byte and a part of the length, and one for each last byte and the rest of the length.
#[derive(Debug, Clone, Copy)]
struct Marks {
    first: u128,
    last: u128,
}

impl WordList {
    pub(super) const fn new(words: &'static [&'static str]) -> Self {
        let mut marks = Marks { first: 0, last: 0 };
        let mut rest = words;
        while let [word, others @ ..] = rest {
            let of_word = Marks::of(word.as_bytes());
            marks = Marks { first: marks.first | of_word.first, last: marks.last | of_word.last };
            rest = others;
        }
        WordList { words, marks }
    }

    /// False where an ASCII word is surely not in the list, whatever its case.
    pub(super) fn may_hold(&self, word: &str) -> bool {
        let marks = Marks::of(word.as_bytes());
        self.marks.first & marks.first != 0 && self.marks.last & marks.last != 0
    }

    /// Whether a word is in the list, whatever its case.
    pub(super) fn holds(&self, word: &str) -> bool {
        if !word.is_ascii() {
            return self.words.binary_search(&word.to_lowercase().as_str()).is_ok();
        }
        self.may_hold(word) && self.words.iter().any(|other| other.eq_ignore_ascii_case(word))
    }
}

impl Marks {
    /// The marks of a word. Both cases of a letter agree in the bits that are used.
    const fn of(word: &[u8]) -> Self {
        let (Some(first), Some(last)) = (word.first(), word.last()) else {
            return Marks { first: 0, last: 0 };
        };
        let length = word.len();
        Marks {
            first: 1 << ((*first & 31) << 2) << (length & 3),
            last: 1 << ((*last & 31) << 2) << ((length >> 2) & 3),
        }
    }
}

impl EndingList {
    pub(super) const fn new(endings: &'static [&'static str]) -> Self {
        let (mut marks, mut rest) = (0, endings);
        while let [ending, others @ ..] = rest {
            marks |= Self::mark(ending.as_bytes());
            rest = others;
        }
        EndingList { endings, marks }
    }

    /// False where a word surely has none of the endings.
    pub(super) fn may_end(&self, word: &str) -> bool {
        self.marks & Self::mark(word.as_bytes()) != 0
    }

    const fn mark(word: &[u8]) -> u128 {
        match word {
            [.., before, last] => 1 << ((*last & 31) << 2) << (*before & 3),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_any_case() {
        const LIST: WordList = WordList::new(&["a", "lane", "street", "ulica", "út"]);
        for word in ["a", "A", "Lane", "STREET", "ulica", "ÚT"] {
            assert!(LIST.holds(word), "{word}");
        }
        for word in ["", "b", "lan", "lanes", "stroet", "ut", "."] {
            assert!(!LIST.holds(word), "{word}");
        }
    }

    #[test]
    fn endings_are_never_passed_over() {
        const LIST: EndingList = EndingList::new(&["straße", "allé", "weg"]);
        for word in ["Hauptstraße", "Kongeallé", "Feldweg"] {
            assert!(LIST.may_end(word), "{word}");
        }
        assert!(!LIST.may_end("March") && !LIST.may_end("x") && !LIST.may_end(""));
    }
}
