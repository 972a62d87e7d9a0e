//! Recognises national ids by shape, check and words nearby. An id with a weak check needs a word.

use midrail_core::{Confidence, Hit, Severity};

use super::context::Context;
use super::data::SAMPLE_IDS;
use super::documents;
use super::identities::{self, NeedsWord};
use super::settings::KindFilter;
use super::token::Token;

/// How many words away a word may be.
const NEAR: usize = 5;

/// The distance that counts for an id without a word.
const WITHOUT_WORD: usize = 3;

/// Whether some id has the shape of a candidate.
pub(super) fn has_shape(token: &Token<'_>) -> bool {
    identities::has_shape(token.shape())
}

/// The id or document number that a candidate is.
pub(super) fn find(token: &Token<'_>, allowed: &KindFilter) -> Option<Hit> {
    let is_document = documents::may_be(token);
    if !is_document && !has_shape(token) {
        return None;
    }
    let context = Context::new(token.bytes, token.start, token.end);
    best(token, &context, allowed).map(|(hit, _)| hit)
}

/// The id or document number that a candidate is, and how many words away its word is.
pub(super) fn best(token: &Token<'_>, context: &Context, allowed: &KindFilter) -> Option<(Hit, usize)> {
    let bare = token.bare();
    let checked = identities::with_shape(token.shape()).filter(|identity| {
        allowed.country(identity.countries) && allowed.kind(identity.kind) && (identity.check)(bare)
    });
    let ranked = checked.filter_map(|identity| {
        let rank = context.rank_within(&identity.words, NEAR);
        let is_bare = token.separators().all(|byte| byte == b' ');
        let needs_word = match identity.needs_word {
            NeedsWord::Never => false,
            NeedsWord::IfBare => is_bare,
            NeedsWord::Always => true,
        };
        (rank.is_some() || !needs_word).then_some((identity, rank))
    });
    let best = ranked.min_by_key(|(_, rank)| rank.unwrap_or(NEAR + 1));
    let Some((identity, rank)) = best else {
        return documents::find(token, context).filter(|(hit, _)| allowed.kind(hit.kind));
    };
    let confidence = if rank.is_some() { Confidence::High } else { Confidence::Medium };
    let hit = Hit::new(identity.kind, token.start, token.end, identity.description);
    let hit = if SAMPLE_IDS.contains(bare) {
        Hit { severity: Severity::Low, confidence: Confidence::Medium, ..hit }
    } else {
        Hit { severity: Severity::High, confidence, ..hit }
    };
    Some((hit, rank.unwrap_or(WITHOUT_WORD)))
}
