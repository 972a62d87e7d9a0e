//! Base64, in either alphabet.

/// The value of a digit.
pub fn digit_value(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

/// The bytes that a text encodes, up to the first byte that is no digit.
pub fn decode_prefix(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut bits, mut count) = (0_u32, 0_u32);
    for value in text.iter().map_while(|byte| digit_value(*byte)) {
        bits = (bits << 6 | u32::from(value)) & 0x00ff_ffff;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.extend(u8::try_from((bits >> count) & 0xff));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_alphabets_are_read_up_to_the_padding() {
        assert_eq!(decode_prefix(b"bWlkcmFpbA=="), b"midrail");
        assert_eq!(decode_prefix(b"-_8 more"), [0xfb, 0xff]);
        assert_eq!(decode_prefix(b"+/8 more"), [0xfb, 0xff]);
        assert!(decode_prefix(b"=").is_empty());
    }
}
