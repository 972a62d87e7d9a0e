//! The phrases of attacks, compiled from `data/injection/phrases`.

use super::family::{self, Family};

/// Where a row counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counts {
    /// Anywhere.
    Anywhere,
    /// Not by itself: signs of several families have to be near each other.
    Weak,
    /// Only in a text that is hardly longer: elsewhere it is an everyday phrase.
    Alone,
    /// Only in markup that people do not see.
    Hidden,
    /// Only behind a mark of a chat format.
    Tagged,
    /// Not by itself: it addresses a machine that reads the text.
    Address,
    /// Not by itself: it addresses a model by its name, as people do who work with one.
    Name,
    /// Behind an address or a name.
    Order,
    /// Behind an address. Behind a name it is an everyday request.
    Request,
}

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
