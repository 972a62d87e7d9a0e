//! Numbers without a shape of their own, known only by words near them: passports, driving licences, vehicles, bank
//! accounts. Compiled from `data/personal/documents.toml`.

use midrail_core::{Confidence, Hit, Severity};

use super::births::is_date;
use super::candidates::byte;
use super::context::Context;
use super::rules::{self, Rule, Rule::*};
use super::token::Token;
use super::word_set::WordSet;

struct Document {
    kind: &'static str,
    description: &'static str,
    /// How many letters and digits it may have.
    lengths: std::ops::RangeInclusive<usize>,
    /// What its letters and digits have to follow.
    rules: &'static [Rule],
    /// One of these is near.
    words: WordSet,
    /// And one of these, if there are any.
    also: Option<WordSet>,
}

include!(concat!(env!("OUT_DIR"), "/documents.rs"));

/// How many words away the word may be.
const NEAR: usize = 5;

/// Whether a candidate may be a document number at all.
pub(super) fn may_be(token: &Token<'_>) -> bool {
    let bare = token.bare();
    let digits = bare.iter().filter(|byte| byte.is_ascii_digit()).count();
    let dots = token.separators().any(|byte| byte != b'-' && byte != b' ');
    // Documents use capitals: lower case or a colon behind it means a name in code or a time.
    let is_code = token.shape().contains(&b'a') || byte(token.bytes, token.end) == b':';
    !is_code && (6..=17).contains(&bare.len()) && digits >= 4 && !dots
}

/// The document number that a candidate is, and how many words away its word is.
pub(super) fn find(token: &Token<'_>, context: &Context) -> Option<(Hit, usize)> {
    if !may_be(token) {
        return None;
    }
    let (groups, count) = token.groups();
    if count == 3 && is_date(token, groups) {
        return None;
    }
    let bare = token.bare();
    let found =
        DOCUMENTS.iter().filter(|document| document.lengths.contains(&bare.len())).filter_map(|document| {
            let rank = context.rank_within(&document.words, NEAR)?;
            let is_sure = document.also.as_ref().is_none_or(|also| context.has_within(also, NEAR));
            (is_sure && rules::hold(document.rules, bare)).then_some((document, rank))
        });
    let (document, rank) = found.min_by_key(|(_, rank)| *rank)?;
    let hit = Hit::new(document.kind, token.start, token.end, document.description);
    Some((Hit { severity: Severity::High, confidence: Confidence::Medium, ..hit }, rank))
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
