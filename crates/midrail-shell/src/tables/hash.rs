//! Hashes of names that cost less than those of general maps: the words of a command are looked up in many lists. The build script
//! includes this file.

/// The bucket of a name, of a number of buckets that is a power of two.
pub(crate) fn bucket(name: &str, count: usize) -> usize {
    let hash = name.bytes().fold(0_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    usize::try_from(hash ^ (hash >> 15)).unwrap_or(0) & count.wrapping_sub(1)
}

/// One bit that depends on the length, the first and the last letter of a word.
pub(crate) fn mark(word: &str) -> u128 {
    let bytes = word.as_bytes();
    let [first, last] = [bytes.first(), bytes.last()].map(|byte| usize::from(byte.copied().unwrap_or(0)));
    1 << ((bytes.len() * 11 + first + last * 5) % 128)
}
