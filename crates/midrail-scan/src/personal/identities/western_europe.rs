//! Checks of national ids: Western and southern Europe, Turkey and Israel.

use crate::personal::checks::{
    day_and_month, digit, digits, is_ddmmyy, is_one_digit, is_yymmdd, is_yyyymmdd, last, luhn, mod_11_10,
    number, remainder, verhoeff, weighted,
};

pub(super) fn uk_nhs(bare: &[u8]) -> bool {
    let check = 11 - weighted(bare, &[10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11;
    check % 11 == last(bare) && check != 10 && !is_one_digit(bare)
}

pub(super) fn uk_driving_licence(bare: &[u8]) -> bool {
    let month = number(bare, 6, 2) % 50;
    day_and_month(number(bare, 8, 2), month) && number(bare, 6, 2) <= 62
}

pub(super) fn es_dni(bare: &[u8]) -> bool {
    is_spanish(number(bare, 0, 8), bare)
}

pub(super) fn es_nie(bare: &[u8]) -> bool {
    let first = match bare.first() {
        Some(b'X') => 0,
        Some(b'Y') => 10_000_000,
        Some(b'Z') => 20_000_000,
        _ => return false,
    };
    is_spanish(first + number(bare, 1, 7), bare)
}

pub(super) fn pt_nif(bare: &[u8]) -> bool {
    let rest = weighted(bare, &[9, 8, 7, 6, 5, 4, 3, 2]) % 11;
    let check = if rest < 2 { 0 } else { 11 - rest };
    check == last(bare) && digit(bare, 0) > 0
}

pub(super) fn it_partita_iva(bare: &[u8]) -> bool {
    luhn(bare) && !is_one_digit(bare)
}

pub(super) fn nl_bsn(bare: &[u8]) -> bool {
    let sum = weighted(bare, &[9, 8, 7, 6, 5, 4, 3, 2]);
    sum % 11 == last(bare) && sum > 0
}

pub(super) fn lu_national_number(bare: &[u8]) -> bool {
    let (body, first) = (bare.get(..11).unwrap_or_default(), bare.get(..12).unwrap_or_default());
    let second: Vec<u8> = body.iter().chain(bare.get(12)).copied().collect();
    is_yyyymmdd(bare, 0) && luhn(first) && verhoeff(&second)
}

pub(super) fn ch_ahv(bare: &[u8]) -> bool {
    let sum = weighted(bare, &[1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3]);
    bare.starts_with(b"756") && (10 - sum % 10) % 10 == last(bare)
}

pub(super) fn at_svnr(bare: &[u8]) -> bool {
    let sum = weighted(bare, &[3, 7, 9, 0, 5, 8, 4, 2, 1, 6]);
    digit(bare, 0) > 0 && sum % 11 == digit(bare, 3) && is_ddmmyy(bare, 4)
}

pub(super) fn gr_amka(bare: &[u8]) -> bool {
    is_ddmmyy(bare, 0) && luhn(bare)
}

pub(super) fn gr_afm(bare: &[u8]) -> bool {
    weighted(bare, &[256, 128, 64, 32, 16, 8, 4, 2]) % 11 % 10 == last(bare) && !is_one_digit(bare)
}

pub(super) fn il_id(bare: &[u8]) -> bool {
    luhn(bare) && !is_one_digit(bare)
}

pub(super) fn nino(bare: &[u8]) -> bool {
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

/// The letter is the weighted sum modulo 23; a second letter counts nine times.
pub(super) fn pps(bare: &[u8]) -> bool {
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

/// Of the first ten digits, one or two occur two or three times.
pub(super) fn steuer_id(bare: &[u8]) -> bool {
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
pub(super) fn personalausweis(bare: &[u8]) -> bool {
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
pub(super) fn rentenversicherung(bare: &[u8]) -> bool {
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

/// 97 minus the remainder; the letters of Corsica count as numbers.
pub(super) fn nir(bare: &[u8]) -> bool {
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

/// Odd places have a table of their own.
pub(super) fn codice_fiscale(bare: &[u8]) -> bool {
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

/// 97 minus the remainder; for people born from 2000 on, a 2 is put in front.
pub(super) fn rijksregister(bare: &[u8]) -> bool {
    let body = bare.get(..9).unwrap_or_default();
    let check = number(bare, 9, 2);
    let rest = remainder(body, 97);
    let later = (rest + 2 * remainder(b"1000000000", 97)) % 97;
    is_yymmdd(bare, 0) && (97 - rest == check || 97 - later == check)
}

pub(super) fn tckn(bare: &[u8]) -> bool {
    let odd: u32 = [0, 2, 4, 6, 8].iter().map(|place| digit(bare, *place)).sum();
    let even: u32 = [1, 3, 5, 7].iter().map(|place| digit(bare, *place)).sum();
    let sum: u32 = digits(bare).take(10).sum();
    digit(bare, 0) > 0 && (odd * 7 + 100 - even) % 10 == digit(bare, 9) && sum % 10 == last(bare)
}
