//! The Nordic and Baltic countries.

use super::super::checks::{
    day_and_month, digit, is_ddmmyy, is_yymmdd, is_yyyymmdd, last, luhn, number, weighted,
};
use super::{Need, Row};

pub(super) const ROWS: &[Row] = &[
    Row {
        kind: "se-personnummer",
        countries: &["se"],
        name: "a Swedish personal number",
        shapes: &["999999-9999", "99999999-9999", "9999999999", "999999999999"],
        check: is_personnummer,
        need: Need::WordIfBare,
        words: &["personnummer", "pnr", "personnr", "samordningsnummer", "swedish"],
        found: &["811218-9876", "personnummer 8112189876", "19811218-9876"],
        missed: &["811218-9877", "8112189876", "811318-9876"],
    },
    Row {
        kind: "no-fodselsnummer",
        countries: &["no"],
        name: "a Norwegian birth number",
        shapes: &["999999 99999", "99999999999"],
        check: is_fodselsnummer,
        // Two check digits and a date leave one bare number in three thousand.
        need: Need::Nothing,
        words: &["fødselsnummer", "fodselsnummer", "personnummer", "fnr"],
        found: &["fødselsnummer 010190 10046", "01019010046"],
        missed: &["01019010047", "01139010046"],
    },
    Row {
        kind: "dk-cpr",
        countries: &["dk"],
        name: "a Danish civil registration number",
        shapes: &["999999-9999", "9999999999"],
        // Since 2007 numbers without a valid check digit are given out, so only the date is looked at.
        check: |bare| is_ddmmyy(bare, 0),
        need: Need::Word,
        words: &["cpr", "cprnr", "personnummer"],
        found: &["CPR 070761-4285", "cpr-nummer: 0707614285"],
        missed: &["CPR 321361-4285", "070761-4285"],
    },
    Row {
        kind: "fi-hetu",
        countries: &["fi"],
        name: "a Finnish identity code",
        shapes: &["999999-999X", "999999A999X"],
        check: is_hetu,
        need: Need::Nothing,
        words: &["hetu", "henkilötunnus", "henkilotunnus"],
        found: &["131052-308T", "hetu: 010101A123N"],
        missed: &["131052-308U", "131352-308T"],
    },
    Row {
        kind: "is-kennitala",
        countries: &["is"],
        name: "an Icelandic identity number",
        shapes: &["999999-9999", "9999999999"],
        check: |bare| {
            let rest = weighted(bare, &[3, 2, 7, 6, 5, 4, 3, 2]) % 11;
            is_ddmmyy(bare, 0) && (11 - rest) % 11 == digit(bare, 8) && matches!(last(bare), 0 | 8 | 9)
        },
        need: Need::Word,
        words: &["kennitala", "kt"],
        found: &["kennitala 120174-3399"],
        missed: &["kennitala 120174-3389", "120174-3399"],
    },
    Row {
        kind: "ee-isikukood",
        countries: &["ee"],
        name: "an Estonian personal code",
        shapes: &["99999999999"],
        check: is_baltic,
        need: Need::Word,
        words: &["isikukood", "estonian", "ik"],
        found: &["isikukood 37605030299"],
        missed: &["isikukood 37605030298", "37605030299"],
    },
    Row {
        kind: "lt-asmens-kodas",
        countries: &["lt"],
        name: "a Lithuanian personal code",
        shapes: &["99999999999"],
        check: is_baltic,
        need: Need::Word,
        words: &["asmens", "kodas", "lithuanian"],
        found: &["asmens kodas 33309240064"],
        missed: &["asmens kodas 33309240065", "33309240064"],
    },
    Row {
        kind: "lv-personas-kods",
        countries: &["lv"],
        name: "a Latvian personal code",
        shapes: &["999999-99999"],
        check: |bare| {
            let sum = weighted(bare, &[1, 6, 3, 7, 9, 10, 5, 8, 4, 2]);
            is_ddmmyy(bare, 0) && (1101 - sum) % 11 % 10 == last(bare)
        },
        need: Need::Nothing,
        words: &["personas", "kods"],
        found: &["161175-19997"],
        missed: &["161175-19998", "161375-19997"],
    },
];

/// Luhn over the last ten digits. Numbers for visitors have 60 added to the day.
fn is_personnummer(bare: &[u8]) -> bool {
    let start = bare.len().saturating_sub(10);
    let body = bare.get(start..).unwrap_or_default();
    let is_date = day_and_month(number(body, 4, 2) % 60, number(body, 2, 2));
    let is_century = start == 0 || matches!(number(bare, 0, 2), 18..=20);
    is_date && is_century && luhn(body)
}

fn is_fodselsnummer(bare: &[u8]) -> bool {
    let first = weighted(bare, &[3, 7, 6, 1, 8, 9, 4, 5, 2]);
    let second = weighted(bare, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2]);
    // Numbers for visitors have 40 added to the day.
    let is_date = day_and_month(number(bare, 0, 2) % 40, number(bare, 2, 2));
    is_date && (11 - first % 11) % 11 == digit(bare, 9) && (11 - second % 11) % 11 == digit(bare, 10)
}

/// Date and serial by 31.
fn is_hetu(bare: &[u8]) -> bool {
    // The sign of the century is a letter for some, and not among the bare characters for the others.
    let serial = bare.len().saturating_sub(4);
    let is_century = serial == 6 || matches!(bare.get(6), Some(b'A'..=b'F' | b'U'..=b'Y'));
    let value = number(bare, 0, 6) * 1000 + number(bare, serial, 3);
    let check =
        usize::try_from(value % 31).ok().and_then(|place| b"0123456789ABCDEFHJKLMNPRSTUVWXY".get(place));
    is_century && is_ddmmyy(bare, 0) && check == bare.last()
}

/// Where the first weights leave ten, others are tried.
fn is_baltic(bare: &[u8]) -> bool {
    let first = weighted(bare, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 1]) % 11;
    let check = if first == 10 { weighted(bare, &[3, 4, 5, 6, 7, 8, 9, 1, 2, 3]) % 11 % 10 } else { first };
    matches!(digit(bare, 0), 1..=8) && is_yymmdd(bare, 1) && check == last(bare) && !is_yyyymmdd(bare, 0)
}
