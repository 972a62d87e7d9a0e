//! The phrases of the rows in the words of a text. Each place is tried a bounded number of times.

use std::collections::BTreeMap;
use std::ops::Range;

use super::vocabulary::{ANY, ClassId, Phrase, Step, Vocabulary};
use super::words::{BREAK, CALLED, CAPITALS, FIELD, QUOTE, Word};

/// Tries at one place for one phrase: enough for any honest sentence.
const MAX_TRIES: u32 = 48;
/// How far before a phrase its negation may stand, in words.
const NEGATION: usize = 3;
/// The longest phrase in words: no step of one that began stands farther ahead.
const LOOK_AHEAD: usize = 128;

/// A phrase that was found: words `first..=last`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found<'a> {
    pub(super) phrase: &'a Phrase,
    pub(super) first: usize,
    pub(super) last: usize,
}

/// A phrase that a word may begin.
#[derive(Debug, Clone, Copy)]
struct Begin {
    number: usize,
    /// The set of its rarest step, and how far ahead a word of it may stand: without that there is nothing to try.
    anchor: Option<(usize, usize)>,
}

/// Phrases, by the words that begin them.
#[derive(Debug, Default)]
pub(super) struct Phrases {
    all: Vec<Phrase>,
    /// For each word the phrases that it may begin.
    begins: Vec<Vec<Begin>>,
    /// For each word the anchors that it belongs to.
    anchors: Vec<Vec<usize>>,
    anchor_count: usize,
}

impl Phrases {
    /// `classes` are the sets of each word, `weights` tell how common each set is.
    pub(super) fn new(all: Vec<Phrase>, classes: &[Vec<ClassId>], weights: &[u64]) -> Phrases {
        let mut numbers: BTreeMap<ClassId, usize> = BTreeMap::new();
        let mut begun: BTreeMap<ClassId, Vec<Begin>> = BTreeMap::new();
        for (number, phrase) in all.iter().enumerate() {
            let Some(first) = phrase.steps.first() else { continue };
            let anchor = anchor_of(&phrase.steps, weights).map(|(class, reach)| {
                let next = numbers.len();
                (*numbers.entry(class).or_insert(next), reach)
            });
            begun.entry(first.class).or_default().push(Begin { number, anchor });
        }
        let begins = classes.iter().map(|sets| {
            let mut begins: Vec<Begin> =
                sets.iter().filter_map(|class| begun.get(class)).flatten().copied().collect();
            begins.sort_by_key(|begin| begin.number);
            begins
        });
        let anchors = classes
            .iter()
            .map(|sets| sets.iter().filter_map(|class| numbers.get(class)).copied().collect())
            .collect();
        Phrases { begins: begins.collect(), anchors, anchor_count: numbers.len(), all }
    }

    fn of_word<T>(lists: &[Vec<T>], id: u32) -> &[T] {
        usize::try_from(id).ok().and_then(|id| lists.get(id)).map_or(&[], Vec::as_slice)
    }
}

/// The rarest set among the steps behind the first one, and how many words ahead it may stand.
fn anchor_of(steps: &[Step], weights: &[u64]) -> Option<(ClassId, usize)> {
    let mut reach = 0;
    let behind = steps.iter().skip(1).map(|step| {
        reach += step.gap + 1;
        (step.class, reach)
    });
    behind
        .filter(|(class, _)| *class != ANY)
        .min_by_key(|(class, _)| weights.get(usize::from(*class)).copied().unwrap_or(u64::MAX))
}

/// All phrases that begin among `words[range]`, in order of their first word.
pub(super) fn find<'a>(
    words: &[Word],
    range: Range<usize>,
    phrases: &'a Phrases,
    vocabulary: &Vocabulary,
) -> Vec<Found<'a>> {
    let mut found = Vec::new();
    // Where a word of each anchor comes next: the text is read from its end.
    let mut next = vec![usize::MAX; phrases.anchor_count];
    for (first, word) in
        words.iter().enumerate().take(range.end.saturating_add(LOOK_AHEAD)).skip(range.start).rev()
    {
        if word.id == 0 {
            continue;
        }
        if first < range.end {
            for begin in Phrases::of_word(&phrases.begins, word.id).iter().rev() {
                let comes = |(anchor, reach): (usize, usize)| {
                    next.get(anchor).is_some_and(|at| at.saturating_sub(first) <= reach)
                };
                if !begin.anchor.is_none_or(comes) {
                    continue;
                }
                let Some(phrase) = phrases.all.get(begin.number) else { continue };
                let mut search = Search { words, vocabulary, tries: MAX_TRIES };
                if let Some(last) = search.match_at(phrase, first) {
                    found.push(Found { phrase, first, last });
                }
            }
        }
        for anchor in Phrases::of_word(&phrases.anchors, word.id) {
            if let Some(at) = next.get_mut(*anchor) {
                *at = first;
            }
        }
    }
    found.reverse();
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
        self.tries = MAX_TRIES;
        let goes_on = phrase.not_before.iter().any(|steps| self.rest(steps, last).is_some());
        (!is_negated && !goes_on).then_some(last)
    }

    /// The last word of the phrase, where its remaining steps follow the word at `at`.
    fn rest(&mut self, steps: &[Step], at: usize) -> Option<usize> {
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
