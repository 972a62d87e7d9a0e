//! The table of national ids, compiled from `data/personal/identities`. The checks are in one file a region.

mod africa_and_oceania;
mod americas;
mod asia;
mod eastern_europe;
mod northern_europe;
mod western_europe;

use super::word_set::WordSet;

/// When an id needs one of its words nearby.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NeedsWord {
    /// Never: shape and check leave little doubt.
    Never,
    /// If the number has no separators, or only spaces, as columns of a table have.
    IfBare,
    /// Always.
    Always,
}

/// One kind of id.
pub(super) struct Identity {
    pub(super) kind: &'static str,
    /// ISO codes of the countries that use it.
    pub(super) countries: &'static [&'static str],
    pub(super) description: &'static str,
    /// Whether the bare letters and digits are valid.
    pub(super) check: fn(&[u8]) -> bool,
    pub(super) needs_word: NeedsWord,
    /// Words near such numbers.
    pub(super) words: WordSet,
}

include!(concat!(env!("OUT_DIR"), "/identities.rs"));

/// The kinds of all ids.
pub(super) fn kinds() -> impl Iterator<Item = &'static str> {
    IDENTITIES.iter().map(|identity| identity.kind)
}

/// The countries of all ids.
pub(super) fn countries() -> impl Iterator<Item = &'static str> {
    IDENTITIES.iter().flat_map(|identity| identity.countries).copied()
}

/// Returns the countries of a kind, by ISO code: `us` for `us-ssn`. Empty for kinds that belong to no country.
pub fn countries_for_kind(kind: &str) -> &'static [&'static str] {
    IDENTITIES.iter().find(|identity| identity.kind == kind).map_or(&[], |identity| identity.countries)
}

/// Whether some id has a shape.
pub(super) fn has_shape(shape: &[u8]) -> bool {
    SHAPES.contains_key(shape)
}

/// The ids that have a shape.
pub(super) fn with_shape(shape: &[u8]) -> impl Iterator<Item = &'static Identity> {
    let indexes = SHAPES.get(shape).copied().unwrap_or_default();
    indexes.iter().filter_map(|index| IDENTITIES.get(usize::from(*index)))
}
