//! Counts the kinds of characters of a value.

/// The characters of a value, by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Makeup {
    pub(crate) length: usize,
    pub(crate) lower: usize,
    pub(crate) upper: usize,
    pub(crate) digits: usize,
    pub(crate) symbols: usize,
    pub(crate) spaces: usize,
    /// Bytes of characters beyond ASCII.
    pub(crate) foreign: usize,
    /// How many different bytes.
    pub(crate) distinct: usize,
}

/// Counts the characters of a value.
pub(crate) fn makeup(value: &[u8]) -> Makeup {
    let mut made = Makeup { length: value.len(), ..Makeup::default() };
    let mut counts = [false; 256];
    for &byte in value {
        match byte {
            b'a'..=b'z' => made.lower += 1,
            b'A'..=b'Z' => made.upper += 1,
            b'0'..=b'9' => made.digits += 1,
            b' ' | b'\t' => made.spaces += 1,
            0x80.. => made.foreign += 1,
            _ => made.symbols += 1,
        }
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            made.distinct += usize::from(!*count);
            *count = true;
        }
    }
    made
}
