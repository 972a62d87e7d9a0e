//! Recognises placeholders, templates and dummies.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use crate::secrets::data::{
    DUMMY_PARTS, NAMING_PARTS, PLACEHOLDER_PARTS, PLACEHOLDER_VALUES, PUBLISHED_KEYS,
};

fn searches() -> &'static (Option<AhoCorasick>, Option<AhoCorasick>) {
    static SEARCHES: OnceLock<(Option<AhoCorasick>, Option<AhoCorasick>)> = OnceLock::new();
    SEARCHES.get_or_init(|| {
        let build = |words: &[&str]| {
            // The kind that is built fastest: values are short, and a process often examines few.
            let kind = Some(AhoCorasickKind::NoncontiguousNFA);
            AhoCorasick::builder().ascii_case_insensitive(true).kind(kind).build(words).ok()
        };
        (build(PLACEHOLDER_PARTS), build(DUMMY_PARTS))
    })
}

/// Whether a value is a placeholder for a secret.
pub(crate) fn is_placeholder(value: &[u8]) -> bool {
    PLACEHOLDER_VALUES.contains(value.to_ascii_lowercase().as_slice())
        || searches().0.as_ref().is_some_and(|search| search.is_match(value))
        || is_template(value)
        || is_repetitive(value)
        || PUBLISHED_KEYS.contains(value)
}

/// The value without the words for a secret in it: `hunter2!` of `hunter2secret!`. `None`: it has none.
pub(crate) fn without_names(value: &[u8]) -> Option<Vec<u8>> {
    let lower = value.to_ascii_lowercase();
    let find = |lower: &[u8]| {
        let names = NAMING_PARTS.iter().map(|name| name.as_bytes());
        names.clone().find_map(|name| {
            let place = lower.windows(name.len()).position(|part| part == name)?;
            Some(place..place + name.len())
        })
    };
    let (mut value, mut lower) = (value.to_vec(), lower);
    let mut has_name = false;
    while let Some(name) = find(&lower) {
        has_name = true;
        value.drain(name.clone());
        lower.drain(name);
    }
    has_name.then_some(value)
}

/// Whether a value is blanked out: `ghp_xxxxxxxx…`.
pub(crate) fn is_blanked(value: &[u8]) -> bool {
    value.to_ascii_lowercase().windows(8).any(|part| part == b"xxxxxxxx")
}

/// Whether a value of a known format is a dummy.
pub(crate) fn is_dummy(value: &[u8]) -> bool {
    searches().1.as_ref().is_some_and(|search| search.is_match(value))
        || is_repetitive(value)
        || PUBLISHED_KEYS.contains(value)
}

/// Whether a value has a part that is filled in later: `${NAME}`, `{{ name }}`, `#{name}`, `{0}`, `<name>`.
fn is_template(value: &[u8]) -> bool {
    let is_filler = |byte: &u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'_' | b'.' | b' ' | b'-' | b':' | b'|' | b'$' | b'{' | b'(' | b')')
    };
    value.iter().enumerate().any(|(place, byte)| {
        let close = match byte {
            b'{' => b'}',
            b'<' => b'>',
            _ => return false,
        };
        let rest = value.get(place + 1..).unwrap_or_default();
        let length = rest.iter().take(64).take_while(|byte| is_filler(byte)).count();
        rest.get(length) == Some(&close)
    })
}

/// Whether one character makes up most of a value, or its characters follow each other in order.
pub(crate) fn is_repetitive(value: &[u8]) -> bool {
    if value.len() < 4 {
        return false;
    }
    let steps = value.array_windows::<2>().filter(|[first, second]| {
        first == second || second.wrapping_sub(*first) == 1 || first.wrapping_sub(*second) == 1
    });
    steps.count() * 3 >= (value.len() - 1) * 2
}
