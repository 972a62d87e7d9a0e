//! National ids: recognises them by shape, rules and words nearby. An id with weak rules needs a word. The table is compiled
//! from `data/personal/identities`.

use midrail_core::{Confidence, Hit, Severity};

use super::context::Context;
use super::data::SAMPLE_IDS;
use super::documents;
use super::rules::{self, Rule, Rule::*, Sum};
use super::token::Token;
use super::word_set::WordSet;

/// When an id needs one of its words nearby.
#[derive(Clone, Copy)]
enum NeedsWord {
    /// Never: shape and rules leave little doubt.
    Never,
    /// If the number has no separators, or only spaces, as columns of a table have.
    IfBare,
    /// Always.
    Always,
}

/// One kind of id.
struct Identity {
    kind: &'static str,
    /// ISO codes of the countries that use it.
    countries: &'static [&'static str],
    description: &'static str,
    /// What its letters and digits have to follow.
    rules: &'static [Rule],
    needs_word: NeedsWord,
    /// Words near such numbers.
    words: WordSet,
}

include!(concat!(env!("OUT_DIR"), "/identities.rs"));

/// How many words away a word may be.
const NEAR: usize = 5;

/// The distance that counts for an id without a word.
const WITHOUT_WORD: usize = 3;

/// Returns all countries that have ids of their own, by ISO code, sorted.
pub fn countries() -> Vec<&'static str> {
    let all = IDENTITIES.iter().flat_map(|identity| identity.countries).copied();
    all.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
}

/// Returns the countries of a kind, by ISO code: `us` for `us-ssn`. Empty for kinds that belong to no country.
pub fn countries_for_kind(kind: &str) -> &'static [&'static str] {
    IDENTITIES.iter().find(|identity| identity.kind == kind).map_or(&[], |identity| identity.countries)
}

/// Whether some id has the shape of a candidate.
pub(super) fn has_shape(token: &Token<'_>) -> bool {
    SHAPES.contains_key(token.shape())
}

/// The id or document number that a candidate is.
pub(super) fn find(token: &Token<'_>) -> Option<Hit> {
    if !documents::may_be(token) && !has_shape(token) {
        return None;
    }
    let context = Context::new(token.bytes, token.start, token.end);
    best(token, &context).map(|(hit, _)| hit)
}

/// The id or document number that a candidate is, and how many words away its word is.
pub(super) fn best(token: &Token<'_>, context: &Context) -> Option<(Hit, usize)> {
    let bare = token.bare();
    let indexes = SHAPES.get(token.shape()).copied().unwrap_or_default();
    let with_shape = indexes.iter().filter_map(|index| IDENTITIES.get(usize::from(*index)));
    let ranked = with_shape.filter(|identity| rules::hold(identity.rules, bare)).filter_map(|identity| {
        let rank = context.rank_within(&identity.words, NEAR);
        let needs_word = match identity.needs_word {
            NeedsWord::Never => false,
            NeedsWord::IfBare => token.separators().all(|byte| byte == b' '),
            NeedsWord::Always => true,
        };
        (rank.is_some() || !needs_word).then_some((identity, rank))
    });
    let Some((identity, rank)) = ranked.min_by_key(|(_, rank)| rank.unwrap_or(NEAR + 1)) else {
        return documents::find(token, context);
    };
    let (severity, confidence) = match rank {
        _ if SAMPLE_IDS.contains(bare) => (Severity::Low, Confidence::Medium),
        Some(_) => (Severity::High, Confidence::High),
        None => (Severity::High, Confidence::Medium),
    };
    let hit = Hit::new(identity.kind, token.start, token.end, identity.description);
    Some((Hit { severity, confidence, ..hit }, rank.unwrap_or(WITHOUT_WORD)))
}
