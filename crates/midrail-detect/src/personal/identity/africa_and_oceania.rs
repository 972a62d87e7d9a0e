//! Africa, Australia and New Zealand.

use super::super::checks::{digit, is_yymmdd, is_yyyymmdd, last, luhn, number, remainder, weighted};
use super::{Need, Row};

pub(super) const ROWS: &[Row] = &[
    Row {
        kind: "za-id",
        countries: &["za"],
        name: "a South African identity number",
        shapes: &["9999999999999", "999999 9999 999"],
        check: |bare| is_yymmdd(bare, 0) && digit(bare, 10) < 3 && luhn(bare),
        // Thirteen digits may as well be a time in milliseconds.
        need: Need::Word,
        words: &["id", "identity", "rsa", "said", "sa"],
        found: &["SA ID number 8001015009087", "identity: 800101 5009 087"],
        missed: &["SA ID number 8001015009088", "at 8001015009087 ms"],
    },
    Row {
        kind: "eg-national-id",
        countries: &["eg"],
        name: "an Egyptian national number",
        shapes: &["99999999999999"],
        check: |bare| {
            matches!(digit(bare, 0), 2 | 3) && is_yymmdd(bare, 1) && (1..=88).contains(&number(bare, 7, 2))
        },
        need: Need::Word,
        words: &["national", "nid", "egyptian", "القومي"],
        found: &["Egyptian national ID 29001011234567"],
        missed: &["29001011234567", "national ID 29013011234567"],
    },
    Row {
        kind: "mu-national-id",
        countries: &["mu"],
        name: "a Mauritian national number",
        shapes: &["A999999999999X"],
        check: |bare| number(bare, 1, 2) <= 31 && (1..=12).contains(&number(bare, 3, 2)),
        need: Need::Word,
        words: &["nic", "national", "mauritian"],
        found: &["NIC: B1502871234567"],
        missed: &["B1502871234567", "NIC: B1513871234567"],
    },
    Row {
        kind: "au-tfn",
        countries: &["au"],
        name: "an Australian tax file number",
        shapes: &["999 999 999", "999-999-999", "999999999"],
        check: |bare| weighted(bare, &[1, 4, 3, 7, 5, 8, 6, 9, 10]).is_multiple_of(11),
        need: Need::Word,
        words: &["tfn", "tax", "file"],
        found: &["TFN 123 456 782", "tax file number: 123456782"],
        missed: &["TFN 123 456 783", "123 456 782 rows"],
    },
    Row {
        kind: "au-medicare",
        countries: &["au"],
        name: "an Australian Medicare number",
        shapes: &["9999 99999 9", "9999999999", "9999 99999 9-9", "99999999999"],
        check: is_medicare,
        need: Need::Word,
        words: &["medicare"],
        found: &["Medicare 2123 45670 1", "medicare_number: 2123456701"],
        missed: &["Medicare 2123 45671 1", "2123456701"],
    },
    Row {
        kind: "au-abn",
        countries: &["au"],
        name: "an Australian business number",
        shapes: &["99 999 999 999", "99999999999"],
        check: is_abn,
        need: Need::Word,
        words: &["abn"],
        found: &["ABN 51 824 753 556"],
        missed: &["ABN 51 824 753 557", "51 824 753 556"],
    },
    Row {
        kind: "nz-ird",
        countries: &["nz"],
        name: "a New Zealand tax number",
        shapes: &["99-999-999", "999-999-999", "99999999", "999999999"],
        check: is_ird,
        need: Need::Word,
        words: &["ird"],
        found: &["IRD 49-091-850", "IRD number 136-410-132"],
        missed: &["IRD 49-091-851", "49-091-850"],
    },
    Row {
        kind: "ng-nin",
        countries: &["ng"],
        name: "a Nigerian national number",
        shapes: &["99999999999"],
        check: |bare| digit(bare, 0) > 0 && !is_yyyymmdd(bare, 0),
        need: Need::Word,
        words: &["nin", "bvn"],
        found: &["NIN: 53812907415"],
        missed: &["53812907415 rows"],
    },
];

fn is_medicare(bare: &[u8]) -> bool {
    let sum = weighted(bare, &[1, 3, 7, 9, 1, 3, 7, 9]);
    matches!(digit(bare, 0), 2..=6) && sum % 10 == digit(bare, 8) && digit(bare, 9) > 0
}

/// With one taken from the first digit, the weighted sum is a multiple of 89.
fn is_abn(bare: &[u8]) -> bool {
    let sum = weighted(bare, &[10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19]);
    digit(bare, 0) > 0 && sum % 89 == 10
}

/// Where the first weights leave ten, others are tried.
fn is_ird(bare: &[u8]) -> bool {
    let Some((_, body)) = bare.split_last() else { return false };
    if !(10_000_000..=150_000_000).contains(&number(bare, 0, bare.len())) {
        return false;
    }
    let skip = 8_usize.saturating_sub(body.len());
    let check = |weights: &[u32]| (11 - weighted(body, weights.get(skip..).unwrap_or_default()) % 11) % 11;
    let first = check(&[3, 2, 7, 6, 5, 4, 3, 2]);
    let value = if first == 10 { check(&[7, 4, 3, 2, 5, 2, 7, 6]) } else { first };
    value == last(bare) && remainder(bare, 1_000_000) > 0
}
