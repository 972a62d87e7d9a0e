//! E-mail addresses whose `@` is escaped, or written as a word.

use midrail_core::{Confidence, Hit};

use super::parts::{LONGEST_DOMAIN, domain_end, hit_for, is_local};
use crate::bytes::{byte, byte_before, starts_with_any_case};

/// Escapes of the sign.
const ESCAPES: &[&str] = &["%40", "\\u0040", "\\x40", "&#64;", "&#064;", "&#x40;", "&commat;"];

/// Spellings of the full stop.
const DOTS: &[&[u8]] = &[b"[dot]", b"(dot)", b"[.]", b"(.)"];

/// The end of the escape at a place.
#[inline(always)]
pub(super) fn escape(text: &[u8], start: usize) -> Option<usize> {
    let may_begin = match byte(text, start) {
        b'%' => byte(text, start + 1) == b'4',
        b'\\' => matches!(byte(text, start + 1) | 0x20, b'u' | b'x'),
        b'&' => matches!(byte(text, start + 1) | 0x20, b'#' | b'c'),
        _ => false,
    };
    if !may_begin {
        return None;
    }
    let rest = text.get(start..)?;
    ESCAPES.iter().find(|sign| starts_with_any_case(rest, sign.as_bytes())).map(|sign| start + sign.len())
}

/// Where the sign begins that people write as a word, and whose last byte is at a place. Other brackets are common in code.
#[inline(always)]
pub(super) fn word_before(text: &[u8], last: usize) -> Option<usize> {
    let start = last.checked_sub(3)?;
    matches!(
        text.get(start..=last)?,
        [b'[', b'a' | b'A', b't' | b'T', b']'] | [b'(', b'a' | b'A', b't' | b'T', b')']
    )
    .then_some(start)
}

/// The address with a sign from `sign` to `sign_end`.
pub(super) fn address(text: &[u8], sign: usize, sign_end: usize, is_word: bool) -> Option<Hit> {
    let (mut at, mut start) = (sign, sign_end);
    // Blanks are on both sides or on none: `call(at) next` is code.
    if is_word && byte_before(text, at) == b' ' && byte(text, start) == b' ' {
        (at, start) = (at - 1, start + 1);
    }
    if !is_local(byte_before(text, at)) || !byte(text, start).is_ascii_alphanumeric() {
        return None;
    }
    let (domain, end) = if is_word {
        spelled_domain(text, start)?
    } else {
        let end = domain_end(text, start)?;
        (std::str::from_utf8(text.get(start..end)?).ok()?.to_ascii_lowercase(), end)
    };
    let hit = hit_for(text, at, end, &domain)?;
    Some(Hit { confidence: hit.confidence.min(Confidence::Medium), ..hit })
}

/// The domain at a place, with full stops or words for them, and where it ends.
fn spelled_domain(text: &[u8], start: usize) -> Option<(String, usize)> {
    let (mut domain, mut at) = (String::new(), start);
    while at - start < LONGEST_DOMAIN {
        let next = byte(text, at);
        if next.is_ascii_alphanumeric() || next == b'-' {
            domain.push(char::from(next.to_ascii_lowercase()));
            at += 1;
            continue;
        }
        let Some(label) = dot_end(text, at).filter(|label| byte(text, *label).is_ascii_alphanumeric()) else {
            break;
        };
        domain.push('.');
        at = label;
    }
    let is_whole = at - start < LONGEST_DOMAIN && !matches!(byte(text, at), b'_' | b'@' | b'(');
    let is_right = domain.contains('.') && domain.split('.').all(|label| !label.starts_with('-'));
    (is_whole && is_right && !domain.ends_with('-')).then_some((domain, at))
}

/// The end of the full stop, or of a word for it, at a place.
fn dot_end(text: &[u8], at: usize) -> Option<usize> {
    if byte(text, at) == b'.' {
        return Some(at + 1);
    }
    let is_spaced = byte(text, at) == b' ';
    let from = at + usize::from(is_spaced);
    let rest = text.get(from..)?;
    let end = from + DOTS.iter().find(|dot| starts_with_any_case(rest, dot))?.len();
    match (is_spaced, byte(text, end) == b' ') {
        (true, true) => Some(end + 1),
        (false, false) => Some(end),
        _ => None,
    }
}
