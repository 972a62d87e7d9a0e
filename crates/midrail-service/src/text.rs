//! Short texts for messages and names, and texts in addresses and forms.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The bytes that are encoded in a part of a path and in a query.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A text as one part of a path, or as a value of a query.
pub(crate) fn escape(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

/// A value of a form, or of a query.
pub(crate) fn form_value(form: &[u8], wanted: &str) -> Option<String> {
    let mut pairs = form_urlencoded::parse(form);
    pairs.find(|(name, _)| name == wanted).map(|(_, value)| value.into_owned())
}

/// Text of a request in a message: without control characters, and cut short.
pub(crate) fn short(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(80).collect()
}

/// A short random name. Without randomness it is not unique, which is harmless for names that only label things.
pub(crate) fn random_name() -> String {
    let mut bytes = [0_u8; 4];
    let _ = getrandom::fill(&mut bytes);
    midrail_core::hex::encode(&bytes)
}
