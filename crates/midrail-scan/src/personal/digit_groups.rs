//! Groups of digits that separators join: where they begin and end.

use crate::bytes::{byte, byte_before, is_word, run_end};

/// The end of the word at a place, with what dashes and full stops join to it.
pub(super) fn word_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at;
    loop {
        end = run_end(bytes, end, is_word);
        let (joint, next) = (byte(bytes, end), byte(bytes, end + 1));
        let is_joint = match joint {
            b'-' | b'.' => true,
            b'/' | b'+' => byte_before(bytes, end).is_ascii_digit() && next.is_ascii_digit(),
            _ => false,
        };
        if !is_joint || !next.is_ascii_alphanumeric() {
            return end;
        }
        end += 1;
    }
}

/// The groups of digits from a place on: start and end of each.
pub(super) fn groups(
    bytes: &[u8],
    start: usize,
    end: usize,
) -> impl Iterator<Item = (usize, usize)> + Clone + '_ {
    let group = |at: usize| (at, run_end(bytes, at, |byte| byte.is_ascii_digit()));
    std::iter::successors(Some(group(start)), move |(_, group_end)| next_group(bytes, *group_end).map(group))
        .take_while(move |(_, group_end)| *group_end <= end)
}

/// The end of a time stamp: `2024-05-01T10:11:12`, `2024-05-01 10:11:12`, `10:11:12`. Every line of a log has one.
pub(super) fn time_end(bytes: &[u8], start: usize, end: usize) -> Option<usize> {
    let time = match (end - start, byte(bytes, end)) {
        (4, b'-' | b'/') if matches!(byte(bytes, end + 6), b'T' | b' ') => start + 11,
        (2, b':') => start,
        _ => return None,
    };
    if !is_time_of_day(*bytes.get(time..)?.first_chunk()?) {
        return None;
    }
    // Six pairs are a network address.
    let end = time + 8;
    let next = byte(bytes, end);
    if next == b':' || next.is_ascii_alphanumeric() && next != b'Z' {
        return None;
    }
    let has_fraction = matches!(next, b'.' | b',') && byte(bytes, end + 1).is_ascii_digit();
    let end = if has_fraction { run_end(bytes, end + 1, |byte| byte.is_ascii_digit()) } else { end };
    Some(end + usize::from(byte(bytes, end) == b'Z'))
}

/// Whether eight bytes have the form `10:11:12`, checked all at once.
fn is_time_of_day(bytes: [u8; 8]) -> bool {
    // A digit becomes its value, and a colon becomes zero.
    let left = u64::from_le_bytes(bytes) ^ u64::from_le_bytes(*b"00:00:00");
    // A value above nine overflows half a byte.
    let grown = left.wrapping_add(u64::from_le_bytes([6, 6, 0, 6, 6, 0, 6, 6]));
    (left | grown) & u64::from_le_bytes([0xf0, 0xf0, 0xff, 0xf0, 0xf0, 0xff, 0xf0, 0xf0]) == 0
}

/// Where the next group of digits starts, if a separator of numbers is before it.
pub(super) fn next_group(bytes: &[u8], end: usize) -> Option<usize> {
    let first = byte(bytes, end);
    if !matches!(first, b'-' | b'.' | b'/' | b' ' | b'(' | b')') {
        return None;
    }
    let second = byte(bytes, end + 1);
    if second.is_ascii_digit() {
        return Some(end + 1);
    }
    let is_pair = matches!((first, second), (b')', b' ' | b'-') | (b' ', b'('));
    (is_pair && byte(bytes, end + 2).is_ascii_digit()).then_some(end + 2)
}

pub(super) fn opens(bytes: &[u8], start: usize) -> bool {
    byte_before(bytes, start) == b'(' && start >= 2 && byte(bytes, start - 2) == b' '
}

/// Whether a number ends here although a letter follows: `555-123-4567x12`.
pub(super) fn is_extension(bytes: &[u8], end: usize) -> bool {
    byte(bytes, end) == b'x'
        && byte(bytes, end + 1).is_ascii_digit()
        && end >= 2
        && byte(bytes, end - 2).is_ascii_digit()
}

/// Whether a single letter follows, as in `12345678-Z`.
pub(super) fn has_check_letter(bytes: &[u8], end: usize) -> bool {
    byte(bytes, end) == b'-' && byte(bytes, end + 1).is_ascii_uppercase() && !is_word(byte(bytes, end + 2))
}

/// The end of the part without spaces that starts at a group.
pub(super) fn part_end(bytes: &[u8], start: usize, end: usize) -> usize {
    let mut last = start;
    for (group, group_end) in groups(bytes, start, end) {
        if group > start && bytes.get(last..group).is_some_and(|gap| gap.contains(&b' ')) {
            break;
        }
        last = group_end;
    }
    last
}

/// The end of the digits and separators without spaces that start at a place.
pub(super) fn tight_end(bytes: &[u8], start: usize) -> usize {
    let mut end = run_end(bytes, start, |byte| byte.is_ascii_digit());
    while matches!(byte(bytes, end), b'-' | b'.' | b'/') && byte(bytes, end + 1).is_ascii_digit() {
        end = run_end(bytes, end + 1, |byte| byte.is_ascii_digit());
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_day_are_recognised() {
        assert!(["00:00:00", "10:11:12", "99:99:99"].iter().all(|text| is_time(text)));
        for wrong in ["10-11:12", "10:11-12", "1a:11:12", "10:11:1/", ":0:11:12", "10:11:1:", "10:11:1\u{9}"]
        {
            assert!(!is_time(wrong), "{wrong}");
        }
    }

    fn is_time(text: &str) -> bool {
        is_time_of_day(text.as_bytes().try_into().unwrap())
    }
}
