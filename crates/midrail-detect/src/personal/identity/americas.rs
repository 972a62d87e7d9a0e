//! North and South America.

use super::super::checks::{digit, digits, is_one_digit, is_yymmdd, last, luhn, number, weighted};
use super::{Need, Row};

pub(super) const ROWS: &[Row] = &[
    Row {
        kind: "us-ssn",
        countries: &["us"],
        name: "a US social security number",
        shapes: &["999-99-9999", "999 99 9999", "999999999"],
        check: is_ssn,
        need: Need::WordIfBare,
        words: &["ssn", "ssns", "social", "socialsecurity", "ss", "itin", "tin", "taxpayer"],
        found: &["SSN: 536-22-8726", "my social is 536228726", "536-22-8726", "\"ssn\":\"536228726\""],
        missed: &[
            "000-22-8726",
            "666-22-8726",
            "536-00-8726",
            "536-22-0000",
            "order 536228726",
            "1536-22-87261",
        ],
    },
    Row {
        kind: "us-ssn",
        countries: &["us"],
        name: "what a text calls a US social security number",
        shapes: &["999-99-9999"],
        // No such number is given out, but the word says that it is meant as one.
        check: |bare| !is_one_digit(bare),
        need: Need::Word,
        words: &["ssn", "ssns", "social"],
        found: &["SSN 987-65-4320", "Social Security Number: 900-12-3456"],
        missed: &["987-12-4320", "SSN 000-00-0000"],
    },
    Row {
        kind: "us-itin",
        countries: &["us"],
        name: "a US individual taxpayer number",
        shapes: &["999-99-9999", "999999999"],
        check: is_itin,
        need: Need::WordIfBare,
        words: &["itin", "taxpayer", "tin", "ssn"],
        found: &["ITIN 912-78-4321", "912-78-4321"],
        missed: &["912-48-4321", "812-78-4321", "item 912784321"],
    },
    Row {
        kind: "us-npi",
        countries: &["us"],
        name: "the number of a US health care provider",
        shapes: &["9999999999"],
        check: |bare| matches!(bare.first(), Some(b'1' | b'2')) && luhn(&[b"80840", bare].concat()),
        need: Need::Word,
        words: &["npi"],
        found: &["NPI 1234567893", "npi: 1497758544"],
        missed: &["NPI 1234567894", "order 1234567893", "NPI 3234567891"],
    },
    Row {
        kind: "us-dea",
        countries: &["us"],
        name: "the number of a US prescriber",
        shapes: &["AA9999999"],
        check: is_dea,
        need: Need::Word,
        words: &["dea"],
        found: &["DEA AB1234563", "DEA number: FC4538128"],
        missed: &["DEA AB1234564", "part AB1234563"],
    },
    Row {
        kind: "ca-sin",
        countries: &["ca"],
        name: "a Canadian social insurance number",
        shapes: &["999-999-999", "999 999 999", "999999999"],
        check: |bare| luhn(bare) && !matches!(bare.first(), Some(b'0' | b'8')) && !is_one_digit(bare),
        need: Need::Word,
        words: &["sin", "insurance", "nas", "assurance"],
        found: &["SIN 130 692 544", "social insurance number: 130-692-544"],
        missed: &["SIN 130 692 545", "130 692 544 items", "row 130692544"],
    },
    Row {
        kind: "mx-curp",
        countries: &["mx"],
        name: "a Mexican population registry code",
        shapes: &["AAAA999999AAAAAAX9"],
        check: is_curp,
        need: Need::Nothing,
        words: &["curp"],
        found: &["CURP HEGG560427MVZRRL04", "HEGG560427MVZRRL04"],
        missed: &["HEGG560427MVZRRL05", "HEGG561327MVZRRL04", "XHEGG560427MVZRRL04"],
    },
    Row {
        kind: "mx-rfc",
        countries: &["mx"],
        name: "a Mexican taxpayer code",
        shapes: &["AAAA999999XXX", "AAA999999XXX"],
        check: |bare| is_yymmdd(bare, bare.len().saturating_sub(9)),
        need: Need::Word,
        words: &["rfc", "contribuyente", "fiscal"],
        found: &["RFC: GODE561231GR8"],
        missed: &["GODE561231GR8", "RFC: GODE561331GR8"],
    },
    Row {
        kind: "br-cpf",
        countries: &["br"],
        name: "a Brazilian taxpayer number",
        shapes: &["999.999.999-99", "999999999-99", "99999999999"],
        check: |bare| is_brazilian(bare, &[11, 10, 9, 8, 7, 6, 5, 4, 3, 2]),
        need: Need::WordIfBare,
        words: &["cpf", "contribuinte"],
        found: &["CPF 529.982.247-25", "529.982.247-25", "cpf=52998224725"],
        missed: &["529.982.247-26", "52998224725", "111.111.111-11"],
    },
    Row {
        kind: "br-cnpj",
        countries: &["br"],
        name: "a Brazilian company number",
        shapes: &["99.999.999/9999-99", "99999999999999"],
        check: |bare| is_brazilian(bare, &[6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2]),
        need: Need::WordIfBare,
        words: &["cnpj"],
        found: &["CNPJ 11.222.333/0001-81", "cnpj: 11222333000181"],
        missed: &["11.222.333/0001-82", "11222333000181"],
    },
    Row {
        kind: "cl-rut",
        countries: &["cl"],
        name: "a Chilean national number",
        shapes: &["99.999.999-X", "9.999.999-X"],
        check: is_rut,
        need: Need::Nothing,
        words: &["rut", "run", "cédula", "cedula"],
        found: &["RUT 12.345.678-5", "12.345.678-5", "RUN 7.654.321-6"],
        missed: &["RUT 12.345.678-4", "12.345.678"],
    },
    Row {
        kind: "cl-rut",
        countries: &["cl"],
        name: "a Chilean national number",
        shapes: &["99999999-X", "9999999-X"],
        check: is_rut,
        need: Need::Word,
        words: &["rut", "run", "cédula", "cedula"],
        found: &["rut: 12345678-5"],
        missed: &["12345678-5", "rut: 12345678-4"],
    },
    Row {
        kind: "ar-cuit",
        countries: &["ar"],
        name: "an Argentine tax number",
        shapes: &["99-99999999-9", "99999999999"],
        check: is_cuit,
        need: Need::WordIfBare,
        words: &["cuit", "cuil"],
        found: &["CUIT 20-12345678-6", "20-12345678-6", "cuil 20123456786"],
        missed: &["20-12345678-7", "20123456786", "19-12345678-6"],
    },
    Row {
        kind: "co-nit",
        countries: &["co"],
        name: "a Colombian tax number",
        shapes: &["999.999.999-9", "999999999-9"],
        check: is_nit,
        need: Need::Word,
        words: &["nit", "rut", "cédula", "cedula"],
        found: &["NIT 213.123.432-1"],
        missed: &["NIT 213.123.432-2", "213123432-1"],
    },
    Row {
        kind: "ec-cedula",
        countries: &["ec"],
        name: "an Ecuadorian identity card number",
        shapes: &["9999999999", "999999999-9"],
        check: |bare| luhn(bare) && (1..=24).contains(&number(bare, 0, 2)) && digit(bare, 2) < 6,
        need: Need::Word,
        words: &["cédula", "cedula", "ci", "identidad"],
        found: &["cédula 1713175071"],
        missed: &["cédula 1713175072", "1713175071"],
    },
    Row {
        kind: "uy-ci",
        countries: &["uy"],
        name: "a Uruguayan identity card number",
        shapes: &["9.999.999-9", "99999999"],
        check: |bare| (weighted(bare, &[2, 9, 8, 7, 6, 3, 4]) + last(bare)).is_multiple_of(10),
        need: Need::Word,
        words: &["ci", "cédula", "cedula", "identidad", "documento"],
        found: &["CI 1.234.567-2", "cédula 12345672"],
        missed: &["cédula 12345673", "1.234.567-2"],
    },
];

/// Area, group and serial are never zero; area 666 and those from 900 on are not given out.
fn is_ssn(bare: &[u8]) -> bool {
    let area = number(bare, 0, 3);
    (1..900).contains(&area)
        && area != 666
        && number(bare, 3, 2) > 0
        && number(bare, 5, 4) > 0
        && !is_one_digit(bare)
}

/// The first, third and fifth digit and twice the others: the last digit of the sum is the seventh.
fn is_dea(bare: &[u8]) -> bool {
    let sum: u32 = digits(bare.get(2..8).unwrap_or_default())
        .zip([1, 2].iter().cycle())
        .map(|(digit, weight)| digit * weight)
        .sum();
    sum % 10 == last(bare)
}

fn is_itin(bare: &[u8]) -> bool {
    digit(bare, 0) == 9 && matches!(number(bare, 3, 2), 50..=65 | 70..=88 | 90..=92 | 94..=99)
}

/// The last digit is over 37 letters and digits, `Ñ` among them.
fn is_curp(bare: &[u8]) -> bool {
    let value = |byte: &u8| match byte {
        b'0'..=b'9' => u32::from(byte - b'0'),
        b'A'..=b'N' => u32::from(byte - b'A') + 10,
        _ => u32::from(byte.saturating_sub(b'A')) + 11,
    };
    let sum: u32 = bare.iter().take(17).zip(0..).map(|(byte, place)| value(byte) * (18 - place)).sum();
    let is_sex = matches!(bare.get(10), Some(b'H' | b'M' | b'X'));
    is_sex && is_yymmdd(bare, 4) && (10 - sum % 10) % 10 == last(bare)
}

/// Two check digits by the same rule; the weights are those of the second.
fn is_brazilian(bare: &[u8], weights: &[u32]) -> bool {
    let check = |sum: u32| if sum % 11 < 2 { 0 } else { 11 - sum % 11 };
    let body = weights.len() - 1;
    let first = check(weighted(bare, weights.get(1..).unwrap_or_default()));
    let second = check(weighted(bare, weights));
    first == digit(bare, body) && second == digit(bare, body + 1) && !is_one_digit(bare)
}

fn is_rut(bare: &[u8]) -> bool {
    let Some((check, body)) = bare.split_last() else { return false };
    let sum: u32 =
        digits(body).rev().zip([2, 3, 4, 5, 6, 7, 2, 3]).map(|(digit, weight)| digit * weight).sum();
    let expected = match 11 - sum % 11 {
        11 => b'0',
        10 => b'K',
        rest => u8::try_from(rest).unwrap_or(0) + b'0',
    };
    *check == expected
}

fn is_cuit(bare: &[u8]) -> bool {
    let sum = weighted(bare, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2]);
    let is_person = matches!(number(bare, 0, 2), 20 | 23..=27 | 30 | 33 | 34);
    is_person && (11 - sum % 11) % 11 == last(bare)
}

fn is_nit(bare: &[u8]) -> bool {
    let sum = weighted(bare, &[41, 37, 29, 23, 19, 17, 13, 7, 3]);
    let check = if sum % 11 > 1 { 11 - sum % 11 } else { sum % 11 };
    check == last(bare)
}
