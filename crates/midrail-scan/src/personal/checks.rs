//! Check digits and dates. Every function takes the bare letters and digits, without separators.

/// The values of the digits; other bytes are skipped.
pub(super) fn digits(text: &[u8]) -> impl DoubleEndedIterator<Item = u32> + '_ {
    text.iter().filter(|byte| byte.is_ascii_digit()).map(|byte| u32::from(byte - b'0'))
}

/// The number that digits from a place on form.
pub(super) fn number(text: &[u8], at: usize, length: usize) -> u32 {
    digits(text.get(at..at + length).unwrap_or_default())
        .fold(0, |sum, digit| sum.wrapping_mul(10).wrapping_add(digit))
}

/// Luhn: every second digit from the right doubled.
pub(super) fn luhn(bare: &[u8]) -> bool {
    let sum: u32 = digits(bare)
        .rev()
        .enumerate()
        .map(|(place, digit)| match (place % 2, digit * 2) {
            (0, _) => digit,
            (_, double) if double > 9 => double - 9,
            (_, double) => double,
        })
        .sum();
    sum.is_multiple_of(10)
}

/// Verhoeff, which works in the dihedral group of ten.
pub(super) fn verhoeff(bare: &[u8]) -> bool {
    const TURN: [u32; 10] = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];
    let check = digits(bare).rev().enumerate().fold(0, |check, (place, digit)| {
        let turned = (0..place % 8).fold(digit, |digit, _| {
            usize::try_from(digit).ok().and_then(|at| TURN.get(at)).map_or(0, |d| *d)
        });
        dihedral(check, turned)
    });
    check == 0
}

/// Numbers below five are rotations, the others reflections.
fn dihedral(left: u32, right: u32) -> u32 {
    match (left < 5, right < 5) {
        (true, true) => (left + right) % 5,
        (true, false) => (left + right - 5) % 5 + 5,
        (false, true) => (left - 5 + 5 - right) % 5 + 5,
        (false, false) => (left + 5 - right) % 5,
    }
}

/// ISO 7064 mod 11,10.
pub(super) fn mod_11_10(bare: &[u8]) -> bool {
    let Some((check, body)) = bare.split_last() else { return false };
    let product = digits(body).fold(10, |product, digit| {
        let sum = (product + digit) % 10;
        (if sum == 0 { 10 } else { sum }) * 2 % 11
    });
    digits(&[*check]).eq([(11 - product) % 10])
}

/// The remainder by 97 of a number in which each letter counts as two digits, `A` as 10.
pub(super) fn mod_97<'a>(text: impl Iterator<Item = &'a u8>) -> u32 {
    text.fold(0, |rest, byte| match byte {
        b'0'..=b'9' => (rest * 10 + u32::from(byte - b'0')) % 97,
        b'A'..=b'Z' => (rest * 100 + u32::from(byte - b'A') + 10) % 97,
        _ => rest,
    })
}

/// Whether a month has a day.
pub(super) fn day_and_month(day: u32, month: u32) -> bool {
    let days = match month {
        2 => 29,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// Whether all digits are the same, which no id has.
pub(super) fn is_one_digit(text: &[u8]) -> bool {
    text.iter().all(|byte| Some(byte) == text.first())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn published_examples_hold() {
        assert!(luhn(b"79927398713"));
        assert!(verhoeff(b"2363"));
        assert!(verhoeff(b"123456789010") != verhoeff(b"123456789011"));
        assert!(mod_11_10(b"86095742719"));
        assert_eq!(mod_97(b"3214282912345698765432161182".iter()), 1);
    }

    proptest! {
        #[test]
        fn one_wrong_digit_is_always_detected(body in "[0-9]{8,12}", place in 0_usize..8, by in 1_u8..10) {
            for check in [luhn, verhoeff, mod_11_10] {
                let valid = (b'0'..=b'9').map(|last| {
                    let mut text = body.clone().into_bytes();
                    text.push(last);
                    text
                }).find(|text| check(text));
                let Some(mut text) = valid else { panic!("some last digit fits") };
                text[place] = (text[place] - b'0' + by) % 10 + b'0';
                prop_assert!(!check(&text));
            }
        }
    }
}
