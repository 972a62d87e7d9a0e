//! Checks of national ids: Central, eastern and south-eastern Europe, and the states of the former Soviet Union.

use crate::personal::checks::{
    day_and_month, digit, is_ddmmyy, is_one_digit, is_yymmdd, last, number, remainder, weighted,
};

pub(super) fn pl_pesel(bare: &[u8]) -> bool {
    let sum = weighted(bare, &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3]);
    day_and_month(number(bare, 4, 2), number(bare, 2, 2) % 20) && (10 - sum % 10) % 10 == last(bare)
}

pub(super) fn pl_nip(bare: &[u8]) -> bool {
    weighted(bare, &[6, 5, 7, 2, 3, 4, 5, 6, 7]) % 11 == last(bare) && !is_one_digit(bare)
}

pub(super) fn cz_birth_number(bare: &[u8]) -> bool {
    let month = number(bare, 2, 2) % 50;
    let month = if month > 20 { month - 20 } else { month };
    let is_old = remainder(bare.get(..9).unwrap_or_default(), 11) == 10 && last(bare) == 0;
    day_and_month(number(bare, 4, 2), month) && (remainder(bare, 11) == 0 || is_old)
}

pub(super) fn hu_taj(bare: &[u8]) -> bool {
    weighted(bare, &[3, 7, 3, 7, 3, 7, 3, 7]) % 10 == last(bare) && !is_one_digit(bare)
}

pub(super) fn ro_cnp(bare: &[u8]) -> bool {
    let rest = weighted(bare, &[2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9]) % 11;
    let check = if rest == 10 { 1 } else { rest };
    matches!(digit(bare, 0), 1..=9) && is_yymmdd(bare, 1) && check == last(bare)
}

pub(super) fn bg_egn(bare: &[u8]) -> bool {
    let sum = weighted(bare, &[2, 4, 8, 5, 10, 9, 7, 3, 6]);
    day_and_month(number(bare, 4, 2), number(bare, 2, 2) % 20) && sum % 11 % 10 == last(bare)
}

pub(super) fn si_emso(bare: &[u8]) -> bool {
    let rest = 11 - weighted(bare, &[7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11;
    let check = if rest > 9 { 0 } else { rest };
    is_ddmmyy(bare, 0) && check == last(bare)
}

pub(super) fn ru_snils(bare: &[u8]) -> bool {
    let rest = weighted(bare, &[9, 8, 7, 6, 5, 4, 3, 2, 1]) % 101;
    rest % 100 == number(bare, 9, 2) && !is_one_digit(bare)
}

pub(super) fn ru_inn(bare: &[u8]) -> bool {
    let first = weighted(bare, &[7, 2, 4, 10, 3, 5, 9, 4, 6, 8]) % 11 % 10;
    let second = weighted(bare, &[3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8]) % 11 % 10;
    first == digit(bare, 10) && second == digit(bare, 11) && !is_one_digit(bare)
}

pub(super) fn kz_iin(bare: &[u8]) -> bool {
    let first = weighted(bare, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]) % 11;
    let check = if first == 10 { weighted(bare, &[3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 2]) % 11 } else { first };
    is_yymmdd(bare, 0) && matches!(digit(bare, 6), 1..=6) && check == last(bare)
}

pub(super) fn ua_rnokpp(bare: &[u8]) -> bool {
    // The first weight is minus one: ten by eleven.
    let sum = weighted(bare, &[10, 5, 7, 9, 4, 6, 10, 5, 7]);
    sum % 11 % 10 == last(bare) && !is_one_digit(bare)
}
