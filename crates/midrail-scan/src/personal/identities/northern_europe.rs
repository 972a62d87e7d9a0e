//! Checks of national ids: The Nordic and Baltic countries.

use crate::personal::checks::{
    day_and_month, digit, is_ddmmyy, is_yymmdd, is_yyyymmdd, last, luhn, number, weighted,
};

/// Since 2007 numbers without a valid check digit are issued, so only the date is checked.
pub(super) fn dk_cpr(bare: &[u8]) -> bool {
    is_ddmmyy(bare, 0)
}

pub(super) fn kennitala(bare: &[u8]) -> bool {
    let rest = weighted(bare, &[3, 2, 7, 6, 5, 4, 3, 2]) % 11;
    is_ddmmyy(bare, 0) && (11 - rest) % 11 == digit(bare, 8) && matches!(last(bare), 0 | 8 | 9)
}

pub(super) fn lv_personas_kods(bare: &[u8]) -> bool {
    let sum = weighted(bare, &[1, 6, 3, 7, 9, 10, 5, 8, 4, 2]);
    is_ddmmyy(bare, 0) && (1101 - sum) % 11 % 10 == last(bare)
}

/// Luhn over the last ten digits. 60 is added to the day for visitors.
pub(super) fn personnummer(bare: &[u8]) -> bool {
    let start = bare.len().saturating_sub(10);
    let body = bare.get(start..).unwrap_or_default();
    let is_date = day_and_month(number(body, 4, 2) % 60, number(body, 2, 2));
    let is_century = start == 0 || matches!(number(bare, 0, 2), 18..=20);
    is_date && is_century && luhn(body)
}

pub(super) fn fodselsnummer(bare: &[u8]) -> bool {
    let first = weighted(bare, &[3, 7, 6, 1, 8, 9, 4, 5, 2]);
    let second = weighted(bare, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2]);
    // 40 is added to the day for visitors.
    let is_date = day_and_month(number(bare, 0, 2) % 40, number(bare, 2, 2));
    is_date && (11 - first % 11) % 11 == digit(bare, 9) && (11 - second % 11) % 11 == digit(bare, 10)
}

/// Date and serial by 31.
pub(super) fn hetu(bare: &[u8]) -> bool {
    // The sign of the century is a letter for some, and not among the bare characters for the others.
    let serial = bare.len().saturating_sub(4);
    let is_century = serial == 6 || matches!(bare.get(6), Some(b'A'..=b'F' | b'U'..=b'Y'));
    let value = number(bare, 0, 6) * 1000 + number(bare, serial, 3);
    let check =
        usize::try_from(value % 31).ok().and_then(|place| b"0123456789ABCDEFHJKLMNPRSTUVWXY".get(place));
    is_century && is_ddmmyy(bare, 0) && check == bare.last()
}

/// If the first weights give ten, others are used.
pub(super) fn baltic(bare: &[u8]) -> bool {
    let first = weighted(bare, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 1]) % 11;
    let check = if first == 10 { weighted(bare, &[3, 4, 5, 6, 7, 8, 9, 1, 2, 3]) % 11 % 10 } else { first };
    matches!(digit(bare, 0), 1..=8) && is_yymmdd(bare, 1) && check == last(bare) && !is_yyyymmdd(bare, 0)
}
