//! Texts from events that are safe to show: on one line, and without characters that control a terminal.

use std::borrow::Cow;

/// A text that is safe to print on one line of a terminal.
pub fn visible(text: &str) -> Cow<'_, str> {
    if is_printable_ascii(text) || !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(visible_char).collect())
}

/// The same for a text of at most this many characters. A shortened text ends in `…`.
pub fn visible_start(text: &str, max_chars: usize) -> String {
    let mut start: String = text.chars().take(max_chars).map(visible_char).collect();
    if text.chars().nth(max_chars).is_some() {
        start.push('…');
    }
    start
}

/// Whether a text has only printable ASCII characters, none of which is hidden.
pub fn is_printable_ascii(text: &str) -> bool {
    // Without an early end, the compiler tests many bytes at once.
    text.bytes().fold(true, |is_printable, byte| is_printable & matches!(byte, b' '..=b'~'))
}

/// Whether a character could control a terminal, or change the order in which a text is displayed.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// A character that is safe to print in place of another one.
pub fn visible_char(c: char) -> char {
    match c {
        '\u{7f}' => '\u{2421}',
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
        _ if is_hidden(c) => '\u{fffd}',
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown() {
        assert_eq!(visible("a\n\u{1b}[31m\u{202e}"), "a\u{240a}\u{241b}[31m\u{fffd}");
        assert_eq!(visible_start("a\nb", 2), "a\u{240a}…");
        assert_eq!(visible_start("ab", 2), "ab");
    }
}
