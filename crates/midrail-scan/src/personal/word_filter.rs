//! Filters that exclude most words from a list in a few instructions. The build script fills them.

/// A set of bytes, each with a number, by five bits of the byte and two of the number. Both cases of a letter agree in
/// these bits.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Marks(pub(crate) [u32; 4]);

impl Marks {
    /// False if a byte with its number was not added.
    pub(crate) fn has(&self, byte: u8, number: usize) -> bool {
        self.0.get(number & 3).is_some_and(|row| row >> (byte & 31) & 1 == 1)
    }
}

/// A set of pairs of bytes, by five bits of each.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pairs(pub(crate) [u32; 32]);

impl Pairs {
    /// False if no word begins with two bytes.
    pub(crate) fn has(&self, first: u8, second: u8) -> bool {
        self.0.get(usize::from(first & 31)).is_some_and(|row| row >> (second & 31) & 1 == 1)
    }
}
