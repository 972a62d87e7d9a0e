//! Searches for many short texts at once: with vector instructions where the processor supports them, or else with an automaton.

use aho_corasick::{AhoCorasick, Match, MatchKind, packed};

/// A search for texts of three bytes or more. Of several at one place, the longest is found.
pub(super) enum PackedSearch {
    Packed(packed::Searcher),
    Plain(AhoCorasick),
    None,
}

impl PackedSearch {
    pub(super) fn new<'t>(texts: impl Iterator<Item = &'t str> + Clone) -> Self {
        let mut config = packed::Config::new();
        let packed =
            config.match_kind(packed::MatchKind::LeftmostLongest).builder().extend(texts.clone()).build();
        if let Some(search) = packed {
            return PackedSearch::Packed(search);
        }
        let plain = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(texts);
        plain.map_or(PackedSearch::None, PackedSearch::Plain)
    }

    /// Visits all matches in order.
    pub(super) fn for_each(&self, text: &[u8], visit: impl FnMut(Match)) {
        match self {
            PackedSearch::Packed(search) => search.find_iter(text).for_each(visit),
            PackedSearch::Plain(search) => search.find_iter(text).for_each(visit),
            PackedSearch::None => {}
        }
    }
}
