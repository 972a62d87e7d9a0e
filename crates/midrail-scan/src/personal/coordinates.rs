//! Coordinates of places with a word nearby.

use midrail_core::{Confidence, Hit, Severity};

use super::context::Context;
use super::data::COORDINATE_WORDS;
use super::token::Token;
use crate::bytes::window;

/// How many bytes before a fraction a letter has to be: most fractions are among fractions.
const NEAR: usize = 32;

/// How far away the other coordinate of a place may be, in bytes.
const PARTNER: usize = 48;

/// At least four decimals, which is precise to a building, in the range of a longitude.
pub(super) fn coordinate(token: &Token<'_>) -> Option<Hit> {
    if !token.has_separators() {
        return None;
    }
    let (groups, count) = token.groups();
    if count != 2 || token.separator() != Some(b'.') {
        return None;
    }
    let [1..=3, 4..=16, ..] = groups else { return None };
    let degrees: f64 = std::str::from_utf8(token.text()).ok()?.parse().ok()?;
    let before = token.bytes.get(token.start.saturating_sub(NEAR)..token.start)?;
    if degrees > 180.0 || !before.iter().any(u8::is_ascii_alphabetic) {
        return None;
    }
    let start = token.start - usize::from(before.last() == Some(&b'-'));
    let context = Context::within(token.bytes, start, token.end, 2);
    let hit = Hit::new("gps-coordinate", start, token.end, "a coordinate of a place");
    // A single number is no place.
    let confidence = if has_partner(token) { Confidence::High } else { Confidence::Low };
    context.has_within(&COORDINATE_WORDS, 2).then_some(Hit { severity: Severity::Low, confidence, ..hit })
}

/// Whether another such fraction is nearby.
fn has_partner(token: &Token<'_>) -> bool {
    let bytes = token.bytes;
    let before = bytes.get(token.start.saturating_sub(PARTNER)..token.start).unwrap_or_default();
    let after = window(bytes, token.end, PARTNER);
    let is_fraction = |part: &[u8]| matches!(part, [first, b'.', rest @ ..] if first.is_ascii_digit() && rest.iter().all(u8::is_ascii_digit));
    [before, after].iter().any(|side| side.windows(6).any(is_fraction))
}
