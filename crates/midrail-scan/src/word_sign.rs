//! Numbers of words, letters and bytes, by which tables are searched. The build script computes them as well.

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

/// The hash of a word, whose upper bits are the well-mixed ones.
#[inline]
pub(crate) fn word_hash(word: &[u8]) -> u32 {
    hash(word, |byte| byte)
}

/// The hash of an ASCII word in lower case.
#[inline]
pub(crate) fn word_hash_any_case(word: &[u8]) -> u32 {
    hash(word, |byte| byte.to_ascii_lowercase())
}

#[inline(always)]
fn hash(word: &[u8], read: impl Fn(u8) -> u8) -> u32 {
    let mut hash = 0x811c_9dc5_u32;
    for byte in word {
        hash = (hash ^ u32::from(read(*byte))).wrapping_mul(0x0100_0193);
    }
    hash.wrapping_mul(0x9e37_79b9)
}

/// The number of a pair of letters, the same in both cases.
pub(crate) fn pair_number(first: u8, second: u8) -> (usize, u32) {
    (usize::from(second & 31), u32::from(first & 31))
}

/// A number below 1024 for three bytes, spread by the second and the third one: the first one is often a space.
pub(crate) const fn three_number([first, second, third]: [u8; 3]) -> usize {
    #[expect(clippy::as_conversions, reason = "constants know no other way")]
    let (first, second, third) = (first as usize, second as usize, third as usize);
    (first * 7 + second * 32 + third) % THREES
}

/// How many numbers of three bytes there are.
pub(crate) const THREES: usize = 1024;
