//! Classes of the bytes of a block, a bit for each byte. Detectors skip blocks without the bytes that they look for.

/// How many bytes a block has.
const BLOCK: usize = 64;

/// Visits the places of the bytes of a class, in order.
#[inline(always)]
pub(crate) fn each_place(bytes: &[u8], is_member: impl Fn(u8) -> bool, mut visit: impl FnMut(usize)) {
    each_mask(bytes, is_member, |start, mut places| {
        while places != 0 {
            visit(start + usize::try_from(places.trailing_zeros()).unwrap_or(0));
            places &= places - 1;
        }
    });
}

/// Visits the places where runs of bytes of a class begin, in order.
#[inline(always)]
pub(crate) fn each_run_start(bytes: &[u8], is_member: impl Fn(u8) -> bool, mut visit: impl FnMut(usize)) {
    // The block behind the last mask, and whether that one ends in a run.
    let mut before = (0, 0);
    each_mask(bytes, is_member, |start, places| {
        let continues = if before.0 == start { before.1 } else { 0 };
        before = (start + BLOCK, places >> (BLOCK - 1));
        let mut starts = places & !(places << 1 | continues);
        while starts != 0 {
            visit(start + usize::try_from(starts.trailing_zeros()).unwrap_or(0));
            starts &= starts - 1;
        }
    });
}

/// Visits all blocks until the visitor returns `false`: where each starts, and a bit for each byte of two classes.
#[inline(always)]
pub(crate) fn each_mask_pair(
    bytes: &[u8],
    is_first: impl Fn(u8) -> bool,
    is_second: impl Fn(u8) -> bool,
    mut visit: impl FnMut(usize, u64, u64) -> bool,
) {
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    let mut start = 0;
    for block in blocks {
        if !visit(start, mask(block, &is_first), mask(block, &is_second)) {
            return;
        }
        start += BLOCK;
    }
    let last = last_block(rest);
    visit(start, mask(&last, &is_first), mask(&last, &is_second));
}

/// A bit for each byte of a class.
#[inline(always)]
fn mask(block: &[u8; BLOCK], is_member: impl Fn(u8) -> bool) -> u64 {
    let mut classes = [0; BLOCK];
    for (place, byte) in classes.iter_mut().zip(block) {
        *place = u8::from(is_member(*byte));
    }
    if classes == [0; BLOCK] { 0 } else { pack(&classes) }
}

/// The last bytes, filled with spaces, which are in no class.
fn last_block(rest: &[u8]) -> [u8; BLOCK] {
    let mut last = [b' '; BLOCK];
    last.iter_mut().zip(rest).for_each(|(place, byte)| *place = *byte);
    last
}

/// Visits the blocks with bytes of a class: where each starts, and a bit for each byte of the class.
#[inline(always)]
fn each_mask(bytes: &[u8], is_member: impl Fn(u8) -> bool, mut visit: impl FnMut(usize, u64)) {
    let mut visit_block = |start: usize, block: &[u8; BLOCK]| {
        let places = mask(block, &is_member);
        if places != 0 {
            visit(start, places);
        }
    };
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    let mut start = 0;
    for block in blocks {
        visit_block(start, block);
        start += BLOCK;
    }
    visit_block(start, &last_block(rest));
}

const ONES: u64 = 0x0101_0101_0101_0101;

/// A bit for each byte that is not 0.
#[inline(always)]
fn pack(classes: &[u8; BLOCK]) -> u64 {
    // The product moves the lowest bit of each byte to its place in the highest byte.
    let byte = |part: &[u8; 8]| (u64::from_le_bytes(*part) & ONES).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    classes.as_chunks().0.iter().rev().fold(0, |bits, part| bits << 8 | byte(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_starts_of_runs_are_found() {
        let text: String = (0..40).map(|at| if at % 3 == 0 { "x12" } else { " 7 " }).collect();
        let is_digit = |byte: u8| byte.is_ascii_digit();
        let (mut places, mut starts) = (Vec::new(), Vec::new());
        each_place(text.as_bytes(), is_digit, |place| places.push(place));
        each_run_start(text.as_bytes(), is_digit, |place| starts.push(place));
        let bytes = text.as_bytes();
        let expected: Vec<usize> = (0..bytes.len()).filter(|at| is_digit(bytes[*at])).collect();
        assert_eq!(places, expected);
        let begins = |at: &usize| *at == 0 || !is_digit(bytes[at - 1]);
        assert_eq!(starts, expected.into_iter().filter(begins).collect::<Vec<_>>());
    }
}
