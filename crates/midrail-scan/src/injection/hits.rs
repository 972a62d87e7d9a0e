//! Builds hits from families and words.

use std::ops::Range;

use midrail_core::{Confidence, Hit};

use super::family::Family;
use super::words::Word;

/// A hit of a family.
pub(super) fn hit(family: Family, span: Range<usize>, confidence: Confidence) -> Hit {
    Hit {
        kind: family.kind(),
        start: span.start,
        end: span.end,
        severity: family.severity(),
        confidence,
        explanation: family.explanation().into(),
    }
}

/// The bytes from the first to the last of some words.
pub(super) fn word_span(words: &[Word], first: usize, last: usize) -> Option<Range<usize>> {
    Some(words.get(first)?.start..words.get(last)?.end)
}
