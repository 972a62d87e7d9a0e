//! Texts as the values of headers, which hold printable ASCII only.

use midrail::core::base64;

/// How headers with arguments of a call start.
pub const PARAM: &str = "mcp-param-";

const SENTINEL: (&str, &str) = ("=?base64?", "?=");

/// A text as the value of a header.
pub(super) fn encode(text: &str) -> String {
    let is_plain = !text.is_empty()
        && text.trim() == text
        && !(text.starts_with(SENTINEL.0) && text.ends_with(SENTINEL.1))
        && text.bytes().all(|byte| byte == b'\t' || (0x20..0x7f).contains(&byte));
    if is_plain { text.to_owned() } else { [SENTINEL.0, &base64_of(text.as_bytes()), SENTINEL.1].concat() }
}

/// The text of a header. `None`: it is not valid.
pub(super) fn decode(value: &str) -> Option<String> {
    match value.strip_prefix(SENTINEL.0).and_then(|rest| rest.strip_suffix(SENTINEL.1)) {
        Some(encoded) => {
            let bytes = base64::decode_prefix(encoded.as_bytes());
            // The other alphabet, missing padding and rubbish behind it are not valid.
            (base64_of(&bytes) == encoded).then(|| String::from_utf8(bytes).ok()).flatten()
        }
        None => Some(value.to_owned()),
    }
}

fn base64_of(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |bits: u32| {
        DIGITS.get(usize::try_from(bits & 63).unwrap_or_default()).copied().map_or('=', char::from)
    };
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let byte = |at: usize| group.get(at).copied().map_or(0, u32::from);
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        text.push(digit(bits >> 18));
        text.push(digit(bits >> 12));
        text.push(if group.len() > 1 { digit(bits >> 6) } else { '=' });
        text.push(if group.len() > 2 { digit(bits) } else { '=' });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_encoded_where_a_header_cannot_have_them() {
        for plain in ["us-west1", "a b", "\ta"[1..].trim(), "x=?base64?"] {
            assert_eq!(encode(plain), plain);
        }
        for text in ["", " a", "a ", "é", "a\nb", "=?base64?YQ==?=", "Hello\u{1F600}", "ab", "abc", "\u{7f}"]
        {
            assert_eq!(decode(&encode(text)).as_deref(), Some(text), "{text:?}");
        }
        assert_eq!(encode(""), "=?base64??=");
        assert_eq!(encode(" Hello"), "=?base64?IEhlbGxv?=");
        for bad in
            ["=?base64?YQ?=", "=?base64?YQ==x?=", "=?base64?!!?=", "=?base64?_w==?=", "=?base64?/w==?="]
        {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }
}
