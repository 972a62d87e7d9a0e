//! The rows of all families, compiled once: every word that a rule knows, the sets it belongs to, the phrases it begins.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::encoded::{BACKWARDS, TURNED_BY_13};
use super::phrases::Phrases;
use super::rows::{CLASSES, Row, TABLES};
use super::words::{hash_and_beginning, hash_of};

/// Numbers the sets of words.
pub(super) type ClassId = u16;

/// Words that may stand between two steps of a phrase.
pub(super) const FILLERS: &str = "@filler";
/// The set of all words, known or not.
pub(super) const ANY: ClassId = ClassId::MAX;

/// One step of a phrase: a word of the set has to come, within `gap` words of the step before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) class: ClassId,
    pub(super) gap: usize,
    /// Any word may stand in the gap, as long as the sentence goes on; else only fillers may.
    pub(super) any: bool,
    pub(super) capitals: bool,
    /// A comma or colon stands before the word.
    pub(super) called: bool,
}

/// A compiled row.
#[derive(Debug)]
pub(super) struct Phrase {
    pub(super) row: &'static Row,
    pub(super) steps: Vec<Step>,
    /// None of these words stands just before.
    pub(super) not_after: Option<ClassId>,
    /// None of these steps comes next in the sentence.
    pub(super) not_before: Vec<Vec<Step>>,
}

/// Sets of words by which talk about attacks is told from attacks.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Talk {
    /// A phrase is named: example, attack.
    pub(super) mentions: ClassId,
    /// A question begins.
    pub(super) questions: ClassId,
    /// Someone asks or tells someone.
    pub(super) reports: ClassId,
    /// What follows is not said to happen: if, not.
    pub(super) conditions: ClassId,
    pub(super) to: ClassId,
    pub(super) you: ClassId,
    /// What follows is not to be done.
    pub(super) negations: ClassId,
    /// Who does what follows is named, or it is only possible: I send, they may send.
    pub(super) subjects: ClassId,
}

/// All words and phrases.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    /// Open addressing, a power of two long; 0 is an empty place.
    places: Vec<(u64, u32)>,
    /// For each word one bit for each set, `stride` numbers a word.
    bits: Vec<u64>,
    stride: usize,
    /// One bit for each beginning of a word, by its hash.
    beginnings: Beginnings,
    /// The phrases of all rows but the orders.
    pub(super) phrases: Phrases,
    /// The phrases of orders, which are looked for where someone is spoken to.
    pub(super) orders: Phrases,
    pub(super) fillers: ClassId,
    pub(super) talk: Talk,
    /// Words of attacks, each letter moved by 13.
    pub(super) turned: ClassId,
    /// Words of attacks, written backwards.
    pub(super) backwards: ClassId,
    longest: usize,
}

/// The vocabulary of all rows.
pub(super) fn vocabulary() -> &'static Vocabulary {
    static ALL: LazyLock<Vocabulary> = LazyLock::new(|| Compiler::default().compile());
    &ALL
}

impl Vocabulary {
    /// The number of a word; 0 where no rule knows it.
    pub(super) fn id(&self, hash: u64) -> u32 {
        let mask = self.places.len().wrapping_sub(1);
        let mut at = usize::try_from(hash ^ (hash >> 32)).unwrap_or_default() & mask;
        loop {
            match self.places.get(at) {
                Some((_, 0)) | None => return 0,
                Some((known, id)) if *known == hash => return *id,
                Some(_) => at = (at + 1) & mask,
            }
        }
    }

    pub(super) fn is_in(&self, id: u32, class: ClassId) -> bool {
        if class == ANY {
            return true;
        }
        let Ok(word) = usize::try_from(id) else { return false };
        let bits = self.bits.get(word * self.stride + usize::from(class >> 6));
        id != 0 && bits.is_some_and(|bits| bits >> (class & 63) & 1 == 1)
    }

    /// Is it a word of attacks in rot13, or backwards?
    pub(super) fn is_turned(&self, id: u32) -> bool {
        self.is_in(id, self.turned) || self.is_in(id, self.backwards)
    }

    /// False where surely no word goes on from these first letters, by their hash.
    pub(super) fn may_begin(&self, hash: u64) -> bool {
        self.beginnings.has(hash)
    }

    /// Letters of the longest word.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }
}

/// A set of hashes, as far as some of their bits tell.
#[derive(Debug)]
struct Beginnings([u64; 256]);

impl Default for Beginnings {
    fn default() -> Self {
        Beginnings([0; 256])
    }
}

impl Beginnings {
    fn bit(hash: u64) -> (usize, u64) {
        // The upper bits of a product are the well-mixed ones.
        (usize::try_from(hash >> 56).unwrap_or_default(), 1 << (hash >> 50 & 63))
    }

    fn add(&mut self, hash: u64) {
        let (row, bit) = Self::bit(hash);
        if let Some(bits) = self.0.get_mut(row) {
            *bits |= bit;
        }
    }

    fn has(&self, hash: u64) -> bool {
        let (row, bit) = Self::bit(hash);
        self.0.get(row).is_some_and(|bits| bits & bit != 0)
    }
}

#[derive(Default)]
struct Compiler {
    classes: BTreeMap<String, ClassId>,
    members: Vec<Vec<u64>>,
    /// How common the words of each set are, by a guess: short words are.
    weights: Vec<u64>,
    phrases: Vec<Phrase>,
    orders: Vec<Phrase>,
    beginnings: Beginnings,
    longest: usize,
}

impl Compiler {
    fn compile(mut self) -> Vocabulary {
        let fillers = self.class(FILLERS);
        let talk = Talk {
            mentions: self.class("@mention"),
            questions: self.class("@question"),
            reports: self.class("@reports"),
            conditions: self.class("@condition"),
            to: self.class("to"),
            you: self.class("you"),
            negations: self.class("@negation"),
            subjects: self.class("@subject"),
        };
        let turned = self.class(&TURNED_BY_13.join("|"));
        let backwards = self.class(&BACKWARDS.join("|"));
        for row in TABLES.iter().copied().flatten() {
            for pattern in row.patterns {
                for variant in variants(pattern) {
                    let phrase = self.phrase(row, &variant);
                    if row.is_order() { &mut self.orders } else { &mut self.phrases }.push(phrase);
                }
            }
        }
        Vocabulary { fillers, talk, turned, backwards, ..self.finish() }
    }

    fn phrase(&mut self, row: &'static Row, variant: &[String]) -> Phrase {
        let mut phrase = Phrase { row, steps: Vec::new(), not_after: None, not_before: Vec::new() };
        let mut gap = None;
        for item in variant {
            if let Some(count) = item.strip_prefix('~') {
                gap = count.parse().ok();
            } else if let Some(words) = item.strip_prefix('!') {
                let class = self.class(words);
                if phrase.steps.is_empty() {
                    phrase.not_after = Some(class);
                } else {
                    let next = Step { class, gap: 0, any: true, capitals: false, called: false };
                    phrase.not_before.push(vec![next]);
                }
            } else {
                let step = self.step(item, gap.take());
                phrase.not_before.last_mut().unwrap_or(&mut phrase.steps).push(step);
            }
        }
        phrase
    }

    fn step(&mut self, item: &str, gap: Option<usize>) -> Step {
        let (capitals, words) = match item.strip_prefix('^') {
            Some(words) => (true, words),
            None => (false, item),
        };
        let (called, words) = match words.strip_prefix(':') {
            Some(words) => (true, words),
            None => (false, words),
        };
        let class = if words == "*" { ANY } else { self.class(words) };
        Step { class, gap: gap.unwrap_or(MAX_FILLERS), any: gap.is_some(), capitals, called }
    }

    fn class(&mut self, words: &str) -> ClassId {
        if let Some(id) = self.classes.get(words) {
            return *id;
        }
        let id = ClassId::try_from(self.members.len()).unwrap_or(ClassId::MAX);
        let mut members = Vec::new();
        let mut weight = 0;
        for word in words.split('|').flat_map(named) {
            weight += 1 << 10_usize.saturating_sub(word.len());
            self.longest = self.longest.max(word.len());
            let (hash, beginning) = hash_and_beginning(word);
            self.beginnings.add(beginning);
            members.push(hash);
            if MISSPELLED.contains(&word) {
                members.extend(misspellings(word).iter().map(|word| hash_of(word)));
            }
        }
        self.classes.insert(words.to_owned(), id);
        self.members.push(members);
        self.weights.push(weight);
        id
    }

    fn finish(self) -> Vocabulary {
        let mut entries: BTreeMap<u64, Vec<ClassId>> = BTreeMap::new();
        for (class, members) in self.members.iter().enumerate() {
            for hash in members {
                entries.entry(*hash).or_default().extend(ClassId::try_from(class));
            }
        }
        let size = (entries.len() * 4).next_power_of_two();
        let mut places = vec![(0_u64, 0_u32); size];
        let stride = self.members.len().div_ceil(64);
        let mut bits = vec![0_u64; stride * (entries.len() + 1)];
        let mut classes = vec![Vec::new()];
        for (hash, sets) in entries {
            let mut at = usize::try_from(hash ^ (hash >> 32)).unwrap_or_default() & (size - 1);
            while places.get(at).is_some_and(|place| place.1 != 0) {
                at = (at + 1) & (size - 1);
            }
            if let (Some(place), Ok(id)) = (places.get_mut(at), u32::try_from(classes.len())) {
                *place = (hash, id);
            }
            for class in &sets {
                if let Some(bits) = bits.get_mut(classes.len() * stride + usize::from(class >> 6)) {
                    *bits |= 1 << (class & 63);
                }
            }
            classes.push(sets);
        }
        let Compiler { phrases, orders, beginnings, longest, weights, .. } = self;
        let (phrases, orders) =
            (Phrases::new(phrases, &classes, &weights), Phrases::new(orders, &classes, &weights));
        Vocabulary { places, bits, stride, beginnings, phrases, orders, longest, ..Vocabulary::default() }
    }
}

/// Words that are known with one slip, too: a letter that is missing, doubled, or changes places with the next.
const MISSPELLED: &[&str] =
    &["ignore", "disregard", "previous", "instructions", "instruction", "guidelines", "directives"];

fn misspellings(word: &str) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    let mut all = Vec::new();
    for at in 1..letters.len() {
        let (before, after) = letters.split_at(at);
        let Some((letter, rest)) = after.split_first() else { continue };
        let with = |middle: &[char]| before.iter().chain(middle).collect::<String>();
        all.push(with(rest));
        all.push(with(&[&[*letter], after].concat()));
        if let Some((next, rest)) = rest.split_first() {
            all.push(with(&[&[*next, *letter], rest].concat()));
        }
    }
    all
}

/// Fillers in a row that a phrase bears.
const MAX_FILLERS: usize = 5;

/// The words of a named set, or the word itself.
fn named(word: &str) -> Vec<&str> {
    if !word.starts_with('@') {
        return vec![word];
    }
    let Some((_, members)) = CLASSES.iter().find(|(name, _)| *name == word) else { return Vec::new() };
    members.split_whitespace().flat_map(named).collect()
}

/// A pattern with alternatives of several words (`a_b`) becomes one variant with single words and one for each such.
fn variants(pattern: &str) -> Vec<Vec<String>> {
    let mut all: Vec<Vec<String>> = vec![Vec::new()];
    for item in pattern.split_whitespace() {
        let (singles, several): (Vec<&str>, Vec<&str>) =
            item.split('|').partition(|word| !word.contains('_'));
        let mut next = Vec::new();
        for before in &all {
            if !singles.is_empty() {
                next.push(before.iter().cloned().chain([singles.join("|")]).collect());
            }
            for words in &several {
                let mut variant = before.clone();
                for (number, word) in words.split('_').enumerate() {
                    if number > 0 {
                        variant.push("~0".to_owned());
                    }
                    variant.push(word.to_owned());
                }
                next.push(variant);
            }
        }
        all = next;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_set_exists_and_no_step_is_empty() {
        let mut compiler = Compiler::default();
        for row in TABLES.iter().copied().flatten() {
            for pattern in row.patterns {
                for item in pattern.split_whitespace().flat_map(|item| item.split('|')) {
                    let word = item.trim_start_matches(['^', '!', ':']);
                    if word.starts_with('@') {
                        assert!(CLASSES.iter().any(|(name, _)| *name == word), "{pattern}: {word}");
                    }
                }
                for variant in variants(pattern) {
                    assert!(!compiler.phrase(row, &variant).steps.is_empty(), "{pattern}");
                }
            }
        }
        assert!(compiler.members.iter().all(|members| !members.is_empty()));
    }
}
