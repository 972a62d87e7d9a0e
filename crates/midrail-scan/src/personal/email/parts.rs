//! The parts of an e-mail address: where they begin and end, and whether they are those of a person.

use midrail_core::{Confidence, Hit, Severity};

use crate::personal::candidates::{byte, byte_before};
use crate::personal::context::Context;
use crate::personal::data::LOGIN_PROGRAMS;
use crate::personal::domains::{is_example, is_role, is_top_level};
use crate::personal::settings::KindFilter;

/// The longest part before the `@`.
const LONGEST_LOCAL: usize = 64;

/// The longest domain that is read.
pub(super) const LONGEST_DOMAIN: usize = 128;

/// The address whose local part ends at `at` and whose domain ends at `end`.
pub(super) fn hit_for(text: &[u8], at: usize, end: usize, domain: &str, allowed: &KindFilter) -> Option<Hit> {
    let start = local_start(text, at)?;
    let local = text.get(start..at)?;
    let local = std::str::from_utf8(local).ok()?.to_ascii_lowercase();
    let (_, top) = domain.rsplit_once('.')?;
    let is_name = local.bytes().any(|byte| byte.is_ascii_alphanumeric());
    if !is_name || !is_top_level(top) || is_remote(text, &local, end) || is_user_of_url(text, start) {
        return None;
    }
    if Context::new(text, start, end).has(&LOGIN_PROGRAMS) {
        return None;
    }
    if is_example(&local, domain) {
        let hit = Hit::new("email", start, end, "an e-mail address of an example");
        let hit = Hit { severity: Severity::Low, confidence: Confidence::Low, ..hit };
        return allowed.placeholders.then_some(hit);
    }
    if is_role(&local) {
        let hit = Hit::new("email", start, end, "an e-mail address of a role, not of a person");
        return Some(Hit { severity: Severity::Low, confidence: Confidence::Low, ..hit });
    }
    Some(Hit::new("email", start, end, "an e-mail address"))
}

pub(super) fn is_local(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'.' | b'_' | b'-' | b'+' | b'%' | b'\'' | b'&' | b'=' | b'~' | b'/')
}

/// The start of the part before the `@`.
fn local_start(text: &[u8], at: usize) -> Option<usize> {
    let from = at.saturating_sub(LONGEST_LOCAL + 1);
    let before = text.get(from..at)?;
    let mut start = from + before.iter().rposition(|byte| !is_local(*byte)).map_or(0, |place| place + 1);
    if at - start > LONGEST_LOCAL {
        return None;
    }
    // `user=ann@…`, `'ann@…`, `to/ann@…`, `%20ann@…`: the text before these signs is not part of the name.
    let local = text.get(start..at)?;
    if let Some(place) =
        local.iter().rposition(|byte| matches!(byte, b'=' | b'/' | b'&' | b'\'' | b'~' | b'%'))
    {
        let is_apostrophe = local.get(place) == Some(&b'\'') && place == 1;
        let is_escape = local.get(place) == Some(&b'%');
        start += if is_apostrophe { 0 } else { place + 1 + if is_escape { 2 } else { 0 } };
    }
    let is_break = byte_before(text, start) == b'\\' && matches!(byte(text, start), b'n' | b't' | b'r');
    start += usize::from(is_break);
    // JSON may spell the `<` before an address as `\u003c`.
    let is_unicode = byte_before(text, start) == b'\\'
        && byte(text, start) == b'u'
        && text.get(start + 1..start + 5).is_some_and(|code| code.iter().all(u8::is_ascii_hexdigit));
    start += if is_unicode { 5 } else { 0 };
    while start < at && matches!(byte(text, start), b'.' | b'-' | b'+') {
        start += 1;
    }
    (start < at && byte_before(text, at) != b'.').then_some(start)
}

/// The end of the domain: labels of letters, digits and hyphens, of which the last has only letters.
pub(super) fn domain_end(text: &[u8], start: usize) -> Option<usize> {
    let window = text.get(start..).unwrap_or_default();
    let window = window.get(..LONGEST_DOMAIN).unwrap_or(window);
    let is_domain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    let length = window.iter().position(|byte| !is_domain(byte)).unwrap_or(window.len());
    let mut domain = window.get(..length)?;
    while let Some((b'.' | b'-', rest)) = domain.split_last() {
        domain = rest;
    }
    let is_wrong =
        domain.split(|byte| *byte == b'.').any(|label| label.is_empty() || label.first() == Some(&b'-'));
    let goes_on = matches!(byte(text, start + length), b'_' | b'@');
    (!is_wrong && !goes_on && length < LONGEST_DOMAIN && domain.contains(&b'.'))
        .then_some(start + domain.len())
}

/// `git@github.com:org/repo`, `deploy@host.com:/srv/www`.
fn is_remote(text: &[u8], local: &str, end: usize) -> bool {
    let colon = byte(text, end) == b':';
    let path = text.get(end + 1..).unwrap_or_default();
    let path = path.get(..LONGEST_LOCAL).unwrap_or(path);
    let is_path =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'~' | b'.' | b'-' | b'_');
    let has_slash = path.iter().take_while(|byte| is_path(byte)).any(|byte| *byte == b'/');
    matches!(local, "git" | "hg" | "svn")
        || colon && (has_slash || matches!(byte(text, end + 1), b'~' | b'.'))
}

/// `https://user:password@host.com`.
fn is_user_of_url(text: &[u8], start: usize) -> bool {
    let before = text.get(start.saturating_sub(LONGEST_LOCAL)..start).unwrap_or_default();
    let is_end = |byte: &u8| {
        byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'<' | b'>' | b'(' | b',' | b'?')
    };
    let from = before.iter().rposition(is_end).map_or(0, |place| place + 1);
    let run = before.get(from..).unwrap_or_default();
    let Some(scheme) = run.windows(3).rposition(|part| part == b"://") else { return false };
    !run.get(scheme + 3..).unwrap_or_default().contains(&b'/')
}
