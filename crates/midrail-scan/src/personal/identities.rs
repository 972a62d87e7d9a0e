//! National ids and numbers of documents. Shape or length, rules and words nearby identify them: passports, driving licences
//! and bank accounts have no shape of their own. The table is compiled from `data/personal/identities`.

use midrail_core::{Confidence, Hit, Severity};

use super::births::is_date;
use super::context::Context;
use super::data::SAMPLE_IDS;
use super::rules::{self, Rule, Rule::*, Sum};
use super::token::Token;
use super::word_set::WordSet;
use crate::bytes::byte;
use crate::choices::NeedsWord;

/// One kind of id.
struct Identity {
    kind: &'static str,
    /// ISO codes of the countries that use it.
    countries: &'static [&'static str],
    description: &'static str,
    /// How many letters and digits a number without a shape has, at least and at most.
    lengths: Option<(usize, usize)>,
    /// What its letters and digits have to follow.
    rules: &'static [Rule],
    needs_word: NeedsWord,
    /// Words near such numbers.
    words: WordSet,
    /// Words of which one has to be nearby too.
    also: Option<WordSet>,
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

pub(super) fn is_kind(kind: &str) -> bool {
    IDENTITIES.iter().any(|identity| identity.kind == kind)
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
    if !may_be_document(token) && !has_shape(token) {
        return None;
    }
    let context = Context::new(token.bytes, token.start, token.end);
    best(token, &context).map(|(hit, _)| hit)
}

/// The id or document number that a candidate is, and how many words away its word is.
pub(super) fn best(token: &Token<'_>, context: &Context) -> Option<(Hit, usize)> {
    let bare = token.bare();
    let ranked = |identity: &'static Identity| {
        if !rules::hold(identity.rules, bare) {
            return None;
        }
        let rank = context.rank_within(&identity.words, NEAR);
        let needs_word = match identity.needs_word {
            NeedsWord::Never => false,
            NeedsWord::IfBare => token.separators().all(|byte| byte == b' '),
            NeedsWord::Always => true,
        };
        let has_words = (rank.is_some() || !needs_word)
            && identity.also.as_ref().is_none_or(|also| context.has_within(also, NEAR));
        has_words.then_some((identity, rank))
    };
    let nearest = |(_, rank): &(&Identity, Option<usize>)| rank.unwrap_or(NEAR + 1);
    let indexes = SHAPES.get(token.shape()).copied().unwrap_or_default();
    let with_shape = indexes.iter().filter_map(|index| IDENTITIES.get(usize::from(*index)));
    let (identity, rank) = with_shape.filter_map(ranked).min_by_key(nearest).or_else(|| {
        let (groups, count) = token.groups();
        if !may_be_document(token) || count == 3 && is_date(token, groups) {
            return None;
        }
        let fits = |(least, most): (usize, usize)| (least..=most).contains(&bare.len());
        let documents = IDENTITIES.iter().filter(|identity| identity.lengths.is_some_and(fits));
        documents.filter_map(ranked).min_by_key(nearest)
    })?;
    let (severity, confidence) = match rank {
        _ if identity.lengths.is_some() => (Severity::High, Confidence::Medium),
        _ if SAMPLE_IDS.contains(bare) => (Severity::Low, Confidence::Medium),
        Some(_) => (Severity::High, Confidence::High),
        None => (Severity::High, Confidence::Medium),
    };
    let hit = Hit::new(identity.kind, token.start, token.end, identity.description);
    Some((Hit { severity, confidence, ..hit }, rank.unwrap_or(WITHOUT_WORD)))
}

/// Whether a candidate may be the number of a document.
fn may_be_document(token: &Token<'_>) -> bool {
    let bare = token.bare();
    let digits = bare.iter().filter(|byte| byte.is_ascii_digit()).count();
    let has_dots = token.separators().any(|byte| byte != b'-' && byte != b' ');
    // Documents use capitals: lower case or a colon behind it means a name in code or a time.
    let is_code = token.shape().contains(&b'a') || byte(token.bytes, token.end) == b':';
    !is_code && (6..=17).contains(&bare.len()) && digits >= 4 && !has_dots
}

#[cfg(test)]
mod tests {
    use super::super::scan;

    fn kinds(text: &str) -> Vec<&'static str> {
        scan(text).iter().map(|hit| hit.kind).collect()
    }

    #[test]
    fn words_nearby_make_documents() {
        assert_eq!(kinds("Passport No: C01X00T47"), ["passport"]);
        assert_eq!(kinds("Reisepassnummer C01X00T47"), ["passport"]);
        assert_eq!(kinds("Reisepass C01X00T478"), ["passport"]);
        assert_eq!(kinds("sort code 20-00-00 account 55779911").last(), Some(&"bank-account"));
        assert_eq!(kinds("Kontonummer 648489890, BLZ 12030000").first(), Some(&"bank-account"));
        assert!(kinds("account 55779911 was closed").is_empty());
        assert_eq!(kinds("my driver's license number is 7120453"), ["driving-licence"]);
        assert_eq!(kinds("VIN 1HGCM82633A004352"), ["vehicle"]);
        assert_eq!(kinds(r#""account_number": "204-5531-8801""#), ["bank-account"]);
    }

    #[test]
    fn numbers_without_words_are_no_documents() {
        assert!(kinds("the value C01X00T47 is cached").is_empty());
        assert!(kinds("license 7120453 of this library").is_empty());
        assert!(kinds("account 12 has 99 items").is_empty());
        assert!(kinds("passport.js 0.4.1 was released").is_empty());
    }
}
