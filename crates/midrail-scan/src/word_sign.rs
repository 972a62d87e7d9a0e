//! A number between 0 and 127 for each word, which excludes most words from a set. The build script computes it as well.

/// The sign of a word: from its length and its first and last byte.
#[inline]
pub(crate) fn word_sign(word: &[u8]) -> u32 {
    let (first, last) = (word.first().copied().unwrap_or(0), word.last().copied().unwrap_or(0));
    let length = u32::try_from(word.len()).unwrap_or(0);
    (u32::from(first) + 5 * u32::from(last) + 17 * length) % 128
}
