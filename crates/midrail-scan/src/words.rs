//! Sets of whole words.

use crate::word_sign::word_sign;

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
}
