//! A number between 0 and 127 for each word, which excludes most words from a set. The build script computes it as well.

/// The sign of a word: from its length and its first and last byte.
#[inline]
pub(crate) fn word_sign(word: &[u8]) -> u32 {
    sign(word, |byte| byte)
}

/// The sign of an ASCII word in lower case.
#[inline]
pub(crate) fn word_sign_any_case(word: &[u8]) -> u32 {
    sign(word, |byte| byte.to_ascii_lowercase())
}

#[inline(always)]
fn sign(word: &[u8], read: impl Fn(u8) -> u8) -> u32 {
    let (first, last) = (word.first().copied().unwrap_or(0), word.last().copied().unwrap_or(0));
    let length = u32::try_from(word.len()).unwrap_or(0);
    (u32::from(read(first)) + 5 * u32::from(read(last)) + 17 * length) % 128
}
