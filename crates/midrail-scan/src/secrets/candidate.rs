//! A candidate for a hit, before it is compared with overlapping ones.

use std::ops::Range;

use midrail_core::{Confidence, Hit, Severity};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::formats::FORMAT_TEXTS;
use super::generic::assignment::Until;

/// A kind or description. An alias, because serde borrows fields that are spelled as references.
pub(super) type StaticText = &'static str;

/// A match of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Candidate {
    pub(super) start: usize,
    pub(super) end: usize,
    #[serde(deserialize_with = "static_text")]
    pub(super) kind: StaticText,
    #[serde(deserialize_with = "static_text")]
    pub(super) description: StaticText,
    pub(super) severity: Severity,
    pub(super) confidence: Confidence,
    /// How specific the rule is.
    pub(super) rank: u8,
    /// How many bytes it begins before the given text.
    pub(super) dropped: usize,
    /// What ends it, if it continues behind its end.
    pub(super) more: Option<Until>,
}

impl Candidate {
    /// A candidate of high severity and medium confidence.
    pub(super) fn new(kind: &'static str, description: &'static str, range: Range<usize>) -> Self {
        Candidate {
            start: range.start,
            end: range.end,
            kind,
            description,
            severity: Severity::High,
            confidence: Confidence::Medium,
            rank: 0,
            dropped: 0,
            more: None,
        }
    }

    pub(super) fn is_better_than(&self, other: &Candidate) -> bool {
        (self.rank, self.length()) > (other.rank, other.length())
    }

    pub(super) fn length(&self) -> usize {
        self.end - self.start + self.dropped
    }

    /// The hit, at its offset from the beginning of all text.
    pub(super) fn into_hit(self, base: usize) -> Hit {
        let (start, end) = (base + self.start - self.dropped, base + self.end);
        Hit {
            severity: self.severity,
            confidence: self.confidence,
            ..Hit::new(self.kind, start, end, self.description)
        }
    }
}

/// The kinds and descriptions of secrets that have no format.
const GENERIC_TEXTS: &[&str] = &[
    "a JSON web token",
    "a key or token that is assigned to a name",
    "a password",
    "a password in a URL",
    "a private key",
    "a random string that is assigned to a name like that of a secret",
    "a secret in a row of a table",
    "a user name and password in base 64",
    "basic-authorization",
    "generic-password",
    "generic-random",
    "generic-secret",
    "json-web-token",
    "private-key",
    "sql-password",
    "url-password",
];

/// Deserializes a kind or description as the static text that it was serialized from.
pub(super) fn static_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<StaticText, D::Error> {
    let text = String::deserialize(deserializer)?;
    let generic = GENERIC_TEXTS.binary_search(&text.as_str()).ok().and_then(|at| GENERIC_TEXTS.get(at));
    generic
        .or_else(|| FORMAT_TEXTS.get_key(text.as_str()))
        .copied()
        .ok_or_else(|| D::Error::custom(format!("`{text}` is not a kind of secret")))
}
