//! Sets of whole words, and of pairs of letters that words begin or end with.

use crate::word_sign::{pair_number, word_hash, word_hash_any_case, word_sign, word_sign_any_case};

/// A set of words as bytes. Most words that are not in it are excluded without a lookup.
#[derive(Debug)]
pub(crate) struct Words {
    /// A bit for the sign of each word.
    pub(crate) signs: u128,
    pub(crate) words: &'static [&'static [u8]],
    /// A hash table with open addressing: the number of a word, counted from one.
    pub(crate) slots: &'static [u16],
    /// By how many bits a hash is shifted.
    pub(crate) shift: u32,
}

impl Words {
    /// Whether a word is in the set.
    #[inline]
    pub(crate) fn contains(&self, word: &[u8]) -> bool {
        self.signs >> word_sign(word) & 1 == 1 && self.is_in_table(word_hash(word), |known| known == word)
    }

    /// Whether an ASCII word is in the set in lower case.
    #[inline]
    pub(crate) fn contains_any_case(&self, word: &[u8]) -> bool {
        self.signs >> word_sign_any_case(word) & 1 == 1
            && self.is_in_table(word_hash_any_case(word), |known| known.eq_ignore_ascii_case(word))
    }

    #[inline(never)]
    fn is_in_table(&self, hash: u32, is_same: impl Fn(&[u8]) -> bool) -> bool {
        let mut slot = usize::try_from(hash >> self.shift).unwrap_or_default();
        while let Some(number) = self.slots.get(slot).and_then(|number| number.checked_sub(1)) {
            if self.words.get(usize::from(number)).is_some_and(|known| is_same(known)) {
                return true;
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        false
    }
}

/// Pairs of letters in any case.
#[derive(Debug)]
pub(crate) struct LetterPairs(pub(crate) [u32; 32]);

impl LetterPairs {
    /// False if a pair is not in the set. A pair with a byte beyond ASCII may always be.
    #[inline]
    pub(crate) fn may_have(&self, first: u8, second: u8) -> bool {
        let (row, bit) = pair_number(first, second);
        !first.is_ascii() || !second.is_ascii() || self.0.get(row).is_some_and(|bits| bits >> bit & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use crate::data::TEXT_MEMBERS as WORDS;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn table_has_its_words_only(place in any::<usize>(), cut in 0_usize..3, more in "[a-z]{0,2}") {
            let word = WORDS.words[place % WORDS.words.len()];
            prop_assert!(WORDS.contains(word));
            let other = [word.get(cut..).unwrap_or_default(), more.as_bytes()].concat();
            let is_word = WORDS.words.contains(&other.as_slice());
            prop_assert_eq!(WORDS.contains(&other), is_word);
            prop_assert_eq!(WORDS.contains_any_case(&other.to_ascii_uppercase()), is_word);
        }
    }
}
