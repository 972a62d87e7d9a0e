//! Sets of words that are searched for near a candidate.

/// Words in lower case.
#[derive(Debug)]
pub(super) struct WordSet {
    /// Whole words.
    pub(super) exact: crate::words::Words,
    /// Beginnings of words.
    pub(super) prefixes: &'static [&'static str],
    /// Parts of runs of letters, for scripts without spaces.
    pub(super) parts: &'static [&'static str],
}

impl WordSet {
    /// Whether a word is in the set.
    pub(super) fn contains(&self, word: &[u8]) -> bool {
        self.exact.contains(word)
            || self.prefixes.iter().any(|prefix| word.starts_with(prefix.as_bytes()))
            || self.parts.iter().any(|part| word.windows(part.len()).any(|window| window == part.as_bytes()))
    }
}
