//! Escapes of characters, and markup between words that does not separate them.

use super::data::{ENTITIES, INLINE_TAGS};

/// The longest tag or comment that is skipped.
const MAX_INLINE: usize = 24;

/// The length of an inline tag or a short comment of code that begins here.
pub(super) fn markup_length(bytes: &[u8]) -> Option<usize> {
    let bytes = bytes.get(..MAX_INLINE.min(bytes.len()))?;
    match bytes {
        [b'/', b'*', rest @ ..] => rest.windows(2).position(|end| end == b"*/").map(|at| at + 4),
        [b'<', rest @ ..] => {
            let name = rest.strip_prefix(b"/").unwrap_or(rest);
            let length = name.iter().position(|byte| !byte.is_ascii_alphabetic())?;
            let tag = name.get(..length)?.to_ascii_lowercase();
            let is_inline = INLINE_TAGS.contains(tag.as_slice());
            is_inline.then(|| bytes.iter().position(|byte| *byte == b'>')).flatten().map(|at| at + 1)
        }
        _ => None,
    }
}

/// The character of an escape at `at`, and where the escape ends.
pub(super) fn unescape(text: &str, at: usize) -> Option<(char, usize)> {
    let bytes = text.as_bytes();
    let rest = text.get(at + 1..)?;
    match (bytes.get(at)?, bytes.get(at + 1)?) {
        (b'\\', b'n' | b'r') => Some(('\n', at + 2)),
        (b'\\', b't') => Some((' ', at + 2)),
        (b'\\', b'x') => number(rest.get(1..3)?, 16).map(|c| (c, at + 4)),
        (b'\\', b'u') if rest.get(1..2) == Some("{") => {
            let length = rest.bytes().skip(2).take(7).position(|byte| byte == b'}')?;
            number(rest.get(2..2 + length)?, 16).map(|c| (c, at + 4 + length))
        }
        (b'\\', b'u') => number(rest.get(1..5)?, 16).map(|c| (c, at + 6)),
        (b'%', _) => {
            let c = number(rest.get(..2)?, 16)?;
            c.is_ascii().then_some((c, at + 3))
        }
        (b'&', b'#') => {
            let end = rest.bytes().take(10).position(|byte| byte == b';')?;
            let digits = rest.get(1..end)?;
            let c = match digits.strip_prefix(['x', 'X']) {
                Some(digits) => number(digits, 16)?,
                None => number(digits, 10)?,
            };
            Some((c, at + 2 + end))
        }
        (b'&', _) => {
            let end = rest.bytes().take(8).position(|byte| byte == b';')?;
            let name = rest.get(..end)?;
            let (_, character) = ENTITIES.iter().find(|(entity, _)| *entity == name)?;
            Some((character.chars().next()?, at + 2 + end))
        }
        _ => None,
    }
}

fn number(digits: &str, radix: u32) -> Option<char> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(digits, radix).ok().and_then(char::from_u32)
}
