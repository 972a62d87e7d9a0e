//! Compiled phrases, indexed by the words that begin them.

use std::collections::BTreeMap;

use super::rows::Row;

/// The number of a set of words.
pub(super) type ClassId = u16;

/// The set of all words.
pub(super) const ANY: ClassId = ClassId::MAX;

/// One step of a phrase: a word of the set, at most `gap` words behind the step before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) class: ClassId,
    pub(super) gap: usize,
    /// Whether any words may be in the gap, within the sentence, or only fillers.
    pub(super) any: bool,
    pub(super) capitals: bool,
    /// Whether a comma or colon is before the word.
    pub(super) after_comma: bool,
}

/// A compiled row.
#[derive(Debug)]
pub(super) struct Phrase {
    pub(super) row: &'static Row,
    pub(super) steps: Vec<Step>,
    /// None of these words is just before.
    pub(super) not_after: Option<ClassId>,
    /// These steps must not come next in the sentence.
    pub(super) not_before: Vec<Vec<Step>>,
}

/// A phrase that a word may begin, by its number.
#[derive(Debug, Clone, Copy)]
pub(super) struct PhraseStart {
    pub(super) number: usize,
    /// The set of its rarest step, and how many words ahead it may be. Without a word of it, the phrase is not tried.
    pub(super) anchor: Option<(usize, usize)>,
}

/// Phrases, by the words that begin them.
#[derive(Debug, Default)]
pub(super) struct Phrases {
    pub(super) all: Vec<Phrase>,
    /// For each word the phrases that it may begin.
    begins: Vec<Vec<PhraseStart>>,
    /// For each word the anchors that it belongs to.
    anchors: Vec<Vec<usize>>,
    pub(super) anchor_count: usize,
}

impl Phrases {
    /// `classes` are the sets of each word, `weights` how common each set is.
    pub(super) fn new(all: Vec<Phrase>, classes: &[Vec<ClassId>], weights: &[u64]) -> Phrases {
        let mut numbers: BTreeMap<ClassId, usize> = BTreeMap::new();
        let mut begun: BTreeMap<ClassId, Vec<PhraseStart>> = BTreeMap::new();
        for (number, phrase) in all.iter().enumerate() {
            let Some(first) = phrase.steps.first() else { continue };
            let anchor = rarest_step(&phrase.steps, weights).map(|(class, reach)| {
                let next = numbers.len();
                (*numbers.entry(class).or_insert(next), reach)
            });
            begun.entry(first.class).or_default().push(PhraseStart { number, anchor });
        }
        let begins = classes.iter().map(|sets| {
            let mut begins: Vec<PhraseStart> =
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

    /// The phrases that a word may begin.
    pub(super) fn begun_by(&self, id: u32) -> &[PhraseStart] {
        list(&self.begins, id)
    }

    /// The anchors that a word belongs to.
    pub(super) fn word_anchors(&self, id: u32) -> &[usize] {
        list(&self.anchors, id)
    }
}

fn list<T>(lists: &[Vec<T>], id: u32) -> &[T] {
    usize::try_from(id).ok().and_then(|id| lists.get(id)).map_or(&[], Vec::as_slice)
}

/// The rarest set among the steps behind the first one, and how many words ahead it may be.
fn rarest_step(steps: &[Step], weights: &[u64]) -> Option<(ClassId, usize)> {
    let mut reach = 0;
    let behind = steps.iter().skip(1).map(|step| {
        reach += step.gap + 1;
        (step.class, reach)
    });
    behind
        .filter(|(class, _)| *class != ANY)
        .min_by_key(|(class, _)| weights.get(usize::from(*class)).copied().unwrap_or(u64::MAX))
}
