//! A hash of names that costs less than that of a general map: programs are looked up many times for each command.

/// The bucket of a name, of a number of buckets that is a power of two.
pub(crate) fn bucket(name: &str, count: usize) -> usize {
    let hash = name.bytes().fold(0_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    usize::try_from(hash ^ (hash >> 15)).unwrap_or(0) & count.wrapping_sub(1)
}
