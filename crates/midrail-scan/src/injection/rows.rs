//! The phrases of attacks, compiled from `data/injection/phrases`.

use super::family::{self, Family};
pub(super) use crate::choices::Counts;

/// The patterns of one family that count in the same places.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) family: &'static Family,
    pub(super) counts: Counts,
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
}

include!(concat!(env!("OUT_DIR"), "/injection_phrases.rs"));
