//! The values of structured data, where an order to the reader is out of place.

use std::ops::Range;

/// The longest name of a value.
const MAX_NAME: usize = 48;
/// How many bytes before its first bracket a text may introduce its data.
const OPENS_WITHIN: usize = 64;

/// The values of a text that is structured data, in order: each from its name to the next one.
pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    if !opens_data(bytes) {
        return Vec::new();
    }
    let mut values = Vec::new();
    let mut start = None;
    for colon in memchr::memchr_iter(b':', bytes) {
        let after = bytes.get(colon + 1..).unwrap_or_default().iter().take(4);
        let opens_text = |byte: &u8| matches!(byte, b'"' | b'\'' | b'\\' | b'[' | b'{');
        let is_name_of_text = after.clone().find(|byte| **byte != b' ').is_some_and(opens_text);
        let Some(name) = name_before(bytes, colon) else { continue };
        if let Some(start) = start.take() {
            values.push(start..name);
        }
        start = is_name_of_text.then_some(colon + 1);
    }
    values.extend(start.map(|start| start..bytes.len()));
    values
}

/// Whether data opens with a name, a text or more data. A link or an attribute of code opens with something else.
fn opens_data(bytes: &[u8]) -> bool {
    (0..OPENS_WITHIN.min(bytes.len())).any(|at| {
        let inside = bytes.get(at + 1..).unwrap_or_default().iter().take(16);
        matches!(bytes.get(at), Some(b'{' | b'['))
            && matches!(
                inside.copied().find(|byte| !byte.is_ascii_whitespace() && *byte != b'\\'),
                Some(b'"' | b'\'' | b'{' | b'[')
            )
    })
}

/// Where the quoted name before a colon begins. Quotation marks are before colons in prose and code, too.
fn name_before(bytes: &[u8], colon: usize) -> Option<usize> {
    let from = colon.saturating_sub(MAX_NAME);
    let before = bytes.get(from..colon)?;
    if !matches!(before.last(), Some(b'"' | b'\'')) {
        return None;
    }
    let mut rest =
        before.iter().enumerate().rev().skip_while(|(_, byte)| matches!(byte, b'"' | b'\'' | b'\\'));
    let (opening, mark) = rest.find(|(_, byte)| {
        !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b' ' | b'.' | b'$'))
    })?;
    let outside = rest.map(|(_, byte)| byte).find(|byte| !byte.is_ascii_whitespace() && **byte != b'\\')?;
    let is_name = matches!(mark, b'"' | b'\'') && matches!(outside, b'{' | b',' | b'n');
    is_name.then_some(from + opening)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<&str> {
        find(text).into_iter().map(|value| text[value].trim_matches([' ', ',', '"', '}'])).collect()
    }

    #[test]
    fn values_end_at_the_next_name() {
        assert_eq!(
            values(r#"{"id": 7, "note text": "one: two", "n": 1, "tags": ["a", "b"]}"#),
            ["one: two", "[\"a\", \"b\"]"]
        );
        assert_eq!(values("{'user': 'Ann', 'text': 'It''s late'}"), ["'Ann'", "'It''s late'"]);
        assert_eq!(values(r#"{\"a\": \"b\"}"#), [r#"\"b\"#]);
        assert_eq!(values(r#"Result: {"a": "b"}"#), ["b"]);
    }

    #[test]
    fn prose_and_code_have_no_values() {
        for text in ["say \"hello\": it is polite", "let a = {x: 1};", "[link](x) \"a\": \"b\"", ""] {
            assert_eq!(values(text), Vec::<&str>::new(), "{text}");
        }
    }
}
