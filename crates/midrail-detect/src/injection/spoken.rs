//! Orders to whoever is spoken to: a text calls upon a machine that reads it, and then tells it what to do.
//!
//! Who is spoken to and what is ordered are rows of their own, so that each order counts behind each address. Orders are
//! looked for behind an address alone: a text that speaks to nobody costs nothing.

use std::ops::Range;

use midrail_core::Confidence;

use super::family::Family;
use super::phrases::{self, Found, has_word};
use super::rows::Counts;
use super::vocabulary::Vocabulary;
use super::words::{BREAK, CALLED, Word};
use super::{hit, mention, span_of};
use crate::finding::Hit;

/// Words behind an address within which an order is meant for whoever is spoken to.
const REACH: usize = 32;
/// Addresses before one order that are looked at.
const MAX_ADDRESSES: usize = 8;

/// Adds the orders of a text to those that it speaks to. `addresses` are in order of their first word.
pub(super) fn scan(
    text: &str,
    words: &[Word],
    addresses: &[Found<'_>],
    vocabulary: &Vocabulary,
    hits: &mut Vec<Hit>,
) {
    for window in windows(addresses) {
        for order in phrases::find(words, window, &vocabulary.orders, vocabulary) {
            let Some(address) = address_of(&order, words, addresses, vocabulary) else { continue };
            let Some(span) = span_of(words, address.first, order.last) else { continue };
            let whole = Found { first: address.first, ..order };
            let confidence = match mention::is_talk(text, words, &whole, &span, vocabulary) {
                true => Confidence::Low,
                false => Confidence::High,
            };
            hits.push(hit(Family::Addressed, span, confidence));
        }
    }
}

/// The words behind the addresses, none of them twice.
fn windows(addresses: &[Found<'_>]) -> Vec<Range<usize>> {
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
fn address_of<'a>(
    order: &Found<'_>,
    words: &[Word],
    addresses: &'a [Found<'a>],
    vocabulary: &Vocabulary,
) -> Option<&'a Found<'a>> {
    let is_deed = order.phrase.row.counts == Counts::Deed;
    let before = addresses.partition_point(|address| address.first < order.first);
    let near = addresses.get(before.saturating_sub(MAX_ADDRESSES)..before).unwrap_or_default();
    near.iter().find(|address| {
        (!is_deed || address.phrase.row.counts == Counts::Address)
            && (address.last..=address.last + REACH).contains(&order.first)
            && is_meant(words, address, order, vocabulary)
    })
}

/// Is it to be done by whoever is spoken to? What they must not do, or what somebody else does, is no order.
fn is_meant(words: &[Word], address: &Found<'_>, order: &Found<'_>, vocabulary: &Vocabulary) -> bool {
    // A single word with a verb behind it is no address but the one who acts: "L'IA envoie …".
    let is_parted = words.get(order.first).is_some_and(|word| word.flags & (BREAK | CALLED) != 0);
    if address.first == address.last && order.first == address.last + 1 && !is_parted {
        return false;
    }
    let breaks = |at: &usize| words.get(*at).is_some_and(|word| word.flags & BREAK != 0);
    let begins = (address.last + 1..=order.first).rev().find(breaks).unwrap_or(address.last);
    let subject = order.first.saturating_sub(1).max(begins);
    let negated = |from, to| has_word(words, from, to, vocabulary.talk.negations, vocabulary);
    // To be silent is an order that begins with a negation.
    (negated(order.first, order.first + 2) || !negated(begins, order.first))
        && !has_word(words, subject, order.first, vocabulary.talk.subjects, vocabulary)
}
