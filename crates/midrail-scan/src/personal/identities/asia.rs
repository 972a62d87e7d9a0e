//! Checks of national ids: Asia, from the Gulf to Japan.

use crate::personal::checks::{
    digit, digits, is_one_digit, is_yymmdd, is_yyyymmdd, last, luhn, number, verhoeff, weighted,
};

pub(super) fn in_aadhaar(bare: &[u8]) -> bool {
    digit(bare, 0) > 1 && verhoeff(bare)
}

pub(super) fn in_pan(bare: &[u8]) -> bool {
    bare.get(3) == Some(&b'P') && number(bare, 5, 4) > 0
}

pub(super) fn cn_resident_id(bare: &[u8]) -> bool {
    let sum =
        weighted(bare.get(..17).unwrap_or_default(), &[7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]);
    let check = usize::try_from(sum % 11).ok().and_then(|place| b"10X98765432".get(place));
    matches!(digit(bare, 0), 1..=8) && is_yyyymmdd(bare, 6) && check == bare.last()
}

/// Since 2020 the last digits are random, so only date and century are checked.
pub(super) fn kr_rrn(bare: &[u8]) -> bool {
    is_yymmdd(bare, 0) && matches!(digit(bare, 6), 1..=8)
}

pub(super) fn jp_my_number(bare: &[u8]) -> bool {
    let rest = weighted(bare, &[6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11;
    let check = if rest < 2 { 0 } else { 11 - rest };
    check == last(bare) && !is_one_digit(bare)
}

pub(super) fn th_id(bare: &[u8]) -> bool {
    let sum = weighted(bare, &[13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2]);
    (11 - sum % 11) % 10 == last(bare) && digit(bare, 0) > 0
}

pub(super) fn id_nik(bare: &[u8]) -> bool {
    // 40 is added to the day for women.
    let day = number(bare, 6, 2) % 40;
    (1..=31).contains(&day) && (1..=12).contains(&number(bare, 8, 2)) && digit(bare, 0) > 0
}

pub(super) fn my_nric(bare: &[u8]) -> bool {
    is_yymmdd(bare, 0) && (1..=99).contains(&number(bare, 6, 2)) && !is_one_digit(bare)
}

pub(super) fn pk_cnic(bare: &[u8]) -> bool {
    matches!(digit(bare, 0), 1..=7) && !is_one_digit(bare)
}

pub(super) fn ae_emirates_id(bare: &[u8]) -> bool {
    bare.starts_with(b"784") && (1900..=2035).contains(&number(bare, 3, 4)) && luhn(bare)
}

pub(super) fn sa_id(bare: &[u8]) -> bool {
    matches!(digit(bare, 0), 1 | 2) && luhn(bare)
}

pub(super) fn ir_national_code(bare: &[u8]) -> bool {
    let rest = weighted(bare, &[10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11;
    (if rest < 2 { rest } else { 11 - rest }) == last(bare) && !is_one_digit(bare)
}

/// The letter is that of a town and counts as two digits.
pub(super) fn taiwanese(bare: &[u8]) -> bool {
    let town = bare
        .first()
        .and_then(|letter| b"ABCDEFGHJKLMNPQRSTUVXYWZIO".iter().position(|other| other == letter));
    let Some(town) = town.and_then(|place| u32::try_from(place + 10).ok()) else { return false };
    let sum = town / 10 + town % 10 * 9 + weighted(bare, &[8, 7, 6, 5, 4, 3, 2, 1, 1]);
    matches!(digit(bare, 1), 1 | 2 | 8 | 9) && sum.is_multiple_of(10)
}

pub(super) fn nric(bare: &[u8]) -> bool {
    let sum = weighted(bare, &[2, 7, 6, 5, 4, 3, 2]);
    let (add, letters): (u32, &[u8; 11]) = match bare.first() {
        Some(b'S') => (0, b"JZIHGFEDCBA"),
        Some(b'T') => (4, b"JZIHGFEDCBA"),
        Some(b'F') => (0, b"XWUTRQPNMLK"),
        Some(b'G') => (4, b"XWUTRQPNMLK"),
        Some(b'M') => (3, b"XWUTRQPNJLK"),
        _ => return false,
    };
    let place = (sum + add) % 11;
    // The series M counts its letters from the other end.
    let place = if bare.first() == Some(&b'M') { 10 - place } else { place };
    usize::try_from(place).ok().and_then(|place| letters.get(place)) == bare.last()
}

/// A missing first letter counts as 36.
pub(super) fn hong_kong(bare: &[u8]) -> bool {
    let Some((check, body)) = bare.split_last() else { return false };
    let value = |byte: &u8| match byte {
        b'0'..=b'9' => u32::from(byte - b'0'),
        _ => u32::from(byte.saturating_sub(b'A')) + 10,
    };
    let letters = body.len().saturating_sub(6);
    let head: u32 =
        body.iter().take(letters).rev().zip([8, 9]).map(|(byte, weight)| value(byte) * weight).sum();
    let head = if letters == 1 { head + 36 * 9 } else { head };
    let tail: u32 = digits(body.get(letters..).unwrap_or_default())
        .zip([7, 6, 5, 4, 3, 2])
        .map(|(digit, weight)| digit * weight)
        .sum();
    let check = if *check == b'A' { 10 } else { value(check) };
    check <= 10 && (head + tail + check).is_multiple_of(11)
}
