//! The one pass over a text that finds runs of digits, and the classes of bytes that tokens are made of.

/// How many bytes are looked at together.
const BLOCK: usize = 64;

/// Calls `visit` with the start of each run of digits. It answers where to go on; runs that start before are skipped.
pub(super) fn each_digit_run(bytes: &[u8], mut visit: impl FnMut(usize) -> usize) {
    let (mut resume, mut base, mut carry) = (0, 0, 0);
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    for block in blocks {
        let mask = digit_mask(block);
        each_start(mask, carry, base, &mut resume, &mut visit);
        carry = mask >> 63;
        base += BLOCK;
    }
    let mut last = [0; BLOCK];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    each_start(digit_mask(&last), carry, base, &mut resume, &mut visit);
}

fn each_start(
    mask: u64,
    carry: u64,
    base: usize,
    resume: &mut usize,
    visit: &mut impl FnMut(usize) -> usize,
) {
    let mut starts = mask & !((mask << 1) | carry);
    while starts != 0 {
        let at = base + usize::try_from(starts.trailing_zeros()).unwrap_or(0);
        starts &= starts - 1;
        if at >= *resume {
            *resume = visit(at).max(at + 1);
        }
    }
}

/// One bit a byte, set where the byte is a digit.
fn digit_mask(block: &[u8; BLOCK]) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    // Added to a byte below 0x80, these set its high bit from `0` on, and from `:` on.
    const FROM_ZERO: u64 = 0x5050_5050_5050_5050;
    const FROM_COLON: u64 = 0x4646_4646_4646_4646;
    // Multiplied, gathers the lowest bits of eight bytes in the highest byte.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let mut mask = 0;
    for (index, eight) in block.as_chunks::<8>().0.iter().enumerate() {
        let word = u64::from_le_bytes(*eight);
        let low = word & LOW;
        let digits = (low + FROM_ZERO) & !(low + FROM_COLON) & !word & HIGH;
        mask |= ((digits >> 7).wrapping_mul(GATHER) >> 56) << (8 * index);
    }
    mask
}

/// The byte at a place; a line break outside the text, which is a boundary to every rule.
pub(super) fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(b'\n')
}

/// The byte before a place.
pub(super) fn byte_before(bytes: &[u8], at: usize) -> u8 {
    at.checked_sub(1).map_or(b'\n', |at| byte(bytes, at))
}

/// Letters, digits and the underscore: what a name in code goes on with.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether the letter at a place belongs to an escape such as `\n`, and so not to the word after it.
pub(super) fn is_escape(bytes: &[u8], at: usize) -> bool {
    matches!(byte(bytes, at), b'n' | b't' | b'r') && byte_before(bytes, at) == b'\\'
}

/// Whether a word ends right before a place.
pub(super) fn follows_word(bytes: &[u8], at: usize) -> bool {
    is_word(byte_before(bytes, at)) && !at.checked_sub(1).is_some_and(|at| is_escape(bytes, at))
}

/// The end of the run of bytes of a class that starts at a place.
pub(super) fn run_end(bytes: &[u8], start: usize, is_member: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    start + rest.iter().position(|byte| !is_member(*byte)).unwrap_or(rest.len())
}

/// The start of the run of bytes of a class that ends at a place, at most `limit` back.
pub(super) fn run_start(bytes: &[u8], end: usize, limit: usize, is_member: impl Fn(u8) -> bool) -> usize {
    let from = end.saturating_sub(limit);
    let before = bytes.get(from..end).unwrap_or_default();
    from + before.iter().rposition(|byte| !is_member(*byte)).map_or(0, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn starts(text: &[u8]) -> Vec<usize> {
        let mut found = Vec::new();
        each_digit_run(text, |at| {
            found.push(at);
            at
        });
        found
    }

    proptest! {
        #[test]
        fn the_mask_finds_what_a_plain_loop_finds(text in proptest::collection::vec(prop_oneof![
            Just(b'0'), Just(b'9'), Just(b'/'), Just(b':'), Just(0xb5_u8), any::<u8>()], 0..200)) {
            let plain: Vec<usize> = (0..text.len())
                .filter(|at| text[*at].is_ascii_digit() && (*at == 0 || !text[*at - 1].is_ascii_digit()))
                .collect();
            prop_assert_eq!(starts(&text), plain);
        }
    }

    #[test]
    fn what_was_looked_at_is_skipped() {
        let mut found = Vec::new();
        each_digit_run(b"1 2 3 4", |at| {
            found.push(at);
            at + 4
        });
        assert_eq!(found, [0, 4]);
    }
}
