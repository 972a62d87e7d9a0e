//! JSON web tokens: three parts in base 64, the first of which is a JSON object that names an algorithm.

use midrail_core::Confidence;

use super::candidate::{Candidate, RANK_FORMAT};
use super::checks::base64_prefix;
use super::view::View;
use crate::bytes::is_word;

/// The longest token.
const MAX_RUN: usize = 16_384;

/// The web token that begins at a place.
pub(super) fn find(view: &View<'_>, place: usize) -> Option<Candidate> {
    let (end, is_sure) = end(view, place)?;
    Some(Candidate {
        confidence: if is_sure { Confidence::High } else { Confidence::Medium },
        rank: RANK_FORMAT,
        ..Candidate::new("json-web-token", "a JSON web token", place..end)
    })
}

/// The end of a web token that begins at a place, and whether its head is unmistakable.
fn end(view: &View<'_>, place: usize) -> Option<(usize, bool)> {
    if !view.starts_word(place) && view.before(place) != Some(b'.') {
        return None;
    }
    // Checking the beginning first is cheap, and many candidates may follow each other.
    let opening = base64_prefix(view.slice(place, view.run(place, 8, |byte| is_word(byte) || byte == b'-')));
    let is_text = opening.iter().all(|byte| (b' '..0x7f).contains(byte));
    if !is_text || !opening.get(2).is_some_and(|byte| is_word(*byte)) {
        return None;
    }
    let part = |from: usize| {
        let left = MAX_RUN.saturating_sub(from - place);
        view.run(from, left, |byte| is_word(byte) || byte == b'-')
    };
    // Some tokens use the other alphabet of base 64.
    let first = part(place);
    if first < place + 12 || view.at(first) != Some(b'.') {
        return None;
    }
    let second = part(first + 1);
    let dotted = view.at(second) == Some(b'.');
    let head = base64_prefix(view.slice(place, first));
    let is_head = head.windows(5).any(|window| {
        window == b"\"alg\"" || window == b"\"typ\"" || window == b"\"enc\"" || window == b"\"kid\""
    });
    // Of a long head, only the beginning was decoded.
    let is_object = head.starts_with(b"{\"") && (head.ends_with(b"}") || first - place > 1_024);
    if !is_object {
        return None;
    }
    let is_payload = base64_prefix(view.slice(first + 1, second)).starts_with(b"{");
    if !dotted {
        // A token without its signature still reveals its content.
        return (is_head && is_payload && second > first + 8).then_some((second, true));
    }
    let mut last = part(second + 1);
    // A signature, a detached payload, or an encrypted key and content.
    let is_detached = second == first + 1;
    if last < second + 16 || !(is_payload || is_detached || view.at(last) == Some(b'.')) {
        return None;
    }
    // An encrypted token has five parts.
    for _ in 0..2 {
        if view.at(last) != Some(b'.') {
            break;
        }
        let next = part(last + 1);
        if next == last + 1 {
            break;
        }
        last = next;
    }
    (is_head || is_payload).then_some((last, is_head))
}
