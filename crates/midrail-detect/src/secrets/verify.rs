//! Looks at the shape of keys that go beyond a pattern: checksums, encodings, alphabets.

use midrail_core::Confidence;

use super::generic::letters::strangeness;
use super::generic::names::Class;
use super::generic::values;
use super::rules::Verify;
use crate::base64;

/// How sure a key is, or `None` where it is none.
pub(super) fn confidence(verify: Verify, secret: &[u8]) -> Option<Confidence> {
    let has = |member: fn(&u8) -> bool| secret.iter().any(member);
    match verify {
        Verify::None => Some(Confidence::High),
        // The keys of Amazon's manuals open nothing.
        Verify::Aws if secret.ends_with(b"EXAMPLE") => None,
        Verify::Aws => {
            Some(match secret.iter().skip(4).all(|byte| matches!(byte, b'A'..=b'Z' | b'2'..=b'7')) {
                true => Confidence::High,
                false => Confidence::Medium,
            })
        }
        Verify::Crc32 => Some(if crc_holds(secret) { Confidence::High } else { Confidence::Medium }),
        Verify::Pypi => Some(match secret.get(5..).is_some_and(|rest| rest.starts_with(b"AgE")) {
            true => Confidence::High,
            false => Confidence::Medium,
        }),
        Verify::Slack => {
            let digits = secret.iter().filter(|byte| byte.is_ascii_digit()).count();
            (digits >= 3).then_some(Confidence::High)
        }
        Verify::OpenAi => {
            let digits = secret.iter().filter(|byte| byte.is_ascii_digit()).count();
            (digits >= 2 && !is_dashed(secret)).then_some(Confidence::High)
        }
        Verify::Digit => {
            let body = secret.iter().skip(3);
            let digits = body.filter(|byte| byte.is_ascii_digit()).count();
            (digits >= 2 && has(u8::is_ascii_alphabetic)).then_some(Confidence::Medium)
        }
        Verify::Symbol => secret
            .iter()
            .any(|byte| matches!(byte, b'#' | b'&' | b'@' | b'*' | b'$' | b'%' | b'!' | b'?' | b'^' | b'~'))
            .then_some(Confidence::Medium),
        Verify::NotWords => {
            let letters = secret.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
            (values::letters_in_words(secret) * 2 < letters).then_some(Confidence::High)
        }
        Verify::Token => values::is_secret(secret, Class::Key, true).then_some(Confidence::Medium),
        Verify::Password => values::is_secret(secret, Class::Password, true).then_some(Confidence::Medium),
        Verify::Phrase => is_wallet(secret).then_some(Confidence::High),
        Verify::Told => {
            let made = values::makeup(secret);
            let is_mixed = made.digits >= 2 && made.lower + made.upper >= 3;
            (is_mixed && values::is_secret(secret, Class::Password, true)).then_some(Confidence::Medium)
        }
        Verify::Basic => {
            let text = base64_prefix(secret);
            let is_text = text.len() >= 5 && text.iter().all(|byte| *byte >= b' ' && *byte != 0x7f);
            (is_text && text.contains(&b':') && !is_of_manuals(&text)).then_some(Confidence::High)
        }
    }
}

/// Whether it is the user and password that manuals show.
fn is_of_manuals(text: &[u8]) -> bool {
    const SHOWN: &[&str] = &[
        "user:password",
        "username:password",
        "user:pass",
        "user:passwd",
        "username:pass",
        "login:password",
        "test:test",
        "foo:bar",
        "aladdin:open sesame",
        "aladdin:opensesame",
    ];
    SHOWN.iter().any(|shown| shown.as_bytes().eq_ignore_ascii_case(text))
}

/// Whether words are those of a wallet: sentences have words that lists of such leave out.
fn is_wallet(text: &[u8]) -> bool {
    const OF_SENTENCES: &[&[u8]] = &[
        b"the", b"and", b"for", b"are", b"you", b"not", b"your", b"this", b"that", b"from", b"have", b"they",
        b"them", b"these", b"was", b"were", b"has", b"its", b"but", b"can",
    ];
    let words: std::collections::BTreeSet<&[u8]> = text.split(|byte| *byte == b' ').collect();
    words.len() >= 8 && !words.iter().any(|word| OF_SENTENCES.contains(word))
}

/// Words joined by dashes, as in the classes of style sheets.
fn is_dashed(secret: &[u8]) -> bool {
    let parts = secret.split(|byte| matches!(byte, b'-' | b'_'));
    let words = parts.filter(|part| {
        part.len() >= 3
            && part.len() <= 14
            && part.iter().all(u8::is_ascii_lowercase)
            && strangeness(part) < 100
    });
    words.count() >= 3
}

/// Whether the last six characters are the CRC-32 of what stands between the prefix and them, in base 62.
fn crc_holds(secret: &[u8]) -> bool {
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
    value == u64::from(crc32(random))
}

/// The checksum of zip files and Ethernet.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}

/// The first bytes of a text in base 64 of either alphabet; ends where it is none.
pub(super) fn base64_prefix(text: &[u8]) -> Vec<u8> {
    const LIMIT: usize = 1_024;
    base64::prefix(text.get(..LIMIT).unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_and_encodings_are_read() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(base64_prefix(b"eyJhbGciOiJIUzI1NiJ9"), b"{\"alg\":\"HS256\"}");
        assert!(is_of_manuals(b"User:Password") && !is_of_manuals(b"marie:password"));
        assert!(!crc_holds(b"ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
    }
}
