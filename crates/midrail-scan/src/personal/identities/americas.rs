//! Checks of national ids: North and South America.

use crate::personal::checks::{digit, digits, is_one_digit, is_yymmdd, last, luhn, number, weighted};

pub(super) fn us_npi(bare: &[u8]) -> bool {
    matches!(bare.first(), Some(b'1' | b'2')) && luhn(&[b"80840", bare].concat())
}

pub(super) fn ca_sin(bare: &[u8]) -> bool {
    luhn(bare) && !matches!(bare.first(), Some(b'0' | b'8')) && !is_one_digit(bare)
}

pub(super) fn mx_rfc(bare: &[u8]) -> bool {
    is_yymmdd(bare, bare.len().saturating_sub(9))
}

pub(super) fn br_cpf(bare: &[u8]) -> bool {
    is_brazilian(bare, &[11, 10, 9, 8, 7, 6, 5, 4, 3, 2])
}

pub(super) fn br_cnpj(bare: &[u8]) -> bool {
    is_brazilian(bare, &[6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2])
}

pub(super) fn ec_cedula(bare: &[u8]) -> bool {
    luhn(bare) && (1..=24).contains(&number(bare, 0, 2)) && digit(bare, 2) < 6
}

pub(super) fn uy_ci(bare: &[u8]) -> bool {
    (weighted(bare, &[2, 9, 8, 7, 6, 3, 4]) + last(bare)).is_multiple_of(10)
}

/// Area, group and serial are never zero; area 666 and those from 900 on are not issued.
pub(super) fn ssn(bare: &[u8]) -> bool {
    let area = number(bare, 0, 3);
    (1..900).contains(&area)
        && area != 666
        && number(bare, 3, 2) > 0
        && number(bare, 5, 4) > 0
        && !is_one_digit(bare)
}

/// The last digit of the first, third and fifth digit plus twice the others is the seventh.
pub(super) fn dea(bare: &[u8]) -> bool {
    let sum: u32 = digits(bare.get(2..8).unwrap_or_default())
        .zip([1, 2].iter().cycle())
        .map(|(digit, weight)| digit * weight)
        .sum();
    sum % 10 == last(bare)
}

pub(super) fn itin(bare: &[u8]) -> bool {
    digit(bare, 0) == 9 && matches!(number(bare, 3, 2), 50..=65 | 70..=88 | 90..=92 | 94..=99)
}

/// The last digit is over 37 letters and digits, `Ñ` among them.
pub(super) fn curp(bare: &[u8]) -> bool {
    let value = |byte: &u8| match byte {
        b'0'..=b'9' => u32::from(byte - b'0'),
        b'A'..=b'N' => u32::from(byte - b'A') + 10,
        _ => u32::from(byte.saturating_sub(b'A')) + 11,
    };
    let sum: u32 = bare.iter().take(17).zip(0..).map(|(byte, place)| value(byte) * (18 - place)).sum();
    let is_sex = matches!(bare.get(10), Some(b'H' | b'M' | b'X'));
    is_sex && is_yymmdd(bare, 4) && (10 - sum % 10) % 10 == last(bare)
}

/// Two check digits with the same rule; the weights are those of the second.
fn is_brazilian(bare: &[u8], weights: &[u32]) -> bool {
    let check = |sum: u32| if sum % 11 < 2 { 0 } else { 11 - sum % 11 };
    let body = weights.len() - 1;
    let first = check(weighted(bare, weights.get(1..).unwrap_or_default()));
    let second = check(weighted(bare, weights));
    first == digit(bare, body) && second == digit(bare, body + 1) && !is_one_digit(bare)
}

pub(super) fn rut(bare: &[u8]) -> bool {
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

pub(super) fn cuit(bare: &[u8]) -> bool {
    let sum = weighted(bare, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2]);
    let is_person = matches!(number(bare, 0, 2), 20 | 23..=27 | 30 | 33 | 34);
    is_person && (11 - sum % 11) % 11 == last(bare)
}

pub(super) fn nit(bare: &[u8]) -> bool {
    let sum = weighted(bare, &[41, 37, 29, 23, 19, 17, 13, 7, 3]);
    let check = if sum % 11 > 1 { 11 - sum % 11 } else { sum % 11 };
    check == last(bare)
}
