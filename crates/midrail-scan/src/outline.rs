//! One pass over a text, whose result the detectors share: which of its bytes are letters, digits, capitals or signs.
//!
//! A detector visits only the places that the classes leave, and examines the bytes there.

/// How many bytes a block has.
pub(crate) const BLOCK: usize = 64;

/// The classes of 64 bytes, a bit for each byte.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Block {
    /// ASCII letters.
    pub(crate) letters: u64,
    /// The capitals among them.
    pub(crate) capitals: u64,
    pub(crate) digits: u64,
    /// Bytes of characters beyond ASCII.
    pub(crate) high: u64,
    /// Signs that may begin an escape or markup.
    pub(crate) signs: u64,
    /// Apostrophes and hyphens, which may join words.
    pub(crate) joints: u64,
}

impl Block {
    /// Bytes that are part of a word wherever they are.
    #[inline(always)]
    pub(crate) fn parts(&self) -> u64 {
        self.letters | self.digits | self.high
    }

    /// The classes of bytes, which are in columns.
    #[inline(always)]
    fn new(columns: &[u8; BLOCK]) -> Self {
        let is_ascii = columns.as_chunks::<8>().0.iter().fold(0, |all, row| all | u64::from_le_bytes(*row));
        Block {
            letters: mask(columns, |byte| byte.is_ascii_alphabetic()),
            capitals: mask(columns, |byte| byte.is_ascii_uppercase()),
            digits: mask(columns, |byte| byte.is_ascii_digit()),
            high: if is_ascii & HIGH_BITS == 0 { 0 } else { mask(columns, |byte| byte >= 0x80) },
            signs: mask(columns, is_sign),
            joints: mask(columns, |byte| (byte == b'\'') | (byte == b'-')),
        }
    }
}

const HIGH_BITS: u64 = u64::from_ne_bytes([0x80; 8]);

/// Whether a byte may begin something that is not read as it is written. A comment is found by its asterisk.
#[inline(always)]
fn is_sign(byte: u8) -> bool {
    (byte == b'\\') | (byte == b'%') | (byte == b'&') | (byte == b'<') | (byte == b'*')
}

/// The classes of all bytes of a text.
#[derive(Debug)]
pub(crate) struct Outline {
    blocks: Vec<Block>,
}

impl Outline {
    /// Passes over a text.
    pub(crate) fn new(text: &[u8]) -> Self {
        let (whole, rest) = text.as_chunks::<BLOCK>();
        let mut blocks = Vec::with_capacity(whole.len() + 1);
        for block in whole {
            blocks.push(Block::new(&columns(block)));
        }
        // Spaces are in no class.
        let mut last = [b' '; BLOCK];
        if let Some(last) = last.get_mut(..rest.len()) {
            last.copy_from_slice(rest);
        }
        blocks.push(Block::new(&columns(&last)));
        Outline { blocks }
    }

    /// The blocks. The last one is filled with spaces.
    pub(crate) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Visits runs of digits in order: where each begins and ends. The visitor returns where to continue: runs that begin
    /// before that are skipped.
    #[inline(always)]
    pub(crate) fn each_number(&self, mut visit: impl FnMut(usize, usize) -> usize) {
        let (mut next, mut start) = (0, 0);
        let mut before = 0;
        let mut blocks = self.blocks.iter();
        while let Some(block) = blocks.next() {
            let digits = block.digits;
            let mut starts = digits & !behind::<1>(before, digits);
            before = digits;
            while starts != 0 {
                let offset = starts.trailing_zeros();
                starts &= starts - 1;
                let at = start + place(offset);
                if at < next {
                    continue;
                }
                let mut end = at + place((!(digits >> offset)).trailing_zeros().min(u64::BITS - offset));
                if end == start + BLOCK {
                    end += rest_of_run(blocks.as_slice(), |block| block.digits);
                }
                next = visit(at, end).max(end);
                let done = u32::try_from(next.saturating_sub(start)).unwrap_or(u32::MAX);
                starts &= u64::MAX.checked_shl(done).unwrap_or(0);
            }
            start += BLOCK;
        }
    }

    /// Visits the bits that a function chooses in each block, in order. It gets the block and the one before it.
    #[inline(always)]
    pub(crate) fn each_place(&self, choose: impl Fn(&Block, &Block) -> u64, mut visit: impl FnMut(usize)) {
        let (mut start, mut before) = (0, Block::default());
        for block in &self.blocks {
            let mut places = choose(&before, block);
            while places != 0 {
                visit(start + place(places.trailing_zeros()));
                places &= places - 1;
            }
            start += BLOCK;
            before = *block;
        }
    }
}

/// How many bytes of a class some blocks begin with.
pub(crate) fn rest_of_run(blocks: &[Block], class: impl Fn(&Block) -> u64) -> usize {
    let mut length = 0;
    for block in blocks {
        let more = (!class(block)).trailing_zeros();
        length += place(more);
        if more < u64::BITS {
            break;
        }
    }
    length
}

/// Bits that are moved ahead by some bytes, from the end of the block before.
#[inline(always)]
pub(crate) fn behind<const BYTES: u32>(before: u64, here: u64) -> u64 {
    here << BYTES | before >> (u64::BITS - BYTES)
}

/// The number of a bit as a number of bytes.
#[inline(always)]
pub(crate) fn place(bit: u32) -> usize {
    usize::try_from(bit).unwrap_or_default()
}

/// The bytes of a block, column by column of eight rows, so that [`mask`] finds the bits of eight bytes in one byte.
#[inline(always)]
fn columns(block: &[u8; BLOCK]) -> [u8; BLOCK] {
    shuffled(&shuffled(&shuffled(block)))
}

/// The bytes of both halves of a block in turn. Three times makes columns of rows.
// A call each, because in one piece the compiler finds a slower way.
#[inline(never)]
#[expect(clippy::indexing_slicing, reason = "the places are in the block, and iterators are slower")]
fn shuffled(block: &[u8; BLOCK]) -> [u8; BLOCK] {
    let mut shuffled = [0; BLOCK];
    for at in 0..BLOCK / 2 {
        shuffled[2 * at] = block[at];
        shuffled[2 * at + 1] = block[BLOCK / 2 + at];
    }
    shuffled
}

/// A bit for each byte of a class, from bytes in columns. The compiler makes vector instructions of it.
#[inline(always)]
fn mask(columns: &[u8; BLOCK], is_member: impl Fn(u8) -> bool) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let mut members = *columns;
    for byte in &mut members {
        *byte = if is_member(*byte) { u8::MAX } else { 0 };
    }
    let (mut bits, mut bit) = (0, EACH);
    for row in members.as_chunks::<8>().0 {
        bits |= u64::from_le_bytes(*row) & bit;
        bit <<= 1;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_byte_is_in_its_classes(text in proptest::collection::vec(prop_oneof![any::<u8>(), 0x20..0x7f_u8], 0..300)) {
            let outline = Outline::new(&text);
            prop_assert_eq!(outline.blocks().len(), text.len() / BLOCK + 1);
            for at in 0..outline.blocks().len() * BLOCK {
                let (block, byte) = (outline.blocks()[at / BLOCK], text.get(at).copied().unwrap_or(b' '));
                for (class, is_member) in [
                    (block.letters, byte.is_ascii_alphabetic()),
                    (block.capitals, byte.is_ascii_uppercase()),
                    (block.digits, byte.is_ascii_digit()),
                    (block.high, !byte.is_ascii()),
                    (block.signs, b"\\%&<*".contains(&byte)),
                    (block.joints, b"'-".contains(&byte)),
                ] {
                    prop_assert_eq!(class >> (at % BLOCK) & 1 == 1, is_member, "{} at {}", byte, at);
                }
            }
        }

        #[test]
        fn each_number_is_visited(text in "([0-9]{0,90}[a ]{0,20}){0,6}", skipped in 0_usize..90) {
            let is_digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
            let mut found = Vec::new();
            Outline::new(text.as_bytes()).each_number(|start, end| {
                found.push((start, end));
                start + skipped
            });
            let (mut plain, mut next) = (Vec::new(), 0);
            for start in (0..text.len()).filter(|at| is_digit(*at) && !(*at > 0 && is_digit(*at - 1))) {
                if start >= next {
                    let end = (start..).find(|at| !is_digit(*at)).unwrap();
                    plain.push((start, end));
                    next = end.max(start + skipped);
                }
            }
            prop_assert_eq!(found, plain);
        }
    }
}
