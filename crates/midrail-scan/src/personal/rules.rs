//! The rules that the characters of a national id follow, as data describes them: dates, ranges of digits, check characters.

use super::checks::{day_and_month, digits, is_one_digit, luhn, mod_11_10, number, verhoeff};

type Text = &'static str;
type List<T> = &'static [T];

macro_rules! rules {
    ($(#[$doc:meta])* enum $enum:ident { $($variants:tt)* } $(#[$note:meta])* struct $struct:ident { $($(#[$text:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(super) enum $enum { $($variants)* }

        $(#[$note])*
        #[derive(Debug)]
        pub(super) struct $struct { $($(#[$text])* pub(super) $field: $type,)* }
    };
}

include!("../../data/personal/rules.rs.in");

/// Whether letters and digits follow all rules.
pub(super) fn hold(rules: &[Rule], bare: &[u8]) -> bool {
    rules.iter().all(|rule| holds(rule, bare))
}

fn holds(rule: &Rule, bare: &[u8]) -> bool {
    match rule {
        Rule::Number { at, length, ranges } => {
            let value = number(bare, *at, *length);
            ranges.iter().any(|(first, last)| (*first..=*last).contains(&value))
        }
        Rule::Character { at: Some(at), allowed } => {
            bare.get(*at).is_some_and(|byte| allowed.as_bytes().contains(byte))
        }
        Rule::Character { at: None, allowed } => bare.iter().all(|byte| allowed.as_bytes().contains(byte)),
        Rule::NotStart { texts } => !texts.iter().any(|text| bare.starts_with(text.as_bytes())),
        Rule::Date { day, month, day_offsets, month_offsets } => {
            let (day, month) = (number(bare, *day, 2), number(bare, *month, 2));
            let with_day = |month| {
                let days =
                    day_offsets.unwrap_or_default().iter().filter_map(|offset| day.checked_sub(*offset));
                days.chain([day]).any(|day| day_and_month(day, month))
            };
            let months =
                month_offsets.unwrap_or_default().iter().filter_map(|offset| month.checked_sub(*offset));
            months.chain([month]).any(with_day)
        }
        Rule::NotDate => {
            let is_year = (1900..=2035).contains(&number(bare, 0, 4));
            !(is_year && day_and_month(number(bare, 6, 2), number(bare, 4, 2)))
        }
        Rule::Varied => !is_one_digit(bare),
        Rule::Length { length } => bare.len() == *length,
        Rule::MinDigits { count } => digits(bare).count() >= *count,
        Rule::Repeats => {
            let first = bare.get(..10).unwrap_or_default();
            let counts = || (b'0'..=b'9').map(|digit| first.iter().filter(|byte| **byte == digit).count());
            let (missing, most) = (counts().filter(|count| *count == 0).count(), counts().max());
            (1..=2).contains(&missing) && most.is_some_and(|most| (2..=3).contains(&most))
        }
        Rule::Luhn { without } => luhn(&except(bare, without.unwrap_or_default())),
        Rule::Verhoeff { without } => verhoeff(&except(bare, without.unwrap_or_default())),
        Rule::Mod1110 => mod_11_10(bare),
        Rule::Remainder { sum, modulus, remainder } => sum.value(bare) % modulus == *remainder,
        Rule::CheckCharacter { sum, table, at, otherwise } => {
            let body = if at.is_some() { bare } else { bare.split_last().map_or(bare, |(_, body)| body) };
            let rest = usize::try_from(sum.value(body)).ok().and_then(|sum| sum.checked_rem(table.len()));
            match rest.and_then(|rest| table.as_bytes().get(rest)) {
                Some(b'?') => hold(otherwise.unwrap_or_default(), bare),
                expected => expected == at.map_or(bare.last(), |at| bare.get(at)),
            }
        }
        Rule::AnyOf { lists } => lists.iter().any(|rules| hold(rules, bare)),
    }
}

fn except(bare: &[u8], without: &[usize]) -> Vec<u8> {
    let kept = bare.iter().enumerate().filter(|(place, _)| !without.contains(place));
    kept.map(|(_, byte)| *byte).collect()
}

/// The alphabet of sums without one of their own.
const DIGITS_AND_LETTERS: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

impl Sum {
    fn value(&self, bare: &[u8]) -> u32 {
        let body = bare.get(self.from.unwrap_or_default()..).unwrap_or_default();
        let weights = self.weights.iter().skip(self.weights.len().saturating_sub(body.len()));
        let alphabets = self.alphabets.unwrap_or(&[DIGITS_AND_LETTERS]).iter().cycle();
        let products = body.iter().zip(weights).zip(alphabets).map(|((byte, weight), alphabet)| {
            let value = alphabet.bytes().position(|other| other == *byte);
            let product = value.and_then(|value| u32::try_from(value).ok()).unwrap_or_default() * weight;
            if self.cross_sums == Some(true) { product / 10 + product % 10 } else { product }
        });
        products.sum::<u32>() + self.add.unwrap_or_default()
    }
}
