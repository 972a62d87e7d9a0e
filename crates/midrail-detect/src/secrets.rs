//! Secrets with a shape of their own: tokens with a known prefix, private keys, JSON web tokens. One pass over the text.

use std::collections::BTreeMap;

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
    format(JSON_WEB_TOKEN, "eyJ", token_character, 40, 8192),
];

/// The longest run of characters that is taken for one token.
const MAX_RUN: usize = 8_192;

/// A format whose longest known token is this long or longer may grow: longer ones are taken for it too.
const OPEN_ENDED: usize = 64;

/// The longest first line of a PEM block.
const MAX_PEM_HEADER: usize = 64;

/// How many beginnings of a web token are looked at within one run of characters.
const MAX_TRIES_IN_RUN: u32 = 16;

const JSON_WEB_TOKEN: &str = "json-web-token";

const PEM_BEGIN: &str = "-----BEGIN ";
const PEM_END: &str = "-----END ";

/// The secrets of a text, in order, none overlapping another.
pub fn scan(text: &str) -> Vec<Secret> {
    let mut found = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut before = b' ';
    // The run of characters that is looked at for web tokens, and how often: not from each of its many parts.
    let (mut run_end, mut tries) = (0, 0);
    while let Some(&byte) = bytes.get(at) {
        let starts_word = !word(before) || follows_escape(bytes, at);
        before = byte;
        if !starts_word
            || !matches!(byte, b'A' | b'a' | b'e' | b'g' | b'n' | b'p' | b'r' | b's' | b'x' | b'-')
        {
            at += 1;
            continue;
        }
        if bytes.get(at..).is_some_and(|rest| rest.starts_with(b"eyJ")) {
            if at >= run_end {
                let run = bytes.get(at..).unwrap_or_default().iter().take(MAX_RUN);
                (run_end, tries) = (at + run.take_while(|byte| token_character(**byte)).count(), 0);
            }
            tries += 1;
            if tries > MAX_TRIES_IN_RUN {
                at += 1;
                continue;
            }
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
    // A run that is longer than the format knows is a secret all the same, and is taken up to a limit, so that no text
    // makes the scan look at one byte again and again.
    let longest = *format.length.end();
    let limit = if longest < OPEN_ENDED { longest + 1 } else { MAX_RUN };
    let length = tail.iter().take(limit).take_while(|byte| (format.is_member)(**byte)).count();
    if format.kind == JSON_WEB_TOKEN {
        return web_token(tail, length).map(|length| (format.kind, format.prefix.len() + length));
    }
    let fits = length >= *format.length.start() && (length <= longest || longest >= OPEN_ENDED);
    fits.then_some((format.kind, format.prefix.len() + length))
}

/// The length of a token of three parts, the last two of which follow a dot.
fn web_token(tail: &[u8], run: usize) -> Option<usize> {
    let mut dots = tail.iter().take(run).enumerate().filter(|(_, byte)| **byte == b'.').map(|(at, _)| at);
    let (first, second) = (dots.next()?, dots.next()?);
    let end = dots.next().unwrap_or(run);
    (first > 8 && second > first + 8 && end > second + 1).then_some(end)
}

/// A PEM block with a private key. One without an end reaches to the end of the text.
fn private_key(text: &str) -> Option<(&'static str, usize)> {
    let header = text.as_bytes().get(..MAX_PEM_HEADER.min(text.len()))?;
    let line = header.split(|byte| *byte == b'\n').next()?;
    if !line.windows(b"PRIVATE KEY".len()).any(|window| window == b"PRIVATE KEY") {
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
    // INVARIANT: `scan_json` tells the findings of one text one after the other.
    for of_text in tags.chunk_by_mut(|one, next| one.at == next.at) {
        let Some(Value::String(text)) = of_text.first().and_then(|first| value.pointer_mut(&first.at)) else {
            continue;
        };
        // INVARIANT: `scan` tells secrets in order and without overlap, so one pass with a cursor is enough.
        let mut masked = String::with_capacity(text.len());
        let mut done = 0;
        for finding in of_text {
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

/// Whether what stands before a place is the end of an escape (`\n`, `%3D`) and not of a word.
fn follows_escape(bytes: &[u8], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).and_then(|place| bytes.get(place)).copied();
    let is_hex = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_hexdigit());
    (before(2) == Some(b'\\') && matches!(before(1), Some(b'n' | b't' | b'r')))
        || (before(3) == Some(b'%') && is_hex(before(2)) && is_hex(before(1)))
}

/// Texts with what was found in them replaced by its tag: for everything that is made of an event and kept or shown.
#[derive(Debug, Clone, Default)]
pub struct Mask(Vec<(String, String)>);

impl Mask {
    /// A mask of what was found in a value.
    pub fn of(value: &Value, findings: &[Finding]) -> Self {
        let text = |finding: &Finding| {
            value.pointer(&finding.at)?.as_str()?.get(finding.start..finding.end).map(str::to_owned)
        };
        let pairs: BTreeMap<String, String> =
            findings.iter().filter_map(|finding| Some((text(finding)?, tag(finding)))).collect();
        let mut pairs: Vec<(String, String)> = pairs.into_iter().collect();
        // The longest first, so that no part of one is left over.
        pairs.sort_by_key(|(secret, _)| std::cmp::Reverse(secret.len()));
        Mask(pairs)
    }

    /// Whether there is nothing to hide.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A text with every secret replaced by its tag.
    pub fn text(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (secret, tag)| text.replace(secret, tag))
    }

    /// A key with every secret replaced by its whole fingerprint, so that no two secrets share one.
    pub fn key(&self, key: &str, fingerprint_key: &[u8]) -> String {
        let replaced = |key: String, (secret, _): &(String, String)| match key.contains(secret.as_str()) {
            true => key.replace(secret, &format!("#{}", fingerprint(secret, fingerprint_key))),
            false => key,
        };
        self.0.iter().fold(key.to_owned(), replaced)
    }

    /// A value with every secret replaced by its tag, in keys too.
    pub fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text)),
            Value::Array(items) => Value::Array(items.into_iter().map(|item| self.value(item)).collect()),
            Value::Object(map) => Value::Object(
                map.into_iter().map(|(key, value)| (self.text(&key), self.value(value))).collect(),
            ),
            other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => other,
        }
    }
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

    #[test]
    fn long_tokens_and_escapes_hide_nothing() {
        assert_eq!(kinds(&format!("sk-ant-{}", "a".repeat(300))), ["anthropic-key"]);
        assert_eq!(kinds("a%3DAKIAABCDEFGHIJKLMNOP"), ["aws-access-key"]);
        assert_eq!(kinds("line\\nAKIAABCDEFGHIJKLMNOP"), ["aws-access-key"]);
        assert_eq!(shown("key AKIAABCDEFGHIJKLMNOP."), "key [redacted:aws-access-key].");
    }

    #[test]
    fn hostile_texts_are_scanned_in_one_go() {
        for part in ["sk-", "eyJ.", "eyJ-", "AIza-", "-----BEGIN ", "AKIA", "e "] {
            let text = part.repeat(400_000 / part.len());
            assert!(scan(&text).len() < text.len());
        }
    }
}
