//! Numbers that states give to people: one table row a number, one file a region.
//!
//! A row whose check is weak, such as one digit over bare digits, asks for a word nearby; the row says so.

mod africa_and_oceania;
mod americas;
mod asia;
mod documents;
mod eastern_europe;
mod northern_europe;
mod western_europe;

use std::sync::OnceLock;

use midrail_core::{Confidence, Severity};

use super::context::Context;
use super::settings::Allowed;
use super::token::{LONGEST, Token};
use crate::finding::Hit;

/// When a row asks for one of its words nearby.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    /// Never: form and check leave little doubt.
    Nothing,
    /// Where the number has no separators, or only spaces, as columns of a table have.
    WordIfBare,
    /// Always.
    Word,
}

/// One kind of number.
struct Row {
    kind: &'static str,
    /// ISO codes of the countries that use it.
    countries: &'static [&'static str],
    name: &'static str,
    /// Forms: `9` a digit, `A` a letter, `X` either, anything else itself.
    shapes: &'static [&'static str],
    /// Whether the bare letters and digits are valid.
    check: fn(&[u8]) -> bool,
    need: Need,
    /// Words that stand near such numbers, in lower case.
    words: &'static [&'static str],
    /// Texts in which it must be found.
    #[cfg_attr(not(test), expect(dead_code, reason = "examples are for tests and readers"))]
    found: &'static [&'static str],
    /// Texts in which it must not be found.
    #[cfg_attr(not(test), expect(dead_code, reason = "examples are for tests and readers"))]
    missed: &'static [&'static str],
}

const TABLES: &[&[Row]] = &[
    americas::ROWS,
    western_europe::ROWS,
    northern_europe::ROWS,
    eastern_europe::ROWS,
    asia::ROWS,
    africa_and_oceania::ROWS,
];

/// How far away a word may stand.
const NEAR: usize = 5;

/// As if a word stood this far away, where a number needs none.
const WITHOUT_WORD: usize = 3;

/// The kinds of all rows.
pub(super) fn kinds() -> impl Iterator<Item = &'static str> {
    rows().map(|row| row.kind)
}

/// The countries of all rows.
pub(super) fn countries() -> impl Iterator<Item = &'static str> {
    rows().flat_map(|row| row.countries).copied()
}

/// The countries of one kind.
pub(super) fn countries_of(kind: &str) -> &'static [&'static str] {
    rows().find(|row| row.kind == kind).map_or(&[], |row| row.countries)
}

/// Whether some row has the form of a candidate.
pub(super) fn has_shape(token: &Token<'_>) -> bool {
    !of_shape(token.shape()).is_empty()
}

/// The number that a candidate is.
pub(super) fn find(token: &Token<'_>, allowed: &Allowed) -> Option<Hit> {
    let is_document = documents::may_be(token);
    if !is_document && !has_shape(token) {
        return None;
    }
    let context = Context::of(token.bytes, token.start, token.end);
    best(token, &context, allowed).map(|(hit, _)| hit)
}

/// The number that a candidate is, and how many words away the word stands that tells.
pub(super) fn best(token: &Token<'_>, context: &Context, allowed: &Allowed) -> Option<(Hit, usize)> {
    let bare = token.bare();
    let rows = of_shape(token.shape()).iter().map(|(_, row)| *row);
    let checked =
        rows.filter(|row| allowed.country(row.countries) && allowed.kind(row.kind) && (row.check)(bare));
    let ranked = checked.filter_map(|row| {
        let rank = context.rank_within(row.words, NEAR);
        let is_bare = token.separators().all(|byte| byte == b' ');
        let needs_word = match row.need {
            Need::Nothing => false,
            Need::WordIfBare => is_bare,
            Need::Word => true,
        };
        (rank.is_some() || !needs_word).then_some((row, rank))
    });
    let best = ranked.min_by_key(|(_, rank)| rank.unwrap_or(NEAR + 1));
    let Some((row, rank)) = best else {
        return documents::find(token, context).filter(|(hit, _)| allowed.kind(hit.kind));
    };
    let confidence = if rank.is_some() { Confidence::High } else { Confidence::Medium };
    let hit = Hit::new(row.kind, token.start, token.end, row.name);
    let hit = match SAMPLES.contains(&bare) {
        true => Hit { severity: Severity::Low, confidence: Confidence::Medium, ..hit },
        false => Hit { severity: Severity::High, confidence, ..hit },
    };
    Some((hit, rank.unwrap_or(WITHOUT_WORD)))
}

/// Numbers that every form shows as its example.
const SAMPLES: &[&[u8]] = &[
    b"123456789",
    b"078051120",
    b"219099999",
    b"12345678Z",
    b"A123456789",
    b"AB123456C",
    b"QQ123456C",
    b"S1234567D",
];

fn rows() -> impl Iterator<Item = &'static Row> {
    TABLES.iter().copied().flatten()
}

/// A form without `X`, and a row that has it.
type Form = (Vec<u8>, &'static Row);

/// The rows that have a form.
fn of_shape(shape: &[u8]) -> &'static [Form] {
    // By length, then by form.
    static INDEX: OnceLock<Vec<Vec<Form>>> = OnceLock::new();
    let index = INDEX.get_or_init(|| {
        let mut index: Vec<Vec<Form>> = (0..=LONGEST).map(|_| Vec::new()).collect();
        for row in rows() {
            for shape in row.shapes {
                spell_out(shape.as_bytes(), &mut |shape| {
                    if let Some(forms) = index.get_mut(shape.len()) {
                        forms.push((shape, row));
                    }
                });
            }
        }
        index.iter_mut().for_each(|forms| forms.sort_by(|left, right| left.0.cmp(&right.0)));
        index
    });
    let index = index.get(shape.len()).map_or(&[][..], Vec::as_slice);
    let start = index.partition_point(|(other, _)| other.as_slice() < shape);
    let rest = index.get(start..).unwrap_or_default();
    let count = rest.iter().take_while(|(other, _)| other.as_slice() == shape).count();
    rest.get(..count).unwrap_or_default()
}

/// All forms without `X` that a form with it stands for.
fn spell_out(shape: &[u8], add: &mut impl FnMut(Vec<u8>)) {
    let mut forms = vec![Vec::new()];
    for byte in shape {
        let choices: &[u8] = if *byte == b'X' { b"9A" } else { std::slice::from_ref(byte) };
        forms = choices
            .iter()
            .flat_map(|choice| forms.iter().map(|form| [form.as_slice(), &[*choice]].concat()))
            .collect();
    }
    forms.into_iter().for_each(add);
}

#[cfg(test)]
mod tests {
    use super::super::scan;
    use super::*;

    fn has(text: &str, kind: &str) -> bool {
        scan(text).iter().any(|hit| hit.kind == kind)
    }

    #[test]
    fn rows_find_and_miss_what_they_say() {
        let mut wrong = Vec::new();
        for row in rows() {
            assert!(!row.found.is_empty() && !row.missed.is_empty(), "{} has no examples", row.kind);
            wrong.extend(
                row.found
                    .iter()
                    .filter(|text| !has(text, row.kind))
                    .map(|text| (row.kind, "not found", *text)),
            );
            wrong.extend(
                row.missed.iter().filter(|text| has(text, row.kind)).map(|text| (row.kind, "found", *text)),
            );
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn kinds_say_their_country() {
        for row in rows() {
            let code = row.kind.split('-').next().unwrap_or_default();
            let code = if code == "uk" { "gb" } else { code };
            assert!(row.countries.contains(&code), "{}", row.kind);
            assert!(row.need == Need::Nothing || !row.words.is_empty(), "{}", row.kind);
        }
    }
}
