//! Secrets in texts: keys of known providers, private keys, tokens, passwords that are assigned to names or stand in
//! addresses.
//!
//! - `rules/`: the table of formats, by theme, each row with its examples
//! - `triggers`: the places of all keywords of a text, in one pass
//! - `arrange`: the tables for that, made when the program is compiled
//! - `engine`: what the rules say of these places, and which of overlapping hits is kept
//! - `generic/`: assignments to names like `password`, and what tells a secret from a placeholder
//! - `words`: everyday words, which passwords are not made of
//! - `pem`, `jwt`, `verify`: formats that are read rather than matched
//! - `stream`: texts that come in parts
//! - `tail`: the same, laid aside as a value between two parts
//! - `mask`: what stands in place of a secret

mod arrange;
mod engine;
mod generic;
mod jwt;
mod mask;
mod pem;
mod rules;
pub mod stream;
pub mod tail;
mod triggers;
mod verify;
mod view;
#[doc(hidden)]
pub mod words;

pub use mask::{Mask, fingerprint, follow, mask, tag};

use midrail_core::{Confidence, Finding, Severity};
use serde_json::Value;

use crate::finding::Hit;
use crate::texts;
use generic::names::Class;

/// The secrets of a text, in order, none overlapping another.
pub fn scan(text: &str) -> Vec<Hit> {
    engine::Search::default().advance(text, true).0
}

/// Every secret in the texts of a JSON value, with a fingerprint under `key`. The name of a member counts as context
/// of its value; a secret in a name is told at the member's pointer followed by [`texts::KEY`].
pub fn scan_json(value: &Value, key: &[u8]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut lines = pem::Lines::default();
    texts::for_each(value, &mut |at| {
        let hits = match at.member {
            _ if !at.is_key && lines.next(at.text) => {
                let whole = Hit::new("private-key", 0, at.text.len(), "a line of a private key");
                vec![Hit { severity: Severity::Critical, confidence: Confidence::High, ..whole }]
            }
            Some(member) => scan_member(member, at.text),
            None => scan(at.text),
        };
        findings.extend(hits.into_iter().map(|hit| Finding {
            kind: hit.kind.to_owned(),
            at: at.pointer.to_owned(),
            start: hit.start,
            end: hit.end,
            severity: hit.severity,
            confidence: hit.confidence,
            explanation: hit.explanation.into_owned(),
            fingerprint: fingerprint(at.text.get(hit.start..hit.end).unwrap_or_default(), key),
        }));
    });
    findings
}

/// The longest name that is read as that of an assignment.
const MAX_MEMBER: usize = 400;

/// The secrets of a text that is the value of a member.
fn scan_member(member: &str, text: &str) -> Vec<Hit> {
    let hits = scan(text);
    let is_short = !text.is_empty() && member.len() <= MAX_MEMBER;
    if !hits.is_empty() || !is_short || !engine::is_telling_name(member) {
        return hits;
    }
    let is_plain = text.bytes().all(|byte| byte >= b' ' && !matches!(byte, b'"' | b'\\'));
    if is_plain {
        // Read as it would be read in a file: rules for a provider's values need its name.
        let head = format!("\"{member}\": \"");
        let hits = scan(&format!("{head}{text}\""));
        let inside = |mut hit: Hit| {
            hit.start = hit.start.checked_sub(head.len())?;
            hit.end = hit.end.checked_sub(head.len())?.min(text.len());
            Some(hit)
        };
        return hits.into_iter().filter_map(inside).collect();
    }
    let found = generic::named(member, text).map(|(kind, what, class)| Hit {
        severity: if class == Class::Weak { Severity::Medium } else { Severity::High },
        confidence: if class == Class::Weak { Confidence::Low } else { Confidence::Medium },
        ..Hit::new(kind, 0, text.len(), what)
    });
    found.into_iter().collect()
}

/// A text for people, with secrets replaced by their kind.
pub fn shown(text: &str) -> String {
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
