//! Finds phrases in the words of a text. Each place is tried a bounded number of times.

use std::ops::Range;

use super::phrase_index::{Phrase, Phrases, Step};
use super::vocabulary::{self, FILLERS};
use super::words::{AFTER_COMMA, BREAK, CAPITALS, FIELD, QUOTE, Word, has_word};

/// How many attempts are made at one place for one phrase.
const MAX_TRIES: u32 = 48;
/// How many words before a phrase its negation may be.
const NEGATION: usize = 3;
/// The longest phrase in words.
const LOOK_AHEAD: usize = 128;

/// A phrase in a text: words `first..=last`.
#[derive(Debug, Clone, Copy)]
pub(super) struct PhraseMatch {
    pub(super) phrase: &'static Phrase,
    pub(super) first: usize,
    pub(super) last: usize,
}

/// All phrases that begin among `words[range]`, in order of their first word.
pub(super) fn find(words: &[Word], range: Range<usize>, phrases: &'static Phrases) -> Vec<PhraseMatch> {
    let mut found = Vec::new();
    // Where the next word of each anchor is: the text is read from its end.
    let mut next = vec![usize::MAX; phrases.anchor_count];
    for (first, word) in
        words.iter().enumerate().take(range.end.saturating_add(LOOK_AHEAD)).skip(range.start).rev()
    {
        if word.id == 0 {
            continue;
        }
        if first < range.end {
            for begin in phrases.begun_by(word.id).iter().rev() {
                let comes = |(anchor, reach): (usize, usize)| {
                    next.get(anchor).is_some_and(|at| at.saturating_sub(first) <= reach)
                };
                if !begin.anchor().is_none_or(comes) {
                    continue;
                }
                let Some(phrase) = phrases.all.get(usize::from(begin.number)) else { continue };
                let mut search = Search { words, phrases, tries: MAX_TRIES };
                if let Some(last) = search.match_at(phrase, first) {
                    found.push(PhraseMatch { phrase, first, last });
                }
            }
        }
        for anchor in phrases.word_anchors(word.id) {
            if let Some(at) = next.get_mut(usize::from(*anchor)) {
                *at = first;
            }
        }
    }
    found.reverse();
    found
}

struct Search<'a> {
    words: &'a [Word],
    phrases: &'static Phrases,
    tries: u32,
}

impl Search<'_> {
    fn match_at(&mut self, phrase: &Phrase, first: usize) -> Option<usize> {
        let (step, rest) = self.phrases.steps(phrase).split_first()?;
        let word = self.words.get(first)?;
        if step.capitals && word.flags & CAPITALS == 0 {
            return None;
        }
        let last = self.rest(rest, first)?;
        let is_negated = phrase
            .not_after()
            .is_some_and(|class| has_word(self.words, first.saturating_sub(NEGATION), first, class));
        self.tries = MAX_TRIES;
        let continues = self.phrases.not_before(phrase).any(|steps| self.rest(steps, last).is_some());
        (!is_negated && !continues).then_some(last)
    }

    /// The last word of the phrase, if its remaining steps follow the word at `at`.
    fn rest(&mut self, steps: &[Step], at: usize) -> Option<usize> {
        let Some((step, rest)) = steps.split_first() else { return Some(at) };
        for skipped in 0..=usize::from(step.gap) {
            self.tries = self.tries.checked_sub(1)?;
            let next = at + 1 + skipped;
            let word = self.words.get(next)?;
            // Gaps with any words end with the sentence; gaps with fillers do not.
            if step.any && word.flags & BREAK != 0 && word.flags & (QUOTE | FIELD) != QUOTE {
                return None;
            }
            if vocabulary::is_in(word.id, step.class)
                && (!step.capitals || word.flags & CAPITALS != 0)
                && (!step.after_comma || word.flags & (AFTER_COMMA | BREAK) == AFTER_COMMA)
                && let Some(last) = self.rest(rest, next)
            {
                return Some(last);
            }
            if !step.any && !vocabulary::is_in(word.id, FILLERS) {
                return None;
            }
        }
        None
    }
}
