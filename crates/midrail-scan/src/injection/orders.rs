//! Orders to an addressed reader: a text addresses a machine that reads it, and then gives an order.
//!
//! Addresses and orders are separate rows, so that each order counts behind each address. Orders are searched for only
//! behind an address: a text without one costs nothing.

use std::ops::Range;

use midrail_core::{Confidence, Hit};

use super::family;
use super::mention;
use super::phrases::{self, PhraseMatch};
use super::rows::Counts;
use super::vocabulary;
use super::words::{AFTER_COMMA, BREAK, Reading};

/// How many words behind an address an order may be.
const REACH: usize = 32;
/// How many addresses before one order are examined.
const MAX_ADDRESSES: usize = 8;

/// Adds the orders of a text to addressed readers. `addresses` are in order of their first word.
pub(super) fn scan(reading: &Reading<'_>, addresses: &[PhraseMatch], hits: &mut Vec<Hit>) {
    for window in windows(addresses) {
        for order in phrases::find(&reading.words, window, &vocabulary::ORDERS) {
            let Some(address) = find_address(&order, reading, addresses) else { continue };
            let Some(span) = reading.span(address.first, order.last) else { continue };
            let whole = PhraseMatch { first: address.first, ..order };
            let is_talk = mention::is_talk(reading, &whole, &span);
            let confidence = if is_talk { Confidence::Low } else { Confidence::High };
            hits.push(family::ADDRESSED_TO_MODEL.hit(span, confidence));
        }
    }
}

/// The words behind the addresses, without overlap.
fn windows(addresses: &[PhraseMatch]) -> Vec<Range<usize>> {
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
    order: &PhraseMatch,
    reading: &Reading<'_>,
    addresses: &'a [PhraseMatch],
) -> Option<&'a PhraseMatch> {
    let is_request = order.phrase.row().counts == Counts::Request;
    let before = addresses.partition_point(|address| address.first < order.first);
    let near = addresses.get(before.saturating_sub(MAX_ADDRESSES)..before).unwrap_or_default();
    near.iter().find(|address| {
        (!is_request || address.phrase.row().counts == Counts::Address)
            && (address.last..=address.last + REACH).contains(&order.first)
            && applies_to(reading, address, order)
    })
}

/// Whether the addressed reader has to follow the order: it is not negated, and has no other subject.
fn applies_to(reading: &Reading<'_>, address: &PhraseMatch, order: &PhraseMatch) -> bool {
    // A single word with a verb behind it is the subject, not an address: "L'IA envoie …".
    let is_parted = reading.has_flag(order.first, BREAK | AFTER_COMMA);
    if address.first == address.last && order.first == address.last + 1 && !is_parted {
        return false;
    }
    let breaks = |at: &usize| reading.has_flag(*at, BREAK);
    let begins = (address.last + 1..=order.first).rev().find(breaks).unwrap_or(address.last);
    let subject = order.first.saturating_sub(1).max(begins);
    let negated = |from, to| reading.has_word(from, to, vocabulary::NEGATIONS);
    // "Tell no one" is an order that begins with a negation.
    (negated(order.first, order.first + 2) || !negated(begins, order.first))
        && !reading.has_word(subject, order.first, vocabulary::SUBJECTS)
}
