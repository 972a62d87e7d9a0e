//! Secrets in texts: keys of known providers, private keys, tokens, passwords assigned to names or in URLs.
//!
//! - `formats`: the formats of providers, from `data/secrets/formats`; `checks` verifies checksums and encodings
//! - `triggers`: finds all keywords of a text in one pass
//! - `engine`: applies the rules at keywords, and decides between overlapping candidates
//! - `generic/`: values assigned to names like `password`
//! - `words`: everyday words, which keys do not consist of
//! - `pem`, `jwt`: formats that are parsed rather than matched
//! - `stream`, `resumable`: texts that arrive in chunks
//! - `mask`: replaces secrets by tags

mod candidate;
mod checks;
mod data;
mod engine;
mod formats;
mod generic;
mod jwt;
mod keyword_hash;
mod letter_pairs;
mod mask;
mod pem;
pub mod resumable;
pub mod stream;
mod triggers;
mod variables;
mod view;
#[doc(hidden)]
pub mod words;

pub(crate) use mask::finding;
pub use mask::{Mask, fingerprint, mask, shift_findings, tag};
pub use variables::is_secret_variable;

use midrail_core::{Confidence, Finding, Hit, Severity};
use serde_json::Value;

use crate::json_texts;
use candidate::Candidate;
use generic::names::Class;

/// Returns the secrets of a text, in order and without overlap.
pub fn scan(text: &str) -> Vec<Hit> {
    engine::Search::default().advance(text, true).0.into_iter().map(Candidate::into_hit).collect()
}

/// Whether secrets of this kind can be found: `aws-access-key`.
pub fn is_kind(kind: &str) -> bool {
    GENERIC_KINDS.contains(&kind) || formats::FORMATS.iter().any(|format| format.kind == kind)
}

/// The kinds without a format of a provider.
const GENERIC_KINDS: &[&str] = &[
    "basic-authorization",
    "generic-password",
    "generic-random",
    "generic-secret",
    "json-web-token",
    "private-key",
    "url-password",
];

/// Returns the secrets in the texts of a JSON value, with fingerprints made with `key`.
///
/// The name of a member is context for its value. The pointer of a secret in a name ends with `~key`.
pub fn scan_json(value: &Value, key: &[u8]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut lines = pem::Lines::default();
    json_texts::for_each(value, &mut |at| {
        let hits = match at.member {
            _ if !at.is_key && lines.next(at.text) => {
                let whole = Hit::new("private-key", 0, at.text.len(), "a line of a private key");
                vec![Hit { severity: Severity::Critical, confidence: Confidence::High, ..whole }]
            }
            Some(member) => scan_member(member, at.text),
            None => scan(at.text),
        };
        findings.extend(hits.into_iter().map(|hit| finding(hit, at.pointer, at.text, key)));
    });
    findings
}

/// Whether a text of a JSON value may contain a secret, as the value of a member or as the name of one. If no text and no name may,
/// [`scan_json`] finds nothing in the value.
pub fn may_contain(member: Option<&str>, text: &str) -> bool {
    // The lines of a private key may be texts of their own.
    let finds = |anchor| {
        let (hits, _) = engine::Search::starting_at(anchor).advance(text, true);
        !hits.is_empty() || pem::may_begin(text)
    };
    let finds_by_name =
        |member| json_texts::may_be_of_pair(member) || !scan_named_value(member, text).is_empty();
    engine::first_keyword(text).is_some_and(finds) || member.is_some_and(finds_by_name)
}

/// The longest name that counts as context.
const MAX_MEMBER: usize = 400;

/// The secrets of a text that is the value of a member with a name.
fn scan_member(member: &str, text: &str) -> Vec<Hit> {
    let hits = scan(text);
    if hits.is_empty() { scan_named_value(member, text) } else { hits }
}

/// The secrets of a text that are only found with the name of its member.
fn scan_named_value(member: &str, text: &str) -> Vec<Hit> {
    let is_short = !text.is_empty() && member.len() <= MAX_MEMBER;
    if !is_short || engine::first_keyword(member).is_none() {
        return Vec::new();
    }
    let is_plain = text.bytes().all(|byte| byte >= b' ' && !matches!(byte, b'"' | b'\\'));
    if is_plain {
        // Scan it as a line of JSON: formats of assigned values need the name.
        let head = format!("\"{member}\": \"");
        let hits = scan(&format!("{head}{text}\""));
        let inside = |mut hit: Hit| {
            hit.start = hit.start.checked_sub(head.len())?;
            hit.end = hit.end.checked_sub(head.len())?.min(text.len());
            Some(hit)
        };
        return hits.into_iter().filter_map(inside).collect();
    }
    let found = generic::classify_member(member, text).map(|(kind, description, class)| Hit {
        severity: if class == Class::Weak { Severity::Medium } else { Severity::High },
        confidence: if class == Class::Weak { Confidence::Low } else { Confidence::Medium },
        ..Hit::new(kind, 0, text.len(), description)
    });
    found.into_iter().collect()
}

/// Returns a text for people, with each secret replaced by `[redacted:kind]`.
pub fn redact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for secret in scan(text) {
        out.push_str(text.get(done..secret.start).unwrap_or_default());
        out.push_str(&format!("[redacted:{}]", secret.kind));
        done = secret.end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests;
