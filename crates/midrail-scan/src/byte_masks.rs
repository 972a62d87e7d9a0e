//! Classes of the bytes of a block, a bit for each byte. Detectors skip blocks without the bytes that they look for.

/// How many bytes a block has.
const BLOCK: usize = 64;

/// Visits the places of bytes that are a pair with the byte before them, in order. Before the first byte is a line break.
#[inline(always)]
pub(crate) fn each_pair(bytes: &[u8], is_pair: impl Fn(u8, u8) -> bool, mut visit: impl FnMut(usize)) {
    if bytes.first().is_some_and(|first| is_pair(b'\n', *first)) {
        visit(0);
    }
    let mut start = 1;
    while start < bytes.len() {
        let rest = bytes.get(start - 1..).unwrap_or_default();
        let mut last = [b' '; BLOCK + 1];
        let block = rest.first_chunk::<{ BLOCK + 1 }>().unwrap_or_else(|| {
            last.iter_mut().zip(rest).for_each(|(place, byte)| *place = *byte);
            &last
        });
        let (Some(before), Some(here)) = (block.first_chunk::<BLOCK>(), block.last_chunk::<BLOCK>()) else {
            return;
        };
        let mut classes = [0; BLOCK];
        for ((place, before), here) in classes.iter_mut().zip(before).zip(here) {
            *place = u8::from(is_pair(*before, *here));
        }
        if classes != [0; BLOCK] {
            each_bit(pack(&classes), |offset| visit(start + offset));
        }
        start += BLOCK;
    }
}

/// Visits runs of bytes of a class in order: where each begins. The visitor returns where to continue.
#[inline(always)]
pub(crate) fn each_run(bytes: &[u8], is_member: impl Fn(u8) -> bool, mut visit: impl FnMut(usize) -> usize) {
    let (mut next, mut continues) = (0, 0);
    let mut visit_block = |start: usize, block: &[u8; BLOCK]| {
        let places = mask(block, &is_member);
        let mut starts = places & !(places << 1 | continues);
        continues = places >> (BLOCK - 1);
        while starts != 0 {
            let at = start + usize::try_from(starts.trailing_zeros()).unwrap_or(0);
            starts &= starts - 1;
            if at >= next {
                next = visit(at);
                let done = u32::try_from(next.saturating_sub(start)).unwrap_or(u32::MAX);
                starts &= u64::MAX.checked_shl(done).unwrap_or(0);
            }
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

/// Visits the bits that are set, from the lowest on.
#[inline(always)]
fn each_bit(mut bits: u64, mut visit: impl FnMut(usize)) {
    while bits != 0 {
        visit(usize::try_from(bits.trailing_zeros()).unwrap_or(0));
        bits &= bits - 1;
    }
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
    fn pairs_and_starts_of_runs_are_found() {
        let is_digit = |byte: u8| byte.is_ascii_digit();
        let is_pair = |before: u8, here: u8| (before == b' ') & (here == b'7');
        for length in 0..200 {
            let text: String = (0..length).map(|at| if at % 3 == 0 { "x12" } else { " 7 " }).collect();
            let bytes = text.as_bytes();
            let (mut pairs, mut starts) = (Vec::new(), Vec::new());
            each_pair(bytes, is_pair, |place| pairs.push(place));
            each_run(bytes, is_digit, |place| {
                starts.push(place);
                place + length % 90
            });
            let before = |at: usize| at.checked_sub(1).map_or(b'\n', |at| bytes[at]);
            let expected: Vec<usize> =
                (0..bytes.len()).filter(|at| is_pair(before(*at), bytes[*at])).collect();
            assert_eq!(pairs, expected);
            let mut next = 0;
            let expected: Vec<usize> = (0..bytes.len())
                .filter(|at| {
                    let is_visited = is_digit(bytes[*at]) && !is_digit(before(*at)) && *at >= next;
                    next = if is_visited { at + length % 90 } else { next };
                    is_visited
                })
                .collect();
            assert_eq!(starts, expected);
        }
    }
}
