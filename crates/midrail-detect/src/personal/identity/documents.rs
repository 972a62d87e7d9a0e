//! Numbers without a form of their own, known only by the words before them: passports, driving licences, vehicles,
//! bank accounts.

use midrail_core::{Confidence, Severity};

use super::super::candidates::byte;
use super::super::checks::{digit, number};
use super::super::context::Context;
use super::super::prose::births::is_date;
use super::super::token::Token;
use crate::finding::Hit;

struct Document {
    kind: &'static str,
    name: &'static str,
    /// How many letters and digits it may have.
    lengths: std::ops::RangeInclusive<usize>,
    /// One of these stands near.
    words: &'static [&'static str],
    /// And, unless there are none, one of these.
    also: &'static [&'static str],
}

/// What stands beside the word for an account where it is one of a bank.
const ACCOUNT_WORDS: &[&str] = &[
    "no",
    "nr",
    "num",
    "number",
    "numbers",
    "numero",
    "número",
    "numéro",
    "nummer",
    "kontonummer",
    "sort",
    "blz",
    "bankleitzahl",
    "bic",
    "routing",
];

const DOCUMENTS: &[Document] = &[
    Document {
        kind: "passport",
        name: "a passport number",
        lengths: 6..=9,
        words: &[
            "passport",
            "passports",
            "passportno",
            "reisepass*",
            "passeport",
            "pasaporte",
            "passaporto",
            "passaporte",
            "passnummer",
            "paspoort*",
            "paszport*",
            "护照",
            "旅券",
            "여권",
        ],
        also: &[],
    },
    // With its check digit, as German passports show it.
    Document {
        kind: "passport",
        name: "a passport number",
        lengths: 10..=10,
        words: &["reisepass*", "passnummer"],
        also: &[],
    },
    Document {
        kind: "driving-licence",
        name: "a driving licence number",
        lengths: 6..=16,
        words: &[
            "driver",
            "drivers",
            "driverslicense",
            "driving",
            "führerschein*",
            "fuehrerschein*",
            "rijbewijs*",
            "körkort*",
            "kørekort*",
            "førerkort*",
            "ajokort*",
            "conducir",
            "conduire",
            "guida",
        ],
        also: &[
            "license",
            "licence",
            "lic",
            "permis",
            "permiso",
            "licencia",
            "patente",
            "dl",
            "führerscheinnummer",
            "führerschein",
            "rijbewijs",
            "körkort",
            "kørekort",
            "førerkort",
            "ajokortti",
        ],
    },
    Document {
        kind: "vehicle",
        name: "the identification number of a vehicle",
        lengths: 17..=17,
        words: &["vin", "chassis", "vehicle", "fahrgestell*", "bastidor", "fin"],
        also: &[],
    },
    Document {
        kind: "bank-account",
        name: "a bank account number",
        lengths: 6..=17,
        words: &["account", "acct", "konto", "kontonummer", "rekening*", "cuenta", "compte", "conto"],
        also: ACCOUNT_WORDS,
    },
];

/// How far away the word may stand.
const NEAR: usize = 5;

/// Whether a candidate may be some document at all.
pub(super) fn may_be(token: &Token<'_>) -> bool {
    let bare = token.bare();
    let digits = bare.iter().filter(|byte| byte.is_ascii_digit()).count();
    let dots = token.separators().any(|byte| byte != b'-' && byte != b' ');
    // Documents print capitals; what has small letters, or goes on with a colon, is a name in code or a time.
    let is_code = token.shape().contains(&b'a') || byte(token.bytes, token.end) == b':';
    !is_code && (6..=17).contains(&bare.len()) && digits >= 4 && !dots
}

/// The document that a candidate is.
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
            let rank = context.rank(document.words).filter(|rank| *rank <= NEAR)?;
            let is_sure = document.also.is_empty() || context.has_within(document.also, NEAR);
            (is_sure && (document.kind != "vehicle" || is_vin(bare))).then_some((document, rank))
        });
    let (document, rank) = found.min_by_key(|(_, rank)| *rank)?;
    let hit = Hit::new(document.kind, token.start, token.end, document.name);
    Some((Hit { severity: Severity::High, confidence: Confidence::Medium, ..hit }, rank))
}

/// Seventeen characters without `I`, `O` and `Q`; the last four are digits.
fn is_vin(bare: &[u8]) -> bool {
    !bare.iter().any(|byte| matches!(byte, b'I' | b'O' | b'Q'))
        && digit(bare, 16) < 10
        && number(bare, 13, 4) > 0
}

#[cfg(test)]
mod tests {
    use super::super::super::scan;

    fn kinds(text: &str) -> Vec<&'static str> {
        scan(text).iter().map(|hit| hit.kind).collect()
    }

    #[test]
    fn words_make_documents() {
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
    fn without_words_they_are_none() {
        assert!(kinds("the value C01X00T47 is cached").is_empty());
        assert!(kinds("license 7120453 of this library").is_empty());
        assert!(kinds("account 12 has 99 items").is_empty());
        assert!(kinds("passport.js 0.4.1 was released").is_empty());
    }
}
