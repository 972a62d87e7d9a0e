//! Checks of keys that go beyond a pattern: checksums, encodings, alphabets. Formats refer to them by name.

use std::collections::BTreeSet;

use midrail_core::{Confidence, base64};

use super::data::{MANUAL_CREDENTIALS, SENTENCE_WORDS};
use super::generic::makeup::makeup;
use super::generic::names::Class;
use super::generic::values;
use super::letter_pairs::strangeness;

/// Accepts every key: the pattern is enough.
pub(super) fn any(secret: &[u8]) -> Option<Confidence> {
    (!secret.is_empty()).then_some(Confidence::High)
}

/// An AWS key id. One in the base-32 alphabet has more confidence, and those of Amazon's manuals grant no access.
pub(super) fn aws_key_id(secret: &[u8]) -> Option<Confidence> {
    let is_base32 = secret.iter().skip(4).all(|byte| matches!(byte, b'A'..=b'Z' | b'2'..=b'7'));
    (!secret.ends_with(b"EXAMPLE")).then_some(high_if(is_base32))
}

/// A key whose last six characters are a checksum. Not all providers use it, so it only adds confidence.
pub(super) fn crc32(secret: &[u8]) -> Option<Confidence> {
    Some(high_if(has_checksum(secret)))
}

/// A macaroon of the Python package index.
pub(super) fn pypi_macaroon(secret: &[u8]) -> Option<Confidence> {
    Some(high_if(secret.get(5..).is_some_and(|rest| rest.starts_with(b"AgE"))))
}

/// At least three digits.
pub(super) fn some_digits(secret: &[u8]) -> Option<Confidence> {
    (digits(secret) >= 3).then_some(Confidence::High)
}

/// At least two digits, and no words joined by dashes as in the classes of style sheets.
pub(super) fn not_dashed_words(secret: &[u8]) -> Option<Confidence> {
    let is_word = |part: &&[u8]| {
        (3..=14).contains(&part.len()) && part.iter().all(u8::is_ascii_lowercase) && strangeness(part) < 100
    };
    let words = secret.split(|byte| matches!(byte, b'-' | b'_')).filter(is_word).count();
    (digits(secret) >= 2 && words < 3).then_some(Confidence::High)
}

/// Letters and at least two digits behind the prefix.
pub(super) fn letters_and_digits(secret: &[u8]) -> Option<Confidence> {
    let body = secret.get(3..).unwrap_or_default();
    let has_letter = secret.iter().any(u8::is_ascii_alphabetic);
    (digits(body) >= 2 && has_letter).then_some(Confidence::Medium)
}

/// A character other than letters and digits.
pub(super) fn symbol(secret: &[u8]) -> Option<Confidence> {
    secret.iter().any(|byte| b"#&@*$%!?^~".contains(byte)).then_some(Confidence::Medium)
}

/// No everyday words, as names in code have.
pub(super) fn not_words(secret: &[u8]) -> Option<Confidence> {
    let letters = secret.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    (values::letters_in_words(secret) * 2 < letters).then_some(Confidence::High)
}

/// Neither a placeholder nor a word.
pub(super) fn token(secret: &[u8]) -> Option<Confidence> {
    values::is_secret(secret, Class::Key, true).then_some(Confidence::Medium)
}

/// No placeholder.
pub(super) fn password(secret: &[u8]) -> Option<Confidence> {
    values::is_secret(secret, Class::Password, true).then_some(Confidence::Medium)
}

/// A password of letters and digits.
pub(super) fn mixed_password(secret: &[u8]) -> Option<Confidence> {
    let made = makeup(secret);
    if made.digits >= 2 && made.lower + made.upper >= 3 { password(secret) } else { None }
}

/// The words of a wallet: most of them different, and none of them typical for sentences.
pub(super) fn wallet_phrase(secret: &[u8]) -> Option<Confidence> {
    let words: BTreeSet<&[u8]> = secret.split(|byte| *byte == b' ').collect();
    let is_sentence = words.iter().any(|word| SENTENCE_WORDS.contains(word));
    (words.len() >= 8 && !is_sentence).then_some(Confidence::High)
}

/// Base 64 of a user name and a password other than those of manuals.
pub(super) fn user_and_password(secret: &[u8]) -> Option<Confidence> {
    let text = base64_prefix(secret);
    let is_text = text.len() >= 5 && text.iter().all(|byte| *byte >= b' ' && *byte != 0x7f);
    let is_manual = MANUAL_CREDENTIALS.contains(text.to_ascii_lowercase().as_slice());
    (is_text && text.contains(&b':') && !is_manual).then_some(Confidence::High)
}

/// The seed of a NATS key: base 32 with a checksum in the last two bytes.
pub(super) fn nkey(secret: &[u8]) -> Option<Confidence> {
    let mut bytes = Vec::with_capacity(secret.len());
    let (mut bits, mut count) = (0_u32, 0_u32);
    for byte in secret {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'2'..=b'7' => byte - b'2' + 26,
            _ => return None,
        };
        bits = (bits << 5) | u32::from(digit);
        count += 5;
        if count >= 8 {
            count -= 8;
            let [.., last] = (bits >> count).to_be_bytes();
            bytes.push(last);
            bits &= (1 << count) - 1;
        }
    }
    let (body, check) = bytes.split_last_chunk::<2>()?;
    (crc16_checksum(body) == u16::from_le_bytes(*check)).then_some(Confidence::High)
}

/// A web token in base 64: its first part is an object that names an algorithm, and a second part follows.
pub(super) fn encoded_web_token(secret: &[u8]) -> Option<Confidence> {
    let token = base64_prefix(secret);
    let mut parts = token.split(|byte| *byte == b'.');
    let head = base64_prefix(parts.next()?);
    let payload = parts.next().map(base64_prefix).unwrap_or_default();
    let is_head = head.starts_with(b"{\"")
        && head.windows(5).any(|window| window == b"\"alg\"" || window == b"\"typ\"");
    (is_head && payload.starts_with(b"{")).then_some(Confidence::High)
}

/// The checksum of XMODEM.
fn crc16_checksum(bytes: &[u8]) -> u16 {
    let step = |crc: u16| if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 };
    bytes.iter().fold(0, |crc, byte| (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| step(crc)))
}

fn high_if(is_sure: bool) -> Confidence {
    if is_sure { Confidence::High } else { Confidence::Medium }
}

fn digits(secret: &[u8]) -> usize {
    secret.iter().filter(|byte| byte.is_ascii_digit()).count()
}

/// Whether the last six characters are the CRC-32 of the characters between the prefix and them, in base 62.
fn has_checksum(secret: &[u8]) -> bool {
    let Some(prefix) = secret.iter().position(|byte| *byte == b'_') else { return false };
    let Some(body) = secret.get(prefix + 1..) else { return false };
    let Some((random, check)) = body.split_last_chunk::<6>() else { return false };
    let mut value: u64 = 0;
    for byte in check {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'A'..=b'Z' => byte - b'A' + 10,
            b'a'..=b'z' => byte - b'a' + 36,
            _ => return false,
        };
        value = value * 62 + u64::from(digit);
    }
    value == u64::from(crc32_checksum(random))
}

/// The checksum of zip files and Ethernet.
fn crc32_checksum(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}

/// The first decoded bytes of a text in base 64, up to the first byte of another alphabet.
pub(super) fn base64_prefix(text: &[u8]) -> Vec<u8> {
    const LIMIT: usize = 1_024;
    base64::decode_prefix(text.get(..LIMIT).unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_and_encodings_are_read() {
        assert_eq!(crc32_checksum(b"123456789"), 0xCBF4_3926);
        assert_eq!(crc16_checksum(b"123456789"), 0x31C3);
        assert_eq!(base64_prefix(b"eyJhbGciOiJIUzI1NiJ9"), b"{\"alg\":\"HS256\"}");
        assert!(!has_checksum(b"ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
    }
}
