//! Secrets with a shape of their own: tokens with a known prefix, private keys, JSON web tokens. One pass over the text.

use hmac::{Hmac, KeyInit, Mac};
use midrail_core::{Finding, hex};
use serde_json::Value;
use sha2::Sha256;

/// A secret in a text: bytes `start..end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Secret {
    /// What it is.
    pub kind: &'static str,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

struct Format {
    kind: &'static str,
    prefix: &'static str,
    is_member: fn(u8) -> bool,
    /// Length of what follows the prefix.
    length: std::ops::RangeInclusive<usize>,
}

const fn format(
    kind: &'static str,
    prefix: &'static str,
    is_member: fn(u8) -> bool,
    min: usize,
    max: usize,
) -> Format {
    Format { kind, prefix, is_member, length: min..=max }
}

/// Longer prefixes stand before those that they begin with.
const FORMATS: &[Format] = &[
    format("aws-access-key", "AKIA", upper_or_digit, 16, 16),
    format("aws-access-key", "ASIA", upper_or_digit, 16, 16),
    format("google-api-key", "AIza", word_or_dash, 35, 35),
    format("github-token", "github_pat_", word, 22, 255),
    format("github-token", "ghp_", alphanumeric, 36, 255),
    format("github-token", "gho_", alphanumeric, 36, 255),
    format("github-token", "ghu_", alphanumeric, 36, 255),
    format("github-token", "ghs_", alphanumeric, 36, 255),
    format("github-token", "ghr_", alphanumeric, 36, 255),
    format("gitlab-token", "glpat-", word_or_dash, 20, 64),
    format("anthropic-key", "sk-ant-", word_or_dash, 20, 255),
    format("openai-key", "sk-", word_or_dash, 20, 255),
    format("stripe-key", "sk_live_", alphanumeric, 16, 255),
    format("stripe-key", "rk_live_", alphanumeric, 16, 255),
    format("slack-token", "xoxb-", word_or_dash, 20, 255),
    format("slack-token", "xoxp-", word_or_dash, 20, 255),
    format("slack-token", "xoxa-", word_or_dash, 20, 255),
    format("npm-token", "npm_", alphanumeric, 36, 36),
    format("pypi-token", "pypi-", word_or_dash, 50, 255),
    format("json-web-token", "eyJ", token_character, 40, 8192),
];

const PEM_BEGIN: &str = "-----BEGIN ";
const PEM_END: &str = "-----END ";

/// The secrets of a text, in order, none overlapping another.
pub fn scan(text: &str) -> Vec<Secret> {
    let mut found = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut before = b' ';
    while let Some(&byte) = bytes.get(at) {
        let starts_word = !word(before);
        before = byte;
        if !starts_word
            || !matches!(byte, b'A' | b'a' | b'e' | b'g' | b'n' | b'p' | b'r' | b's' | b'x' | b'-')
        {
            at += 1;
            continue;
        }
        match text.get(at..).and_then(secret_at_start) {
            Some((kind, length)) => {
                found.push(Secret { kind, start: at, end: at + length });
                at += length;
                before = b'_';
            }
            None => at += 1,
        }
    }
    found
}

fn secret_at_start(text: &str) -> Option<(&'static str, usize)> {
    if text.starts_with(PEM_BEGIN) {
        return private_key(text);
    }
    let format = FORMATS.iter().find(|format| text.starts_with(format.prefix))?;
    let tail = text.as_bytes().get(format.prefix.len()..)?;
    let length = tail.iter().take_while(|byte| (format.is_member)(**byte)).count();
    if format.kind == "json-web-token" && tail.iter().take(length).filter(|byte| **byte == b'.').count() != 2
    {
        return None;
    }
    format.length.contains(&length).then_some((format.kind, format.prefix.len() + length))
}

/// A PEM block with a private key. One without an end reaches to the end of the text.
fn private_key(text: &str) -> Option<(&'static str, usize)> {
    let header = text.lines().next()?;
    if !header.contains("PRIVATE KEY") {
        return None;
    }
    let end = match text.find(PEM_END) {
        Some(at) => text.get(at..)?.find('\n').map_or(text.len(), |line| at + line),
        None => text.len(),
    };
    Some(("private-key", end))
}

/// Every secret in the texts of a JSON value, with a fingerprint under `key`.
pub fn scan_json(value: &Value, key: &[u8]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for_each_text(value, String::new(), &mut |at, text| {
        for secret in scan(text) {
            let fingerprint = fingerprint(text.get(secret.start..secret.end).unwrap_or_default(), key);
            findings.push(Finding {
                kind: secret.kind.to_owned(),
                at: at.to_owned(),
                start: secret.start,
                end: secret.end,
                fingerprint,
            });
        }
    });
    findings
}

/// Replaces each finding in a JSON value by its tag, and tells where the tags stand. Keys of objects are left alone.
///
/// A record holds the masked event with these findings: what is found in it is what was found in the original, so that
/// it replays to the same decision.
pub fn mask(value: &mut Value, findings: &[Finding]) -> Vec<Finding> {
    let mut tags: Vec<Finding> = findings.to_vec();
    let mut places: Vec<&str> = findings.iter().map(|finding| finding.at.as_str()).collect();
    places.dedup();
    for at in places {
        let Some(Value::String(text)) = value.pointer_mut(at) else { continue };
        // INVARIANT: `scan` tells secrets in order and without overlap, so one pass with a cursor is enough.
        let mut masked = String::with_capacity(text.len());
        let mut done = 0;
        for finding in tags.iter_mut().filter(|finding| finding.at == at) {
            masked.push_str(text.get(done..finding.start).unwrap_or_default());
            done = finding.end;
            finding.start = masked.len();
            masked.push_str(&tag(finding));
            finding.end = masked.len();
        }
        masked.push_str(text.get(done..).unwrap_or_default());
        *text = masked;
    }
    tags
}

/// What stands in place of a secret: `[redacted:aws-access-key#3f9a]`.
pub fn tag(finding: &Finding) -> String {
    format!("[redacted:{}#{}]", finding.kind, finding.fingerprint.get(..4).unwrap_or_default())
}

/// A keyed digest: the same secret has the same one in one store, and no one without the key can guess it.
pub fn fingerprint(secret: &str, key: &[u8]) -> String {
    match Hmac::<Sha256>::new_from_slice(key) {
        Ok(mut mac) => {
            mac.update(secret.as_bytes());
            hex(&mac.finalize().into_bytes())
        }
        // HMAC takes keys of every length; without one there is no fingerprint.
        Err(_) => String::new(),
    }
}

fn for_each_text(value: &Value, at: String, visit: &mut dyn FnMut(&str, &str)) {
    match value {
        Value::String(text) => visit(&at, text),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                for_each_text(item, format!("{at}/{index}"), visit);
            }
        }
        Value::Object(map) => {
            for (name, item) in map {
                for_each_text(item, format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), visit);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn upper_or_digit(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn word_or_dash(byte: u8) -> bool {
    word(byte) || byte == b'-'
}

fn token_character(byte: u8) -> bool {
    word_or_dash(byte) || byte == b'.'
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn kinds(text: &str) -> Vec<&'static str> {
        scan(text).into_iter().map(|secret| secret.kind).collect()
    }

    #[test]
    fn known_shapes_are_found() {
        assert_eq!(kinds("key=AKIAABCDEFGHIJKLMNOP."), ["aws-access-key"]);
        assert_eq!(kinds(&format!("x ghp_{} y", "a".repeat(36))), ["github-token"]);
        assert_eq!(kinds("sk-abc12345678901234567890"), ["openai-key"]);
        assert_eq!(kinds(&format!("sk-ant-{}", "a".repeat(40))), ["anthropic-key"]);
        let pem = "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb";
        assert_eq!(scan(pem), [Secret { kind: "private-key", start: 2, end: pem.len() - 2 }]);
    }

    #[test]
    fn everyday_text_is_left_alone() {
        for text in [
            "sk-short",
            "task-based-scheduling-of-many-things",
            "AKIA is a prefix",
            "npm_config_registry",
            "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
            "eyJhbGciOiJub25lIn0",
            "",
        ] {
            assert_eq!(kinds(text), Vec::<&str>::new(), "{text}");
        }
    }

    #[test]
    fn a_masked_value_shows_kind_and_fingerprint_only() {
        let mut value = json!({"args": {"a/b": ["export KEY=AKIAABCDEFGHIJKLMNOP"]}});
        let findings = scan_json(&value, b"store key");
        assert_eq!(findings[0].at, "/args/a~1b/0");
        let tags = mask(&mut value, &findings);
        let masked = value.pointer(&tags[0].at).unwrap().as_str().unwrap();
        assert_eq!(&masked[tags[0].start..tags[0].end], tag(&findings[0]));
        let text = value.to_string();
        assert!(!text.contains("AKIA"), "{text}");
        assert!(
            text.contains(&format!("[redacted:aws-access-key#{}]", &findings[0].fingerprint[..4])),
            "{text}"
        );
        assert_ne!(
            findings[0].fingerprint,
            scan_json(&json!(["AKIAABCDEFGHIJKLMNOP"]), b"other key")[0].fingerprint
        );
    }
}
