//! Keys that code spells as a list of bytes: `authKey := []byte{201, 94, 0x16, …}`.

use std::collections::BTreeSet;

use crate::secrets::view::View;

/// The fewest bytes of a key.
const MIN_BYTES: usize = 12;

/// How many characters of a list are read.
const MAX_LIST: usize = 800;

/// The end of the list of bytes that begins at a place, perhaps after its type, if it can be a key. A list that counts up,
/// repeats itself or spells text is none.
pub(super) fn end(view: &View<'_>, from: usize) -> Option<usize> {
    let is_type = |byte: u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'[' | b']' | b'(' | b'{' | b'&' | b'!' | b'.' | b'_' | b' ')
    };
    let open = view.run(from, 40, |byte| is_type(byte) && !byte.is_ascii_digit() || matches!(byte, b'8'));
    let has_bracket = view.before(open).is_some_and(|byte| matches!(byte, b'[' | b'{' | b'('))
        || view.slice(from, open).trim_ascii_end().ends_with(b"{");
    // A `0` begins the first number; a type may end in `8`: `uint8`.
    if open == from || !has_bracket {
        return None;
    }
    let is_listed =
        |byte: u8| byte.is_ascii_hexdigit() || matches!(byte, b',' | b' ' | b'x' | b'\n' | b'\r' | b'\t');
    let end = view.run(open, MAX_LIST, is_listed);
    let list = str::from_utf8(view.slice(open, end)).ok()?;
    let mut bytes = Vec::new();
    for item in list.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        bytes.push(match item.strip_prefix("0x") {
            Some(hex) => u8::from_str_radix(hex, 16).ok()?,
            None => item.parse().ok()?,
        });
    }
    let distinct = bytes.iter().collect::<BTreeSet<_>>().len();
    let steps = bytes.array_windows::<2>().filter(|[first, second]| first.abs_diff(*second) <= 1).count();
    let is_text = bytes.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
    let is_key = bytes.len() >= MIN_BYTES
        && distinct * 3 >= bytes.len().min(32) * 2
        && steps * 3 < bytes.len()
        && !is_text;
    is_key.then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> bool {
        end(&View::new(text, true), 0).is_some()
    }

    #[test]
    fn keys_differ_from_other_lists() {
        for text in [
            "[]byte{6, 54, 34, 254, 66, 54, 31, 84, 69, 21, 7, 38, 217, 66,",
            "bytes([201, 94, 22, 37, 96, 21, 16, 106, 75, 242, 23, 68, 93])",
            "new byte[] { 0x16, 0xaa, 0x03, 0x5e, 0x3a, 0x91, 0xf0, 0x44, 0x8b, 0x29, 0xc1, 0x77 };",
            "[52, 47, 132, 45, 79, 27, 252, 36, 11, 96, 86, 208, 70]",
            "new Uint8Array([52, 47, 132, 45, 79, 27, 252, 36, 11, 96, 86, 208, 70])",
        ] {
            assert!(found(text), "{text}");
        }
        for text in [
            "[]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}",
            "[]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}",
            "[104, 101, 108, 108, 111, 32, 119, 111, 114, 108, 100, 33, 33, 72]",
            "[52, 47, 132, 45]",
            "[1052, 47, 132, 45, 79, 27, 252, 36, 11, 96, 86, 208, 70]",
            "6, 54, 34, 254, 66, 54, 31, 84, 69, 21, 7, 38, 217, 66,",
            "f(a, b)",
        ] {
            assert!(!found(text), "{text}");
        }
    }
}
