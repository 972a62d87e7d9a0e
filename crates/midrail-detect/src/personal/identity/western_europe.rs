//! Western and southern Europe, Turkey and Israel.

use super::super::checks::{
    day_and_month, digit, digits, is_ddmmyy, is_one_digit, is_yymmdd, is_yyyymmdd, last, luhn, mod_11_10,
    number, remainder, verhoeff, weighted,
};
use super::{Need, Row};

pub(super) const ROWS: &[Row] = &[
    Row {
        kind: "uk-nino",
        countries: &["gb"],
        name: "a UK national insurance number",
        shapes: &["AA999999A", "AA 99 99 99 A", "AA-99-99-99-A"],
        check: is_nino,
        need: Need::Nothing,
        words: &["nino", "ni", "insurance", "national"],
        found: &["NI number AB 12 34 56 C", "JG103759A", "NINO: AB123456C"],
        missed: &["DA123456C", "GB123456C", "AB123456E", "XAB123456C"],
    },
    Row {
        kind: "uk-nhs",
        countries: &["gb"],
        name: "an NHS number",
        shapes: &["999 999 9999", "999-999-9999", "9999999999"],
        check: |bare| {
            let check = 11 - weighted(bare, &[10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11;
            check % 11 == last(bare) && check != 10 && !is_one_digit(bare)
        },
        need: Need::Word,
        words: &["nhs", "patient", "chi"],
        found: &["NHS number: 943 476 5919", "nhs_number=9434765919"],
        missed: &["NHS number: 943 476 5918", "9434765919"],
    },
    Row {
        kind: "uk-driving-licence",
        countries: &["gb"],
        name: "a UK driving licence number",
        shapes: &["AAAAA999999AXXAA", "AAAA9999999AXXAA", "AAA99999999AXXAA"],
        check: |bare| {
            let month = number(bare, 6, 2) % 50;
            day_and_month(number(bare, 8, 2), month) && number(bare, 6, 2) <= 62
        },
        need: Need::Nothing,
        words: &["driving", "licence", "dvla"],
        found: &["licence MORGA657054SM9IJ", "MORGA657054SM9IJ"],
        missed: &["MORGA693054SM9IJ", "MORGA657404SM9IJ"],
    },
    Row {
        kind: "ie-pps",
        countries: &["ie"],
        name: "an Irish personal public service number",
        shapes: &["9999999A", "9999999AA"],
        check: is_pps,
        // Seven digits and a letter are a number in many programs.
        need: Need::Word,
        words: &["pps", "ppsn", "rsi"],
        found: &["PPS number 1234567T", "PPSN: 1234567FA"],
        missed: &["PPS number 1234567V", "1234567T"],
    },
    Row {
        kind: "de-tax-id",
        countries: &["de"],
        name: "a German tax identification number",
        shapes: &["99 999 999 999", "99999999999"],
        check: is_steuer_id,
        need: Need::Word,
        words: &["steuer*", "idnr", "tin", "tax", "taxid", "identifikationsnummer", "tid"],
        found: &["Steuer-ID: 86 095 742 719", "Steueridentifikationsnummer 47036892816", "IdNr. 65929970489"],
        missed: &["Steuer-ID: 86 095 742 718", "86095742719"],
    },
    Row {
        kind: "de-id-card",
        countries: &["de"],
        name: "a German identity card number",
        shapes: &["AXXXXXXXX9", "AXXXXXXXX"],
        check: is_personalausweis,
        need: Need::Word,
        words: &["ausweis*", "personalausweis*", "perso", "ausweisnummer"],
        found: &["Personalausweis T220001293", "Ausweisnummer: L01X00T471"],
        missed: &["Personalausweis T220001294", "T220001293"],
    },
    Row {
        kind: "de-social-insurance",
        countries: &["de"],
        name: "a German pension insurance number",
        shapes: &["99999999A999", "99 999999 A 999"],
        check: is_rentenversicherung,
        need: Need::Nothing,
        words: &["sozialversicherung*", "rentenversicherung*", "sv", "svnr", "versicherungsnummer"],
        found: &["SV-Nummer 15070649C103", "15070649C103", "Rentenversicherungsnummer 15 070649 C 103"],
        missed: &["15070649C104", "15073949C103", "15 070649 C 104", "15 070649 C 1031"],
    },
    Row {
        kind: "fr-nir",
        countries: &["fr"],
        name: "a French social security number",
        shapes: &[
            "9 99 99 99 999 999 99",
            "9999999999999 99",
            "999999999999999",
            "9 99 99 9A 999 999 99",
            "999999A99999999",
        ],
        check: is_nir,
        need: Need::Nothing,
        words: &["nir", "sécurité", "securite", "sociale", "insee", "sécu"],
        found: &["2 55 08 14 168 025 38", "NIR 255081416802538", "sécu : 2550814168025 38"],
        missed: &["2 55 08 14 168 025 39", "255131416802538"],
    },
    Row {
        kind: "es-dni",
        countries: &["es"],
        name: "a Spanish identity number",
        shapes: &["99999999-A", "99.999.999-A", "99999999A"],
        check: |bare| is_spanish(number(bare, 0, 8), bare),
        need: Need::WordIfBare,
        words: &["dni", "nif", "documento", "identidad"],
        found: &["DNI 12345678Z", "54362315-K", "NIF: 54362315K"],
        missed: &["DNI 12345678A", "build 54362315K"],
    },
    Row {
        kind: "es-nie",
        countries: &["es"],
        name: "a Spanish number of foreigners",
        shapes: &["A9999999A", "A-9999999-A", "A-9999999A"],
        check: |bare| {
            let first = match bare.first() {
                Some(b'X') => 0,
                Some(b'Y') => 10_000_000,
                Some(b'Z') => 20_000_000,
                _ => return false,
            };
            is_spanish(first + number(bare, 1, 7), bare)
        },
        need: Need::Nothing,
        words: &["nie", "extranjero"],
        found: &["NIE X1234567L", "Y-7654321-G"],
        missed: &["X1234567M", "W1234567L"],
    },
    Row {
        kind: "pt-nif",
        countries: &["pt"],
        name: "a Portuguese tax number",
        shapes: &["999999999", "999 999 999"],
        check: |bare| {
            let rest = weighted(bare, &[9, 8, 7, 6, 5, 4, 3, 2]) % 11;
            let check = if rest < 2 { 0 } else { 11 - rest };
            check == last(bare) && digit(bare, 0) > 0
        },
        need: Need::Word,
        words: &["nif", "contribuinte", "fiscal"],
        found: &["NIF 123456789", "contribuinte 501 442 600"],
        missed: &["NIF 123456780", "501 442 600"],
    },
    Row {
        kind: "it-codice-fiscale",
        countries: &["it"],
        name: "an Italian tax code",
        shapes: &["AAAAAA99A99A999A"],
        check: is_codice_fiscale,
        need: Need::Nothing,
        words: &["codice", "fiscale", "cf"],
        found: &["RSSMRA85T10A562S", "codice fiscale: MRTMTT91D08F205J"],
        missed: &["RSSMRA85T10A562T", "RSSMRA85X10A562S"],
    },
    Row {
        kind: "it-partita-iva",
        countries: &["it"],
        name: "an Italian value added tax number",
        shapes: &["99999999999"],
        check: |bare| luhn(bare) && !is_one_digit(bare),
        need: Need::Word,
        words: &["iva", "partita", "piva"],
        found: &["P. IVA 00743110157"],
        missed: &["P. IVA 00743110158", "00743110157"],
    },
    Row {
        kind: "nl-bsn",
        countries: &["nl"],
        name: "a Dutch citizen service number",
        shapes: &["999999999", "9999.99.999", "999 999 999"],
        check: |bare| {
            let sum = weighted(bare, &[9, 8, 7, 6, 5, 4, 3, 2]);
            sum % 11 == last(bare) && sum > 0
        },
        need: Need::Word,
        words: &["bsn", "burgerservicenummer", "sofinummer", "sofi"],
        found: &["BSN 111222333", "burgerservicenummer: 123456782"],
        missed: &["BSN 111222334", "111222333"],
    },
    Row {
        kind: "be-national-number",
        countries: &["be"],
        name: "a Belgian national number",
        shapes: &["99.99.99-999.99", "99999999999", "999999-999-99"],
        check: is_rijksregister,
        need: Need::WordIfBare,
        words: &["rijksregister*", "insz", "niss", "national", "registre"],
        found: &["85.07.30-033.28", "NISS 85073003328", "17.07.30-033.84"],
        missed: &["85.07.30-033.29", "85073003328"],
    },
    Row {
        kind: "lu-national-number",
        countries: &["lu"],
        name: "a Luxembourgish national number",
        shapes: &["9999999999999", "9999 99 99 99999", "99999999 99999"],
        check: |bare| {
            let (body, first) = (bare.get(..11).unwrap_or_default(), bare.get(..12).unwrap_or_default());
            let second: Vec<u8> = body.iter().chain(bare.get(12)).copied().collect();
            is_yyyymmdd(bare, 0) && luhn(first) && verhoeff(&second)
        },
        need: Need::Word,
        words: &["matricule", "cns", "luxembourg", "national"],
        found: &["matricule 1983120105747"],
        missed: &["matricule 1983120105748", "1983120105747"],
    },
    Row {
        kind: "ch-ahv",
        countries: &["ch", "li"],
        name: "a Swiss social insurance number",
        shapes: &["999.9999.9999.99", "9999999999999"],
        check: |bare| {
            let sum = weighted(bare, &[1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3]);
            bare.starts_with(b"756") && (10 - sum % 10) % 10 == last(bare)
        },
        need: Need::Nothing,
        words: &["ahv", "avs", "ahvn"],
        found: &["756.9217.0769.85", "AHV-Nr. 7569217076985"],
        missed: &["756.9217.0769.84", "757.9217.0769.85"],
    },
    Row {
        kind: "at-svnr",
        countries: &["at"],
        name: "an Austrian social insurance number",
        shapes: &["9999 999999", "9999999999"],
        check: |bare| {
            let sum = weighted(bare, &[3, 7, 9, 0, 5, 8, 4, 2, 1, 6]);
            digit(bare, 0) > 0 && sum % 11 == digit(bare, 3) && is_ddmmyy(bare, 4)
        },
        need: Need::Word,
        words: &["svnr", "sv", "sozialversicherung*", "versicherungsnummer", "svn"],
        found: &["SVNR 1237 010180", "Sozialversicherungsnummer: 1237010180"],
        missed: &["SVNR 1238 010180", "1237 010180"],
    },
    Row {
        kind: "gr-amka",
        countries: &["gr"],
        name: "a Greek social security number",
        shapes: &["99999999999"],
        check: |bare| is_ddmmyy(bare, 0) && luhn(bare),
        need: Need::Word,
        words: &["amka", "αμκα", "ΑΜΚΑ"],
        found: &["AMKA 01013099997", "ΑΜΚΑ: 01013099997"],
        missed: &["AMKA 01013099998", "01013099997"],
    },
    Row {
        kind: "gr-afm",
        countries: &["gr"],
        name: "a Greek tax number",
        shapes: &["999999999"],
        check: |bare| {
            weighted(bare, &[256, 128, 64, 32, 16, 8, 4, 2]) % 11 % 10 == last(bare) && !is_one_digit(bare)
        },
        need: Need::Word,
        words: &["afm", "αφμ", "ΑΦΜ"],
        found: &["AFM 094259216"],
        missed: &["AFM 094259217", "094259216"],
    },
    Row {
        kind: "tr-tckn",
        countries: &["tr"],
        name: "a Turkish identity number",
        shapes: &["99999999999"],
        check: is_tckn,
        need: Need::Word,
        words: &["tckn", "tc", "kimlik", "vatandaşlık", "tcno"],
        found: &["TC Kimlik No: 10000000146"],
        missed: &["TC Kimlik No: 10000000147", "10000000146"],
    },
    Row {
        kind: "il-id",
        countries: &["il"],
        name: "an Israeli identity number",
        shapes: &["999999999", "99999999-9"],
        check: |bare| luhn(bare) && !is_one_digit(bare),
        need: Need::Word,
        words: &["teudat", "zehut", "israeli", "זהות", "tz"],
        found: &["teudat zehut 123456782", "תעודת זהות 123456782"],
        missed: &["teudat zehut 123456783", "123456782"],
    },
];

fn is_nino(bare: &[u8]) -> bool {
    let Some([first, second]) = bare.first_chunk::<2>() else { return false };
    let is_letter = |byte: &u8| !matches!(byte, b'D' | b'F' | b'I' | b'Q' | b'U' | b'V');
    let is_used = !matches!(
        [first, second],
        [b'B', b'G']
            | [b'G', b'B']
            | [b'K', b'N']
            | [b'N', b'K']
            | [b'N', b'T']
            | [b'T', b'N']
            | [b'Z', b'Z']
    );
    is_letter(first)
        && is_letter(second)
        && *second != b'O'
        && is_used
        && matches!(bare.last(), Some(b'A'..=b'D'))
}

/// The letter is the weighted sum by 23; a second letter counts ninefold.
fn is_pps(bare: &[u8]) -> bool {
    let value = |byte: Option<&u8>| match byte {
        Some(b'W') | None => 0,
        Some(byte) => u32::from(byte.saturating_sub(b'A')) + 1,
    };
    let sum = weighted(bare.get(..7).unwrap_or_default(), &[8, 7, 6, 5, 4, 3, 2]) + value(bare.get(8)) * 9;
    let check = match bare.get(7) {
        Some(b'W') => 0,
        letter => value(letter),
    };
    sum % 23 == check
}

/// Of the first ten digits, one or two stand twice or thrice.
fn is_steuer_id(bare: &[u8]) -> bool {
    let mut counts = [0_u8; 10];
    for digit in digits(bare.get(..10).unwrap_or_default()) {
        if let Some(count) = usize::try_from(digit).ok().and_then(|digit| counts.get_mut(digit)) {
            *count += 1;
        }
    }
    let missing = counts.iter().filter(|count| **count == 0).count();
    let most = counts.iter().max().copied().unwrap_or(0);
    digit(bare, 0) > 0 && (1..=2).contains(&missing) && (2..=3).contains(&most) && mod_11_10(bare)
}

/// Weights 7, 3, 1 over letters and digits, as on all travel documents.
fn is_personalausweis(bare: &[u8]) -> bool {
    let Some((_, body)) = bare.split_last() else { return false };
    let value = |byte: &u8| match byte {
        b'0'..=b'9' => u32::from(byte - b'0'),
        _ => u32::from(byte.saturating_sub(b'A')) + 10,
    };
    let has_digits = bare.iter().filter(|byte| byte.is_ascii_digit()).count() >= 3;
    let sum: u32 = body.iter().zip([7, 3, 1].iter().cycle()).map(|(byte, weight)| value(byte) * weight).sum();
    has_digits && (bare.len() == 9 || sum % 10 == last(bare))
}

/// The letter counts as two digits; cross sums of products are added.
fn is_rentenversicherung(bare: &[u8]) -> bool {
    let Some(letter) = bare.get(8).filter(|byte| byte.is_ascii_uppercase()) else { return false };
    let letter = u32::from(letter - b'A') + 1;
    let values = digits(bare.get(..8).unwrap_or_default())
        .chain([letter / 10, letter % 10])
        .chain(digits(bare.get(9..11).unwrap_or_default()));
    let sum: u32 = values
        .zip([2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1])
        .map(|(value, weight)| value * weight)
        .map(|product| product / 10 + product % 10)
        .sum();
    day_and_month(number(bare, 2, 2), number(bare, 4, 2)) && sum % 10 == last(bare)
}

/// 97 less the remainder; Corsica's letters stand for numbers.
fn is_nir(bare: &[u8]) -> bool {
    let mut plain = [0_u8; 15];
    for (to, from) in plain.iter_mut().zip(bare) {
        *to = *from;
    }
    // The department 2A is read as 19, 2B as 18.
    match bare.get(5..7) {
        Some(b"2A") => plain.iter_mut().skip(5).zip(b"19").for_each(|(to, from)| *to = *from),
        Some(b"2B") => plain.iter_mut().skip(5).zip(b"18").for_each(|(to, from)| *to = *from),
        Some([b'0'..=b'9', b'0'..=b'9']) => {}
        _ => return false,
    }
    let month = number(&plain, 3, 2);
    let is_month = matches!(month, 1..=12 | 20..=42 | 50..=99);
    matches!(plain.first(), Some(b'1' | b'2'))
        && is_month
        && 97 - remainder(plain.get(..13).unwrap_or_default(), 97) == number(&plain, 13, 2)
}

fn is_spanish(value: u32, bare: &[u8]) -> bool {
    let letter = usize::try_from(value % 23).ok().and_then(|place| b"TRWAGMYFPDXBNJZSQVHLCKE".get(place));
    letter == bare.last()
}

/// Odd places count by a table of their own.
fn is_codice_fiscale(bare: &[u8]) -> bool {
    const ODD: &[u32; 26] =
        &[1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];
    let Some((check, body)) = bare.split_last() else { return false };
    let place_of = |byte: &u8| match byte {
        b'0'..=b'9' => byte - b'0',
        _ => byte.saturating_sub(b'A'),
    };
    let sum: u32 = body
        .iter()
        .enumerate()
        .map(|(place, byte)| match place % 2 {
            0 => ODD.get(usize::from(place_of(byte))).copied().unwrap_or(0),
            _ => u32::from(place_of(byte)),
        })
        .sum();
    let is_month = matches!(bare.get(8), Some(b'A'..=b'E' | b'H' | b'L' | b'M' | b'P' | b'R'..=b'T'));
    is_month && sum % 26 == u32::from(place_of(check))
}

/// 97 less the remainder; for those born from 2000 on, a 2 stands before.
fn is_rijksregister(bare: &[u8]) -> bool {
    let body = bare.get(..9).unwrap_or_default();
    let check = number(bare, 9, 2);
    let rest = remainder(body, 97);
    let later = (rest + 2 * remainder(b"1000000000", 97)) % 97;
    is_yymmdd(bare, 0) && (97 - rest == check || 97 - later == check)
}

fn is_tckn(bare: &[u8]) -> bool {
    let odd: u32 = [0, 2, 4, 6, 8].iter().map(|place| digit(bare, *place)).sum();
    let even: u32 = [1, 3, 5, 7].iter().map(|place| digit(bare, *place)).sum();
    let sum: u32 = digits(bare).take(10).sum();
    digit(bare, 0) > 0 && (odd * 7 + 100 - even) % 10 == digit(bare, 9) && sum % 10 == last(bare)
}
