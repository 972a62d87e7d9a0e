//! A filter that excludes most words from a list in a few instructions. The build script fills it.

/// A set of pairs of bytes, by five bits of each. Both cases of a letter agree in these bits.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pairs(pub(crate) [u32; 32]);

impl Pairs {
    /// False if a byte was not added with the one next to it.
    pub(crate) fn has(&self, byte: u8, next: u8) -> bool {
        self.0.get(usize::from(byte & 31)).is_some_and(|row| row >> (next & 31) & 1 == 1)
    }

    /// False if no word ends as this one, given that the last bytes of words were added with those before them.
    pub(crate) fn may_end(&self, word: &str) -> bool {
        match word.as_bytes() {
            [.., before, last] => self.has(*last, *before),
            [last] => self.has(*last, 0),
            [] => false,
        }
    }
}
