//! Texts for messages and for storage.

use std::borrow::Cow;

use midrail_scan::secrets::redact;
use serde_json::Value;

/// A text of at most this many characters. A shortened text ends in `…`.
pub(crate) fn shorten(text: &str, max_chars: usize) -> String {
    if text.chars().nth(max_chars).is_none() {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(max_chars.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// A text that begins with a capital letter.
pub(crate) fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Maximum length of an error in messages and in storage.
const MAX_ERROR: usize = 200;

/// The first line of an error, shortened and without secrets.
pub(crate) fn first_error_line(error: &str) -> String {
    let line = error.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    shorten(&redact(&shorten(line, MAX_ERROR * 4)), MAX_ERROR)
}

/// A value as text: a string as it is, anything else as JSON.
pub(crate) fn plain_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

/// The first three of several quoted names: `a, b, c and 2 more`.
pub(crate) fn first_names(names: &[String]) -> String {
    let shown = names.get(..3).unwrap_or(names).join(", ");
    match names.len().saturating_sub(3) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_shortened_between_characters() {
        assert_eq!(shorten("äöü", 3), "äöü");
        assert_eq!(shorten("äöüß", 3), "äö…");
        assert_eq!(first_error_line("\n  one \ntwo"), "one");
    }

    #[test]
    fn three_names_are_shown() {
        let names = ["a", "b", "c", "d"].map(str::to_owned);
        assert_eq!(first_names(&names[..3]), "a, b, c");
        assert_eq!(first_names(&names), "a, b, c and 1 more");
    }
}
