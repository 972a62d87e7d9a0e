//! Sets of whole words.

use crate::word_sign::{word_sign, word_sign_any_case};

/// A set of words as bytes. Most words that are not in it are excluded without a lookup.
#[derive(Debug)]
pub(crate) struct Words {
    /// A bit for the sign of each word.
    pub(crate) signs: u128,
    pub(crate) words: phf::Set<&'static [u8]>,
}

impl Words {
    /// Whether a word is in the set.
    pub(crate) fn contains(&self, word: &[u8]) -> bool {
        self.signs >> word_sign(word) & 1 == 1 && self.words.contains(word)
    }

    /// False if a word is not in the set in lower case. Most words are excluded.
    pub(crate) fn may_contain_any_case(&self, word: &[u8]) -> bool {
        self.signs >> word_sign_any_case(word) & 1 == 1
    }
}
