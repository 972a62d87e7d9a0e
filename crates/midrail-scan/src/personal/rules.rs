//! The rules that the characters of a national id follow, as data describes them: dates, ranges of digits, check characters.

use super::checks::{day_and_month, digits, is_one_digit, luhn, mod_11_10, number, verhoeff};

/// A rule for the letters and digits of a number, without its separators. Places count from zero.
#[derive(Debug)]
pub(super) enum Rule {
    /// The number that some digits form is in one of the ranges.
    Number { at: usize, length: usize, ranges: &'static [(u32, u32)] },
    /// The character at a place, or each character, is one of these.
    Character { at: Option<usize>, allowed: &'static str },
    /// The number begins with none of these.
    NotStart { texts: &'static [&'static str] },
    /// Two digits each are a day and a month. One of the offsets may be added to either.
    Date {
        day: usize,
        month: usize,
        day_offsets: Option<&'static [u32]>,
        month_offsets: Option<&'static [u32]>,
    },
    /// The first eight digits are no date.
    NotDate,
    /// Not all characters are the same.
    Varied,
    /// How many characters there are.
    Length { length: usize },
    /// The fewest digits among the characters.
    MinDigits { count: usize },
    /// Of the first ten digits one or two are missing, and none occurs more than three times.
    Repeats,
    /// The check digit of Luhn, over the characters except for some places.
    Luhn { without: Option<&'static [usize]> },
    /// The check digit of Verhoeff, over the characters except for some places.
    Verhoeff { without: Option<&'static [usize]> },
    /// The check digit of ISO 7064 mod 11,10.
    Mod1110,
    /// A weighted sum leaves a remainder.
    Remainder { sum: Sum, modulus: u32, remainder: u32 },
    /// The character at a place, or the last one, is that of the table at the remainder of a weighted sum. The length of
    /// the table is the divisor. At a `?` of the table, the other rules decide.
    CheckCharacter { sum: Sum, table: &'static str, at: Option<usize>, otherwise: Option<&'static [Rule]> },
    /// All rules of one of the lists hold.
    AnyOf { lists: &'static [&'static [Rule]] },
}

/// A weighted sum of the values of characters.
#[derive(Debug)]
pub(super) struct Sum {
    /// The place of the first character.
    pub(super) from: Option<usize>,
    /// One weight for each character. If there are more weights than characters, the first weights are left out.
    pub(super) weights: &'static [u32],
    /// A constant summand.
    pub(super) add: Option<u32>,
    /// Whether the digits of each product are added, instead of the product.
    pub(super) cross_sums: Option<bool>,
    /// The value of a character is its place in the alphabet: digits, then letters, if there is none here. Several take turns.
    pub(super) alphabets: Option<&'static [&'static str]>,
}

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
        Rule::Remainder { sum, modulus, remainder } => sum.of(bare) % modulus == *remainder,
        Rule::CheckCharacter { sum, table, at, otherwise } => {
            let body = if at.is_some() { bare } else { bare.split_last().map_or(bare, |(_, body)| body) };
            let rest = usize::try_from(sum.of(body)).ok().and_then(|sum| sum.checked_rem(table.len()));
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
    fn of(&self, bare: &[u8]) -> u32 {
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
