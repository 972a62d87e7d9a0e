//! Decides whether a value is code rather than text.

use super::makeup::Makeup;
use crate::secrets::data::NUMBER_TYPES;

/// Whether a value without quotes begins as a call or an index: `get_token(`, `args[0]`.
pub(crate) fn is_call(value: &[u8]) -> bool {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$');
    matches!(value.iter().find(|byte| !is_name(byte)), Some(b'(' | b'['))
}

/// Whether a value is code rather than text: a call, an index, a member, a variable.
pub(super) fn is_code(value: &[u8], quoted: bool, made: &Makeup) -> bool {
    let first = value.first().copied().unwrap_or(b' ');
    let last = value.last().copied().unwrap_or(b' ');
    let is_variable = first == b'$'
        && value.iter().skip(1).all(|byte| {
            byte.is_ascii_alphanumeric()
                || matches!(byte, b'_' | b'{' | b'}' | b'.' | b':' | b'[' | b']' | b'-' | b'>')
        });
    let is_expansion = value.starts_with(b"${") && last == b'}';
    if is_variable || is_expansion || matches!(first, b')' | b',' | b']' | b';' | b'}' | b'>') {
        return true;
    }
    if quoted {
        let pairs = [*b"<>", *b"{}", *b"%%", *b"[]", *b"@@", *b"__", *b"()", *b"::"];
        return pairs.contains(&[first, last])
            || value.starts_with(b"##") && value.ends_with(b"##")
            || value.starts_with(b"\\x")
            || value.starts_with(b"\\u")
            || value.starts_with(b"0x") && made.length < 20;
    }
    // `0x04`, `__u32`: a number, a type.
    let is_hex = value.strip_prefix(b"0x").is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit));
    if is_hex && made.length <= 18 || value.starts_with(b"__") {
        return true;
    }
    if is_typed_number(value) {
        return true;
    }
    // `x->y`: a name, then what makes it code.
    let is_call = is_call(value)
        || value.windows(2).any(|pair| pair == b"->" || pair == b"::" || pair == b"=>" || pair == b"&&");
    let is_mixed = made.digits > 0 && made.upper > 0 && made.lower > 0 && made.symbols >= 2;
    let has_brackets =
        value.iter().any(|byte| matches!(byte, b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'<' | b'>' | b'|'));
    is_call
        || has_brackets && !is_mixed
        || matches!(
            first,
            b'$' | b'%' | b'<' | b'{' | b'[' | b'(' | b'&' | b'*' | b'@' | b'!' | b'=' | b'|' | b'~' | b'/'
        )
}

/// Whether a value is a number with its type: `1323u32`, `60L`.
fn is_typed_number(value: &[u8]) -> bool {
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'_').count();
    let rest = value.get(digits..).unwrap_or_default();
    digits > 0 && NUMBER_TYPES.contains(rest.to_ascii_lowercase().as_slice())
}

/// Whether a value has many symbols and crossed brackets, so that it is neither code nor a template.
pub(super) fn is_jumble(value: &[u8]) -> bool {
    // Regular expressions contain these pairs.
    let is_pattern =
        value.windows(2).any(|pair| matches!(pair, b"[^" | b"(?" | b".*" | b".+" | b"\\" | b"])"));
    let mut kinds = [false; 128];
    let mut open = Vec::new();
    let mut is_crossed = false;
    for byte in value {
        if byte.is_ascii_punctuation()
            && let Some(kind) = kinds.get_mut(usize::from(*byte))
        {
            *kind = true;
        }
        let opens = match byte {
            b')' => b'(',
            b']' => b'[',
            b'}' => b'{',
            b'(' | b'[' | b'{' => {
                open.push(*byte);
                continue;
            }
            _ => continue,
        };
        is_crossed |= open.pop().is_some_and(|last| last != opens);
    }
    value.len() >= 10 && is_crossed && !is_pattern && kinds.iter().filter(|kind| **kind).count() >= 6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumble_differs_from_code_and_patterns() {
        for value in ["k{q(9]w}$e#v[x>-t)", "a{b]c(d}e$f#g%h"] {
            assert!(is_jumble(value.as_bytes()), "{value}");
        }
        for value in ["f(x[1]){y}+#$", "[^(]+)|{x]-#$", "(?i)[a-z]{2}|#$%]", "{{name}}-$(x)#[y]"] {
            assert!(!is_jumble(value.as_bytes()), "{value}");
        }
    }
}
