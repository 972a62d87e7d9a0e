//! Replaces secrets by tags such as `[redacted:aws-access-key#3f9a]`.

use std::collections::BTreeMap;

use aho_corasick::{AhoCorasick, MatchKind};
use hmac::{Hmac, KeyInit, Mac};
use midrail_core::{Finding, Hit, hex, json_pointer};
use serde_json::Value;
use sha2::Sha256;

/// Replaces each finding in a JSON value by its tag, also in names of members. Returns the findings at their tags' places.
///
/// A record contains the masked event with these findings, so that it replays to the same decision.
pub fn mask(value: &mut Value, findings: &[Finding]) -> Vec<Finding> {
    let mut tags: Vec<Finding> = findings.to_vec();
    let mut renamed = BTreeMap::new();
    // INVARIANT: `scan_json` returns the findings of one text one after the other.
    for in_text in tags.chunk_by_mut(|one, next| one.at == next.at) {
        let Some(at) = in_text.first().map(|first| first.at.clone()) else { continue };
        match at.strip_suffix(json_pointer::KEY) {
            Some(member) => {
                if let Some(name) = json_pointer::text_at(value, &at).map(|name| replace(&name, in_text)) {
                    renamed.insert(member.to_owned(), name);
                }
            }
            None => {
                if let Some(Value::String(text)) = value.pointer_mut(&at) {
                    *text = replace(text, in_text);
                }
            }
        }
    }
    // Deeper members come first, so that the pointers to those above them stay valid.
    for (member, name) in renamed.iter_mut().rev() {
        if let Some(got) = json_pointer::rename(value, member, name) {
            *name = got;
        }
    }
    if !renamed.is_empty() {
        for tag in &mut tags {
            tag.at = renamed_pointer(&tag.at, &renamed);
        }
    }
    tags
}

/// A text with its findings replaced. The findings move to the places of their tags.
fn replace(text: &str, findings: &mut [Finding]) -> String {
    // INVARIANT: `scan` returns secrets in order and without overlap, so one pass is enough.
    let mut masked = String::with_capacity(text.len());
    let mut done = 0;
    for finding in findings {
        masked.push_str(text.get(done..finding.start).unwrap_or_default());
        done = finding.end;
        finding.start = masked.len();
        masked.push_str(&tag(finding));
        finding.end = masked.len();
    }
    masked.push_str(text.get(done..).unwrap_or_default());
    masked
}

/// A pointer after members on its path were renamed.
fn renamed_pointer(at: &str, renamed: &BTreeMap<String, String>) -> String {
    let (path, suffix) = match at.strip_suffix(json_pointer::KEY) {
        Some(path) => (path, json_pointer::KEY),
        None => (at, ""),
    };
    let mut old = String::new();
    let mut new = String::new();
    for token in path.split('/').skip(1) {
        old.push('/');
        old.push_str(token);
        new.push('/');
        match renamed.get(&old) {
            Some(name) => json_pointer::push_token(&mut new, name),
            None => new.push_str(token),
        }
    }
    new.push_str(suffix);
    new
}

/// Moves other findings to their places in a masked value: `found` are the secrets before masking, `tags` those after it.
pub fn shift_findings(others: &mut [Finding], found: &[Finding], tags: &[Finding]) {
    let mut by_text: BTreeMap<&str, Vec<(&Finding, &Finding)>> = BTreeMap::new();
    for (secret, tag) in found.iter().zip(tags) {
        by_text.entry(&secret.at).or_default().push((secret, tag));
    }
    for other in others {
        let Some(in_text) = by_text.get(other.at.as_str()) else { continue };
        // INVARIANT: the secrets of one text are in order and do not overlap.
        let nearest = |place: usize| {
            let before = in_text.partition_point(|(secret, _)| secret.start < place);
            before.checked_sub(1).and_then(|at| in_text.get(at)).copied()
        };
        if let Some((secret, tag)) = nearest(other.start) {
            other.start = shifted(other.start, secret, tag, tag.start);
        }
        if let Some((secret, tag)) = nearest(other.end) {
            other.end = shifted(other.end, secret, tag, tag.end);
        }
    }
}

/// The new offset of a place behind the beginning of a secret.
fn shifted(place: usize, secret: &Finding, tag: &Finding, within: usize) -> usize {
    if place >= secret.end { tag.end + (place - secret.end) } else { within }
}

/// Returns the tag that replaces a secret: `[redacted:aws-access-key#3f9a]`.
pub fn tag(finding: &Finding) -> String {
    format_tag(&finding.kind, &finding.fingerprint)
}

pub(super) fn format_tag(kind: &str, fingerprint: &str) -> String {
    format!("[redacted:{kind}#{}]", fingerprint.get(..4).unwrap_or_default())
}

/// Returns a keyed digest. A secret has the same digest everywhere in one store, and the key is needed to guess it.
pub fn fingerprint(secret: &str, key: &[u8]) -> String {
    let mut digest = Digest::new(key);
    digest.add(secret);
    digest.finish()
}

/// A finding at a pointer, made of a hit in a text.
pub(crate) fn finding(hit: Hit, pointer: &str, text: &str, key: &[u8]) -> Finding {
    Finding {
        kind: hit.kind.to_owned(),
        at: pointer.to_owned(),
        start: hit.start,
        end: hit.end,
        severity: hit.severity,
        confidence: hit.confidence,
        explanation: hit.explanation.into_owned(),
        fingerprint: fingerprint(text.get(hit.start..hit.end).unwrap_or_default(), key),
    }
}

/// A keyed digest of a text that arrives in chunks.
#[derive(Debug, Clone)]
pub(super) struct Digest(Option<Hmac<Sha256>>);

impl Digest {
    pub(super) fn new(key: &[u8]) -> Self {
        // HMAC accepts keys of every length.
        Digest(Hmac::<Sha256>::new_from_slice(key).ok())
    }

    pub(super) fn add(&mut self, part: &str) {
        if let Some(mac) = &mut self.0 {
            mac.update(part.as_bytes());
        }
    }

    pub(super) fn finish(self) -> String {
        self.0.map(|mac| hex::encode(&mac.finalize().into_bytes())).unwrap_or_default()
    }
}

/// A shorter value is replaced only where it was found: elsewhere it may mean something else.
const MIN_GLOBAL: usize = 6;
/// How many different bytes a value needs to be replaced everywhere.
const MIN_VARIETY: usize = 5;

/// Replaces the secrets of an event in everything that is derived from it and stored or shown.
#[derive(Debug, Clone, Default)]
pub struct Mask {
    /// Secrets that are replaced everywhere.
    global: Vec<GlobalSecret>,
    search: Option<AhoCorasick>,
    /// Findings whose text is too common for that.
    local: Vec<(Finding, String)>,
}

/// A secret that is replaced everywhere.
#[derive(Debug, Clone)]
struct GlobalSecret {
    secret: String,
    tag: String,
    /// Also in names: keys of slices, members of objects.
    in_names: bool,
}

impl Mask {
    /// A mask of the findings in a value.
    pub fn new(value: &Value, findings: &[Finding]) -> Self {
        let mut global: BTreeMap<String, GlobalSecret> = BTreeMap::new();
        let mut local = Vec::new();
        for finding in findings {
            let text = json_pointer::text_at(value, &finding.at);
            let Some(secret) = text.as_ref().and_then(|text| text.get(finding.start..finding.end)) else {
                continue;
            };
            if is_distinctive(secret) {
                let in_names = !(is_known_by_context(&finding.kind) && is_word(secret));
                global
                    .extend(spellings(secret).map(|secret| {
                        (secret.clone(), GlobalSecret { secret, tag: tag(finding), in_names })
                    }));
            } else {
                local.push((finding.clone(), secret.to_owned()));
            }
        }
        let global: Vec<GlobalSecret> = global.into_values().collect();
        // The longest match wins, so that no part is left.
        let search = (!global.is_empty())
            .then(|| {
                let secrets = global.iter().map(|global| &global.secret);
                AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(secrets).ok()
            })
            .flatten();
        Mask { global, search, local }
    }

    /// Keeps some names as they are. The author of an event controls what is found in it, and must not control the names
    /// that others look up.
    pub fn with_exempt_names(mut self, names: &[&str]) -> Self {
        for global in &mut self.global {
            let is_part = |name: &&str| name.contains(&*global.secret);
            let holds = |name: &&str| global.secret.split('/').any(|part| part == *name);
            global.in_names &= !names.iter().any(|name| is_part(name) || holds(name));
        }
        self
    }

    /// Whether there is nothing to replace.
    pub fn is_empty(&self) -> bool {
        self.global.is_empty() && self.local.is_empty()
    }

    /// Returns a text with every secret replaced by its tag.
    pub fn text(&self, text: &str) -> String {
        self.replaced(text, |global| Some(global.tag.clone()))
    }

    /// A name with every secret replaced by its tag.
    fn name(&self, name: &str) -> String {
        self.replaced(name, |global| global.in_names.then(|| global.tag.clone()))
    }

    /// Returns a key with every secret replaced by its whole fingerprint, so that no two secrets share one.
    pub fn key(&self, key: &str, fingerprint_key: &[u8]) -> String {
        self.replaced(key, |global| {
            global.in_names.then(|| format!("#{}", fingerprint(&global.secret, fingerprint_key)))
        })
    }

    /// Returns a value with every secret replaced by its tag, also in keys.
    pub fn value(&self, mut value: Value) -> Value {
        let stays = |(finding, secret): &&(Finding, String)| {
            let text = json_pointer::text_at(&value, &finding.at);
            text.and_then(|text| text.get(finding.start..finding.end).map(|text| text == secret))
                .unwrap_or(false)
        };
        let places: Vec<Finding> =
            self.local.iter().filter(stays).map(|(finding, _)| finding.clone()).collect();
        mask(&mut value, &places);
        self.everywhere(value)
    }

    fn everywhere(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text)),
            Value::Array(items) => {
                Value::Array(items.into_iter().map(|item| self.everywhere(item)).collect())
            }
            Value::Object(map) => Value::Object(
                map.into_iter().map(|(key, value)| (self.name(&key), self.everywhere(value))).collect(),
            ),
            other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => other,
        }
    }

    fn replaced(&self, text: &str, by: impl Fn(&GlobalSecret) -> Option<String>) -> String {
        let Some(search) = &self.search else { return text.to_owned() };
        let mut out = String::with_capacity(text.len());
        search.replace_all_with(text, &mut out, |found, secret, out| {
            match self.global.get(found.pattern().as_usize()).and_then(&by) {
                Some(instead) => out.push_str(&instead),
                None => out.push_str(secret),
            }
            true
        });
        out
    }
}

/// Whether secrets of a kind are recognised by their context alone, and may be any text.
fn is_known_by_context(kind: &str) -> bool {
    kind.ends_with("password")
        || kind.starts_with("generic-")
        || matches!(kind, "bearer-token" | "basic-authorization")
}

/// Whether a secret may be a word, because it has no digit.
fn is_word(secret: &str) -> bool {
    !secret.bytes().any(|byte| byte.is_ascii_digit())
}

/// How often a text may be encoded as JSON: arguments in a message, and the message in a list.
const MAX_NESTED: usize = 3;

/// A secret as it is, and as it is written in nested JSON.
fn spellings(secret: &str) -> impl Iterator<Item = String> {
    let quoted = |text: &String| {
        let quoted = Value::from(text.as_str()).to_string();
        let inner = quoted.strip_prefix('"')?.strip_suffix('"')?;
        (inner != text).then(|| inner.to_owned())
    };
    std::iter::successors(Some(secret.to_owned()), quoted).take(MAX_NESTED + 1)
}

/// Whether a secret is long and varied enough to be replaced everywhere.
fn is_distinctive(secret: &str) -> bool {
    let mut bytes: Vec<u8> = secret.bytes().collect();
    bytes.sort_unstable();
    bytes.dedup();
    secret.len() >= MIN_GLOBAL && bytes.len() >= MIN_VARIETY
}
