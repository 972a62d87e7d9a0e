//! Hashes of keyword bytes, shared by the build script that fills the tables and the search that reads them.

/// How many different mixes of three bytes there are.
pub(crate) const MIXES: usize = 1 << u16::BITS;

/// How many slots keywords fall into.
pub(crate) const SLOTS: usize = 1 << SLOT_BITS;
const SLOT_BITS: u32 = 14;

/// The bits of the first of three bytes that count. They are few, so that a wildcard takes few marks.
pub(crate) const FIRST_BITS: u8 = 31;

/// The mark of all bytes near which an anchor may be.
pub(crate) const MARKED: u8 = 1;
/// The mark of bytes one place behind an anchor. The next two bits are those of its own bytes and of those one place before it.
pub(crate) const BEHIND_ANCHOR: u8 = 2;

/// The bits of the fourth of four bytes that count, as few.
pub(crate) const FOURTH_BITS: u8 = 7;

/// The bit of a fourth byte's class, the same for both cases of a letter.
pub(crate) const fn class(fourth: u8) -> u8 {
    1 << (fourth & FOURTH_BITS)
}

/// The first four bytes of a text, or three, in lower case, and a mask of those that exist.
pub(crate) fn head(text: &[u8]) -> (u32, u32) {
    let (bytes, mask) = match text {
        [first, second, third, fourth, ..] => ([*first, *second, *third, *fourth], 0xffff_ffff),
        [first, second, third] => ([*first, *second, *third, 0], 0x00ff_ffff),
        _ => ([0; 4], 0),
    };
    ((u32::from_le_bytes(bytes) | 0x2020_2020) & mask, mask)
}

/// The slot of three bytes. The upper bits of a product are the well-mixed ones.
pub(crate) fn slot([first, second, third]: [u8; 3]) -> usize {
    let mixed = mix(u16::from_le_bytes([first, second]), u16::from_le_bytes([third, 0]));
    usize::from(mixed >> (u16::BITS - SLOT_BITS))
}

/// Mixes the first three of four bytes, the same for both cases of a letter.
#[inline(always)]
pub(crate) fn mix(pair: u16, next: u16) -> u16 {
    let pair = pair & u16::from_le_bytes([FIRST_BITS, 0xdf]);
    let third = next & u16::from_le_bytes([0xdf, 0]);
    // Of fifteen hundred pairs of factors, these give the fewest false marks in source code, documents and logs.
    pair.wrapping_mul(0x6C39) ^ third.wrapping_mul(0xF2A1)
}

/// Mixes four bytes in the same way, with a few bits of the last.
#[inline(always)]
pub(crate) fn mix_four(pair: u16, next: u16) -> u16 {
    let pair = pair & u16::from_le_bytes([FIRST_BITS, 0xdf]);
    let next = next & u16::from_le_bytes([0xdf, FOURTH_BITS]);
    pair.wrapping_mul(0x6C39) ^ next.wrapping_mul(0xF2A1)
}
