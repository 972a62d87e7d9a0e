//! Chooses the anchors of phrases: words without which a phrase cannot be in a text. The gate looks for them before anything
//! else is done.

use std::collections::{BTreeMap, BTreeSet};

use crate::gate_words::{FIRST_LETTERS, LONG_WORD, SEVERAL, TABLE_BITS, word_hash, word_slot, word_tag};
use crate::vocabulary::{ANY, ClassId, Step, span};

/// How many sets of words of one phrase are looked for.
const MOST_ANCHORS: usize = 6;

/// Sets of words that are more common, per million words of everyday texts, are looked for only if a phrase has no others.
const COMMON: u64 = 8_000;

/// A set of words that a phrase needs, and how many words behind the one before it may be.
type Need = (ClassId, usize);

/// The anchors of all phrases.
pub struct Gate {
    weights: Vec<u64>,
    /// What each phrase needs, in order.
    needs: BTreeSet<Vec<Need>>,
}

impl Gate {
    /// No phrases yet. `weights` has how common the words of each set are.
    pub fn new(weights: &[u64]) -> Self {
        Gate { weights: weights.to_vec(), needs: BTreeSet::new() }
    }

    /// Adds a phrase with some steps. Its rarest ones are looked for.
    pub fn add_phrase(&mut self, steps: &[Step]) {
        let weight = |at: &usize| self.weights[usize::from(steps[*at].class)];
        let mut places: Vec<usize> = (0..steps.len()).filter(|at| steps[*at].class != ANY).collect();
        places.sort_by_key(weight);
        let enough = places.iter().take_while(|at| weight(at) <= COMMON).count();
        places.truncate(enough.clamp(1, MOST_ANCHORS));
        places.sort_unstable();
        let mut before = None;
        let needs = places.into_iter().map(|at| {
            let from = before.replace(at).unwrap_or(at);
            (steps[at].class, steps[from + 1..=at].iter().map(|step| step.gap + 1).sum())
        });
        self.needs.insert(needs.collect());
    }

    /// Adds a set of which a single word is enough.
    pub fn add_class(&mut self, class: ClassId) {
        self.needs.insert(vec![(class, 0)]);
    }

    /// The sets that are looked for, in the order of their numbers.
    pub fn classes(&self) -> Vec<ClassId> {
        self.needs.iter().flatten().map(|(class, _)| *class).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// What phrases need, by the rarest of their anchors.
    pub fn tables(&self) -> String {
        let classes = self.classes();
        let number = |class: ClassId| classes.iter().position(|other| *other == class).unwrap_or_default();
        let mut by_rarest = vec![Vec::new(); classes.len()];
        let mut all = Vec::new();
        for needs in &self.needs {
            let rarest =
                needs.iter().map(|(class, _)| *class).min_by_key(|class| self.weights[usize::from(*class)]);
            let needs = needs.iter().map(|(class, reach)| {
                format!("Need {{ anchor: {}, class: {class}, reach: {reach} }}", number(*class))
            });
            by_rarest[rarest.map_or(0, number)].push(span(&mut all, needs));
        }
        let mut phrases = Vec::new();
        let spans: Vec<String> =
            by_rarest.into_iter().map(|own| span(&mut phrases, own.into_iter())).collect();
        format!(
            "pub(super) const GATE_ANCHORS: usize = {};\n\
             pub(super) static GATE_BY_RAREST: &[Span] = &[{}];\n\
             pub(super) static GATE_PHRASES: &[Span] = &[{}];\n\
             pub(super) static GATE_NEEDS: &[Need] = &[{}];\n",
            classes.len(),
            spans.join(", "),
            phrases.join(", "),
            all.join(", ")
        )
    }
}

/// The anchors that each word of the vocabulary belongs to. `by_number` has the sets of each word.
pub fn word_anchors(classes: &[ClassId], by_number: &[Vec<ClassId>]) -> String {
    let numbers: BTreeMap<ClassId, usize> =
        classes.iter().enumerate().map(|(number, class)| (*class, number)).collect();
    let mut anchors = Vec::new();
    let spans: Vec<String> = by_number
        .iter()
        .map(|sets| {
            span(&mut anchors, sets.iter().filter_map(|class| numbers.get(class)).map(usize::to_string))
        })
        .collect();
    format!(
        "pub(super) const GATE_IDS: usize = {};\n\
         pub(super) static GATE_WORDS: &[Span] = &[{}];\n\
         pub(super) static GATE_WORD_ANCHORS: &[u16] = &[{}];\n",
        spans.len(),
        spans.join(", "),
        anchors.join(", ")
    )
}

/// The table of the words that are looked for, with their numbers: 16 bits of the hash of its letters, and 16 of its number.
pub fn word_table<'w>(words: impl Iterator<Item = (&'w str, usize)>) -> String {
    let mut table = vec![0_u32; 1 << TABLE_BITS];
    // Other words are read letter by letter.
    for (word, number) in words.filter(|(word, _)| word.is_ascii()) {
        let mut first = [0; FIRST_LETTERS];
        first.iter_mut().zip(word.bytes()).for_each(|(letter, byte)| *letter = byte);
        let is_long = word.len() > FIRST_LETTERS;
        let hash = word_hash(u64::from_le_bytes(first) ^ if is_long { LONG_WORD } else { 0 });
        let mut slot = word_slot(hash);
        while table[slot] != 0 && table[slot] >> 16 != word_tag(hash) {
            slot = (slot + 1) % table.len();
        }
        let is_other = table[slot] != 0 && table[slot] & 0xffff != number as u32;
        let number = if is_long || is_other { SEVERAL.into() } else { number as u32 };
        table[slot] = word_tag(hash) << 16 | number;
    }
    format!("pub(super) static GATE_TABLE: [u32; {}] = {table:?};\n", table.len())
}
