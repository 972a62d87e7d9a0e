//! The phrases of attacks, compiled from `data/injection/phrases`.

use super::family::{self, Family};
pub(super) use crate::choices::Counts;

/// Patterns of one family that count in the same places.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) family: &'static Family,
    pub(super) counts: Counts,
    pub(super) patterns: &'static [&'static str],
}

impl Row {
    /// Whether it is a hit by itself, at least in some places.
    pub(super) fn is_hit(&self) -> bool {
        matches!(self.counts, Counts::Anywhere | Counts::Alone | Counts::Hidden | Counts::Tagged)
    }

    /// Whether it only addresses a reader.
    pub(super) fn is_address(&self) -> bool {
        matches!(self.counts, Counts::Address | Counts::Name)
    }

    /// Whether it counts only behind an address.
    pub(super) fn is_order(&self) -> bool {
        matches!(self.counts, Counts::Order | Counts::Request)
    }
}

include!(concat!(env!("OUT_DIR"), "/injection_phrases.rs"));
