//! The phrases of the rows in the words of a text. Each place is tried a bounded number of times.

use super::vocabulary::{ClassId, Phrase, Vocabulary};
use super::words::{BREAK, CALLED, CAPITALS, FIELD, QUOTE, Word};

/// Tries at one place for one phrase: enough for any honest sentence.
const MAX_TRIES: u32 = 48;
/// How far before a phrase its negation may stand, in words.
const NEGATION: usize = 3;

/// A phrase that was found: words `first..=last`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found<'a> {
    pub(super) phrase: &'a Phrase,
    pub(super) first: usize,
    pub(super) last: usize,
}

/// All phrases of a text, in order of their first word.
pub(super) fn find<'a>(words: &[Word], vocabulary: &'a Vocabulary) -> Vec<Found<'a>> {
    let mut found = Vec::new();
    for (first, word) in words.iter().enumerate() {
        if word.id == 0 {
            continue;
        }
        for number in vocabulary.begun_by(word.id) {
            let Some(phrase) = vocabulary.phrases.get(*number) else { continue };
            let mut search = Search { words, vocabulary, tries: MAX_TRIES };
            if let Some(last) = search.match_at(phrase, first) {
                found.push(Found { phrase, first, last });
            }
        }
    }
    found
}

/// Does a word of the set stand among `words[from..to]`?
pub(super) fn has_word(
    words: &[Word],
    from: usize,
    to: usize,
    class: ClassId,
    vocabulary: &Vocabulary,
) -> bool {
    let to = to.min(words.len());
    words.get(from.min(to)..to).unwrap_or_default().iter().any(|word| vocabulary.is_in(word.id, class))
}

struct Search<'a> {
    words: &'a [Word],
    vocabulary: &'a Vocabulary,
    tries: u32,
}

impl Search<'_> {
    fn match_at(&mut self, phrase: &Phrase, first: usize) -> Option<usize> {
        let (step, rest) = phrase.steps.split_first()?;
        let word = self.words.get(first)?;
        if step.capitals && word.flags & CAPITALS == 0 {
            return None;
        }
        let last = self.rest(rest, first)?;
        let is_negated = phrase.not_after.is_some_and(|class| {
            has_word(self.words, first.saturating_sub(NEGATION), first, class, self.vocabulary)
        });
        let goes_on = phrase.not_before.is_some_and(|class| {
            let next = self.words.get(last + 1).filter(|word| word.flags & BREAK == 0);
            next.is_some_and(|word| self.vocabulary.is_in(word.id, class))
        });
        (!is_negated && !goes_on).then_some(last)
    }

    /// The last word of the phrase, where its remaining steps follow the word at `at`.
    fn rest(&mut self, steps: &[super::vocabulary::Step], at: usize) -> Option<usize> {
        let Some((step, rest)) = steps.split_first() else { return Some(at) };
        for skipped in 0..=step.gap {
            self.tries = self.tries.checked_sub(1)?;
            let next = at + 1 + skipped;
            let word = self.words.get(next)?;
            // Words that may be anything keep to the sentence; words that are all named need no such proof.
            if step.any && word.flags & BREAK != 0 && word.flags & (QUOTE | FIELD) != QUOTE {
                return None;
            }
            if self.vocabulary.is_in(word.id, step.class)
                && (!step.capitals || word.flags & CAPITALS != 0)
                && (!step.called || word.flags & (CALLED | BREAK) == CALLED)
                && let Some(last) = self.rest(rest, next)
            {
                return Some(last);
            }
            if !step.any && !self.vocabulary.is_in(word.id, self.vocabulary.fillers) {
                return None;
            }
        }
        None
    }
}
