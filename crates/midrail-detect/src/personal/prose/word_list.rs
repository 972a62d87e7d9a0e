//! Lists of words that tell in a few instructions that a word is not among them. Most words of a text are in no list.

/// Words in lower case, sorted.
#[derive(Debug)]
pub(super) struct WordList {
    pub(super) words: &'static [&'static str],
    /// Each pair of first bytes, if they are of ASCII: for each first byte, a bit for each second one.
    beginnings: Pairs,
    /// Each first byte, with a part of the length.
    first: Marks,
    /// Each last byte, with the rest of the length.
    last: Marks,
}

/// Endings of words, as they are written.
#[derive(Debug)]
pub(super) struct EndingList {
    pub(super) endings: &'static [&'static str],
    /// Each pair of last bytes.
    marks: Marks,
}

/// A set of bytes, each with a number, as far as five bits of the byte and two of the number tell. Both cases of a
/// letter agree in these bits.
#[derive(Debug, Clone, Copy)]
struct Marks([u32; 4]);

impl Marks {
    const NONE: Marks = Marks([0; 4]);

    const fn with(self, byte: u8, number: usize) -> Self {
        let Marks([zero, one, two, three]) = self;
        let bit = 1 << (byte & 31);
        Marks(match number & 3 {
            0 => [zero | bit, one, two, three],
            1 => [zero, one | bit, two, three],
            2 => [zero, one, two | bit, three],
            _ => [zero, one, two, three | bit],
        })
    }

    fn has(&self, byte: u8, number: usize) -> bool {
        let Marks(rows) = self;
        rows.get(number & 3).is_some_and(|row| row >> (byte & 31) & 1 == 1)
    }
}

/// A set of pairs of bytes: for each first one, a bit for each second one, as far as five bits of both tell.
#[derive(Debug, Clone, Copy)]
struct Pairs([u32; 32]);

impl Pairs {
    const fn with(self, first: u8, seconds: u32) -> Self {
        let Pairs(mut rows) = self;
        let (mut left, mut row): (&mut [u32], u8) = (&mut rows, 0);
        while let [bits, rest @ ..] = left {
            if row == first & 31 {
                *bits |= seconds;
            }
            row += 1;
            left = rest;
        }
        Pairs(rows)
    }

    fn has(&self, first: u8, second: u8) -> bool {
        let Pairs(rows) = self;
        rows.get(usize::from(first & 31)).is_some_and(|row| row >> (second & 31) & 1 == 1)
    }
}

impl WordList {
    pub(super) const fn new(words: &'static [&'static str]) -> Self {
        let mut list = WordList { words, beginnings: Pairs([0; 32]), first: Marks::NONE, last: Marks::NONE };
        let mut rest = words;
        while let [word, others @ ..] = rest {
            rest = others;
            let (Some(first), Some(last)) = (word.as_bytes().first(), word.as_bytes().last()) else {
                continue;
            };
            list.first = list.first.with(*first, word.len());
            list.last = list.last.with(*last, word.len() >> 2);
            list.beginnings = match word.as_bytes() {
                [first, second, ..] if second.is_ascii() => list.beginnings.with(*first, 1 << (*second & 31)),
                [_, _, ..] => list.beginnings,
                // A word of one letter may be followed by anything.
                _ => list.beginnings.with(*first, u32::MAX),
            };
        }
        list
    }

    /// False where a word that begins with two bytes of ASCII is surely not in the list, whatever its case.
    pub(super) fn may_begin(&self, bytes: [u8; 2]) -> bool {
        let [first, second] = bytes;
        self.beginnings.has(first, second)
    }

    /// False where an ASCII word is surely not in the list, whatever its case.
    pub(super) fn may_hold(&self, word: &str) -> bool {
        let (Some(first), Some(last)) = (word.as_bytes().first(), word.as_bytes().last()) else {
            return false;
        };
        self.first.has(*first, word.len()) && self.last.has(*last, word.len() >> 2)
    }

    /// Whether a word is in the list, whatever its case.
    #[inline(always)]
    pub(super) fn holds(&self, word: &str) -> bool {
        let may_hold = match word.as_bytes() {
            [first, second, ..] if first.is_ascii() && second.is_ascii() => {
                first.is_ascii_alphabetic() && self.may_begin([*first, *second])
            }
            [first] => first.is_ascii_alphabetic(),
            [] => false,
            _ => true,
        };
        may_hold && self.finds(word)
    }

    fn finds(&self, word: &str) -> bool {
        if !word.is_ascii() {
            return self.words.binary_search(&word.to_lowercase().as_str()).is_ok();
        }
        self.may_hold(word) && self.words.iter().any(|other| other.eq_ignore_ascii_case(word))
    }
}

impl EndingList {
    pub(super) const fn new(endings: &'static [&'static str]) -> Self {
        let (mut marks, mut rest) = (Marks::NONE, endings);
        while let [ending, others @ ..] = rest {
            if let [.., before, last] = ending.as_bytes() {
                #[expect(clippy::as_conversions, reason = "`From` is not for constants")]
                let before = *before as usize;
                marks = marks.with(*last, before);
            }
            rest = others;
        }
        EndingList { endings, marks }
    }

    /// False where a word surely has none of the endings.
    pub(super) fn may_end(&self, word: &str) -> bool {
        match word.as_bytes() {
            [.., before, last] => self.marks.has(*last, usize::from(*before)),
            _ => false,
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
        for beginning in ["a ", "A,", "La", "ST", "ul"] {
            assert!(LIST.may_begin([beginning.as_bytes()[0], beginning.as_bytes()[1]]), "{beginning}");
        }
        for beginning in ["li", "Le", "sa", "ue", ".a"] {
            assert!(!LIST.may_begin([beginning.as_bytes()[0], beginning.as_bytes()[1]]), "{beginning}");
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
