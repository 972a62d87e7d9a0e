//! Orders to an addressed reader: a text addresses a machine that reads it, and then gives an order.
//!
//! Addresses and orders are separate rows, so that each order counts behind each address. Orders are searched for only
//! behind an address: a text without one costs nothing.

use std::ops::Range;

use midrail_core::{Confidence, Hit};

use super::family::Family;
use super::hits::{hit, word_span};
use super::mention;
use super::phrases::{self, PhraseMatch, has_word};
use super::rows::Counts;
use super::vocabulary::Vocabulary;
use super::words::{AFTER_COMMA, BREAK, Word};

/// How many words behind an address an order may be.
const REACH: usize = 32;
/// How many addresses before one order are examined.
const MAX_ADDRESSES: usize = 8;

/// Adds the orders of a text to addressed readers. `addresses` are in order of their first word.
pub(super) fn scan(
    text: &str,
    words: &[Word],
    addresses: &[PhraseMatch<'_>],
    vocabulary: &Vocabulary,
    hits: &mut Vec<Hit>,
) {
    for window in windows(addresses) {
        for order in phrases::find(words, window, &vocabulary.orders, vocabulary) {
            let Some(address) = find_address(&order, words, addresses, vocabulary) else { continue };
            let Some(span) = word_span(words, address.first, order.last) else { continue };
            let whole = PhraseMatch { first: address.first, ..order };
            let is_talk = mention::is_talk(text, words, &whole, &span, vocabulary);
            let confidence = if is_talk { Confidence::Low } else { Confidence::High };
            hits.push(hit(Family::Addressed, span, confidence));
        }
    }
}

/// The words behind the addresses, without overlap.
fn windows(addresses: &[PhraseMatch<'_>]) -> Vec<Range<usize>> {
    let mut windows: Vec<Range<usize>> = Vec::new();
    for address in addresses {
        let window = address.last..address.last + 1 + REACH;
        match windows.last_mut() {
            Some(last) if window.start <= last.end => {
                *last = last.start.min(window.start)..last.end.max(window.end);
            }
            _ => windows.push(window),
        }
    }
    windows
}

/// The address that an order belongs to.
fn find_address<'a>(
    order: &PhraseMatch<'_>,
    words: &[Word],
    addresses: &'a [PhraseMatch<'a>],
    vocabulary: &Vocabulary,
) -> Option<&'a PhraseMatch<'a>> {
    let is_request = order.phrase.row.counts == Counts::Request;
    let before = addresses.partition_point(|address| address.first < order.first);
    let near = addresses.get(before.saturating_sub(MAX_ADDRESSES)..before).unwrap_or_default();
    near.iter().find(|address| {
        (!is_request || address.phrase.row.counts == Counts::Address)
            && (address.last..=address.last + REACH).contains(&order.first)
            && applies_to(words, address, order, vocabulary)
    })
}

/// Whether the addressed reader has to follow the order: it is not negated, and has no other subject.
fn applies_to(
    words: &[Word],
    address: &PhraseMatch<'_>,
    order: &PhraseMatch<'_>,
    vocabulary: &Vocabulary,
) -> bool {
    // A single word with a verb behind it is the subject, not an address: "L'IA envoie …".
    let is_parted = words.get(order.first).is_some_and(|word| word.flags & (BREAK | AFTER_COMMA) != 0);
    if address.first == address.last && order.first == address.last + 1 && !is_parted {
        return false;
    }
    let breaks = |at: &usize| words.get(*at).is_some_and(|word| word.flags & BREAK != 0);
    let begins = (address.last + 1..=order.first).rev().find(breaks).unwrap_or(address.last);
    let subject = order.first.saturating_sub(1).max(begins);
    let negated = |from, to| has_word(words, from, to, vocabulary.talk.negations, vocabulary);
    // "Tell no one" is an order that begins with a negation.
    (negated(order.first, order.first + 2) || !negated(begins, order.first))
        && !has_word(words, subject, order.first, vocabulary.talk.subjects, vocabulary)
}
