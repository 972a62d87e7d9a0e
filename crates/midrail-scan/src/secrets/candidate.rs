//! A candidate for a hit, before it is compared with overlapping ones.

use std::ops::Range;

use midrail_core::{Confidence, Hit, Severity};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::formats::SECRET_TEXTS;
use super::generic::assignment::Until;

// How specific rules are.
pub(super) const RANK_GENERIC_FORMAT: u8 = 1;
pub(super) const RANK_ASSIGNED_FORMAT: u8 = 2;
pub(super) const RANK_FORMAT: u8 = 3;
pub(super) const RANK_BLOCK: u8 = 4;

/// A kind or description. An alias, because serde borrows fields that are spelled as references.
type StaticText = &'static str;

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

    /// The candidate with offsets from the beginning of all text, of which `base` bytes are forgotten.
    pub(super) fn at_offset(self, base: usize) -> Self {
        Candidate { start: base + self.start - self.dropped, end: base + self.end, dropped: 0, ..self }
    }

    pub(super) fn into_hit(self) -> Hit {
        let hit = Hit::new(self.kind, self.start, self.end, self.description);
        Hit { severity: self.severity, confidence: self.confidence, ..hit }
    }
}

/// Deserializes a kind or description as the static text that it was serialized from.
fn static_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<StaticText, D::Error> {
    let text = String::deserialize(deserializer)?;
    let known = SECRET_TEXTS.get_key(text.as_str()).copied();
    known.ok_or_else(|| D::Error::custom(format!("`{text}` is not a kind of secret")))
}
