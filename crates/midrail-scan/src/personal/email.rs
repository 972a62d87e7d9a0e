//! E-mail addresses of people, without remotes, package versions, user names in URLs and examples.

mod spelled;

use std::ops::Range;

use memchr::memchr_iter;
use midrail_core::{Confidence, Hit, Severity};

use super::context::Context;
use super::data::{
    EXAMPLE_DOMAINS, EXAMPLE_LABELS, LOGIN_PROGRAMS, PLACEHOLDER_LOCALS, ROLE_LOCALS, SILENT_LOCALS,
    TOP_LEVEL_DOMAINS,
};
use crate::bytes::{byte, byte_before, is_escape, run_end, run_start, window};

/// The longest part before the `@`.
const LONGEST_LOCAL: usize = 64;

/// The longest domain that is read.
const LONGEST_DOMAIN: usize = 128;

/// The e-mail addresses found so far.
#[derive(Debug, Default)]
pub(super) struct Emails {
    /// With an `@`, in order.
    plain: Vec<Hit>,
    /// With another spelling of it, in order.
    spelled: Vec<Hit>,
}

impl Emails {
    /// Adds the addresses whose sign begins in a piece of the text. Pieces come in order.
    pub(super) fn scan(&mut self, text: &[u8], piece: Range<usize>) {
        for at in memchr_iter(b'@', text.get(piece.clone()).unwrap_or_default()) {
            add(&mut self.plain, address(text, piece.start + at));
        }
        for (start, end, is_word) in spelled::signs(text, piece) {
            add(&mut self.spelled, spelled::address(text, start, end, is_word));
        }
    }

    /// Returns all addresses.
    pub(super) fn all(mut self) -> Vec<Hit> {
        self.plain.append(&mut self.spelled);
        self.plain
    }
}

/// Adds a hit that begins behind the last one.
fn add(hits: &mut Vec<Hit>, hit: Option<Hit>) {
    hits.extend(hit.filter(|hit| hits.last().is_none_or(|last| last.end <= hit.start)));
}

fn address(text: &[u8], at: usize) -> Option<Hit> {
    let next = byte(text, at + 1);
    if !is_local(byte_before(text, at)) || !next.is_ascii_alphanumeric() {
        return None;
    }
    let end = domain_end(text, at + 1)?;
    let domain = std::str::from_utf8(text.get(at + 1..end)?).ok()?.to_ascii_lowercase();
    hit_for(text, at, end, &domain)
}

/// The address whose local part ends at `at` and whose domain ends at `end`.
fn hit_for(text: &[u8], at: usize, end: usize, domain: &str) -> Option<Hit> {
    let start = local_start(text, at)?;
    let local = text.get(start..at)?;
    let local = std::str::from_utf8(local).ok()?.to_ascii_lowercase();
    let (_, top) = domain.rsplit_once('.')?;
    let is_name = local.bytes().any(|byte| byte.is_ascii_alphanumeric());
    if !is_name
        || !TOP_LEVEL_DOMAINS.contains(top.as_bytes())
        || is_remote(text, &local, end)
        || is_user_of_url(text, start)
        || Context::new(text, start, end).has(&LOGIN_PROGRAMS)
        || is_example(&local, domain)
    {
        return None;
    }
    if ROLE_LOCALS.contains(local.as_bytes()) {
        let hit = Hit::new("email", start, end, "an e-mail address of a role, not of a person");
        return Some(Hit { severity: Severity::Low, confidence: Confidence::Low, ..hit });
    }
    Some(Hit::new("email", start, end, "an e-mail address"))
}

fn is_local(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'.' | b'_' | b'-' | b'+' | b'%' | b'\'' | b'&' | b'=' | b'~' | b'/')
}

/// The start of the part before the `@`.
fn local_start(text: &[u8], at: usize) -> Option<usize> {
    let mut start = run_start(text, at, LONGEST_LOCAL + 1, is_local);
    if at - start > LONGEST_LOCAL {
        return None;
    }
    // `user=ann@…`, `'ann@…`, `to/ann@…`, `%20ann@…`: the text before these signs is not part of the name.
    let local = text.get(start..at)?;
    if let Some(place) =
        local.iter().rposition(|byte| matches!(byte, b'=' | b'/' | b'&' | b'\'' | b'~' | b'%'))
    {
        let is_apostrophe = local.get(place) == Some(&b'\'') && place == 1;
        let is_encoded = local.get(place) == Some(&b'%');
        start += if is_apostrophe { 0 } else { place + 1 + if is_encoded { 2 } else { 0 } };
    }
    start += usize::from(is_escape(text, start));
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
fn domain_end(text: &[u8], start: usize) -> Option<usize> {
    let mut domain = window(text, start, LONGEST_DOMAIN);
    let length = run_end(domain, 0, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'));
    domain = domain.get(..length)?;
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
    let path = window(text, end + 1, LONGEST_LOCAL);
    let is_path = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'~' | b'.' | b'-' | b'_');
    let has_slash = window(path, 0, run_end(path, 0, is_path)).contains(&b'/');
    matches!(local, "git" | "hg" | "svn")
        || colon && (has_slash || matches!(byte(text, end + 1), b'~' | b'.'))
}

/// `https://user:password@host.com`.
fn is_user_of_url(text: &[u8], start: usize) -> bool {
    let is_url = |byte: u8| {
        !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'<' | b'>' | b'(' | b',' | b'?')
    };
    let run = text.get(run_start(text, start, LONGEST_LOCAL, is_url)..start).unwrap_or_default();
    let Some(scheme) = run.windows(3).rposition(|part| part == b"://") else { return false };
    !run.get(scheme + 3..).unwrap_or_default().contains(&b'/')
}

/// Whether an address is an example, or one that no person reads.
fn is_example(local: &str, domain: &str) -> bool {
    let base =
        domain.rmatch_indices('.').nth(1).map_or(domain, |(dot, _)| domain.get(dot + 1..).unwrap_or(domain));
    let is_silent = SILENT_LOCALS.iter().any(|silent| local.starts_with(silent))
        || domain.contains("noreply")
        || domain.ends_with("gserviceaccount.com");
    let (label, _) = base.split_once('.').unwrap_or((base, ""));
    let is_made_up = label.contains("example")
        || label.ends_with("domain")
        || label.starts_with("your")
        || EXAMPLE_LABELS.contains(label.as_bytes());
    is_made_up
        || EXAMPLE_DOMAINS.contains(base.as_bytes())
        || domain.starts_with("example.")
        || PLACEHOLDER_LOCALS.contains(local.as_bytes())
        || is_silent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_extensions_are_no_domains() {
        for ending in ["png", "js", "tgz", "service", "route", "json"] {
            assert!(!TOP_LEVEL_DOMAINS.contains(ending.as_bytes()), "{ending}");
        }
    }
}
