//! What stands in place of a secret, and putting it there.

use std::collections::BTreeMap;

use aho_corasick::{AhoCorasick, MatchKind};
use hmac::{Hmac, KeyInit, Mac};
use midrail_core::{Finding, hex};
use serde_json::Value;
use sha2::Sha256;

use crate::texts;

/// Replaces each finding in a JSON value by its tag, and tells where the tags stand. Names of members are replaced too.
///
/// A record holds the masked event with these findings: what is found in it is what was found in the original, so that
/// it replays to the same decision.
pub fn mask(value: &mut Value, findings: &[Finding]) -> Vec<Finding> {
    let mut tags: Vec<Finding> = findings.to_vec();
    let mut renamed = BTreeMap::new();
    // INVARIANT: `scan_json` tells the findings of one text one after the other.
    for of_text in tags.chunk_by_mut(|one, next| one.at == next.at) {
        let Some(at) = of_text.first().map(|first| first.at.clone()) else { continue };
        match at.strip_suffix(texts::KEY) {
            Some(member) => {
                if let Some(name) = texts::text_at(value, &at).map(|name| replaced(&name, of_text)) {
                    renamed.insert(member.to_owned(), name);
                }
            }
            None => {
                if let Some(Value::String(text)) = value.pointer_mut(&at) {
                    *text = replaced(text, of_text);
                }
            }
        }
    }
    // Members that lie deeper come first, so that the pointers to those above them stay right.
    for (member, name) in renamed.iter_mut().rev() {
        if let Some(got) = texts::rename(value, member, name) {
            *name = got;
        }
    }
    if !renamed.is_empty() {
        for tag in &mut tags {
            tag.at = moved(&tag.at, &renamed);
        }
    }
    tags
}

/// A text with its findings replaced, which then tell where their tags stand.
fn replaced(text: &str, findings: &mut [Finding]) -> String {
    // INVARIANT: `scan` tells secrets in order and without overlap, so one pass with a cursor is enough.
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

/// A pointer after members on its way were renamed.
fn moved(at: &str, renamed: &BTreeMap<String, String>) -> String {
    let (path, suffix) = match at.strip_suffix(texts::KEY) {
        Some(path) => (path, texts::KEY),
        None => (at, ""),
    };
    let mut old = String::new();
    let mut new = String::new();
    for token in path.split('/').skip(1) {
        old.push('/');
        old.push_str(token);
        new.push('/');
        match renamed.get(&old) {
            Some(name) => texts::push_token(&mut new, name),
            None => new.push_str(token),
        }
    }
    new.push_str(suffix);
    new
}

/// Moves other findings to where they stand in a value that was masked: `found` are the secrets as they stood before,
/// `tags` as they stand now.
pub fn follow(others: &mut [Finding], found: &[Finding], tags: &[Finding]) {
    let mut by_text: BTreeMap<&str, Vec<(&Finding, &Finding)>> = BTreeMap::new();
    for (secret, tag) in found.iter().zip(tags) {
        by_text.entry(&secret.at).or_default().push((secret, tag));
    }
    for other in others {
        let Some(of_text) = by_text.get(other.at.as_str()) else { continue };
        // INVARIANT: the secrets of one text are told in order and without overlap.
        let nearest = |place: usize| {
            let before = of_text.partition_point(|(secret, _)| secret.start < place);
            before.checked_sub(1).and_then(|at| of_text.get(at)).copied()
        };
        if let Some((secret, tag)) = nearest(other.start) {
            other.start = shifted(other.start, secret, tag, tag.start);
        }
        if let Some((secret, tag)) = nearest(other.end) {
            other.end = shifted(other.end, secret, tag, tag.end);
        }
    }
}

/// Where a place behind the beginning of a secret stands now.
fn shifted(place: usize, secret: &Finding, tag: &Finding, within: usize) -> usize {
    if place >= secret.end { tag.end + (place - secret.end) } else { within }
}

/// What stands in place of a secret: `[redacted:aws-access-key#3f9a]`.
pub fn tag(finding: &Finding) -> String {
    tagged(&finding.kind, &finding.fingerprint)
}

pub(super) fn tagged(kind: &str, fingerprint: &str) -> String {
    format!("[redacted:{kind}#{}]", fingerprint.get(..4).unwrap_or_default())
}

/// A keyed digest: the same secret has the same one in one store, and no one without the key can guess it.
pub fn fingerprint(secret: &str, key: &[u8]) -> String {
    let mut digest = Digest::new(key);
    digest.add(secret);
    digest.finish()
}

/// A keyed digest of a text that comes in parts.
#[derive(Debug, Clone)]
pub(super) struct Digest(Option<Hmac<Sha256>>);

impl Digest {
    pub(super) fn new(key: &[u8]) -> Self {
        // HMAC takes keys of every length; without one there is no fingerprint.
        Digest(Hmac::<Sha256>::new_from_slice(key).ok())
    }

    pub(super) fn add(&mut self, part: &str) {
        if let Some(mac) = &mut self.0 {
            mac.update(part.as_bytes());
        }
    }

    pub(super) fn finish(self) -> String {
        self.0.map(|mac| hex(&mac.finalize().into_bytes())).unwrap_or_default()
    }
}

/// A value that is shorter is replaced only where it was found: everywhere else it may mean something else.
const MIN_GLOBAL: usize = 6;
/// So many different bytes make a value worth looking for elsewhere.
const MIN_VARIETY: usize = 5;

/// Texts with what was found in them replaced by its tag: for everything that is made of an event and kept or shown.
#[derive(Debug, Clone, Default)]
pub struct Mask {
    /// Secrets that are replaced wherever they stand.
    telling: Vec<Telling>,
    search: Option<AhoCorasick>,
    /// Findings whose text is too common for that.
    places: Vec<(Finding, String)>,
}

/// A secret that is replaced wherever it stands.
#[derive(Debug, Clone)]
struct Telling {
    secret: String,
    tag: String,
    /// Also in names: keys of slices, members of objects.
    in_names: bool,
}

impl Mask {
    /// A mask of what was found in a value.
    pub fn of(value: &Value, findings: &[Finding]) -> Self {
        let mut telling: BTreeMap<String, Telling> = BTreeMap::new();
        let mut places = Vec::new();
        for finding in findings {
            let text = texts::text_at(value, &finding.at);
            let Some(secret) = text.as_ref().and_then(|text| text.get(finding.start..finding.end)) else {
                continue;
            };
            if is_telling(secret) {
                let in_names = !(has_any_shape(&finding.kind) && is_word(secret));
                telling.extend(
                    spellings(secret)
                        .map(|secret| (secret.clone(), Telling { secret, tag: tag(finding), in_names })),
                );
            } else {
                places.push((finding.clone(), secret.to_owned()));
            }
        }
        let telling: Vec<Telling> = telling.into_values().collect();
        // The longest wins, so that no part of one is left over.
        let search = (!telling.is_empty())
            .then(|| {
                let secrets = telling.iter().map(|telling| &telling.secret);
                AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(secrets).ok()
            })
            .flatten();
        Mask { telling, search, places }
    }

    /// The same mask, which leaves these names as they are. Whoever writes an event chooses what is found in it, and must not
    /// choose what others look for under a name.
    pub fn sparing(mut self, names: &[&str]) -> Self {
        for telling in &mut self.telling {
            let is_part = |name: &&str| name.contains(&*telling.secret);
            let holds = |name: &&str| telling.secret.split('/').any(|part| part == *name);
            telling.in_names &= !names.iter().any(|name| is_part(name) || holds(name));
        }
        self
    }

    /// Whether there is nothing to hide.
    pub fn is_empty(&self) -> bool {
        self.telling.is_empty() && self.places.is_empty()
    }

    /// A text with every secret replaced by its tag.
    pub fn text(&self, text: &str) -> String {
        self.replaced(text, |telling| Some(telling.tag.clone()))
    }

    /// A name with every secret replaced by its tag.
    fn name(&self, name: &str) -> String {
        self.replaced(name, |telling| telling.in_names.then(|| telling.tag.clone()))
    }

    /// A key with every secret replaced by its whole fingerprint, so that no two secrets share one.
    pub fn key(&self, key: &str, fingerprint_key: &[u8]) -> String {
        self.replaced(key, |telling| {
            telling.in_names.then(|| format!("#{}", fingerprint(&telling.secret, fingerprint_key)))
        })
    }

    /// A value with every secret replaced by its tag, in keys too.
    pub fn value(&self, mut value: Value) -> Value {
        let stays = |(finding, secret): &&(Finding, String)| {
            let text = texts::text_at(&value, &finding.at);
            text.and_then(|text| text.get(finding.start..finding.end).map(|text| text == secret))
                .unwrap_or(false)
        };
        let places: Vec<Finding> =
            self.places.iter().filter(stays).map(|(finding, _)| finding.clone()).collect();
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

    fn replaced(&self, text: &str, by: impl Fn(&Telling) -> Option<String>) -> String {
        let Some(search) = &self.search else { return text.to_owned() };
        let mut out = String::with_capacity(text.len());
        search.replace_all_with(text, &mut out, |found, secret, out| {
            match self.telling.get(found.pattern().as_usize()).and_then(&by) {
                Some(instead) => out.push_str(&instead),
                None => out.push_str(secret),
            }
            true
        });
        out
    }
}

/// Whether secrets of a kind are known by what stands around them alone, and may be any text.
fn has_any_shape(kind: &str) -> bool {
    kind.ends_with("password")
        || kind.starts_with("generic-")
        || matches!(kind, "bearer-token" | "basic-authorization")
}

/// Whether a secret might be a word: one without any digit.
fn is_word(secret: &str) -> bool {
    !secret.bytes().any(|byte| byte.is_ascii_digit())
}

/// How often a text may be written as JSON inside of another: arguments in a message, and the message in a list.
const MAX_NESTED: usize = 3;

/// A secret as it stands in a text, and in texts that are written as JSON in one.
fn spellings(secret: &str) -> impl Iterator<Item = String> {
    let quoted = |text: &String| {
        let quoted = Value::from(text.as_str()).to_string();
        let inner = quoted.strip_prefix('"')?.strip_suffix('"')?;
        (inner != text).then(|| inner.to_owned())
    };
    std::iter::successors(Some(secret.to_owned()), quoted).take(MAX_NESTED + 1)
}

/// Whether a secret is long and varied enough that it means the same wherever it stands.
fn is_telling(secret: &str) -> bool {
    let mut bytes: Vec<u8> = secret.bytes().collect();
    bytes.sort_unstable();
    bytes.dedup();
    secret.len() >= MIN_GLOBAL && bytes.len() >= MIN_VARIETY
}
