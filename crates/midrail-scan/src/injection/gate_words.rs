//! Hashes of words by their first letters, shared by the build script that fills the table of the gate and the gate that reads it.

/// How many letters of a word count. A longer word is found by its first letters, and then looked up by all.
pub(crate) const FIRST_LETTERS: usize = 8;

/// Distinguishes the first letters of a longer word from a word of as many letters.
pub(crate) const LONG_WORD: u64 = 0x8080_8080_8080_8080;

/// Stands for the numbers of several words: those with the same first letters, or the same entry.
pub(crate) const SEVERAL: u16 = u16::MAX;

/// The table has 2 to the power of this many places.
pub(crate) const TABLE_BITS: u32 = 13;

/// The hash of letters: bytes of lower case, zero behind the last.
#[inline(always)]
pub(crate) fn word_hash(letters: u64) -> u64 {
    letters.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The place of a hash in the table. The upper bits of a product are the well-mixed ones.
#[inline(always)]
pub(crate) fn word_slot(hash: u64) -> usize {
    usize::try_from(hash >> (u64::BITS - TABLE_BITS)).unwrap_or_default()
}

/// What distinguishes hashes of one place: 16 bits.
#[inline(always)]
pub(crate) fn word_tag(hash: u64) -> u32 {
    u32::try_from(hash >> 32 & 0xffff).unwrap_or_default()
}
