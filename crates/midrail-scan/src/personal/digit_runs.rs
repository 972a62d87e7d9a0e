//! Finds runs of digits in one pass.

use crate::bytes::run_end;

/// How many bytes are processed together.
const BLOCK: usize = 64;

/// Calls `visit` with the start and the end of each run of digits. It returns where to continue: runs that start before
/// that are skipped.
pub(super) fn each_digit_run(bytes: &[u8], mut visit: impl FnMut(usize, usize) -> usize) {
    let (mut resume, mut base, mut carry) = (0_usize, 0, 0);
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    let mut last = [0; BLOCK];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    for block in blocks.iter().chain([&last]) {
        let mask = digit_mask(block);
        let mut starts = mask & !((mask << 1) | carry) & from_bit(resume.saturating_sub(base));
        while starts != 0 {
            let offset = starts.trailing_zeros();
            let start = base + index(offset);
            let length = (mask >> offset).trailing_ones();
            let end = start + index(length);
            // A run that reaches the end of the block may continue in the next one.
            let goes_on = offset + length == u64::BITS;
            let end = if goes_on { run_end(bytes, end, |byte| byte.is_ascii_digit()) } else { end };
            resume = visit(start, end).max(start + 1);
            if resume >= base + BLOCK {
                break;
            }
            starts &= from_bit(resume - base);
        }
        carry = mask >> 63;
        base += BLOCK;
    }
}

/// All bits from `bit` on.
fn from_bit(bit: usize) -> u64 {
    u32::try_from(bit).ok().and_then(|bit| u64::MAX.checked_shl(bit)).unwrap_or(0)
}

fn index(bits: u32) -> usize {
    usize::try_from(bits).unwrap_or(0)
}

/// One bit per byte, set for digits. Written so that it is vectorized.
fn digit_mask(block: &[u8; BLOCK]) -> u64 {
    // A multiplication by this gathers the lowest bits of eight bytes in the last byte.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let mut digits = [0; BLOCK];
    for (is_digit, byte) in digits.iter_mut().zip(block) {
        *is_digit = u8::from(byte.is_ascii_digit());
    }
    let eights = digits.as_chunks::<8>().0.iter().rev();
    eights.fold(0, |mask, eight| mask << 8 | u64::from_le_bytes(*eight).wrapping_mul(GATHER) >> 56)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn mask_finds_what_plain_loop_finds(text in proptest::collection::vec(prop_oneof![
            Just(b'0'), Just(b'9'), Just(b'/'), Just(b':'), Just(0xb5_u8), any::<u8>()], 0..200)) {
            let mut found = Vec::new();
            each_digit_run(&text, |start, end| {
                found.push((start, end));
                start
            });
            let is_digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
            let plain: Vec<(usize, usize)> = (0..text.len())
                .filter(|at| is_digit(*at) && (*at == 0 || !is_digit(*at - 1)))
                .map(|start| (start, (start..).find(|at| !is_digit(*at)).unwrap()))
                .collect();
            prop_assert_eq!(found, plain);
        }
    }

    #[test]
    fn visited_runs_are_skipped() {
        let mut found = Vec::new();
        each_digit_run(b"1 2 3 4", |start, _| {
            found.push(start);
            start + 4
        });
        assert_eq!(found, [0, 4]);
    }
}
