//! Checks of national ids: Africa, Australia and New Zealand.

use crate::personal::checks::{digit, is_yymmdd, is_yyyymmdd, last, luhn, number, remainder, weighted};

pub(super) fn za_id(bare: &[u8]) -> bool {
    is_yymmdd(bare, 0) && digit(bare, 10) < 3 && luhn(bare)
}

pub(super) fn eg_national_id(bare: &[u8]) -> bool {
    matches!(digit(bare, 0), 2 | 3) && is_yymmdd(bare, 1) && (1..=88).contains(&number(bare, 7, 2))
}

pub(super) fn mu_national_id(bare: &[u8]) -> bool {
    number(bare, 1, 2) <= 31 && (1..=12).contains(&number(bare, 3, 2))
}

pub(super) fn au_tfn(bare: &[u8]) -> bool {
    weighted(bare, &[1, 4, 3, 7, 5, 8, 6, 9, 10]).is_multiple_of(11)
}

pub(super) fn ng_nin(bare: &[u8]) -> bool {
    digit(bare, 0) > 0 && !is_yyyymmdd(bare, 0)
}

pub(super) fn medicare(bare: &[u8]) -> bool {
    let sum = weighted(bare, &[1, 3, 7, 9, 1, 3, 7, 9]);
    matches!(digit(bare, 0), 2..=6) && sum % 10 == digit(bare, 8) && digit(bare, 9) > 0
}

/// With one subtracted from the first digit, the weighted sum is a multiple of 89.
pub(super) fn abn(bare: &[u8]) -> bool {
    let sum = weighted(bare, &[10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19]);
    digit(bare, 0) > 0 && sum % 89 == 10
}

/// If the first weights give ten, others are used.
pub(super) fn ird(bare: &[u8]) -> bool {
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
