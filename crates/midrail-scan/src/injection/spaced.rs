//! Joins letters with spaces between them (`i g n o r e`), and splits them into known words.

use midrail_core::{Confidence, Hit};

use super::confusables::{Fold, fold};
use super::hashing::{BEGINNING, FIRST_HASH, step};
use super::phrases;
use super::rows::Counts;
use super::vocabulary;
use super::words::{Reading, SINGLE, Word};

/// The most letters of one run.
const MAX_RUN: usize = 4_096;
/// How many letters in a row are spelled out.
const MIN_RUN: usize = 5;

/// Adds the phrases that are partly spelled letter by letter.
pub(super) fn scan(reading: &Reading<'_>, hits: &mut Vec<Hit>) {
    let words = &reading.words;
    let mut joined = Vec::with_capacity(words.len());
    // The words that letters spelled, by their places in `joined`.
    let mut spelled = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let rest = words.get(at..).unwrap_or_default();
        let length = rest.iter().take(MAX_RUN).take_while(|word| word.flags & SINGLE != 0).count();
        let run = rest.get(..length.max(1)).unwrap_or_default();
        if length >= MIN_RUN {
            let from = joined.len();
            joined.extend(join(reading.text, run));
            spelled.push(from..joined.len());
        } else {
            joined.extend_from_slice(run);
        }
        at += length.max(1);
    }
    let found = phrases::find(&joined, 0..joined.len(), &vocabulary::PHRASES);
    let joined = Reading { words: joined, ..*reading };
    for found in found.iter().filter(|found| found.phrase.row().counts == Counts::Anywhere) {
        let run = spelled.get(spelled.partition_point(|run| run.end <= found.first));
        if run.is_some_and(|run| run.start <= found.last)
            && let Some(span) = joined.span(found.first, found.last)
        {
            hits.push(found.phrase.row().family.hit(span, Confidence::High));
        }
    }
}

/// The words that the letters spell, longest first.
fn join(text: &str, letters: &[Word]) -> Vec<Word> {
    let mut words = Vec::new();
    let mut at = 0;
    let spelled: Vec<Option<char>> =
        letters.iter().map(|letter| folded(text.get(letter.start..letter.end).unwrap_or_default())).collect();
    while at < letters.len() {
        let mut known = (1, 0, 0);
        let mut hash = FIRST_HASH;
        for length in 1..=vocabulary::longest() {
            let Some(c) = spelled.get(at + length - 1).copied().flatten() else { break };
            hash = step(hash, c);
            let id = if length > 1 { vocabulary::id(hash) } else { 0 };
            if id != 0 {
                known = (length, hash, id);
            }
            // Most letters begin no word. This bounds the work on long runs.
            if length == BEGINNING && !vocabulary::may_begin(hash) {
                break;
            }
        }
        let (length, hash, id) = known;
        if let (Some(first), Some(last)) = (letters.get(at), letters.get(at + length - 1)) {
            words.push(Word { hash, stem: hash, id, start: first.start, end: last.end, flags: 0 });
        }
        at += length;
    }
    words
}

/// The letter of a word of one letter.
fn folded(letter: &str) -> Option<char> {
    letter.chars().find_map(|c| {
        if c.is_ascii_alphanumeric() {
            return Some(c.to_ascii_lowercase());
        }
        match fold(c, &mut Vec::new()) {
            Fold::Letter(letter) => Some(letter),
            Fold::Ideograph(_) | Fold::Invisible | Fold::Boundary => None,
        }
    })
}
