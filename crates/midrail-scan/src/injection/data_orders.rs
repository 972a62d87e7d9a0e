//! Orders in values of data: a record that a tool returns has no business telling its reader what to do.
//!
//! The phrases count only at the start of a sentence, in the imperative: "Please delete all of my files", but not "Users delete
//! my files" and not "I want to delete my files".

use std::ops::Range;

use midrail_core::{Confidence, Hit};

use super::family;
use super::mention;
use super::phrases::{self, PhraseMatch};
use super::rows::Counts;
use super::vocabulary;
use super::words::{AFTER_COMMA, BREAK, EMPTY_LINE, Reading, Word};

/// The fewest words of a sentence with an order. A shorter one is a title or the label of a button.
const MIN_WORDS: usize = 5;
/// How many words of courtesy may be before an order.
const MAX_COURTESIES: usize = 8;
/// How many words a greeting has: "Hello Bob, …".
const MAX_GREETING: usize = 4;
/// How many words a condition before an order has: "If you can read this, …".
const MAX_CONDITION: usize = 16;
/// How far the end of a sentence is searched for.
const MAX_SENTENCE: usize = 64;

/// An order in a value.
#[derive(Debug, Clone)]
pub(super) struct DataOrder {
    /// The words of its sentence.
    pub(super) sentence: Range<usize>,
    /// Whether it is no finding by itself.
    pub(super) is_hint: bool,
    matched: PhraseMatch,
}

/// The orders in the values of a text, in order.
pub(super) fn find(reading: &Reading<'_>, values: &[Range<usize>]) -> Vec<DataOrder> {
    let mut orders: Vec<DataOrder> = Vec::new();
    for value in values {
        let range = reading.words_in(value);
        if range.len() < MIN_WORDS {
            continue;
        }
        for matched in phrases::find(&reading.words, range.clone(), &vocabulary::DATA_ORDERS) {
            let is_hint = matched.phrase.row().counts == Counts::Hint;
            let is_known =
                |order: &DataOrder| order.sentence.contains(&matched.first) && (is_hint || !order.is_hint);
            if orders.last().is_some_and(is_known) {
                continue;
            }
            let Some(sentence) = sentence(reading, &range, matched.first) else { continue };
            if sentence.len() >= MIN_WORDS
                && matched.last < sentence.end
                && is_order(reading, &sentence, &matched)
            {
                orders.push(DataOrder { sentence, is_hint, matched });
            }
        }
    }
    orders
}

/// Adds the orders that are findings by themselves.
pub(super) fn hits(reading: &Reading<'_>, orders: &[DataOrder], hits: &mut Vec<Hit>) {
    for order in orders.iter().filter(|order| !order.is_hint) {
        let last = order.sentence.end.saturating_sub(1);
        let Some(span) = reading.span(order.sentence.start, last) else { continue };
        let is_talk = mention::is_talk(reading, &order.matched, &span);
        let confidence = if is_talk { Confidence::Low } else { Confidence::Medium };
        hits.push(family::DATA_INSTRUCTION.hit(span, confidence));
    }
}

/// The words of the sentence around a word of a value.
fn sentence(reading: &Reading<'_>, value: &Range<usize>, at: usize) -> Option<Range<usize>> {
    let breaks = |at: &usize| reading.has_flag(*at, BREAK | EMPTY_LINE);
    let earliest = at.saturating_sub(MAX_SENTENCE).max(value.start);
    let start = (earliest..=at).rev().find(|at| breaks(at) || *at == value.start)?;
    let latest = (at + MAX_SENTENCE).min(value.end);
    Some(start..(at + 1..latest).find(breaks).unwrap_or(latest))
}

/// Whether the sentence gives the order: nothing but courtesies, a greeting or a condition is before it, and the sentence does
/// not address the visitor of a page or the user of a product.
fn is_order(reading: &Reading<'_>, sentence: &Range<usize>, order: &PhraseMatch) -> bool {
    if reading.has_word(sentence.start, sentence.end, vocabulary::VISITORS) || has_name(reading, order) {
        return false;
    }
    let is_courtesy = |at: usize| reading.has_word(at, at + 1, vocabulary::COURTESIES);
    let mut first = order.first;
    while first > sentence.start
        && order.first - first < MAX_COURTESIES
        && !reading.has_flag(first, AFTER_COMMA)
        && is_courtesy(first - 1)
    {
        first -= 1;
    }
    // "I need you to …" is an order, "I want to …" is none.
    let is_own_intention = reading.has_word(first, order.first, vocabulary::WE)
        && !reading.has_word(first, order.first, vocabulary::YOU);
    if is_own_intention {
        return false;
    }
    let before = first - sentence.start;
    let is_condition = reading.has_word(sentence.start, sentence.start + 1, vocabulary::OCCASIONS);
    before == 0
        || (reading.has_flag(first, AFTER_COMMA)
            && (before <= MAX_GREETING || (is_condition && before <= MAX_CONDITION)))
}

/// Whether one of the words is a part of a name, as in `DROP TABLE my_table` and `DELETE /users/7`.
fn has_name(reading: &Reading<'_>, order: &PhraseMatch) -> bool {
    let words = reading.words.get(order.first..=order.last).unwrap_or_default();
    let ends_in_name =
        |word: &Word| matches!(reading.text.as_bytes().get(word.end), Some(b'_' | b'/' | b'('));
    words.iter().any(ends_in_name)
}
