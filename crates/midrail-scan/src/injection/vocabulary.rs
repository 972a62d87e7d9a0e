//! All phrases, as the build script has compiled them: every known word, the sets it belongs to, and the phrases it begins.

use super::phrase_index::{ANY, ClassId, Need, Phrase, PhraseStart, Phrases, Span, Step};

include!(concat!(env!("OUT_DIR"), "/injection_vocabulary.rs"));

/// The number of the sets that a word belongs to; 0 for an unknown word.
pub(super) fn id(hash: u64) -> u16 {
    place(hash, &HASHES).and_then(|at| IDS.get(at)).copied().unwrap_or_default()
}

/// Whether a word belongs to a set.
pub(super) fn is_in(id: u16, class: ClassId) -> bool {
    if class == ANY {
        return true;
    }
    let bits = BITS.get(usize::from(id) * STRIDE + usize::from(class >> 6));
    bits.is_some_and(|bits| bits >> (class & 63) & 1 == 1)
}

/// Whether a word is one of attacks, in rot13 or backwards.
pub(super) fn is_reversed(id: u16) -> bool {
    is_in(id, DISGUISED)
}

/// False if no word continues these first letters, by their hash.
pub(super) fn may_begin(hash: u64) -> bool {
    place(hash, &BEGINNINGS).is_some()
}

/// Letters of the longest word.
pub(super) fn longest() -> usize {
    LONGEST
}

/// The place of a hash in a table with open addressing, in which 0 is an empty place.
fn place(hash: u64, table: &[u64]) -> Option<usize> {
    let mask = table.len().wrapping_sub(1);
    let mut at = usize::try_from(hash ^ (hash >> 32)).unwrap_or_default() & mask;
    loop {
        match table.get(at) {
            Some(0) | None => return None,
            Some(known) if *known == hash => return Some(at),
            Some(_) => at = (at + 1) & mask,
        }
    }
}
