//! Hexadecimal text.

/// The bytes as lowercase hexadecimal digits.
pub fn encode(bytes: &[u8]) -> String {
    let digit = |value: u8| if value < 10 { b'0' + value } else { b'a' + value - 10 };
    let mut digits = vec![0; bytes.len() * 2];
    // Without pushes, the compiler converts many bytes at once.
    for ([high, low], byte) in digits.as_chunks_mut().0.iter_mut().zip(bytes) {
        (*high, *low) = (digit(byte >> 4), digit(byte & 15));
    }
    // Digits are always valid text.
    String::from_utf8(digits).unwrap_or_default()
}

/// The bytes of a hexadecimal text. `None` where it has an odd length or a character that is not a hexadecimal digit.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoding_reverses_encoding() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&bytes)), Some(bytes));
        assert_eq!(encode(&[0, 0xaf]), "00af");
        assert_eq!(decode("00AF"), Some(vec![0, 0xaf]));
    }

    #[test]
    fn text_that_is_not_hexadecimal_is_rejected() {
        assert_eq!(decode("abc"), None);
        assert_eq!(decode("zz"), None);
        assert_eq!(decode("+1"), None);
    }
}
