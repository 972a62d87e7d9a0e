//! Marks of words by their first letters, shared by the build script that sets them and the gate that reads them.

/// How many letters of a word count.
pub(crate) const MARKED_LETTERS: usize = 8;

/// Marks are numbers of so many bits.
pub(crate) const MARK_BITS: u32 = 16;

/// The mark of the first letters of a word: bytes of lower case, zero behind the last.
#[inline(always)]
pub(crate) fn mark(letters: u64) -> usize {
    // The upper bits of a product are the well-mixed ones.
    usize::try_from(letters.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - MARK_BITS))
        .unwrap_or_default()
}
